#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-man.sh BUILD_DIR PAGE... - groff has nothing to say about the manual
# pages, an option that a command's --help names is in its page, and the other
# way round. The page of summary.json: check-counters.sh.
set -u
O=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0

for page in "$@"; do
	[ -f "docs/man/$page" ] || { echo "docs/man/$page: missing"; bad=1; continue; }
	# groff exits with 0 whatever it warns of.
	groff -ww -man -Tutf8 -z "docs/man/$page" 2>"$work/warnings"
	[ -s "$work/warnings" ] && { cat "$work/warnings"; bad=1; }
done

# options FILE: every --option in it, one a line, but those of systemctl.
options()
{
	sed '/^systemctl /d; s/\\-/-/g; s/\\f[A-Z]//g' "$1" | grep -oE -- '--[a-z][a-z-]+' |
		grep -vx -- --help | sort -u
}

# agree PAGE COMMAND [SUBCOMMAND]...
agree()
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

agree perfrec.1 perfrec record report
agree perfrec-cc.1 perfrec cc c++
agree perfrec-collect.1 perfrec-collect
agree perfrec-ctl.1 perfrec ctl
exit $bad
