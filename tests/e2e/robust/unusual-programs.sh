# SPDX-License-Identifier: Apache-2.0
#
# Programs built in other ways: with AddressSanitizer, in C++ with exceptions,
# without instrumentation, stripped, and gone from the disk while they run.
. "$TOP/tests/e2e/lib.sh"
need g++ strip

check()
{
	"$O/tests/tools/trace_check" "$@" data/trace.pftrace ||
		fail 'a rule is broken'
}

# AddressSanitizer's runtime must come first among the libraries.
echo 'int main(void) { return 0; }' >probe.c
if gcc -fsanitize=address -o probe probe.c 2>/dev/null && ./probe; then
	build asan -fsanitize=address <<-'SOURCE'
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	__attribute__((noinline)) static int leaf(const char *text)
	{
		char *copy = strdup(text);
		int length = (int)strlen(copy);

		free(copy);
		return length;
	}
	int main(int argc, char **argv)
	{
		volatile char *block = malloc(8);
		int sum = 0;

		for (int i = 0; i < 1000; i++)
			sum += leaf(argv[0]);
		printf("%d\n", sum > 0);
		if (argc > 1)
			sum = block[8];
		free((void *)block);
		return 3;
	}
	SOURCE
	run "$PERFREC" record -q -o data ./asan
	expect_status 3
	expect_eq 'output of an ASan program' "$(cat out)" 1
	expect_eq 'spans of an ASan program' \
		"$(json data/summary.json .totals.spans)" 1001
	check
	# AddressSanitizer still finds the overflow.
	run "$PERFREC" record -q -o data ./asan overflow
	expect_match err 'heap-buffer-overflow'
	check
else
	echo 'no AddressSanitizer here'
fi

# ThreadSanitizer allocates before other libraries may call it.
if gcc -fsanitize=thread -o probe probe.c 2>/dev/null && ./probe; then
	build tsan -fsanitize=thread -pthread <<-'SOURCE'
	#include <stdio.h>
	#include <stdlib.h>
	__attribute__((noinline)) static void leaf(void)
	{
		free(malloc(100));
	}
	int main(void)
	{
		for (int i = 0; i < 1000; i++)
			leaf();
		puts("done");
		return 3;
	}
	SOURCE
	run "$PERFREC" record -q --cpu=off -o data ./tsan
	expect_status 3
	expect_eq 'output of a TSan program' "$(cat out)" 'done'
	expect_eq 'spans of a TSan program' \
		"$(json data/summary.json .totals.spans)" 1001
	check
else
	echo 'no ThreadSanitizer here'
fi

cat >throws.cc <<'SOURCE'
#include <cstdio>
#include <stdexcept>
struct guard {
	int *count;
	~guard() { ++*count; }
};
__attribute__((noinline)) static void deep(int depth, int *count)
{
	guard one{ count };
	if (!depth)
		throw std::runtime_error("bottom");
	deep(depth - 1, count);
}
__attribute__((noinline)) static void rethrow(int depth, int *count)
{
	try {
		deep(depth, count);
	} catch (const std::runtime_error &) {
		throw std::logic_error("again");
	}
}
int main()
{
	int count = 0, caught = 0;
	for (int i = 0; i < 200; i++) {
		try {
			rethrow(i % 20, &count);
		} catch (const std::exception &) {
			caught++;
		}
	}
	std::printf("%d %d\n", count, caught);
	return 4;
}
SOURCE
g++ -O1 -g -finstrument-functions -o throws throws.cc || fail 'g++'
./throws >expected
run "$PERFREC" record -q -o data ./throws
expect_status 4
cmp -s expected out || fail 'exceptions: output has changed'
check --dump >dump
expect_eq 'calls of deep()' "$(grep -c '^B.* deep(int, int\*)$' dump)" \
	"$(cut -d' ' -f1 out)"
# Depth is back where it was whenever rethrow() is called.
expect_eq 'depths of rethrow()' \
	"$(awk '/^B.* rethrow\(/ { print $5 }' dump | sort -u | wc -l)" 1

# Nothing to record: says so, and how to rebuild.
echo 'int main(void) { return 6; }' >plain.c
gcc -o plain plain.c
run "$PERFREC" record -o data ./plain
expect_status 6
expect_match err 'perfrec cc gcc'
expect_eq 'spans' "$(json data/summary.json .totals.spans)" 0
check

# Stripped: module+offset, of the same calls.
build_calls
strip -o stripped calls
run_ok "$PERFREC" record -q -o data ./stripped 500
check --counts >counts
expect_match counts '^500	stripped\+0x[0-9a-f]+$'
expect_eq 'calls' "$(awk '{ n += $1 } END { print n }' counts)" 502

# Deleted while it runs: its names were read when it started.
build deletes <<'SOURCE'
#include <unistd.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	(void)argc;
	unlink(argv[0]);
	for (int i = 0; i < 500; i++)
		leaf();
	return 0;
}
SOURCE
for binary in deletes "$PWD/deletes.stripped"; do
	[ -e "$binary" ] || strip -o "$binary" kept
	cp "$binary" kept
	run_ok "$PERFREC" record -q -o data "./${binary##*/}"
	expect_none "$binary"
	check --counts >counts.${binary##*.}
done
expect_match counts.deletes '^500	leaf$' '^1	main$'
expect_match counts.stripped '^500	deletes.stripped\+0x[0-9a-f]+$'
