# SPDX-License-Identifier: Apache-2.0
#
# --count: each call of a function is counted, in threads and in forked
# children, and none is recorded.
. "$TOP/tests/e2e/lib.sh"
prog overhead/busy

calls_of()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .calls] | add"
}

# Six times: main, three threads, two children. fib(15) is 1973 calls.
./busy 100000 3 2 >expected
run_ok "$PERFREC" record -q --count leaf --count fib -o data -- ./busy 100000 3 2
cmp out expected || fail "the output has changed"
expect_eq 'calls of leaf' "$(calls_of leaf)" 600000
expect_eq 'calls of fib' "$(calls_of fib)" $((6 * 1973))
expect_eq 'calls of work' "$(calls_of work)" 6
spans=$(json data/summary.json .totals.spans)
expect_eq 'spans of the others' "$spans" 13
expect_eq 'recorded calls of leaf and fib' "$(json data/summary.json \
	'[.functions[] | select(.name == "leaf" or .name == "fib") | .recorded] | add')" 0
"$O/tests/tools/trace_check" data/trace.pftrace >check || {
	cat check
	fail "the trace is not well formed"
}
