# SPDX-License-Identifier: Apache-2.0
#
# A program with so little address space that it has no thunks: nothing can be
# patched. The gate leaves functions out, and counts them exactly.
. "$TOP/tests/e2e/lib.sh"
prog overhead/busy

calls_of()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .calls] | add"
}
for option in '--count leaf' '--overhead 5%'; do
	each=3000000
	# The controller needs a moment, more on a busy machine.
	[ "$option" = '--count leaf' ] || each=10000000
	run_ok "$PERFREC" record -q --no-cache $option -o data -- \
		sh -c "ulimit -v 220000; exec ./busy $each 2 1"
	calls=$(calls_of leaf)
	[ "$calls" -eq $((4 * each)) ] || fail "$option: leaf: $calls calls"
	calls=$(calls_of fib)
	[ "$calls" -eq 7892 ] || fail "$option: fib: $calls calls"
	spans=$(json data/summary.json .totals.spans)
	[ "$spans" -lt $((4 * each)) ] || fail "$option: $spans spans"
done
