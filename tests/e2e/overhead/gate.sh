# SPDX-License-Identifier: Apache-2.0
#
# A program with so little address space that it has no thunks: nothing can be
# patched. The gate leaves functions out, and counts them exactly.
. "$TOP/tests/e2e/lib.sh"
need jq
prog overhead/busy

calls_of()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .calls] | add"
}
for option in '--count leaf' '--overhead 5%'; do
	run "$PERFREC" record -q --no-cache $option -o data -- \
		sh -c 'ulimit -v 220000; exec ./busy 3000000 2 1'
	expect_status 0
	# In each of four threads one call may be under way whenever a function
	# is left out or comes back: it is neither recorded nor counted.
	missing=$((4 * $(json data/summary.json .totals.state_changes)))
	calls=$(calls_of leaf)
	[ "$calls" -ge $((12000000 - missing)) ] &&
		[ "$calls" -le 12000000 ] || fail "$option: leaf: $calls calls"
	calls=$(calls_of fib)
	[ "$calls" -ge $((7892 - missing)) ] && [ "$calls" -le 7892 ] ||
		fail "$option: fib: $calls calls"
	spans=$(json data/summary.json .totals.spans)
	[ "$spans" -lt 11000000 ] || fail "$option: $spans spans"
done
