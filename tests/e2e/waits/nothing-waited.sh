# SPDX-License-Identifier: Apache-2.0
#
# A program that waited for nothing, and recorded nothing: perfrec knows that it has
# no waits. perfrec report said that the kernel had reported nothing.

. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
perf_permitted || skip 'the kernel permits no perf events here'

gcc -O1 -x c -o loops - <<-'SOURCE' || fail 'cannot compile'
	static volatile long sum;

	int main(void)
	{
		for (long i = 0; i < 3000000; i++)
			sum += i;
		return 0;
	}
	SOURCE
run_ok "$PERFREC" record -q -o data -- ./loops
expect_eq 'silent threads' "$(json data/summary.json .totals.silent_threads)" 1
run_ok "$PERFREC" report --view wait data
# On a busy machine it may wait for a page of its file.
expect_match out '^  in all +blocked '
