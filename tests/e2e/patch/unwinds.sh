# SPDX-License-Identifier: Apache-2.0
# long: compiles and records many programs
#
# Programs without hooks whose functions were moved throw, are cancelled, switch
# contexts and print backtraces as without perfrec; also if they bring their own
# unwinder. And perfrec's own samples have their callers, without perfrec's thunks
# between them.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
need g++ protoc
source=$TOP/tests/progs/patch/unwinds.cc

for flags in -O2 '-O3 -fno-omit-frame-pointer' '-O2 -static-libgcc -static-libstdc++' '-O2 -no-pie -fno-plt'; do
	# shellcheck disable=SC2086 # several words
	g++ -std=c++20 -w $flags -g -o unwinds "$source" -pthread ||
		skip "g++ cannot compile with $flags"
	./unwinds >expected
	[ $? -eq 5 ] || fail "$flags: unwinds fails alone"
	for states in '' '--count *' '--overhead 1%' '--exclude *'; do
		set -f
		# shellcheck disable=SC2086 # two words, or none
		run "$PERFREC" record -q --patch --alloc=off --cpu=off $states \
			-o data -- ./unwinds
		set +f
		expect_status 5
		cmp -s out expected ||
			fail "$flags, $states: $(diff out expected)"
		"$O/tests/tools/trace_check" data/trace.pftrace >checked ||
			fail "$flags, $states: $(cat checked)"
	done
	[ "$(json data/summary.json .totals.functions_patched)" -gt 10 ] ||
		fail "$flags: $(json data/summary.json .totals)"
done

# Stacks of samples: from main to the function.
cat >burn.c <<'SOURCE'
static volatile long sink;
__attribute__((noinline)) static void leaf(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) static void middle(long n, long a, long b, long c, long d,
					     long e, long f, long g)
{
	char array[64];
	array[n & 63] = (char)(a + b + c + d + e + f + g);
	leaf(n);
	sink += array[n & 63];
}
__attribute__((noinline)) static void top(long n)
{
	for (int i = 0; i < 200; i++)
		middle(n, 1, 2, 3, 4, 5, 6, 7);
	sink++;
}
int main(void)
{
	for (int i = 0; i < 200; i++)
		top(20000);
	return 0;
}
SOURCE
gcc -O2 -o burn burn.c || fail 'cannot compile burn.c'
run_ok "$PERFREC" record -q --patch --alloc=off --cpu 997 --count '*' -o data -- ./burn
[ "$(json data/summary.json .totals.cpu_samples)" -gt 0 ] || skip 'no CPU samples here'
profile_stacks data/cpu.pb.gz >stacks
expect_match stacks 'main;top[^;]*;middle[^;]*;leaf[^;]*$'
expect_no_match stacks 'perfrec.*;(main|top|middle|leaf)' 'main;.*unknown'
