#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The collector that perfrec ctl and perfrec top ask: that of --socket or -o, or
# else of PERFREC_SOCKET, as programs do.
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
