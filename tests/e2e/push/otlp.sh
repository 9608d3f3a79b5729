#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Windows get to an OpenTelemetry server over HTTP: exactly their values, one
# dictionary for a request, and the headers of the variable and the option. A
# partial success is counted and logged, and not sent again.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

start_server state
# mutex and block have the same types: the server could not tell them apart.
windows spool 12 kinds=cpu,wall,off_cpu,mutex,memory span=1
export OTEL_EXPORTER_OTLP_HEADERS='Authorization=Bearer%20a%3Db, X-Extra = 1'
push spool "otlp+http://127.0.0.1:$port/" --otlp-version 3
expect_status 0
[ ! -s err ] || fail "$(cat err)"
expect_empty spool
expect_same state
expect_eq 'samples with a link' "$(jq .links state/sums)" 2400
expect_match state/log '^200 /v1development/profiles series=120 Authorization=Bearer a=b OTLP-Profiles-Development-Version=3 X-Extra=1$'

start_server state2
windows spool 1 stacks=17000 kinds=cpu
jq 'with_entries(select(.key | split(" ") | length == 3))' expected >all
echo partial >state2/plan
push spool "otlp+http://127.0.0.1:$port"
expect_status 0
expect_empty spool
[ ! -s state2/broken ] || fail "$(cat state2/broken)"
jq 'with_entries(select(.key | split(" ") | length == 3))' state2/sums >got
expect_eq sums "$(jq -cS . got)" "$(jq -cS . all)"
expect_match state2/sums '"comment perfrec: N small stacks'
expect_eq requests "$(wc -l <state2/log)" 1
expect_no_match state2/log 'Development-Version'
expect_match err 'took a part only: it rejected 3 profiles: three are odd'
expect_eq counters "$(counter spool '[.pushes, .refused]')" '[1,{"partial":1}]'

# A partial success that repeats a header of ours is not quoted.
echo 'partial header' >state2/plan
windows spool 1 kinds=cpu
push spool "otlp+http://127.0.0.1:$port"
expect_status 0
expect_match err 'took a part only: it rejected 3 profiles: .the answer repeats our cred'
expect_no_match err 'a=b'

# The path of the protocol is not appended to itself.
start_server state3
windows spool 1 kinds=cpu
push spool "otlp+http://127.0.0.1:$port/v1development/profiles/"
expect_status 0
expect_empty spool
expect_match state3/log '^200 /v1development/profiles '
