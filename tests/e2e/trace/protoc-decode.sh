#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# protoc decodes a recording with the schema, and finds the recorded calls: plain,
# and in compressed bundles.
. "$TOP/tests/e2e/lib.sh"
need protoc

build_calls
run_ok "$PERFREC" record -q -o plain -- ./calls 100
protoc --decode=perfetto.protos.Trace -I "$TOP/proto" perfetto_trace.proto \
	<plain/trace.pftrace >text || fail "protoc cannot decode the trace"
# protoc prints unknown fields as numbers.
expect_no_match text '^ *[0-9]+[: ]'
expect_eq begins "$(grep -c 'type: TYPE_SLICE_BEGIN' text)" 102
expect_eq ends "$(grep -c 'type: TYPE_SLICE_END' text)" 102
expect_match text 'name: "leaf"' 'name: "work"' 'name: "main"' \
	'process_name: "calls"' 'thread_name: "calls"' 'cmdline: "./calls"' \
	'primary_trace_clock: (6|BUILTIN_CLOCK_BOOTTIME)' \
	'first_packet_on_sequence: (1|true)'

run_ok "$PERFREC" record -q --compress -o packed -- ./calls 100
protoc --decode=perfetto.protos.Trace -I "$TOP/proto" perfetto_trace.proto \
	<packed/trace.pftrace >text || fail "protoc cannot decode the bundles"
expect_match text 'compressed_packets: '
expect_no_match text 'TYPE_SLICE_BEGIN'
