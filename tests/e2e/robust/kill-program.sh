# SPDX-License-Identifier: Apache-2.0
#
# kill -9 at 200 random moments, those before main() among them: every call
# that had ended, as the program itself could still say, is in the trace with
# its own end, and what was open is closed when the program died.
# timeout: 600
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $seed"
progs=$O/tests/progs

# An end that comes before the death of its thread was written by the program.
cat >ended.awk <<'AWK'
$6 == "run" && $1 == "E" { death[$3] = $4 }
$6 == "work" && $1 == "E" { ends[$3]++; at[$3, ends[$3]] = $4 }
END {
	for (tid in ends) {
		n = ends[tid]
		if (at[tid, n] >= death[tid])
			n--
		print tid, n
	}
}
AWK

# judge TRACE RUN WITNESSED: all of that run's calls are in it.
judge()
{
	"$O/tests/tools/trace_check" --dump "$1" >dump ||
		fail "run $2: a rule is broken in $1"
	awk -f ended.awk dump >ends
	awk -v run="$2" '
	NR == FNR { ends[$1] = $2; next }
	$1 == run && ends[$3] + 0 < $4 {
		print "thread " $3 ": " ends[$3] + 0 " of " $4; bad = 1
	}
	END { exit bad }' ends "$3" || fail "run $2: calls are missing in $1"
}

# Where a program takes longer than 15 ms to begin, it has longer to live.
for ms in 15 150 1500; do
	start_daemon --on-full block
	"$progs/killer" 60 "$seed" $ms 3 env LD_PRELOAD="$SHIM" \
		PERFREC_QUIET=1 "$progs/witness" >witnessed || fail 'killer'
	stop_daemon
	runs=$(awk '$4 { print $1 }' witnessed | uniq | wc -l)
	[ "$runs" -lt 10 ] || break
done
[ "$runs" -ge 10 ] || fail "only $runs runs had begun to work"
awk '{ print $1, $2 }' witnessed | uniq | while read -r run pid; do
	trace=$(echo data/*-"$pid"/trace.pftrace)
	[ -f "$trace" ] || fail "run $run: pid $pid has no trace"
	judge "$trace" "$run" witnessed
done || exit 1
expect_no_match collect.log 'ends:|lost'

total=0
for run in $(seq 10); do
	"$progs/killer" 1 $((seed + run)) $ms 2 "$PERFREC" record -q -o one \
		"$progs/witness" >witnessed || fail 'killer'
	judge one/trace.pftrace 0 witnessed
	expect_eq 'lost spans' "$(json one/summary.json \
		'.totals | .dropped_spans + .truncated_spans')" 0
	expect_eq 'end of the program' "$(json one/summary.json .exit.signal)" 9
	total=$((total + $(awk '{ n += $4 } END { print n + 0 }' witnessed)))
done
[ $total -gt 0 ] || fail 'nothing was witnessed'
