# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long: compares with perf for many seconds
#
# Within a budget, functions have the shares of the CPU time that perf finds in
# the program built plain: the 15 largest are off by 30 points at most in all.
# (perf against perf: 2 to 5. Times from calls were 66 to 85 off.) `make
# check-truth` has more programs and budgets. The test skips Lua if it cannot
# fetch the sources.
. "$TOP/tests/e2e/lib.sh"
need perf python3 c++filt

# measure: into out.
measure()
{
	O=$O REAL_DIR=$O/real sh "$TOP/tests/bench/truth.sh" --only threads,lua \
		--cells unmodified,entry-5,calls-5 --scale 1 --bound 30 \
		--samples-only >out 2>&1
}
# Each run is compared with a run of perf before it. Other work that comes between
# them gives the threads other shares, and then perf is as far from its own runs.
measure || measure || {
	cat out
	fail 'shares are too far off, twice'
}
cat out
[ "$(grep -c '^  PASS' out)" -ge 3 ] || fail 'too few cells were measured'
