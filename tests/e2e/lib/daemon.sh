# SPDX-License-Identifier: Apache-2.0
#
# daemon.sh - a perfrec-collect of a test's own, sourced after lib.sh. It
# listens in $XDG_RUNTIME_DIR, records into ./data and logs to ./collect.log.

SHIM=$O/libperfrec_preload.so
collector=
daemon_nice=
trap '[ -z "$collector" ] || kill -KILL $collector' EXIT

# start_daemon OPTION...: in $collector, and listening. It records every call and
# takes no samples, unless OPTIONs say otherwise. With daemon_nice it has precedence,
# if that is permitted: what it cannot know of a thread that ends before it gets a CPU.
start_daemon()
{
	daemon_options=$*
	rm -rf data
	: >collect.log
	# shellcheck disable=SC2086 # no word, or several
	$daemon_nice "$O/perfrec-collect" -o data --overhead off --cpu off \
		--sched off "$@" 2>collect.log &
	collector=$!
	wait_for 60 grep -q 'listening on' collect.log
}

# stop_daemon: in good order.
stop_daemon()
{
	kill -TERM $collector
	wait $collector
	status=$?
	collector=
	[ $status -eq 0 ] || fail "perfrec-collect: status $status"
}

# elsewhere COMMAND...: runs it with a daemon of its own, which has the options of
# the last one, in a folder of its own. Tests compare a long time with the time of
# this run: other load is the same for both. Returns false if COMMAND failed.
elsewhere()
{
	mkdir elsewhere
	(
		collector=
		trap '[ -z "$collector" ] || kill -KILL $collector' EXIT
		cd elsewhere || exit
		export XDG_RUNTIME_DIR="$PWD"
		# shellcheck disable=SC2086 # words
		start_daemon $daemon_options
		"$@"
		stop_daemon
	) && rm -rf elsewhere
}

# preload COMMAND...: with the shim.
preload()
{
	LD_PRELOAD=$SHIM PERFREC_QUIET=${PERFREC_QUIET:-1} "$@"
}

# has_summary NAME: a recording of a program NAME has ended.
has_summary()
{
	set -- data/"$1"-*/summary.json
	[ -s "$1" ]
}

# stat_of EXPRESSION: of the object "stats" of perfrec ctl stats.
stat_of()
{
	"$PERFREC" ctl stats --json >stats.json || fail 'perfrec ctl stats'
	json stats.json ".stats$1"
}

# stat_is EXPRESSION VALUE: for wait_for.
stat_is()
{
	[ "$(stat_of "$1")" = "$2" ]
}
