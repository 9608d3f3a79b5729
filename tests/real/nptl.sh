#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# nptl.sh O DIR [KIND...] - builds glibc's own tests of threads, locks and
# cancellation from Debian's sources, and runs each plain and recorded by perfrec.
# A test that passes plain must pass recorded. The tests run with this machine's C
# library, so only tests that use none of its internals are built. Prints the tests
# that fail, and counts. DIR is where sources and programs go; KIND is such as
# "mutex" (tst-mutex*.c). Exit status: 1 if tests fail, 77 without the sources.
set -u

here=$(dirname "$0")
O=$1
dir=$2
shift 2
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
O=$(cd "$O" && pwd)
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
fetch glibc
src=$(echo "$dir"/src/glibc-*/)
work=$dir/nptl
mkdir -p "$work/include" "$work/support" "$work/tests"

# Headers that glibc's build gives to its tests.
ln -sfn "$src/support" "$work/include/support"
ln -sfn "$src/malloc" "$work/include/malloc"
for header in allocate_once array_length intprops libc-diag scratch_buffer; do
	ln -sf "$src/include/$header.h" "$work/include"
done
echo '#define _STACK_GROWS_DOWN 1' >"$work/include/stackinfo.h"
: >"$work/include/config.h"
{
	echo '#include <limits.h>'
	echo '#define TIMEOUTFACTOR 2'
	# support_paths.c; no test of these kinds uses them.
	for path in SRCDIR OBJDIR OBJDIR_ELF_LDSO INSTDIR LIBDIR BINDIR SBINDIR \
		SLIBDIR ROOTSBINDIR COMPLOCALEDIR SYSCONFDIR; do
		echo "#define ${path}_PATH \"/\""
	done
} >"$work/include/prelude.h"

# compile ARGUMENT...
compile()
{
	cc -std=gnu11 -O1 -w -D_GNU_SOURCE -include "$work/include/prelude.h" \
		-I "$work/include" -I "$src/support" -iquote "$src/sysdeps/pthread" \
		-iquote "$src/nptl" -pthread "$@" 2>>"$work/compiler"
}

echo 'A file that tst-cancel4.c reads.' >"$work/tests/Makefile"
: >"$work/compiler"
for source in "$src"/support/*.c; do
	object=$work/support/$(basename "$source" .c).o
	[ -e "$object" ] || compile -c -o "$object" "$source"
done
rm -f "$work/libsupport.a"
ar rcs "$work/libsupport.a" "$work"/support/*.o

# passes FILE COMMAND...: FILE has its messages.
passes()
{
	out=$1
	shift
	(cd "$work/tests" && timeout 60 "$@" >"$out" 2>&1)
}

# system() of these is cancelled, which kills the shell. With Debian's sh the command
# is a child of the shell and goes on: they fail now and then, plain too, and a pass
# leaves a process behind. With bash as /bin/sh they pass, recorded as well.
left_out="tst-cancel7 tst-cancelx7"

[ $# -gt 0 ] || set -- mutex rwlock cond sem barrier join once cancel cleanup \
	mtx cnd thrd call-once
passed=0 plain=0 unbuilt=0 failed=
for kind; do
	for source in "$src"/sysdeps/pthread/tst-"$kind"*.c "$src"/nptl/tst-"$kind"*.c; do
		name=$(basename "$source" .c)
		program=$work/tests/$name
		[ -e "$source" ] || continue
		case " $left_out " in
		*" $name "*) continue ;;
		esac
		if ! [ -x "$program" ] &&
			! compile -o "$program" "$source" "$work/libsupport.a" -lrt -lm; then
			unbuilt=$((unbuilt + 1))
		elif ! passes "$work/$name.plain" "$program"; then
			plain=$((plain + 1))
		elif passes "$work/$name.recorded" "$O/perfrec" record -q \
			-o "$work/recording" -- "$program"; then
			passed=$((passed + 1))
		else
			failed="$failed $name"
			sed 's/^/    /' "$work/$name.recorded" | tail -n 5
		fi
		rm -rf "$work/recording"
	done
done
echo "passed plain and recorded: $passed, failed recorded:${failed:- none}," \
	"failed plain: $plain, not built: $unbuilt, left out: $left_out"
[ -z "$failed" ]
