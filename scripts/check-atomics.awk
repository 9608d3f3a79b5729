# SPDX-License-Identifier: Apache-2.0
#
# awk -f check-atomics.awk docs/RING.md FILE... - every ordered access says
# why, in a comment on its line or at most four lines above:
#
#	order: KIND, ROW: the guarantee
#
# ROW names a row of docs/RING.md, and KIND (acq, rel, sc) is no stronger than
# the access. A comment serves one access, or accesses on consecutive lines. A
# relaxed access has a comment with the word "relaxed" there, or further up in
# its paragraph (no blank line between), or "relaxed, all" earlier in its
# function. Comments must cite each row at both of its ends: at an acq or sc and
# at a rel or sc.

function complain(text)
{
	printf "%s:%d: %s\n", FILENAME, FNR, text
	bad = 1
}

# Take "order: KIND, ROW" from the comment on this line.
function read_tag(line,    words)
{
	sub(/.*order: */, "", line)
	split(line, words, /[ ,:;]+/)
	kind = words[1]
	row = words[2]
	tagged = FNR
	used = 0
	if (kind !~ /^(acq|rel|sc)$/) {
		complain("order: '" kind "' is none of acq, rel, sc")
		return
	}
	if (!(row in rows)) {
		complain("order: '" row "' is no row of docs/RING.md")
		return
	}
	if (kind != "rel")
		acquired[row] = 1
	if (kind != "acq")
		released[row] = 1
}

function check_ordered(access)
{
	if (!tagged || FNR - tagged > 4 || (used && FNR - used > 1))
		complain(access " without an order: comment")
	else if (access !~ /_sc$/ && access !~ kind "$")
		complain(access " is weaker than its comment's " kind)
	used = FNR
}

function check_relaxed(access)
{
	if (!all_relaxed && !(relaxed && (FNR - relaxed <= 4 ||
					  relaxed > blank)))
		complain(access " without a comment why relaxed will do")
}

FNR == 1 {
	tagged = relaxed = blank = all_relaxed = 0
	contract = FILENAME ~ /RING\.md$/
}

contract {
	if ($0 ~ /^\| [A-Z]+ \|/)
		rows[$2] = 1
	next
}

/^$/	{ blank = FNR }
/^}/	{ all_relaxed = 0 }
/order: (acq|rel|sc|rlx)/ && /\/\*|^[ \t]*\*/ { read_tag($0) }
/relaxed/ { relaxed = FNR }
/relaxed, all/ { all_relaxed = 1 }

!/^#define/ {
	rest = $0
	while (match(rest, /atom_[a-z]+_(rlx|acq|rel|sc)/)) {
		access = substr(rest, RSTART, RLENGTH)
		rest = substr(rest, RSTART + RLENGTH)
		if (access ~ /_rlx$/)
			check_relaxed(access)
		else
			check_ordered(access)
	}
}

END {
	for (row in rows) {
		if (!(row in acquired))
			printf "docs/RING.md: row %s: nothing acquires\n", row
		if (!(row in released))
			printf "docs/RING.md: row %s: nothing releases\n", row
		if (!(row in acquired) || !(row in released))
			bad = 1
	}
	exit bad
}
