#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Windows get to Parca by WriteRaw as JSON, exactly their values; and to a
# second server at the same time, even if the first lacks.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

start_server state
parca=parca+http://127.0.0.1:$port
start_server state2
windows spool 12
PARCA_BEARER_TOKEN=token push spool "$parca" "pyroscope+http://127.0.0.1:$port"
expect_status 0
[ ! -s err ] || fail "$(cat err)"
expect_empty spool
expect_same state
expect_same state2
expect_match state/log '/profiles/writeraw series=72 Authorization=Bearer token$'
expect_no_match state2/log Authorization

# One server has them already when the program ends; the next one sends to the
# other alone.
rm -r state state2
start_server state
parca=parca+http://127.0.0.1:$port
start_server state2
echo '* 503' >state/plan
windows spool 4 plain=1
is_half_done()
{
	[ "$(find spool -name '*.sent-*' | wc -l)" -eq 4 ] && grep -q 503 err
}
push_until is_half_done spool "$parca" "pyroscope+http://127.0.0.1:$port"
expect_status 0
expect_match err "^perfrec-push: warning: parca.http.* asks perfrec-push to wait .503" \
	'4 windows that were not sent stay'
rm state/plan
push spool "$parca" "pyroscope+http://127.0.0.1:$port"
expect_status 0
expect_empty spool
expect_same state
expect_same state2
