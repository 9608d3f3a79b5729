# SPDX-License-Identifier: Apache-2.0
#
# perfrec top on a terminal, which tmux plays: it sorts, filters, pauses,
# flushes, changes the state of a function, and gives the terminal back. It finds
# the recording by itself. The last figures stay when the program ends.
. "$TOP/tests/e2e/lib.sh"
need tmux

build busy <<'SOURCE'
#include <unistd.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void other(void)
{
	for (int i = 0; i < 100; i++)
		leaf();
	usleep(1000);
}
int main(void)
{
	alarm(600);
	while (access("end", F_OK) < 0)
		other();
	return 0;
}
SOURCE
# Folders of our own, so perfrec top finds no other perfrec record of this user.
unset XDG_RUNTIME_DIR
mkdir tmp elsewhere
export TMPDIR="$PWD/tmp"
"$PERFREC" record -q --alloc=off --cpu off -o live ./busy &
recorder=$!
socket=$PWD/tmux
terminal()
{
	tmux -f /dev/null -S "$socket" "$@"
}
trap 'touch end; terminal kill-server 2>/dev/null' EXIT
is_there()
{
	"$PERFREC" ctl -o live list >/dev/null 2>&1
}
wait_for 60 is_there

# shows PATTERN: the screen has it, in the end.
has()
{
	terminal capture-pane -p >screen
	grep -Eq -- "$1" screen
}
shows()
{
	wait_for 60 has "$1"
}
keys()
{
	terminal send-keys "$@"
}
terminal new-session -d -x 100 -y 15 "env TERM=screen '$PERFREC' top -o live \
	--interval 100ms busy; echo status \$?; exec sleep 180"
shows '^perfrec top of busy, by self time now$'
shows '^ *[0-9.]*% .*[0-9,]+ .* span  leaf$'
shows '^q leave  s sort'

# main, other and leaf: leaf has the most calls.
keys s
shows 'by calls a second'
first_is()
{
	terminal capture-pane -p >screen
	sed -n 4p screen | grep -q " $1\$"
}
wait_for 60 first_is leaf
keys / o t h
shows '^name has: oth_$'
wait_for 60 first_is other
! grep -q ' leaf$' screen || fail 'leaf is shown in spite of the filter'
keys Enter

# The function that is chosen is counted, and then off.
state_is()
{
	[ "$("$PERFREC" ctl -o live functions --json | jq -r \
		'[.. | objects | select(.name? == "'"$1"'") | .state] | first')" = "$2" ]
}
keys 2
shows '^counted: other$'
state_is other counted || fail 'other is not counted'
state_is leaf span || fail 'leaf has changed, too'
keys Escape
shows ' leaf$'
# leaf is above: that other stays chosen is what 3 shows.
keys 3
shows '^off: other$'
state_is other off || fail 'other is not off'
keys / l e a f Enter 2
shows '^counted: leaf$'
keys 1
shows '^span: leaf$'
state_is leaf span || fail 'leaf is not recorded again'
keys Escape Down
shows ' other$'

keys p
shows 'paused$'
sed -n 2p screen >paused
keys f
shows '^flushed: '
ls live/wall.*.pb.gz >/dev/null || fail 'nothing was flushed'
[ "$(sed -n 2p screen)" = "$(cat paused)" ] || fail 'a paused screen has changed'
keys p h
shows 'record each call of the chosen function'
keys h

# A small terminal has fewer columns, and names still. Its size changes while
# top waits for an answer, which the signal of that must not end.
collector=$(pgrep -P "$recorder" -x perfrec-collect)
top=$(pgrep -P "$(terminal list-panes -F '#{pane_pid}')" -x perfrec)
stop_process "$collector"
is_in_recv()
{
	grep -q '^45 ' "/proc/$top/syscall"
}
[ "$(uname -m)" != x86_64 ] || wait_for 60 is_in_recv
terminal resize-window -x 40 -y 10
kill -WINCH "$top"
kill -CONT "$collector"
shows '^ *SELF +CALLS/S  FUNCTION$'
shows ' leaf$'
[ "$(LC_ALL=C.UTF-8 wc -L <screen)" -le 40 ] ||
	fail 'a line is too long'
keys q
shows '^status 0$'
! grep -q 'SELF' screen || fail 'the screen was not given back'

# The figures stay when the program ends, and after leaving the screen. All numbers
# have room in 80 columns. A server that was killed may be there for a moment more.
terminal kill-server
socket=$PWD/tmux2
cd elsewhere || exit 1
terminal new-session -d -x 80 -y 15 "env TERM=screen '$PERFREC' top \
	--interval 100ms; echo status \$?; exec sleep 180"
cd .. || exit 1
shows ' leaf$'
! grep -q '…' screen || fail 'a line is cut at 80 columns'
touch end
shows '^the recording has ended: these are its last figures'
shows ' leaf$'
keys q
shows '^status 0$'
grep -Eq '^ *[0-9.]*% .* leaf  ' screen || fail 'the table is gone'
wait $recorder || fail "perfrec record: status $?"

# Without a kind of terminal there are tables, and it says why.
run script -qec "env -u TERM '$PERFREC' top -o live" /dev/null
grep -q 'TERM is not set: tables follow' out || fail "no TERM: $(cat out)"
