#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-counters.sh [--write] - the lists in docs/man/perfrec-summary.5 and the
# table in docs/ANNOTATIONS.md equal collector/output/counters.def, and the page
# also has every other name of summary.json. --write makes the lists again. A
# list stands between the lines '.\" counters: NAME' and '.\" counters: end', a
# table between '<!-- counters: SECTION -->' and '<!-- counters: end -->'.
set -u
CC=${CC:-cc}
table=collector/output/counters.def
page=docs/man/perfrec-summary.5
annotations=docs/ANNOTATIONS.md
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

# The table as lines: "section NAME title text" and "list NAME KIND name text
# SECTION", with tabs between the words. The members of totals are sorted by
# their sections.
cat >"$work/rows.c" <<'END'
#include <stdio.h>
#include <string.h>
struct row {
	const char *section, *kind, *name, *text;
};
static const struct row sections[] = {
#define SECTION(section, title, text) { #section, "", title, text },
#include "collector/output/counters.def"
};
static const struct row totals[] = {
#define TOTAL(section, kind, name, value, said, text) \
	{ #section, #kind, #name, text },
#include "collector/output/counters.def"
};
int main(void)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		printf("section\ttotals\t%s\t%s\n", sections[i].name,
		       sections[i].text);
		for (size_t k = 0; k < sizeof(totals) / sizeof(*totals); k++)
			if (!strcmp(totals[k].section, sections[i].section))
				printf("list\ttotals\t%s\t%s\t%s\t%s\n",
				       totals[k].kind, totals[k].name,
				       totals[k].text, totals[k].section);
	}
#define SETTING(kind, name, value, text) \
	printf("list\tsettings\t%s\t%s\t%s\n", #kind, #name, text);
#include "collector/output/counters.def"
#define PROCESS(kind, name, value, text) \
	printf("list\tprocesses\t%s\t%s\t%s\n", #kind, #name, text);
#include "collector/output/counters.def"
#define THREAD(kind, name, value, text) \
	printf("list\tthreads\t%s\t%s\t%s\n", #kind, #name, text);
#include "collector/output/counters.def"
#define COST(kind, name, value, text) \
	printf("list\tcost\t%s\t%s\t%s\n", #kind, #name, text);
#include "collector/output/counters.def"
#define FUNCTION(kind, name, value, text) \
	printf("list\tfunctions\t%s\t%s\t%s\n", #kind, #name, text);
#include "collector/output/counters.def"
#define ASYNC(kind, name, value, text) \
	printf("list\tasync\t%s\t%s\t%s\n", #kind, #name, text);
#include "collector/output/counters.def"
	return 0;
}
END
$CC -std=gnu11 -I. -o "$work/rows" "$work/rows.c" && "$work/rows" >"$work/rows.txt" ||
	exit 1

# A name says its unit; settings have the names of their options.
awk -F '\t' -v table=$table '
	function complain(what) { print table ": " $4 " " what; bad = 1 }
	$1 != "list" { next }
	($3 ~ /^NS/) != ($4 ~ /_ns$/) { complain("is of kind " $3 ": a name ends in _ns if it is in nanoseconds") }
	$2 != "settings" && ($3 == "BYTES") != ($4 ~ /_bytes$/) { complain("is of kind " $3 ": a name ends in _bytes if it is in bytes") }
	$5 !~ /\.$/ { complain("has a text that is no sentence") }
	seen[$2, $4]++ { complain("has two rows") }
	END { exit bad }' "$work/rows.txt" || bad=1

# The page with its lists made of the rows. A sentence ends with its line.
awk -F '\t' -v rows="$work/rows.txt" '
	function roff(text) {
		gsub(/-/, "\\-", text)
		while (match(text, /`[^`]*`/))
			text = substr(text, 1, RSTART - 1) "\\fB" \
				substr(text, RSTART + 1, RLENGTH - 2) "\\fR" \
				substr(text, RSTART + RLENGTH)
		gsub(/\. /, ".\n", text)
		return text
	}
	function print_list(list) {
		while ((getline <rows) > 0) {
			if ($2 != list)
				continue
			if ($1 == "section")
				print ".SS totals: " $3 ($4 == "" ? "" : "\n" roff($4))
			else
				print ".TP\n.B " $4 "\n" roff($5)
		}
		close(rows)
	}
	/^\.\\" counters: end$/ { inside = 0 }
	!inside { print }
	/^\.\\" counters: / && !/: end$/ {
		inside = 1
		list = $0
		sub(/^.*: /, "", list)
		print_list(list)
	}' "$page" >"$work/page"

# A table has the totals of one section.
awk -F '\t' -v rows="$work/rows.txt" '
	/^<!-- counters: end -->$/ { inside = 0 }
	!inside { print }
	/^<!-- counters: / && !/: end -->$/ {
		inside = 1
		split($0, word, " ")
		print "| total | meaning |\n|---|---|"
		while ((getline <rows) > 0)
			if ($1 == "list" && $2 == "totals" && $6 == word[3])
				print "| `" $4 "` | " $5 " |"
		close(rows)
	}' "$annotations" >"$work/annotations"

# compare FILE GENERATED MODE
compare()
{
	cmp -s "$1" "$2" && return
	[ "$3" = --write ] && { cp "$2" "$1"; return; }
	echo "$1: its lists are not those of $table (scripts/check-counters.sh --write):"
	diff "$1" "$2" | head -n 20
	bad=1
}
compare "$page" "$work/page" "${1:-}"
compare "$annotations" "$work/annotations" "${1:-}"

# Every name that is written to summary.json, fields and values alike, is said in
# bold in the page, and what the page has in front of a paragraph is written.
source='collector/files/summary_write.c collector/files/summary_cost.c collector/read/summary_rebuild.c'
# shellcheck disable=SC2086 # a list
cat $source | sed '/^#include/d; s|/\*.*\*/||' | grep -oE '"[a-z][a-z0-9_]+"' |
	tr -d '"' >"$work/written"
awk -F '\t' '$1 == "list" { print $4 }' "$work/rows.txt" >>"$work/written"
sort -u "$work/written" >"$work/fields"
{
	sed -n 's/^\.BR* //p' "$page"
	grep -oE '\\fB[^\]+\\fR' "$page" | sed 's/^\\fB//; s/\\fR$//'
} | grep -oE '[a-z][a-z0-9_]+' | sort -u >"$work/named"
sed -n '/^\.TP/{n; s/^\.BR* //p;}' "$page" | grep -oE '[a-z][a-z0-9_]+' |
	sort -u >"$work/tags"
for field in $(comm -23 "$work/fields" "$work/named"); do
	echo "$page: $field is missing, which is written by $source or $table"
	bad=1
done
for field in $(comm -13 "$work/fields" "$work/tags"); do
	echo "$page: $field is not written by $source or $table"
	bad=1
done
[ -s "$work/fields" ] || { echo "$source: no fields found"; bad=1; }
exit $bad
