#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-prose.sh [--write | PATH...] - no folder may have more sentences that are
# read twice than scripts/prose.txt permits (check-prose.awk says which sentences
# these are). PATHs: list the sentences of these files and folders. --write lowers
# the limits in scripts/prose.txt to what the folders have today, to 20 at least.
set -eu
limits=scripts/prose.txt

# check MODE [PATH...]
check()
{
	mode=$1
	shift
	git ls-files -- "$@" | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done | grep -E '\.([chS1-8]|def|md|sh|awk|mk|js)$|Makefile$' |
		xargs -xs 1000000 awk -f scripts/check-prose.awk -v MODE="$mode" $limits
}

case ${1-} in
'')
	check '' >&2
	;;
--write)
	check count | LC_ALL=C sort >$limits.counts
	awk 'NR == FNR { if (/^#/) print; else was[$1] = $2; next }
		$2 > 20 && was[$1] { print $1, $2 < was[$1] ? $2 : was[$1] }' \
		$limits $limits.counts >$limits.new
	rm $limits.counts
	mv $limits.new $limits
	;;
*)
	check list "$@"
	;;
esac
