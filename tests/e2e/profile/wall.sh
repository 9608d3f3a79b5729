#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# wall.pb.gz says by function what summary.json and the trace say: with
# threads, a fork, an exec, C++, deep recursion and a limit of depth.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/profile.sh"
need protoc g++

cat >many.cc <<'SOURCE'
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
static volatile long sum;
static inline long inlined(long i) { return sum += i; }
template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
__attribute__((noinline)) long leaf(long i) { return inlined(i) + twice(i); }
__attribute__((noinline)) void work(long n)
{
	for (long i = 0; i < n; i++)
		leaf(i);
}
__attribute__((noinline)) int deep(int n) { return n ? deep(n - 1) + 1 : 0; }
int main(int argc, char **argv)
{
	std::vector<std::thread> threads;
	if (argc > 1) {
		work(33);
		return 0;
	}
	for (int i = 1; i <= 3; i++)
		threads.emplace_back(work, 100 * i);
	for (auto &thread : threads)
		thread.join();
	if (pid_t child = fork()) {
		waitpid(child, nullptr, 0);
	} else {
		work(7);
		execl(argv[0], argv[0], "once", nullptr);
	}
	std::printf("%d\n", deep(2000));
}
SOURCE
g++ -O1 -g -finstrument-functions -o many many.cc -pthread ||
	fail "cannot compile many.cc"
run_ok "$PERFREC" record -q -o data -- ./many
expect_eq output "$(cat out)" 2000
expect_profile data
expect_match profile.tsv '^640	[0-9]+	leaf\(long\)	' \
	'^640	[0-9]+	long twice<long>\(long\)	' \
	'^2001	[0-9]+	deep\(int\)	'
profile_text data/wall.pb.gz >text
# protoc prints unknown fields as numbers.
expect_no_match text '^ *[0-9]+[: ]'
expect_match text '"perfrec [0-9.]+"' '"command: ./many"' \
	'"/[^"]*many.cc"' '"[0-9a-f]{40}"' 'has_line_numbers: true' \
	'"\[truncated\]"' 'calls were too deep for their whole stack' \
	'^duration_nanos: [1-9]' '^period: 1$'
expect_none data/.wall.pb.gz.new
"$O/tests/tools/trace_check" --counts data/trace.pftrace |
	grep -F 'leaf(long)' >counts
expect_match counts '^640	'

# Also where the program itself leaves functions out.
build_calls
run_ok "$PERFREC" record -q --depth 1 -o depth -- ./calls 100
expect_profile depth
