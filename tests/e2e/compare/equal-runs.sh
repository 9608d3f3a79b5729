# SPDX-License-Identifier: Apache-2.0
# long: records many runs
#
# A round of make check-diff with one program: three recordings against three
# equal ones have no change; one call, one block and 2 % more work are found.

. "$TOP/tests/e2e/lib.sh"

run env TOP="$TOP" O="$O" sh "$TOP/tests/stress/diff.sh" 1 tree
cat out
expect_status 0
expect_match out '^no false change$' '^found: tree CALL' '^found: tree BLOCK' \
	'^found: tree WORK'
