# SPDX-License-Identifier: Apache-2.0
#
# A debugger has breakpoints at functions and at their calls of hooks while their
# states change. A function that cannot be changed wholly is off, and says why;
# when the breakpoints are gone it can be changed again. The program runs as
# always, and its text is put back.
. "$TOP/tests/e2e/lib.sh"
need gdb
[ "$(uname -m)" = x86_64 ] || skip 'not an x86-64'
gdb -q -batch -nx -ex 'python print(1)' 2>/dev/null | grep -qx 1 ||
	skip 'gdb has no Python'
"$PERFREC" cc --hooks=entry -- "${CC:-gcc}" -O1 -g -o sites-entry \
	"$TOP/tests/progs/overhead/busy.c" -pthread || fail 'entry build'
prog overhead/busy sites-calls

has_rounds()
{
	[ "$(wc -l <rounds)" -gt "$1" ]
}
# expect_states STEP REGEX: of both functions.
expect_states()
{
	expect_eq "states at $1" "$(grep -Ec " (leaf|fib)( |$)" "states.$1")" 2
	expect_no_match "states.$1" 'error'
	expect_eq "functions at $1 that are '$2'" \
		"$(grep -E " (leaf|fib)( |$)" "states.$1" | grep -Ec "$2")" 2
}
stuck='its code was changed by others, or cannot be written'
for build in sites-calls sites-entry; do
	rm -rf input rounds data
	mkfifo input
	"$PERFREC" record -q --max-size 20M --count leaf --count fib -o data -- \
		"./$build" 0 <input >rounds 2>err &
	recorder=$!
	exec 9>input
	wait_for 60 test -s rounds
	pid=
	for each in $(pgrep -x $build); do
		[ "$(readlink /proc/$each/exe)" = "$PWD/$build" ] && pid=$each
	done
	# gdb tells those it starts how wide its terminal is.
	CTL="env -u COLUMNS $PERFREC ctl -o data" gdb -q -batch -nx -p "$pid" \
		-x "$TOP/tests/e2e/lib/gdb_breakpoints.py" >gdb.out 2>&1 || {
		cat gdb.out
		[ -s states.off-under ] || skip 'gdb cannot attach'
		fail 'gdb'
	}
	expect_states off-under "^off .*$stuck"
	expect_states off '^off .*(leaf|fib)$'
	expect_states span-under "^off .*$stuck"
	expect_states span '^span .*(leaf|fib)$'
	wait_for 60 has_rounds $(($(wc -l <rounds) + 1))
	"$PERFREC" ctl -o data stop >stopped || fail "ctl stop"
	"$O/tests/tools/text_same" "$pid" "$PWD" || fail 'text has changed'
	exec 9>&-
	wait $recorder || fail "exit status $?"
	expect_eq 'lines of output' "$(sort -u rounds)" "$(printf '0\n5020805394')"
	"$O/tests/tools/trace_check" data/trace.pftrace >check || {
		cat check
		fail 'the trace is not well formed'
	}
done
