# SPDX-License-Identifier: Apache-2.0
#
# A kernel that refuses writes to the text of programs: the gate leaves functions
# out, and counts their calls exactly. A preloaded library stands in for the
# kernel, as proc_mem.force_override is set when a machine boots.
. "$TOP/tests/e2e/lib.sh"
prog overhead/busy
"$PERFREC" cc --hooks=entry -- "${CC:-gcc}" -O1 -o entry \
	"$TOP/tests/progs/overhead/busy.c" -pthread || fail 'entry build'
./busy 100000 2 1 >expected

# record_refused ERROR PROGRAM OPTION...
record_refused()
{
	error=$1 program=$2
	shift 2
	LD_PRELOAD=$O/tests/progs/librefuse_writes_preload.so \
		REFUSE_ERROR=$error run "$PERFREC" record --no-cache "$@" \
		-o data -- "./$program" 100000 2 1
	expect_status 0
	cmp out expected || fail "$*: the output has changed"
	expect_match err 'the kernel refuses to write to the text of programs'
}
calls_of()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .calls] | add"
}
spans()
{
	json data/summary.json .totals.spans
}

# The kernel returns EIO; EACCES, EFAULT and 0 bytes are possible.
for error in 5 13 14 0; do
	record_refused $error busy --count leaf
	expect_eq 'calls of leaf' "$(calls_of leaf)" 400000
	expect_eq 'calls of fib' "$(calls_of fib)" $((4 * 1973))
	expect_eq 'spans of the others' "$(spans)" $((4 * 1973 + 9))
done
record_refused 5 busy --exclude leaf
expect_eq 'spans of the others' "$(spans)" $((4 * 1973 + 9))
# Each of four threads may have a call under way when a function is left out or
# comes back: such a call is neither recorded nor counted.
record_refused 5 busy --overhead 5%
missing=$((4 * $(json data/summary.json .totals.state_changes)))
calls=$(calls_of leaf)
[ "$calls" -ge $((400000 - missing)) ] && [ "$calls" -le 400000 ] ||
	fail "leaf: $calls calls"

# An entry build has no hooks before its text is written.
record_refused 5 entry --count leaf
expect_match err 'No function of entry builds was recorded \(6 functions\)'
expect_eq 'spans of an entry build' "$(spans)" 0

# From the second write on, which is in the middle of connecting; and later.
for from in 2 3; do
	REFUSE_FROM=$from LD_PRELOAD=$O/tests/progs/librefuse_writes_preload.so \
		run "$PERFREC" record --count leaf -o data -- ./busy 100000 2 1
	expect_status 0
	cmp out expected || fail "from write $from on: the output has changed"
	expect_eq 'calls of leaf' "$(calls_of leaf)" 400000
	[ $from -eq 3 ] ||
		expect_match err '1 function could not be changed: the kernel refuses to write'
done

# While functions go off and on: none stays half on, and the program runs.
mkfifo input
REFUSE_FROM=30 LD_PRELOAD=$O/tests/progs/librefuse_writes_preload.so \
	"$PERFREC" record -o data -- ./busy 0 <input >rounds 2>err.recorder &
recorder=$!
exec 9>input
wait_for 60 test -s rounds
for state in off span off span; do
	run_ok "$PERFREC" ctl -o data functions --$state '*'
done
expect_match out '^off .* leaf .*its code was changed by others, or cannot be written'
exec 9>&-
wait $recorder || fail "exit status $?"
expect_eq 'different lines of output' "$(sort -u rounds | wc -l)" 2
expect_match err.recorder 'functions could not be changed: its code was changed by others, or cannot be written'
