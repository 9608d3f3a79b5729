#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: plays each wrong answer
#
# An answer with status 200 that no server of the protocol sends is no success: it
# counts as nonsense, a line says so, and the windows are sent again. A real answer
# is a success in any form.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

# says SCHEME WANT ANSWER: the figures for a first answer "TYPE [BODY]".
says()
{
	rm -rf state spool
	start_server state
	echo "says $3" >state/plan
	windows spool 1 kinds=cpu
	push spool "$1+http://127.0.0.1:$port"
	expect_status 0
	expect_empty spool
	expect_eq "$1: figures after '$3'" \
		"$(counter spool '[.pushed_windows, .retries, .refused, .rejected_profiles]')" "$2"
	case $2 in
	*nonsense*)
		expect_match err "answers .200., but not as a server of (Pyroscope|Parca|OpenTelemetry) does: correct the URL" ;;
	esac
}

success='[1,0,{},0]'
nonsense='[1,1,{"nonsense":1},0]'
says pyroscope "$success" 'application/proto'
says pyroscope "$success" '-'
# A field that this version does not know.
says pyroscope "$success" 'Application/Proto;charset=x hex:7a0161'
says pyroscope "$nonsense" 'application/proto hex:ffffffff'
says pyroscope "$nonsense" 'application/json {}'
says pyroscope "$nonsense" 'text/plain'
says otlp "$success" 'text/plain'
says otlp "$success" 'application/x-protobuf hex:0a00'
says otlp "$success" 'application/json {"partialSuccess":{}}'
says otlp '[1,0,{"partial":1},2]' 'application/json {"partialSuccess":{"rejectedProfiles":"2"}}'
says otlp '[1,0,{"partial":1},2]' 'application/x-protobuf hex:0a020802'
says otlp "$nonsense" 'application/x-protobuf hex:0aff'
says otlp "$nonsense" 'application/json {'
says otlp "$nonsense" 'text/plain OK'
says parca "$success" 'application/json {}'
says parca "$success" 'application/json'
says parca "$nonsense" 'application/json [1]'
says parca "$nonsense" 'text/plain OK'
says pyroscope-ingest "$success" 'text/html'
says pyroscope-ingest "$nonsense" 'text/plain OK'
