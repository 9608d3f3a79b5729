#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# long: builds with each compiler and option
#
# perfrec.h in every kind of program: C and C++, gcc and clang, -O0 to -O3, the
# ways to link, with every warning an error. Without the shim, in a static
# executable, and with -DPERFREC_DISABLE it does nothing and evaluates nothing.
. "$TOP/tests/e2e/lib.sh"
need gcc g++ nm

progs=$TOP/tests/progs/annotate
warn="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I$TOP/preload"
cp "$progs/all.c" all.c
cp "$progs/all.c" all.cc

have()
{
	command -v "$1" >/dev/null
}

# compile NAME WARNINGS_AND_COMMAND...
compile()
{
	target=$1
	shift
	"$@" $warn -o "$target" >compile.log 2>&1 && return
	cat compile.log
	fail "does not compile without a warning: $*"
}

# --- compilers, languages, levels: without the shim nothing is evaluated -------
for cc in gcc clang; do
	have $cc || { echo "# no $cc"; continue; }
	cxx=$(echo $cc | sed 's/gcc/g++/; s/clang/clang++/')
	for level in -O0 -O1 -O2 -O3; do
		compile c $cc -std=c11 $level -DABORTS all.c
		expect_eq "$cc $level" "$(./c)" 'not recording'
		compile c $cc -std=c11 $level -DABORTS -DPERFREC_DISABLE all.c
		expect_eq "$cc $level disabled" "$(./c)" 'not recording'
		expect_eq "symbols of $cc $level disabled" \
			"$(nm c | grep -i perfrec)" ''
		have $cxx || continue
		compile cxx $cxx -std=c++17 $level -DABORTS all.cc
		expect_eq "$cxx $level" "$(./cxx)" 'not recording'
		compile cxx $cxx -std=c++17 $level -DABORTS -DPERFREC_DISABLE \
			-fno-exceptions all.cc
		expect_eq "symbols of $cxx $level disabled" \
			"$(nm cxx | grep -i perfrec)" ''
	done
done
compile gnu11 gcc -std=gnu11 -O2 -fvisibility=hidden all.c
compile instrumented gcc -std=gnu11 -O2 -finstrument-functions all.c

# --- ways to link: with the shim, everything is recorded ------------------------
# record NAME: once for each way; the program says so itself.
record()
{
	rm -rf data
	timeout 200 "$PERFREC" record -o data -- "./$1" >out 2>err ||
		{ cat err; fail "$2 does not run"; }
	expect_eq "$2" "$(head -n 1 out)" recording
}

# way FLAGS...: of gcc
way()
{
	compile way gcc -std=c11 -O2 "$@" all.c
	expect_eq "gcc $*, no shim" "$(./way)" 'not recording'
	record way "gcc $*"
}
way -fPIE -pie
way -fno-pie -no-pie
way -fno-pie -no-pie -fno-plt
way -fPIE -pie -flto
way -fno-pie -no-pie -flto
way -fPIE -pie -Wl,-z,now -Wl,--gc-sections
for linker in gold lld; do
	have ld.$linker || { echo "# no $linker"; continue; }
	way -fuse-ld=$linker -fPIE -pie
	way -fuse-ld=$linker -fno-pie -no-pie
done
if have clang && have ld.lld; then
	for flags in '-fPIE -pie' '-fno-pie -no-pie'; do
		compile way clang -std=c11 -O2 -flto -fuse-ld=lld $flags all.c
		record way "clang -flto $flags"
	done
fi
if have clang++; then
	compile way clang++ -std=c++17 -O2 all.cc
	record way clang++
fi
compile way g++ -std=c++17 -O2 all.cc
record way g++

# Nothing can be preloaded into these: they run.
for flags in -static -static-pie; do
	gcc -std=c11 -O2 $flags -I"$TOP/preload" -DABORTS -o fixed all.c \
		2>/dev/null || { echo "# no $flags"; continue; }
	expect_eq "$flags" "$(LD_PRELOAD=$O/libperfrec_preload.so ./fixed)" \
		'not recording'
done

# --- a shim that is older than the header: new functions do nothing --------------
cat >older.c <<'SOURCE'
#include "perfrec.h"
#include <stddef.h>
static const uint32_t g_state = 7;
struct perfrec_shim_1 perfrec_shim_1 = {
	.state = &g_state,
	.bytes = offsetof(struct perfrec_shim_1, async_enter),
};
SOURCE
cat >newer.c <<'SOURCE'
#include "perfrec.h"
static void stay(void)
{
	PERFREC_ASYNC_SCOPE(PERFREC_PROCESS_TRACK, 1, "scope");
	PERFREC_ASYNC_ENTER(PERFREC_PROCESS_TRACK, 1, "enter");
	perfrec_set_trace_id(NULL, NULL);
	perfrec_set_traceparent("00");
	PERFREC_ASYNC_LEAVE(PERFREC_PROCESS_TRACK, 1, "leave");
}
int main(void)
{
	/* All sites are on. */
	for (int i = 0; i < 2; i++)
		stay();
	return 0;
}
SOURCE
sed 's/UINT32_MAX, 0, kind/7, 0, kind/' "$TOP/preload/perfrec.h" >perfrec.h
compile older gcc -std=gnu11 -O1 -I. older.c newer.c
./older || fail "a shim that is older than the header: $?"
rm perfrec.h

# --- copies of the header in one process, a plugin that comes and goes ----------
compile libcopy.so gcc -std=c11 -O2 -shared -fPIC "$progs/copy.c"
compile plugin.so gcc -std=c11 -O1 -shared -fPIC -DPLUGIN \
	-fvisibility=default "$progs/copy.c"
gcc -O2 -I"$TOP/preload" -o copies "$progs/copies.c" -L. -lcopy -ldl \
	-Wl,-rpath,"$PWD" || fail 'copies does not compile'
./copies || fail 'copies fails without the shim'
rm -rf data
timeout 200 "$PERFREC" record -o data -- ./copies >out 2>err ||
	{ cat err; fail 'copies fails'; }
"$PERFREC" report --json data >report.json || fail 'no report'
expect_eq 'calls of all copies of a site' \
	"$(json report.json '[.functions[] | select(.name == "in the copy") |
		.calls] | add')" 11
expect_eq 'sites with that name' \
	"$(json report.json '[.functions[] | select(.name == "in the copy")] |
		length')" 1
exit 0
