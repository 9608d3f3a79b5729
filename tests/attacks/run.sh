#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [ATTACK...] - a table of the cost of each attack for an honest program of
# the same daemon. It starts a daemon for each attack; the victim runs PAIRS times
# alone and then PAIRS times beside the attack, which continues until the daemon
# has ended. Attackers have nice 19: the test is about the daemon, not about the
# share of a CPU that the kernel gives to each process. O is the build folder.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$TOP/build}" && pwd) || exit 2
PERFREC=$O/perfrec
PAIRS=${PAIRS:-5}
ATTACK_NICE=19
export ATTACK_NICE
work=$(mktemp -d) || exit 2
cd "$work" || exit 2
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
unset PERFREC_SOCKET

fail()
{
	echo "attacks: $*" >&2
	[ ! -s collect.log ] || tail -n 5 collect.log >&2
	exit 1
}
wait_for()
{
	tries=$(($1 * 20))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "waited in vain for: $*"
		sleep 0.05
	done
}
. "$TOP/tests/attacks/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
trap '[ -z "$attacker" ] || kill -KILL $attacker; [ -z "$collector" ] || kill -KILL $collector; cd /; rm -rf "$work"' EXIT
ROUNDS=1000

# timed COMMAND...: prints how many ms it takes.
timed()
{
	begin=$(date +%s%3N)
	"$@" >/dev/null 2>&1
	echo $(($(date +%s%3N) - begin))
}
# victim FILE: writes its times, and those of a program that only says hello, to
# FILE.
victim()
{
	cp "$O/tests/attacks/victim" victim
	cp victim hello
	i=0
	while [ $i -lt "$PAIRS" ]; do
		i=$((i + 1))
		echo "$(timed preload ./victim $ROUNDS) $(timed preload ./hello 0)"
	done >"$1"
}
# median FILE COLUMN
median()
{
	sort -n -k "$2,$2" "$1" | awk -v c="$2" '{ x[NR] = $c }
		END { print x[int((NR + 1) / 2)] }'
}
# The same functions, calls, blocks, and nothing lost, in all recordings.
names_right()
{
	wait_for 100 all_written
	for one in data/victim-*/summary.json; do
		jq -c '[.totals.spans, .totals.allocs, .totals.dropped_spans,
			.notes, ([.functions[] | [.name, .calls]] | sort)]' \
			"$one"
	done | sort | uniq -c >kinds
	[ "$(wc -l <kinds)" -eq 1 ] &&
		grep -q '"busy",'$((ROUNDS * 1000)) kinds && echo yes || echo NO
}
all_written()
{
	[ "$(find data -path '*/victim-*/summary.json' | wc -l)" -eq $((2 * PAIRS)) ]
}
# figure EXPRESSION: of perfrec ctl stats.
figure()
{
	"$PERFREC" ctl stats --json 2>/dev/null | jq ".stats$1"
}

echo "load $(cut -d ' ' -f 1-3 /proc/loadavg), $(nproc) CPUs, $PAIRS pairs"
echo
echo '| attack | victim, ms: alone, beside | ratio | drain lag, ms | daemon, MiB | hello, ms: alone, beside | SIGTERM, ms | names right |'
echo '|---|---|---|---|---|---|---|---|'
[ $# -gt 0 ] || set -- $ATTACKS_ALL
for name; do
	start_daemon --on-full block --alloc exact
	victim alone
	if ! start_attack "$name"; then
		stop_attack
		echo "| $name | not permitted here: $(head -n 1 attack.err) |"
		stop_daemon
		continue
	fi
	victim beside
	lag=$(figure .lag_ns)
	memory=$(awk '/^RssAnon:/ { print int($2 / 1024) }' /proc/$collector/status)
	right=$(names_right)
	begin=$(date +%s%3N)
	stop_daemon
	end=$(($(date +%s%3N) - begin))
	stop_attack
	awk -v OFS=' | ' -v name="$name" -v a="$(median alone 1)" \
		-v b="$(median beside 1)" -v ha="$(median alone 2)" \
		-v hb="$(median beside 2)" -v lag="${lag:-0}" \
		-v memory="$memory" -v end="$end" -v right="$right" 'BEGIN {
		print "| " name, a ", " b, sprintf("%.2f", b / a),
			sprintf("%.0f", lag / 1e6), memory, ha ", " hb, end,
			right " |" }'
done
