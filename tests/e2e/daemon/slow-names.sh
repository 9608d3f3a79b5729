# SPDX-License-Identifier: Apache-2.0
#
# A program whose files take long to read delays nobody but itself: another one
# starts, is recorded, is flushed and ends meanwhile, with filters that need
# names before it may record. How long that takes is held against the same
# without the slow one: ten times as long is too long.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need jq

build_calls
cp calls slow
printf '\n' >>slow

# Answers nothing if there is a file "stall", which it takes away.
cat >reader <<SCRIPT
#!/bin/sh
rm "$PWD/stall" 2>/dev/null && exec sleep 1000
exec "$O/perfrec-reader"
SCRIPT
chmod +x reader
PERFREC_READER=$PWD/reader
export PERFREC_READER
start_daemon --exclude nothing_has_this_name

now_ms()
{
	date +%s%3N
}

# victim NAME: a program of its own file, until its summary is there. Sets
# $took, in milliseconds.
victim()
{
	cp calls "$1"
	printf '%s\n' "$1" >>"$1"
	begin=$(now_ms)
	LD_PRELOAD=$SHIM "./$1" 1000 7 >out 2>err
	expect_eq "status of $1" $? 7
	[ ! -s err ] || fail "$1: $(cat err)"
	wait_for 60 has_summary "$1"
	took=$(($(now_ms) - begin))
	expect_eq "spans of $1" "$(json data/"$1"-*/summary.json .totals.spans)" \
		1002
	expect_eq "names of $1" "$(json data/"$1"-*/summary.json \
		'[.functions[].name] | sort | unique | length > 1')" true
}

victim alone
alone=$took

: >stall
LD_PRELOAD=$SHIM ./slow 1000 7 >slow.out 2>slow.err &
slow=$!
wait_for 60 test ! -e stall
victim beside
echo "# $took ms beside a slow one, $alone ms alone"
[ "$took" -le $((10 * alone)) ] || [ "$took" -le 1000 ] ||
	fail "a victim took $took ms beside a slow one, $alone ms alone"
wait "$slow"
expect_eq 'status of the slow one' $? 7
wait_for 60 has_summary slow
expect_match collect.log 'took too long to read'
expect_eq 'what the summary of the slow one says' "$(json \
	data/slow-*/summary.json '.notes | map(test("took too long")) | any')" \
	true
expect_eq 'what that of the other one says' \
	"$(json data/beside-*/summary.json \
		'.notes | map(test("took too long")) | any')" false
expect_eq 'spans of the slow one' \
	"$(json data/slow-*/summary.json .totals.spans)" 1002
stop_daemon
