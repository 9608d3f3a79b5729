# SPDX-License-Identifier: Apache-2.0
#
# One honest program beside each attack of tests/attacks, in one daemon: it takes
# at most twelve times as long as alone, before or at the same time, and its
# recording is whole. `make attacks` measures the same. Then SIGTERM ends the
# daemon during an attack, and every recording is complete.
# timeout: 400
# long: runs a program beside each attack
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/attacks/lib.sh"
need timeout

# Less is no delay on a machine that is busy.
FLOOR_MS=1500
trap '[ -z "$attacker" ] || kill -KILL $attacker; [ -z "$collector" ] || kill -KILL $collector' EXIT

# recorded_well WHICH: the recording of ./WHICH is as that of the first one.
recorded_well()
{
	wait_for 60 has_summary "$1"
	json data/"$1"-*/summary.json '
		[.totals.spans, .totals.allocs, .totals.frees, .notes,
		([.functions[] | [.name, .calls]] | sort)] | tostring' >"$1.got"
	cmp -s alone.got "$1.got" ||
		fail "$1: $(cat "$1.got"), alone: $(cat alone.got)"
	run_ok "$PERFREC" report data/"$1"-*
	expect_match out '^  lost       nothing$'
}

# victim NAME: in $took, in ms, from its start to its end.
victim()
{
	cp "$O/tests/attacks/victim" "./$1"
	begin=$(date +%s%3N)
	LD_PRELOAD=$SHIM "./$1" $ROUNDS >out 2>err
	status=$?
	took=$(($(date +%s%3N) - begin))
	expect_eq "status of $1" $status 7
	[ ! -s err ] || fail "$1: $(cat err)"
	recorded_well "$1"
}

# now_alone: $took is not much more than it takes now with another daemon.
now_alone()
{
	elsewhere victim_ms >now || fail "$(cat now)"
	[ "$took" -le $((12 * $(cat now))) ] ||
		fail "beside $name it takes $took ms, $alone and $(cat now) ms alone"
}
victim_ms()
{
	cp ../alone.got .
	victim now
	echo "$took"
}

ROUNDS=300 SLICES=20000
start_daemon --on-full block --alloc exact
victim alone
alone=$took
expect_eq 'spans alone' "$(json data/alone-*/summary.json .totals.spans)" \
	$((ROUNDS * 1021 + 1))
expect_eq 'functions alone' "$(json data/alone-*/summary.json \
	'[.functions[].name] | sort | join(" ")')" 'busy main one_round with_block'
expect_eq 'blocks alone' "$(json data/alone-*/summary.json \
	".totals.allocs >= $ROUNDS * 20")" true
# daemon/lingering tests linger.
set -- $(echo "$ATTACKS_ALL" | sed "s,linger,,")
for name; do
	if ! start_attack "$name"; then
		stop_attack
		[ "$attack_status" = 77 ] ||
			fail "$name: status $attack_status: $(cat attack.err)"
		continue
	fi
	victim "v_$name"
	echo "# $name: $took ms, $alone ms alone"
	[ "$took" -le $((12 * alone)) ] || [ "$took" -le $FLOOR_MS ] ||
		now_alone
	# The last one goes on.
	[ "$name" = fault ] || stop_attack
done

begin=$(date +%s)
stop_daemon
took=$(($(date +%s) - begin))
echo "# the end: $took s"
[ "$took" -le 50 ] || fail "the end took $took s"
for recording in data/*/; do
	[ -s "$recording/summary.json" ] || fail "$recording has no summary"
done
for trace in data/v_*/trace.pftrace; do
	"$O/tests/tools/trace_check" "$trace" >check.out ||
		fail "the trace: $(cat check.out)"
done
