# SPDX-License-Identifier: Apache-2.0
#
# --keep-recordings: a daemon removes its oldest finished recordings, and counts
# them no more for --max-total.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build_calls
./calls 1000 >expected

# record N: a finished recording of calls; N are there, or have been removed.
record()
{
	preload ./calls 1000 >out || fail 'calls failed'
	cmp -s out expected || fail 'output has changed'
	wait_for 60 finished "$1"
}
finished()
{
	[ $(($(find data -name summary.json | wc -l) + $(stat_of .removed))) -eq "$1" ]
}
names()
{
	find data -mindepth 1 -maxdepth 1 -type d -name 'calls-*' | sort
}

# The newest two of each program. A recording that a person has renamed, made, or
# put a note into stays, and counts for nothing.
start_daemon --keep-recordings each:2 --max-total 1G
record 1
mv data/calls-* data/baseline-2026
mv "$(echo data/baseline-*)" data/calls-0
"$PERFREC" record -q -o data/calls-1 ./calls 1000 >out || fail 'perfrec record'
record 3
first=$(names | grep -v 'calls-[01]$')
echo 'the slow one' >"$first/note"
for i in 4 5 6 7; do
	record "$i"
done
wait_for 60 stat_is .removed 2
expect_eq 'recordings' "$(names | wc -l)" 5
[ -s data/calls-0/summary.json ] || fail 'the one that was renamed is gone'
[ -s data/calls-1/summary.json ] || fail 'that of perfrec record is gone'
[ -s "$first/summary.json" ] || fail "$first is gone"
expect_match collect.log "removed recording 'calls-[0-9]*' \(.*, ended .* ago\): it was beyond --keep-recordings \(too many\)"
"$PERFREC" ctl -o data stats >out || fail 'ctl stats'
expect_match out '^removed: 2 old recordings, .*iB \(--keep-recordings\)$'
expect_eq 'bytes' "$(($(stat_of .removed_bytes) > 0))" 1
stop_daemon

# Removed recordings no longer count for --max-total.
start_daemon --keep-recordings each:1
record 1
# The daemon counts the bytes of a recording after it has written the summary.
wait_for 60 stat_is .going_on 0
wait_for 60 stat_is .finishing 0
one=$(stat_of .disk_bytes)
record 2
record 3
wait_for 60 stat_is .removed 2
[ "$(stat_of .disk_bytes)" -lt $((2 * one)) ] ||
	fail "$(stat_of .disk_bytes) bytes, $one for one recording"
stop_daemon

# The daemon removes old recordings when it starts.
touch -d '-3 hours' data/calls-*/summary.json
mkdir "old"
mv data/calls-* old/
"$O/perfrec-collect" -o old --keep-recordings 2h 2>collect.log &
collector=$!
gone()
{
	[ "$(find old -mindepth 1 -name 'calls-*' | wc -l)" -eq 0 ]
}
wait_for 60 gone
expect_match collect.log 'it was beyond --keep-recordings \(too old\)'
stop_daemon
