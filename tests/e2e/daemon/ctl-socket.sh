#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The collector that perfrec ctl and perfrec top ask: that of --socket or -o, or
# else of PERFREC_SOCKET, as programs do. A daemon listens there too; perfrec record
# does not.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# at PATH COMMAND...: with PERFREC_SOCKET.
at()
{
	socket=$1
	shift
	run env PERFREC_SOCKET="$socket" "$PERFREC" "$@"
}

start_daemon --socket "$PWD/there"
for command in 'ctl list' 'ctl stats' 'top --count 1 --interval 100ms'; do
	# shellcheck disable=SC2086 # words
	{
		at "$PWD/there" $command
		expect_status 0
		# The command line is stronger.
		at "$PWD/nowhere" $command --socket "$PWD/there"
		expect_status 0
		at "$PWD/there" $command --socket "$PWD/nowhere"
		expect_error 1 "no perfrec-collect serves '$PWD/nowhere' \(start one"
		at "$PWD/there" $command -o folder
		expect_error 1 "nothing is being recorded into 'folder'"
		at "$PWD/nowhere" $command
		expect_error 1 "no perfrec-collect serves '$PWD/nowhere', which PERFREC_SOCKET names"
		at '' $command
		expect_error 1 "no perfrec-collect serves '$XDG_RUNTIME_DIR/perfrec.sock'"
	}
done
at "$(printf '%0200d' 0)" ctl list
expect_error 1 '^perfrec: error: socket path .* is too long: 200 bytes'
stop_daemon

# listens PATH OPTION...: a daemon with PERFREC_SOCKET.
listens()
{
	PERFREC_SOCKET=$1
	export PERFREC_SOCKET
	shift
	start_daemon "$@"
	unset PERFREC_SOCKET
}

listens "$PWD/here"
[ -S here ] || fail 'no socket where PERFREC_SOCKET says'
at "$PWD/here" ctl list
expect_status 0
at "$PWD/here" record -q -o recorded true
expect_status 0
expect_eq 'programs of the daemon' \
	"$("$PERFREC" ctl list --json --socket "$PWD/here" | jq '.programs | length')" 0
stop_daemon
# The command line is stronger.
listens "$PWD/nowhere" --socket "$PWD/there"
[ -S there ] && [ ! -e nowhere ] || fail 'not the socket of --socket'
stop_daemon
listens ''
[ -S "$XDG_RUNTIME_DIR/perfrec.sock" ] || fail 'not the usual socket'
stop_daemon
