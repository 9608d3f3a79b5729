# SPDX-License-Identifier: Apache-2.0
# long: checks man pages with each mistake
#
# scripts/check-man.sh finds no error in the man pages, and finds each error that
# the test makes in a copy.
. "$TOP/tests/e2e/lib.sh"
need groff

pages='perfrec.1 perfrec-cc.1 perfrec-collect.1 perfrec-ctl.1'
check()
{
	# shellcheck disable=SC2086 # a list
	run sh "$TOP/scripts/check-man.sh" "$O" $pages
}
mkdir docs
cp -r "$TOP/docs/man" docs
check
expect_status 0
[ ! -s out ] || fail "of the pages as they are: $(cat out)"

# wrong PAGE SED REGEX: the message about PAGE after SED matches REGEX.
wrong()
{
	cp "$TOP/docs/man/$1" docs/man
	sed -i "$2" "docs/man/$1"
	cmp -s "$TOP/docs/man/$1" "docs/man/$1" && fail "$2 changes nothing"
	check
	expect_status 1
	expect_match out "^docs/man/$1: $3"
	cp "$TOP/docs/man/$1" docs/man
}
# A range that is missing, or another.
wrong perfrec.1 's/deep, from 1 to 65535\./deep./' \
	'perfrec record: --depth: the range is missing: "from 1 to 65535"'
wrong perfrec-collect.1 's/from 512 to 60K/from 512 to 61K/' \
	"perfrec-collect: --stack-size: 'from 512 to 61K' is not its range"
wrong perfrec-collect.1 's/^least 256K/least 255K/' \
	'perfrec-collect: --max-size: the range is missing: "at least 256K"'
wrong perfrec.1 's/^Size of each/Of at least 3, the size of each/' \
	"perfrec record: --ring-size: 'at least 3' is not its range"
# A default.
wrong perfrec.1 's/; default: auto\././' \
	"perfrec record: --cpu: the default is 'auto'"
wrong perfrec.1 's/^(the default) waits/waits/' \
	"perfrec record: --on-full: the default is 'block'"
wrong perfrec-collect.1 's/(from 1 to 1G; default: 512K)/(from 1 to 1G)/' \
	"perfrec-collect: --alloc: the default is '512K'"
wrong perfrec-collect.1 's/^Compress traces/& (default: 4G)/' \
	"perfrec-collect: --compress: 'default: 4G.*' is not its default"
# A word of a value.
wrong perfrec-collect.1 's/^\.BR warning/.BR loud/' \
	"perfrec-collect: --log: the word 'warning' is missing"
wrong perfrec-collect.1 's/^\.BR warning/.BR loud/' \
	"perfrec-collect: --log: the table has no word 'loud'"
# An option, its argument, and that it may be repeated.
wrong perfrec-ctl.1 '/^\.BI .-.-socket/s/socket/plug/' \
	"perfrec ctl: the table has no option '--plug'"
wrong perfrec-ctl.1 '/^\.BI .-.-socket/s/socket/plug/' \
	'perfrec ctl: --socket is missing'
wrong perfrec-cc.1 '/^\.BI .-.-only/s/path/name/' \
	"perfrec c\+\+: --only: its argument is 'name'"
wrong perfrec-cc.1 '/^\.BI .-.-only/,/^\.TP/s/^May be given .*//' \
	'perfrec cc: --only: "May be given more than once" is missing'
# One that is mentioned elsewhere.
wrong perfrec-ctl.1 's/^\.SH EXAMPLES/&\n\\-\\-frobnicate/' \
	'perfrec --help knows no --frobnicate'
