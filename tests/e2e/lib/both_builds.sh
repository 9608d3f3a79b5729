# SPDX-License-Identifier: Apache-2.0
#
# both_builds.sh - an entry build and a calls build of one program, sourced after
# lib.sh.

tried=0
# try COMPILER FLAG...: builds $both_builds_of, which makes 1,001 calls. The entry
# build has their spans, and the calls build their counts. Left out where the plain
# program does not link.
try()
{
	"$@" -w $both_builds_of -o plain 2>/dev/null || return 0
	"$PERFREC" cc --hooks=entry "$@" -w $both_builds_of -o program ||
		fail "$*: entry"
	rm -rf data
	run_ok "$PERFREC" record -q -o data -- ./program
	expect_eq "$*: spans" "$(json data/summary.json .totals.spans)" 1001
	"$PERFREC" cc --hooks=calls "$@" -w $both_builds_of -o program ||
		fail "$*: calls"
	rm -rf data
	run_ok "$PERFREC" record -q --count '*' -o data -- ./program
	expect_eq "$*: calls" \
		"$(json data/summary.json .totals.counted_calls)" 1001
	tried=$((tried + 1))
}
