# SPDX-License-Identifier: Apache-2.0
#
# hung.sh - a daemon whose recordings of ./hung hang in their writes while ./hangs
# exists. Sourced after daemon.sh.

build_calls
cp calls hung
CALLS=3000000

# start_hanging_daemon: with one worker, and programs that wait for room.
start_hanging_daemon()
{
	touch hangs
	export STALL_PATH=data/hung- STALL_WHILE="$PWD/hangs"
	LD_PRELOAD=$O/tests/progs/libstall_writes_preload.so \
		start_daemon --on-full=block --block-timeout 600s --workers 1
	unset STALL_PATH STALL_WHILE
}

hung_spans()
{
	"$PERFREC" ctl list --json | jq '.programs[] | select(.program == "hung").spans'
}

hung_waits()
{
	before=$(hung_spans)
	[ "${before:-0}" -gt 0 ] || return 1
	sleep 1
	[ "$(hung_spans)" = "$before" ]
}

# start_hung: in $hung. No block of its trace is free, and its ring is full.
start_hung()
{
	preload ./hung $CALLS >out.hung &
	hung=$!
	wait_for 60 hung_waits
}
