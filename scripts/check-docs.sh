#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-docs.sh - whether what the pages of documentation name is there:
# every relative link and its heading, every path that begins with a folder of
# this repository, and every source file that is named `alone.c` in backquotes.
# README.md must have a link to every page of docs/, and the table of locks in
# docs/ARCHITECTURE.md has the locks of lock_ranks.def in their order. Every page
# of docs/ that code or a man page names must exist.
#
#	sh scripts/check-docs.sh [page.md...]
#
# A path may be a pattern of the shell (tests/shim/*.c): one match is enough.
# Run it in the top folder.
set -u
bad=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

complain()
{
	echo "$1" >&2
	bad=1
}

# "line:target" of each link of page $1 that leads to no other site.
links()
{
	grep -noE '\]\([^)]+\)' "$1" | sed -E 's/^([0-9]+):\]\(/\1:/; s/\)$//' |
		grep -vE ':(https?|mailto):'
}

# "line:path" of each path of this repository that page $1 names. Shell
# variables and build directories come before the folder: those are no paths
# of the repository.
paths()
{
	grep -noE '(^|[^A-Za-z0-9_/.$})<-])(collector|preload|shared|proto|scripts|tests|docs|dist)/[][A-Za-z0-9_./*-]*' "$1" |
		sed -E 's/^([0-9]+):[^a-z]?/\1:/; s/[.]+$//; s/\]+$//'
}

# "line:file" of each source file that page $1 names in backquotes, by its
# name alone. `x.c` is any module's.
sources()
{
	# shellcheck disable=SC2016
	grep -noE '`[A-Za-z0-9_-]+\.(c|h|S|sh|awk|def|mk|proto)`' "$1" |
		sed -E 's/`//g' | grep -vE ':x(_inner)?\.[ch]$'
}

# The anchors of the headings of page $1, as GitHub makes them.
anchors()
{
	sed -nE 's/^#+ //p' "$1" | tr '[:upper:]' '[:lower:]' |
		sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

check_link()
{
	page=$1 line=$2 file=${3%%#*} anchor=
	case $3 in *'#'*) anchor=${3#*#} ;; esac
	target=$page
	[ -n "$file" ] && target=$(dirname "$page")/$file
	if [ ! -e "$target" ]; then
		complain "$page:$line: link to $file, which is not there"
	elif [ -n "$anchor" ] && ! anchors "$target" | grep -qxF -- "$anchor"; then
		complain "$page:$line: $target has no heading \"$anchor\""
	fi
}

check_page()
{
	page=$1
	links "$page" >"$work/links"
	while IFS=: read -r line target; do
		check_link "$page" "$line" "$target"
	done <"$work/links"
	paths "$page" >"$work/paths"
	while IFS=: read -r line path; do
		# Unquoted: it may be a pattern.
		# shellcheck disable=SC2086
		ls -d $path >/dev/null 2>&1 ||
			complain "$page:$line: $path is not there"
	done <"$work/paths"
	sources "$page" >"$work/sources"
	while IFS=: read -r line file; do
		grep -q "/$file\$" "$work/files" ||
			complain "$page:$line: there is no file $file"
	done <"$work/sources"
}

find collector preload shared proto scripts tests docs dist -type f \
	>"$work/files"
if [ $# -eq 0 ]; then
	set -- README.md docs/*.md
	[ -e tests/README.md ] && set -- "$@" tests/README.md
fi
for page; do
	check_page "$page"
done
sed -n '/<!-- locks -->/,/<!-- end of locks -->/p' docs/ARCHITECTURE.md |
	tr '`' '\n' | grep -xE '[A-Z_]+' >"$work/shown"
sed -nE 's/^LOCK_RANK\(([A-Z_]+),.*/\1/p' collector/base/lock_ranks.def \
	>"$work/locks"
cmp -s "$work/shown" "$work/locks" ||
	complain "docs/ARCHITECTURE.md: its table of locks is not lock_ranks.def"
for page in docs/*.md; do
	grep -qF "($page)" README.md ||
		complain "README.md: no link to $page in its list of pages"
done
git grep -noE 'docs/[A-Z_]+\.md|\b[A-Z_]+\.md in the documentation' -- . ':!docs/*.md' |
	sed -E 's/ in the documentation//' >"$work/named"
while IFS=: read -r file line page; do
	[ -e "docs/${page#docs/}" ] ||
		complain "$file:$line: docs/${page#docs/} is not there"
done <"$work/named"
exit $bad
