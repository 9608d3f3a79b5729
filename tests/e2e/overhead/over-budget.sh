# SPDX-License-Identifier: Apache-2.0
#
# --overhead: where the whole cost, the start included, is more than the budget,
# the first line of the summary says so; where it is not, nothing does.
. "$TOP/tests/e2e/lib.sh"
export XDG_CACHE_HOME="$PWD/cache"
build busy <<'SOURCE'
static volatile long sum;
__attribute__((noinline)) void tiny(long i) { sum += i; }
int main(void)
{
	for (long i = 0; i < 300000; i++)
		tiny(i);
	for (long i = 0; i < 200000000; i++)
		sum += i;
	return 0;
}
SOURCE
# record PERCENT: the whole summary is in err.
record()
{
	run_ok "$PERFREC" record --overhead "$1" --alloc=off --cpu=off -o data -- ./busy
	reached=$(json data/summary.json .totals.overhead_reached)
	expect_eq "cost and totals agree, $1" \
		"$(json data/summary.json .cost.share_of_rest)" "$reached"
}

# Nothing is that cheap: the start alone costs more.
record 0.001%
expect_eq 'line below trust' "$(sed -n '/^  trust /d; /^  [a-z]/ { s/  *this run.*//; p; q }' err)" \
	'  over budget'
expect_match err '^  over budget  this run took (about|at least) [0-9.]+ % .* not 0.001 %: .*'
json data/summary.json '.totals | .overhead_reached > 0.00001 and .patch_ns > 0 and
	.functions_hooked == 2 and .held_ns > 0' | grep -q true ||
	fail "$(json data/summary.json .totals)"
json data/summary.json '.cost.build_ns > 0' | grep -q true || fail 'build_ns is 0'

# Recording keeps this budget.
record 99.9%
expect_no_match err 'over budget'
expect_match err '% of the CPU time without perfrec; the budget was 99.9 %'
