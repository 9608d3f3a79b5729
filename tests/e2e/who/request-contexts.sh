# SPDX-License-Identifier: Apache-2.0
#
# Contexts of a thread have requests of their own, whose slices end in any order.
# A call belongs to the request of the slice around it: the end of another slice
# changes nothing. Tables say so, and perfrec find as well.
. "$TOP/tests/e2e/lib.sh"
need gcc jq python3

gcc -O1 -finstrument-functions -Wall -Wextra -Werror -I"$TOP/preload" \
	-o contexts "$TOP/tests/progs/who/request_contexts.c" || fail C
"$PERFREC" record -q --overhead off -o data ./contexts || fail 'cannot record'
"$PERFREC" export --to parquet -o tables data || fail 'cannot export'
python3 "$TOP/tests/e2e/lib/parquet_read.py" tables/calls.parquet \
	name trace_id >calls || fail 'no table'

# in_request PATTERN: calls of the program in the request whose id matches it.
in_request()
{
	tail -n +2 calls | jq -r --arg id "$1" \
		'select((.[1] // "none") | test("^" + $id)) | .[0]' |
		grep -E '^(after|again|before|beside|first|in_|second)' |
		LC_ALL=C sort | tr '\n' ' '
}
expect_eq 'the first request' "$(in_request 1bf9)" 'first in_first '
expect_eq 'the second request' "$(in_request 2bf9)" \
	'again in_second second '
expect_eq 'no request' "$(in_request none)" 'after after_first before beside '
for digit in 1 2; do
	"$PERFREC" find --json --limit 0 \
		--trace-id ${digit}bf92f3577b34da6a3ce929d0e0e4736 '*' data >found
	expect_eq "request $digit, found" "$(json found '.calls[].name' |
		grep -E '^(after|again|before|beside|first|in_|second)' |
		LC_ALL=C sort | tr '\n' ' ')" "$(in_request $digit)"
done
