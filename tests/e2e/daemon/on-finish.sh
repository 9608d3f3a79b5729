# SPDX-License-Identifier: Apache-2.0
#
# --on-finish: a person's command for each recording that has ended, by a daemon
# and by perfrec record.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build_calls
./calls 1000 >expected
mkdir told

calls()
{
	preload ./calls 1000 >out || fail 'calls failed'
	cmp -s out expected || fail 'output has changed'
}

# All files are there, and what a program is called does not run.
# shellcheck disable=SC2016 # the command's
tell='test -s "$PERFREC_RECORDING/summary.json" && read -r line ; \
	echo "$PERFREC_PROGRAM $PERFREC_STATUS $line" >told/$$ && exit 3'
start_daemon --sync --on-finish "$tell"
cp calls '$(date)'
calls
preload './$(date)' 10 >out || fail '$(date) failed'
wait_for 60 stat_is .on_finish_run 2
cat told/* | sort >told.all
expect_eq 'told' "$(cat told.all)" '__date_ whole 
calls whole '
stat_is .on_finish_failed 2 || fail "failed: $(stat_of .on_finish_failed)"
expect_match collect.log "warning: --on-finish for 'calls-[0-9]*': exit status 3"
stop_daemon

# The recording stays until the command has ended; after that it may go. The
# collector waits for the command only when it ends itself.
# shellcheck disable=SC2016
start_daemon --keep-recordings each:1 --on-finish \
	'until [ -e go ]; do sleep 0.1; done; test -s "$PERFREC_RECORDING/summary.json"'
calls
calls
wait_for 60 stat_is .on_finish_waiting 2
wait_for 60 stat_is .stuck 1
expect_eq 'recordings' "$(find data -name summary.json | wc -l)" 2
: >go
wait_for 60 stat_is .removed 1
# The other command looks for "go" ten times a second.
wait_for 60 stat_is .on_finish_waiting 0
expect_eq 'failed' "$(stat_of .on_finish_failed)" 0
rm go
calls
wait_for 60 stat_is .on_finish_waiting 1
kill -TERM $collector
: >go
wait $collector || fail "status $?"
collector=
expect_no_match collect.log 'on-finish for'
rm go

# A time limit. A command that never ends holds the end of the daemon no longer.
start_daemon --on-finish-timeout 1s --on-finish 'sleep 3600'
calls
wait_for 60 stat_is .on_finish_failed 1
expect_match collect.log "--on-finish for 'calls-[0-9]*': killed after 1.00 s"
calls
stop_daemon

# perfrec record: after the summary, with the status of the program.
# shellcheck disable=SC2016
run "$PERFREC" record -o own --on-finish \
	'echo "told $PERFREC_PROGRAM $PERFREC_EXIT_STATUS $PERFREC_STATUS $PERFREC_RECORDING"; exit 5' \
	-- ./calls 1000 7
expect_status 7
cmp -s out expected || fail 'the command wrote to stdout'
expect_match err "^told calls 7 whole $PWD/own\$" \
	'warning: --on-finish: exit status 5'
told=$(grep -n '^told' err | cut -d: -f1)
summary=$(grep -n '^  recorded' err | cut -d: -f1)
[ "$told" -gt "$summary" ] || fail 'told before the summary'
run_ok "$PERFREC" record -o own --on-finish-timeout 1s --on-finish 'sleep 3600' -- ./calls
expect_match err '--on-finish: killed after 1.00 s'
