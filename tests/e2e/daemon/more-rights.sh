# SPDX-License-Identifier: Apache-2.0
#
# A user whom root's daemon serves says hello and becomes a set-user-ID program of
# root, or a set-group-ID program, before the daemon answers: its memory and
# registers are not the user's to see. The same with another program is recorded.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
[ "$(id -u)" -eq 0 ] || skip 'needs root'
need setpriv

nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
chmod 755 .
mkdir -m 755 run
mkdir -m 777 theirs
build waiter <<'SOURCE'
#include <unistd.h>
int main(void)
{
	char end;

	return (int)read(0, &end, 1);
}
SOURCE
cp waiter theirs/plain
cp waiter theirs/user_id
cp waiter theirs/group_id
chmod 4755 theirs/user_id
chmod 2755 theirs/group_id
case $(findmnt -n -o OPTIONS --target theirs 2>/dev/null) in
*nosuid*) skip 'the file system has no set-user-ID programs' ;;
esac
export XDG_RUNTIME_DIR="$PWD/run"
start_daemon --allow-uid 65534 --cpu 99 --overhead 5%
mkfifo hold
exec 6<>hold
pids=
trap 'kill $pids 2>/dev/null; [ -z "$collector" ] || kill -KILL $collector' EXIT

# becomes PROGRAM: $pid is it, and the daemon has looked at its hello.
becomes()
{
	stop_process $collector
	# shellcheck disable=SC2086 # words
	$nobody "$O/tests/attacks/hostile" "$XDG_RUNTIME_DIR/perfrec.sock" becomes \
		"theirs/$1" <hold >"$1.out" 2>"$1.err" &
	pid=$!
	pids="$pids $pid"
	wait_for 60 is_program "$1"
	kill -CONT $collector
	# The answer to this comes after the hello.
	"$PERFREC" ctl list >list.out || fail "ctl list: $(cat list.out)"
}
is_program()
{
	grep -q ready "$1.out" && [ "$(cat /proc/$pid/comm)" = "$1" ]
}

becomes plain
expect_match list.out "$pid"
for program in user_id group_id; do
	becomes $program
	expect_match collect.log "refused program with pid $pid: .*more rights than its user"
	expect_no_match list.out "$pid"
done
kill $pids
stop_daemon
