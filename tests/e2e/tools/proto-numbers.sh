#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The field numbers of proto/ are the ones of the table that was typed in
# separately, and a wrong one is found.
. "$TOP/tests/e2e/lib.sh"

run "$TOP/scripts/check-proto-numbers.sh"
expect_status 0
run "$TOP/scripts/check-proto-numbers.sh" "$TOP/proto/profile.proto" \
	"$TOP/tests/golden/profile-numbers.tsv"
expect_status 0

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
