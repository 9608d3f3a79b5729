#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: sends to several servers
#
# The last line about each server: how many windows and profiles it has got, how
# many it refused and why, and how many stay in the spool. push.json has the
# same figures, and stays where something was lost.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

# last_line REGEX: the line at the end, which appears once.
last_line()
{
	expect_match err "^perfrec-push: $1$"
	expect_eq 'lines about the outcome' "$(grep -Ec ' got [0-9]+ windows? ' err)" 1
}

figures='[.pushed_windows, .pushed_profiles, .rejected_profiles, .dropped, .refused_windows,
	.spooled_windows]'

# after PLAN LINE FIGURES SCHEME [OPTION...]: five windows of two profiles.
after()
{
	plan=$1 line=$2 want=$3 scheme=$4
	shift 4
	rm -rf state spool
	start_server state
	printf "$plan" >state/plan
	windows spool 5 kinds=cpu,memory
	run_ok "$O/perfrec-push" --spool spool --linger 120s "$@" "$scheme+http://127.0.0.1:$port" \
		</dev/null
	last_line "$line"
	expect_eq "figures after $plan" "$(counter spool "$figures")" "$want"
}

after '' "pyroscope.http://127.0.0.1:[0-9]* got 5 windows .10 profiles." \
	'[5,10,0,{},{},0]' pyroscope
after '503\n' '.* got 5 windows .10 profiles.' '[5,10,0,{},{},0]' pyroscope
after '400\n' 'warning: .* got 0 windows .0 profiles.; refused for good: 5 .400.' \
	'[0,0,0,{"refused":5},{"400":5},0]' pyroscope
after '418\n' 'warning: .* got 0 windows .0 profiles.; refused for good: 5 .other.' \
	'[0,0,0,{"refused":5},{"other":5},0]' pyroscope
# A profile in each request: the second of the first window, the first of the
# second one.
after '200\n400\n422\n' 'warning: .* got 3 windows .8 profiles.; refused for good: 1 .400., 1 .422.' \
	'[3,8,0,{"refused":2},{"400":1,"422":1},0]' pyroscope-ingest
after '* small 1\n' 'warning: .* got 0 windows .0 profiles.; too large for it: 5' \
	'[0,0,0,{"too_large":5},{},0]' pyroscope
after 'partial\n' 'warning: .* got 5 windows .10 profiles.; rejected of these: 3 profiles' \
	'[5,10,3,{},{},0]' otlp
after '* 503\n' "warning: .* got 0 windows .0 profiles.; 5 windows that were not sent stay in 'spool'" \
	'[0,0,0,{},{},5]' pyroscope --linger 0s

# Two servers: a line for each.
start_server state2
two=$port
start_server state3
echo '* 400' >state3/plan
windows spool 1 kinds=cpu first=9
run "$O/perfrec-push" --quiet --spool spool --linger 60s "parca+http://127.0.0.1:$two" \
	"parca+http://127.0.0.1:$port" </dev/null
last_line "warning: parca.http://127.0.0.1:$port got 0 windows .0 profiles.; refused for good: 6 .400."
expect_eq counters "$(counter spool '[.pushed_windows, .refused_windows]')" '[6,{"400":6}]'

# perfrec record prints the same line; with -q only losses.
echo '* any' >state2/plan
for quiet in '' -q; do
	rm -rf data
	run_ok "$PERFREC" record $quiet --push "parca+http://127.0.0.1:$two" -o data true
	if [ -z "$quiet" ]; then
		last_line "parca.* got 1 window .[1-9] profiles?."
	else
		[ ! -s err ] || fail "$(cat err)"
	fi
	expect_none data/.push
	run_ok "$PERFREC" record $quiet --push "parca+http://127.0.0.1:$port" -o data true
	last_line "warning: parca.* got 0 windows .0 profiles.; refused for good: 1 .400."
	expect_eq counters "$(counter data/.push '[.pushed_windows, .refused_windows]')" '[0,{"400":1}]'
done
run_ok "$PERFREC" record -q --push parca+http://127.0.0.1:1 -o data true
last_line "warning: parca.* got 0 windows .0 profiles.; 1 window that was not sent stays in 'data/.push'"
expect_eq 'lines about windows that stay' "$(grep -c 'not sent' err)" 1

# The command of --on-finish does not get the credentials.
export PYROSCOPE_BASIC_AUTH_USER=secret PYROSCOPE_BASIC_AUTH_PASSWORD=secret \
	PYROSCOPE_AUTH_TOKEN=secret PARCA_BEARER_TOKEN=secret \
	OTEL_EXPORTER_OTLP_HEADERS=a=secret UPLOAD_TOKEN=own
run_ok "$PERFREC" record -q --push "parca+http://127.0.0.1:$two" --on-finish 'env >env' -o data \
	sh -c 'env >env.program'
expect_no_match env secret
expect_match env '^UPLOAD_TOKEN=own$' '^PERFREC_RECORDING='
expect_match env.program '^PARCA_BEARER_TOKEN=secret$'
run "$PERFREC" record -q --on-finish 'env >env' -o data true
expect_match env '^PARCA_BEARER_TOKEN=secret$'
