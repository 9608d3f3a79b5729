#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-subjects.sh [RANGE] - the subject of a commit is "area: imperative and a
# concrete object", in at most 72 characters. RANGE: the commits since this script
# was added.
set -eu

range=${1-$(git log --diff-filter=A --format=%H -- "$0" | tail -n 1)}
[ -n "$range" ] || exit 0
case $range in *..*) ;; *) range=$range.. ;; esac

subjects=$(git log --no-merges --format='%h%x09%s' "$range")
[ -z "$subjects" ] || printf '%s\n' "$subjects" | awk -F '\t' '
	function bad(why) { print $1 " " $2 ": " why; failed = 1 }
	length($2) > 72 { bad("has " length($2) " characters, 72 are permitted") }
	$2 !~ /^[a-z0-9_.\/-]+(, [a-z0-9_.\/-]+)*: [a-z].*[^.]$/ {
		bad("does not begin with \"area: \" and a small letter, or ends with a full stop")
		next
	}
	{
		verb = $2
		sub(/^[^:]*: /, "", verb)
		sub(/ .*/, "", verb)
	}
	# "compress" and "need" are no such forms.
	verb ~ /(ed|ing|s)$/ && verb !~ /(ss|eed|embed|shed|bring)$/ {
		bad("\"" verb "\" is no imperative")
	}
	END { exit failed }' >&2
