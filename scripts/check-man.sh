#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-man.sh BUILD_DIR PAGE... - the manual pages in ./docs/man:
#   - groff has nothing to say about them;
#   - what BUILD_DIR/options.tsv (from opts.def) has of each option stands in the
#     page of its command, and the other way round: names, argument, range,
#     default, words (check-man.awk);
#   - an option that a command's --help names is somewhere in its page, and the
#     page names no other anywhere.
set -u
O=$1
shift
scripts=$(dirname "$0")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

for page in "$@"; do
	[ -f "docs/man/$page" ] || { echo "docs/man/$page: missing"; bad=1; continue; }
	# groff exits with 0 whatever it warns of.
	groff -ww -man -Tutf8 -z "docs/man/$page" 2>"$work/warnings"
	[ -s "$work/warnings" ] && { cat "$work/warnings"; bad=1; }
done

# agree PAGE COMMAND HEADING: the options of COMMAND ("perfrec ctl") are those
# under HEADING of PAGE.
agree()
{
	groff -man -Tascii -P-c -rLL=9999n "docs/man/$1" >"$work/page"
	awk -v page="docs/man/$1" -v title="$2" -v section="$3" \
		-f "$scripts/check-man.awk" "$O/options.tsv" "$work/page" || bad=1
}
agree perfrec.1 'perfrec record' '   perfrec record'
agree perfrec.1 'perfrec report' '   perfrec report'
agree perfrec-cc.1 'perfrec cc' OPTIONS
agree perfrec-cc.1 'perfrec c++' OPTIONS
agree perfrec-collect.1 perfrec-collect OPTIONS
agree perfrec-ctl.1 'perfrec ctl' OPTIONS
agree perfrec-aggregate.1 'perfrec aggregate' OPTIONS
agree perfrec-annotate.1 'perfrec annotate' OPTIONS
agree perfrec-find.1 'perfrec find' OPTIONS
agree perfrec-graph.1 'perfrec graph' OPTIONS
agree perfrec-cut.1 'perfrec cut' OPTIONS
agree perfrec-index.1 'perfrec index' OPTIONS
agree perfrec-mcp.1 'perfrec mcp' OPTIONS
agree perfrec-merge.1 'perfrec merge' OPTIONS
agree perfrec-diff.1 'perfrec diff' OPTIONS
agree perfrec-doctor.1 'perfrec doctor' OPTIONS
agree perfrec-dump.1 'perfrec dump' OPTIONS
agree perfrec-export.1 'perfrec export' OPTIONS
agree perfrec-replay.1 'perfrec replay' OPTIONS
agree perfrec-open.1 'perfrec open' OPTIONS
agree perfrec-top.1 'perfrec top' OPTIONS
agree perfrec-what-if.1 'perfrec what-if' OPTIONS

# options FILE: every --option in it, one a line, but those of systemctl.
options()
{
	sed '/^systemctl /d; s/\\-/-/g; s/\\f[A-Z]//g' "$1" | grep -oE -- '--[a-z][a-z-]+' |
		grep -vx -- --help | sort -u
}

# mentions PAGE COMMAND [SUBCOMMAND]...: no more and no less than their --help.
mentions()
{
	page=docs/man/$1
	command=$2
	shift 2
	[ -f "$page" ] || return
	for subcommand in "${@:-}"; do
		# shellcheck disable=SC2086 # no subcommand is no word
		"$O/$command" $subcommand --help
	done >"$work/help" 2>&1
	options "$work/help" >"$work/told"
	options "$page" >"$work/written"
	for option in $(comm -23 "$work/told" "$work/written"); do
		echo "$page: $option of $command --help is missing"
		bad=1
	done
	for option in $(comm -13 "$work/told" "$work/written"); do
		echo "$page: $command --help knows no $option"
		bad=1
	done
}
mentions perfrec.1 perfrec record report
mentions perfrec-cc.1 perfrec cc c++
mentions perfrec-collect.1 perfrec-collect
mentions perfrec-ctl.1 perfrec ctl
mentions perfrec-aggregate.1 perfrec aggregate
mentions perfrec-annotate.1 perfrec annotate
mentions perfrec-find.1 perfrec find
mentions perfrec-graph.1 perfrec graph
mentions perfrec-cut.1 perfrec cut
mentions perfrec-index.1 perfrec index
mentions perfrec-mcp.1 perfrec mcp
mentions perfrec-merge.1 perfrec merge
mentions perfrec-diff.1 perfrec diff
mentions perfrec-doctor.1 perfrec doctor
mentions perfrec-dump.1 perfrec dump
mentions perfrec-export.1 perfrec export
mentions perfrec-replay.1 perfrec replay
mentions perfrec-open.1 perfrec open
mentions perfrec-top.1 perfrec top
mentions perfrec-what-if.1 perfrec what-if
mentions perfrec-push.1 perfrec-push
exit $bad
