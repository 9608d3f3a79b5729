# SPDX-License-Identifier: Apache-2.0
# long: eu-stack reads the symbols of all files
#
# Unwinders of other processes go through thunks.
. "$TOP/tests/e2e/lib.sh"
need gcc

cat >host.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define ALONE __attribute__((noipa))
static volatile long sink;
ALONE long stop(void)
{
	char byte;
	return read(0, &byte, 1) + 1;
}
ALONE long spin(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
	return stop() + 1;
}
/* Arguments on the stack, which the thunk copies. */
ALONE long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return spin(a) + b + c + d + e + f + g + h;
}
static int compare(const void *a, const void *b)
{
	(void)a, (void)b;
	sink += many(sink % 3 + 100000, 2, 3, 4, 5, 6, 7, 8);
	return 0;
}
/* The C library, which is not moved, in between. */
ALONE long sorter(void)
{
	long list[2] = { 1, 2 };
	qsort(list, 2, sizeof(*list), compare);
	return list[0] + 1;
}
int main(int argc, char **argv)
{
	/* The first call is not among the moved instructions. */
	if (argc > 1 && argv[1][0] == 'x')
		return 1;
	printf("%ld\n", sorter());
	return 0;
}
C
gcc -O2 -o host host.c || fail 'cannot compile host.c'

# frames FILE: the program's functions in its last stack.
frames()
{
	grep -oE '(^|[ (])(stop|spin|many|compare|sorter|main)($|[ ):+])' "$1" |
		tr -d ' ():+' | tr '\n' ' '
}
all='stop spin many compare sorter main '

# attach OPTION... -- COMMAND...: of the waiting program; its id comes last.
attach()
{
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	rm -f input
	mkfifo input
	# shellcheck disable=SC2086 # several words
	"$PERFREC" record -q --patch $options --alloc=off --cpu=off -o data -- ./host <input \
		>out.host 2>err.host &
	recorder=$!
	exec 9>input
	wait_for 60 program_waits
	"$@" "$program" >attached 2>&1
	echo >&9
	exec 9>&-
	wait $recorder
	expect_eq 'exit status' $? 0
	expect_eq 'output' "$(cat out.host)" 2
	! grep -q 'Operation not permitted' attached
}
program_waits()
{
	program=$(pgrep -P $recorder -x host) &&
		grep -q '^0 0x0' "/proc/$program/syscall" 2>/dev/null
}

image=$(mktemp -d /dev/shm/perfrec-test-XXXXXX) || skip 'no /dev/shm'
trap 'rm -rf "$image"; umount full 2>/dev/null' EXIT

# eu-stack reads the area from memory.
if type eu-stack >/dev/null 2>&1; then
	attach -- eu-stack -p || skip 'nothing can attach here'
	expect_eq 'frames that eu-stack finds' "$(frames attached)" "$all"
	attach --patch-image "$image" -- eu-stack -p
	expect_eq 'frames that eu-stack finds by a path' "$(frames attached)" "$all"
fi

# libunwind-ptrace needs a path.
cat >remote.c <<'C'
#include <libunwind-ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
int main(int count, char **words)
{
	pid_t pid = atoi(words[count - 1]);
	unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
	unw_cursor_t cursor;
	void *process;
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) < 0) {
		perror("ptrace");
		return 1;
	}
	waitpid(pid, NULL, 0);
	process = _UPT_create(pid);
	unw_init_remote(&cursor, space, process);
	do {
		char name[100] = "?";
		unw_word_t offset;
		unw_get_proc_name(&cursor, name, sizeof(name), &offset);
		printf("%s\n", name);
	} while (unw_step(&cursor) > 0);
	_UPT_destroy(process);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return 0;
}
C
if gcc -o remote remote.c -lunwind-ptrace -lunwind-x86_64 -lunwind 2>/dev/null; then
	attach --patch-image "$image" -- ./remote || skip 'nothing can attach here'
	expect_eq 'frames that libunwind finds' "$(frames attached)" "$all"
fi

# perf copies stacks, and reads the files afterwards.
cat >busy.c <<'C'
#include <stdlib.h>
#define ALONE __attribute__((noipa))
static volatile long sink;
ALONE long spin(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
	return sink;
}
ALONE long outer(long rounds)
{
	long sum = 0;
	while (rounds--)
		sum += spin(50000);
	return sum;
}
int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	outer(atol(argv[1]));
	return 0;
}
C
gcc -O2 -o busy busy.c || fail 'cannot compile busy.c'
if perf record -q -e cpu-clock -o plain.data true >/dev/null 2>&1; then
	run_ok perf record -q -e cpu-clock -F 200 --call-graph dwarf -o perf.data \
		"$PERFREC" record -q --patch --patch-image "$image" --alloc=off --cpu=off \
		-o data -- ./busy 5000
	perf script -i perf.data -F comm,ip,sym >stacks 2>/dev/null
	# shellcheck disable=SC2016 # for awk
	cut=$(awk -v RS= '/spin/ && /^busy/ { all++; full += /outer/ && /main/ && /_start/ }
		END { if (all < 10 || all > full) print full + 0 " of " all + 0 }' stacks)
	expect_eq 'stacks of perf from the start on' "$cut" ''
fi

# The program runs as it is if the file system is full. Its area is in memory if
# there was no room from the start.
mkdir full
if mount -t tmpfs -o size=16k none full 2>/dev/null; then
	patched=
	for pages in 2 8 9 10 11 12 13 14 15 16 17 18 100; do
		mount -o remount,size=$((pages * 4))k full
		run "$PERFREC" record -q --patch --patch-image full --alloc=off --cpu=off \
			-o data -- ./busy 5
		expect_status 0
		patched="$patched$(jq .totals.functions_patched data/summary.json) "
		rm -f full/*
	done
	expect_eq 'patched functions by room' "$patched" '3 3 0 0 0 0 3 3 3 3 3 3 3 '
	mount -o remount,noexec full
	run "$PERFREC" record --patch --patch-image full -o data -- touch started
	expect_error 2 '--patch-image: full is not on a tmpfs, or is mounted noexec: choose another folder, such as one in /dev/shm or /run/user'
	umount full
fi
run "$PERFREC" record --patch --patch-image /proc/self -o data -- touch started
expect_status 2
run "$PERFREC" record --patch --patch-image none -o data -- touch started
expect_error 2 '--patch-image: cannot write to none: No such file or directory'
run "$PERFREC" record --patch-image "$image" -o data -- touch started
expect_error 2 '--patch-image: only with --patch or --calls-to'
[ -e started ] && fail 'the program was started'
exit 0
