#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: plays each kind of broken server
#
# Servers that are away, slow, full, misled or broken. perfrec-push sends again
# where the server may accept later, drops windows that it refuses for good,
# doubles nothing, and writes one line a minute about each reason.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

# at PLAN FILTER COUNTERS [OPTION...]: five windows to a server with that plan.
at()
{
	plan=$1 filter=$2 counters=$3
	shift 3
	rm -rf state spool
	start_server state
	printf "$plan" >state/plan
	windows spool 5 kinds=cpu,memory
	push spool "pyroscope+http://127.0.0.1:$port" "$@"
	expect_status 0
	expect_empty spool
	expect_eq "after $plan the counters" "$(counter spool "$filter")" "$counters"
}

all='[.pushed_windows, .retries, .dropped_windows, .refused]'
at '503\n' "$all" '[5,1,0,{"503":1}]'
expect_same state
expect_match err 'asks perfrec-push to wait .503.'
at '429 1\n502\n' "$all" '[5,2,0,{"429":1,"502":1}]'
expect_same state
at "429 $(date -u -d '+2 seconds' '+%a,_%d_%b_%Y_%H:%M:%S_GMT')\n" "$all" '[5,1,0,{"429":1}]'
expect_same state
at 'cut\n' "$all" '[5,1,0,{"network":1}]'
expect_same state
expect_match err 'cannot reach pyroscope.http://127.0.0.1'
# The second request, which is answered, has the limit as well. A busy machine takes
# seconds for it.
at 'stall\n' "$all" '[5,1,0,{"silent":1}]' --timeout 10s
expect_same state
# Too large at first: 5 windows, then 2 and 2 and 1, or fewer.
at 'small 4\nsmall 4\nsmall 4\n' '[.pushed_windows, .dropped_windows, .retries]' '[5,0,0]'
expect_same state
at '* small 1\n' '[.pushed_windows, .dropped]' '[0,{"too_large":5}]'
expect_match err 'is too large for it: choose a shorter --push-interval'
at '400\n' "$all" '[0,0,5,{"400":1}]'
expect_match err 'refused 5 windows for good .400.: .*the plan says 400'
expect_eq requests "$(wc -l <state/log)" 1
at '500\n' "$all" '[0,0,5,{"500":1}]'
at '401\n403\n' "$all" '[5,2,0,{"401":1,"403":1}]'
expect_same state
expect_match err 'denies access .401.: set PYROSCOPE_BASIC_AUTH_USER and'
# A server that repeats our credentials is not quoted.
for part in header word password; do
	PYROSCOPE_BASIC_AUTH_USER=myself PYROSCOPE_BASIC_AUTH_PASSWORD=hush-hush \
		at "echo $part\n" "$all" '[5,1,0,{"401":1}]'
	expect_match err 'denies access .401.: set .*the answer repeats our credentials'
	expect_no_match err 'hush-hush|bXlzZWxmOmh1c2gtaHVzaA|away with'
	expect_no_match spool/push.json 'hush-hush|bXlzZWxmOmh1c2gtaHVzaA|away with'
done
PYROSCOPE_AUTH_TOKEN=dG9rZW4 at 'echo word\n' "$all" '[5,1,0,{"401":1}]'
expect_no_match err dG9rZW4
PYROSCOPE_AUTH_TOKEN=dG9rZW4 at '401\n' "$all" '[5,1,0,{"401":1}]'
expect_match err 'the plan says 401'
at 'redirect http://127.0.0.1:1/\n' "$all" '[5,1,0,{"other":1}]'
expect_same state
expect_match err 'redirects to another server .302.'
at '404\n' "$all" '[5,1,0,{"404":1}]'
expect_match err "has no '/push.v1.PusherService/Push' .404.: correct the URL"
at 'html\n' "$all" '[5,1,0,{"nonsense":1}]'
expect_same state
expect_match err 'answers .200., but not as a server of Pyroscope does: correct the URL, .*Welcome to the cafe'
at 'huge\n' "$all" '[5,1,0,{"nonsense":1}]'
expect_same state
at 'trailers\n' "$all" '[5,1,0,{"nonsense":1}]'
expect_same state
at 'nonsense\n' "$all" '[5,1,0,{"nonsense":1}]'
expect_same state

# Nobody listens; then somebody does.
rm -rf state spool
windows spool 3 kinds=cpu
push spool pyroscope+http://127.0.0.1:1 --linger 3s
expect_status 0
expect_eq 'lines about the network' "$(grep -c 'cannot reach' err)" 1
expect_match err "3 windows that were not sent stay in 'spool'"
start_server state
push spool "pyroscope+http://127.0.0.1:$port"
expect_empty spool
expect_same state

# Windows that are damaged, too old, or more than fit.
start_server state2
windows spool 1 kinds=cpu age=4000
damaged()
{
	cat >"spool/$(date +%s)000000000-$1"
}
meta='{"version":2,"start_unix_ns":1,"duration_ns":1,"program":"a","hz":1,"resource":{},'
echo '{' | damaged 101
echo "$meta\"profiles\":[{\"kind\":\"cpu\",\"bytes\":9}]}" | damaged 102
printf '%s"profiles":[{"kind":"cpu","bytes":8}]}\nnonsense' "$meta" | damaged 103
damaged 104 </dev/null
windows cut 1 kinds=cpu
head -c 500 cut/* | damaged 105
{ cat cut/*; echo more; } | damaged 106
windows spool 1 kinds=wall first=7
push spool "pyroscope+http://127.0.0.1:$port"
expect_status 0
expect_empty spool
expect_same state2
expect_eq counters "$(counter spool '[.pushed_windows, .dropped]')" '[1,{"too_old":1,"malformed":6}]'
expect_match err 'did not get window .*: it takes none of more than an hour ago' \
	'window .* is damaged'
expect_eq 'lines about damage' "$(grep -c 'is damaged' err)" 1

# A window that cannot be read now (a loop of links stands for too many open
# files, or a disk that fails) stays, and so do those behind it.
start_server state3
windows spool 2 kinds=cpu
first=$(echo spool/*-0)
mv "$first" kept
ln -s "${first##*/}" "$first"
push spool "pyroscope+http://127.0.0.1:$port" --linger 1s
expect_status 0
expect_match err "cannot read window '.*-0' of 'spool', and will try again: Too many levels" \
	"2 windows that were not sent stay in 'spool'"
expect_none state3/log
expect_eq counters "$(counter spool '[.dropped_windows, .spooled_windows]')" '[0,2]'
rm "$first"
mv kept "$first"
push spool "pyroscope+http://127.0.0.1:$port"
expect_empty spool
expect_same state3

windows spool 10 kinds=cpu
push spool "pyroscope+http://127.0.0.1:$port" --spool-size 12K
expect_status 0
expect_empty spool
expect_match err 'the spool is full, and the oldest windows are dropped'
[ "$(counter spool '.pushed_windows + .dropped_windows == 10 and .dropped.spool_full > 3')" = true ] ||
	fail "$(cat spool/push.json)"
