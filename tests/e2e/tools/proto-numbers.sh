#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The field numbers of proto/ are the ones of the table that was typed in
# separately, those of fields.h are the ones of proto/, and a wrong one is found.
. "$TOP/tests/e2e/lib.sh"

run_ok "$TOP/scripts/check-proto-numbers.sh"
for proto in profile push otlp; do
	run_ok "$TOP/scripts/check-proto-numbers.sh" "$TOP/proto/$proto.proto" \
		"$TOP/tests/golden/$proto-numbers.tsv"
done

proto=$TOP/proto/perfetto_trace.proto
wrong()
{
	sed "$1" "$proto" >wrong.proto
	cmp -s "$proto" wrong.proto && fail "$1 changes nothing"
	run "$TOP/scripts/check-proto-numbers.sh" wrong.proto
	expect_status 1
	expect_match err "$2"
}
wrong 's/ name_iid = 10;/ name_iid = 11;/' '^only in the .proto: TrackEvent.name_iid.11'
wrong '/ lsb = 2;/d' '^only in the table: *TraceUuid.lsb.2'
wrong 's/optional int64 tid/optional int32 tid/' 'ThreadDescriptor.tid.2.optional int32'
wrong 's/TYPE_INSTANT = 3;/TYPE_INSTANT = 4;/' 'TrackEvent.Type.TYPE_INSTANT.4'
wrong 's/^message TraceUuid {/&\noptional bool more = 9;/' 'TraceUuid.more.9'

fields=$TOP/collector/trace/fields.h
wrong_field()
{
	sed "$1" "$fields" >wrong.h
	cmp -s "$fields" wrong.h && fail "$1 changes nothing"
	run "$TOP/scripts/check-proto-numbers.sh" "$proto" \
		"$TOP/tests/golden/proto-numbers.tsv" wrong.h
	expect_status 1
	expect_match err "$2"
}
wrong_field 's/(TRACK_EVENT_NAME, 23/(TRACK_EVENT_NAME, 24/' 'TRACK_EVENT_NAME.24'
wrong_field 's/_FLOW_IDS, 47, FIXED64/_FLOW_IDS, 47, VARINT/' 'FLOW_IDS.47.VARINT'
wrong_field 's/TYPE_STATE = 5/TYPE_STATE = 6/' 'TYPE_STATE.6'
