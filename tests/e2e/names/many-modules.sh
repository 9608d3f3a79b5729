#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Names and source lines of every module of a program that has hundreds of
# them, also where fewer files may be open than that. Where there are far too
# few, one line says so and what to do.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/plugins.sh"
need gzip

MODULES=400

build_plugins "$MODULES" -g

# record LIMIT: of open files.
record()
{
	rm -rf data
	status=0
	(ulimit -n "$1" && exec "$PERFREC" record -q -o data -- ./host) \
		>out 2>err || status=$?
	expect_status 0
	expect_eq 'what the program prints' "$(cat out)" "$MODULES"
}

# 80 were enough before programs passed their memory and their thunks.
for limit in "$(ulimit -n)" 96; do
	record "$limit"
	expect_eq "stderr with $limit files" "$(cat err)" ''
	expect_eq "modules with names, of $limit files" "$(json data/summary.json \
		'[.functions[] | select(.name == "entry") | .module]
		 | unique | length')" "$MODULES"
	gzip -dc data/wall.pb.gz >wall.pb
	expect_eq "modules in the profile, of $limit files" \
		"$(grep -ao '/plugin[0-9]*[.]so' wall.pb | sort -u | wc -l)" \
		"$MODULES"
	expect_eq "modules without lines, of $limit files" \
		"$(grep -c 'no source lines' err)" 0
	grep -aq '/plugin[.]c' wall.pb || fail "no line with $limit files"
done

record 42
expect_eq 'lines on stderr' "$(wc -l <err)" 1
expect_match err 'too many files are open: .*ulimit -Hn'
