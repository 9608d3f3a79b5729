# SPDX-License-Identifier: Apache-2.0
#
# windows.sh - windows of --push, without a perfrec-push: a script is in its place,
# and windows stay in the spool. Sourced after lib.sh and stacks.sh.

# pusher <<SCRIPT: the script replaces perfrec-push. All settings are right.
pusher()
{
	{
		echo '#!/bin/sh'
		echo '[ "$1" != --check ] || exit 0'
		cat
	} >pusher.sh
	chmod +x pusher.sh
	export PERFREC_PUSH="$PWD/pusher.sh"
}

# add_up COUNT: sums up lines of COUNT values and a stack, by stack.
add_up()
{
	awk -v n="$1" '
	{
		text = $0
		for (i = 1; i <= n; i++)
			sub(/^[0-9]+ /, "", text)
		for (i = 1; i <= n; i++)
			sum[text, i] += $i
		seen[text]
	}
	END {
		for (text in seen) {
			line = ""
			for (i = 1; i <= n; i++)
				line = line sprintf("%.0f ", sum[text, i])
			print line text
		}
	}' | LC_ALL=C sort
}

# unpack_windows SPOOL: a folder for each window, in ./unpacked.
unpack_windows()
{
	rm -rf unpacked
	python3 "$TOP/tests/e2e/lib/unpack_windows.py" "$1" unpacked ||
		fail "windows of $1"
}

# windows_sum SPOOL KIND COUNT [SESSION]: all windows together, by stack.
windows_sum()
{
	unpack_windows "$1"
	# shellcheck disable=SC2086 # a pattern
	for file in unpacked/*-${4:-*}/"$2".pb.gz; do
		[ ! -e "$file" ] || profile_stacks "$file"
	done | add_up "$3"
}

# expect_windows SPOOL INTERVAL: the windows in it are well-formed: those of a
# session follow each other, end at whole multiples of INTERVAL seconds except for
# the last one, and none is empty.
expect_windows()
{
	unpack_windows "$1"
	: >windows.found
	for window in unpacked/*-*; do
		jq -er --arg name "${window##*/}" '
			if .version == 2 and (.profiles | length > 0) and
				(.resource["service.name"] | length > 0) and
				(.resource["host.name"] | length > 0) then
				"\($name) \(.duration_ns) \([.profiles[].kind] | join(","))"
			else error("odd") end' "$window/meta.json" >>windows.found ||
			fail "$window/meta.json is $(cat "$window/meta.json")"
		for file in "$window"/*.pb.gz; do
			[ -n "$(profile_stacks "$file")" ] || fail "$file is empty"
		done
		got=$(cd "$window" && echo *.pb.gz | sed 's/\.pb\.gz//g')
		want=$(jq -r '[.profiles[].kind] | sort | join(" ")' "$window/meta.json")
		expect_eq "$window" "$got" "$want"
	done
	tr -- - ' ' <windows.found | sort -k 2n -k 1n >windows.list
	[ -s windows.list ] || fail "there are no windows in $1"
	# Times have more digits than awk can count with.
	python3 - "$2" <<'SCRIPT' || fail "$(cat windows.list)"
import sys
every, last = int(sys.argv[1]) * 10**9, {}
for line in open('windows.list'):
    start, session, duration = (int(text) for text in line.split()[:3])
    if session in last:
        # It leaves out empty windows.
        assert start >= last[session] and start % every == 0, line
        assert last[session] % every == 0, line
    assert duration > 0, line
    last[session] = start + duration
SCRIPT
}
