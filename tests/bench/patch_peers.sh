#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# patch_peers.sh - `perfrec record --patch` beside `uftrace record -P .`, which also
# patches functions without hooks while the program starts:
#
#     cost     ns a call more than alone: the least of 300 rounds of 2,000 calls
#     calls    recorded calls of functions of the program itself, in number and in %
#              of callgrind's
#     unwinds  how many of 10 runs of tests/progs/patch/unwinds.cc end as without a
#              tool: exceptions, cancelled threads, contexts, backtraces
#
# Both tools keep to the program and leave its libraries alone.
set -eu

O=$(cd "${O:-build}" && pwd)
unwinds=$PWD/tests/progs/patch/unwinds.cc
counts=$PWD/tests/real/callgrind_calls.awk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

perfrec()
{
	timeout -k 5 120 "$O/perfrec" record -q --patch --alloc=off --cpu=off --sched=off -o perfrec.data -- "$@"
}
uftrace_patch()
{
	timeout -k 5 120 uftrace record -P . --no-libcall --no-event --max-stack=65535 -d uftrace.data "$@"
}

cat >cost.c <<'C'
#include <stdio.h>
#include <time.h>
static volatile long sink;
__attribute__((noipa)) long called(long a, long b)
{
	sink += a;
	sink ^= b;
	sink += a * b;
	sink -= a + b;
	return a + b;
}
static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
int main(void)
{
	double least = 1e18;

	for (int round = 0; round < 300; round++) {
		double begin = now(), took;
		for (long i = 0; i < 2000; i++)
			called(i, 1);
		took = now() - begin;
		least = took < least ? took : least;
	}
	printf("%.2f\n", least / 2000);
	return 0;
}
C
gcc -O2 -o cost cost.c
g++ -std=c++20 -w -O2 -o unwinds "$unwinds" -pthread

alone=$(./cost)
printf '%-10s %20s %20s\n' '' perfrec 'uftrace -P'
printf '%-10s %20s %20s\n' cost "$(perfrec ./cost | awk "{ print \$1 - $alone }")" \
	"$(uftrace_patch ./cost 2>err | awk "{ print \$1 - $alone }")"

# sum_of: the sum of the numbers in the first column.
sum_of()
{
	awk '{ sum += $1 } END { print sum + 0 }'
}
# calls NAME COMMAND...: of functions of the file NAME.
calls()
{
	name=$1
	shift
	valgrind -q --tool=callgrind --callgrind-out-file=callgrind.out "$@" >out 2>err
	all=$(awk -v files="/$name\$" -f "$counts" callgrind.out |
		awk '{ print $2 }' | sum_of)
	rm -rf perfrec.data uftrace.data
	perfrec "$@" >out 2>err
	ours=$(jq -r --arg name "/$name" '.functions[] |
		select(.module // "" | endswith($name)) | .calls' \
		perfrec.data/summary.json | sum_of)
	if uftrace_patch "$@" >out 2>err; then
		theirs=$(uftrace report -d uftrace.data -f call 2>err |
			awk '$1 + 0 { print $1 }' | sum_of)
		theirs="$theirs ($(awk "BEGIN { printf \"%.1f\", 100 * $theirs / $all }") %)"
	else
		theirs="failed"
	fi
	printf '%-10s %20s %20s\n' "${name%%[0-9.]*}" \
		"$ours ($(awk "BEGIN { printf \"%.1f\", 100 * $ours / $all }") %)" "$theirs"
}
export PERL_HASH_SEED=0 PYTHONHASHSEED=0
# shellcheck disable=SC2016 # for bash and perl
{
	calls bash bash -c 'for i in {1..3000}; do seen[$((i % 97))]+=x; done'
	calls perl perl -e 'my %h; $h{$_ % 97} .= $_ for 1 .. 30000'
}
calls python3.11 /usr/bin/python3.11 -S -c 'print(sum(len(str(i)) for i in range(20000)))'
calls lua5.4 lua5.4 -e 'for i = 1, 20000 do tostring(i) end'

# good TOOL: how many of 10 runs have the output of the program alone.
good()
{
	count=0
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		"$1" ./unwinds >out 2>err || :
		! cmp -s out expected || count=$((count + 1))
	done
	echo "$count of 10"
}
./unwinds >expected || :
printf '%-10s %20s %20s\n' unwinds "$(good perfrec)" "$(good uftrace_patch)"
