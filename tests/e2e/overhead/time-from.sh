# SPDX-License-Identifier: Apache-2.0
#
# Within a budget, times of functions are from CPU samples and the stacks of
# waits: a tiny function that is called all the time has its time, and not its
# caller. Every table and export says so, and agrees. With --recorded, without
# samples, and where all is recorded, times are those of the calls.
. "$TOP/tests/e2e/lib.sh"
need gzip python3
export XDG_CACHE_HOME="$PWD/cache"
prog overhead/hot

# expect_true FILE FILTER: the jq filter must be true for the file.
expect_true()
{
	jq -e "def f(\$n): first(.functions[] | select(.name == \$n));
		def share(\$n): f(\$n).on_cpu_self_ns /
			([.functions[].on_cpu_self_ns] | add); $2" "$1" >said ||
		fail "not true of $1: $2: $(cat said)" \
			"$(jq -c '.functions[:6]' "$1")"
}

run_ok "$PERFREC" record --overhead 5% --cpu 997 -o data -- ./hot 1500
expect_match err 'times +are from [0-9,]+ CPU samples and the stacks of waits' \
	'calls +self time\*? +\+- +%'
all=data/summary.json
expect_true $all '.totals.time_from == "samples"'
expect_true $all 'share("leaf") > 0.7 and share("hot") < 0.3'
expect_true $all 'f("leaf").self_samples >= 100'
expect_true $all 'f("leaf").self_error_ns * 3 < f("leaf").self_ns'
expect_true $all 'f("hot").total_ns >= f("leaf").total_ns * 0.95'
# 60 naps of 5 ms.
expect_true $all 'f("nap").blocked_self_ns >= 295000000'
expect_true $all 'f("doze").blocked_self_ns * 10 < f("nap").blocked_self_ns'
expect_true $all 'all(.functions[]; .self_ns <= .total_ns)'
expect_true $all '([.functions[].on_cpu_self_ns] | add) <= .totals.cpu_ns * 1.01'
expect_true $all 'f("nap").calls == 60'

# The other views of the same times.
folded_share()
{
	"$PERFREC" export --to folded -o folded "$@" data || fail "no folded stacks"
	awk '{ n = split($0, part, " "); value = part[n]
	       sub(/ [0-9]+$/, ""); n = split($0, frame, ";")
	       all += value; if (frame[n] ~ /^leaf/) leaf += value }
	     END { print leaf / all }' folded
}
jq '[.functions[] | select(.name == "leaf").self_ns][0] /
	([.functions[].self_ns] | add)' $all >share
rm -f folded
awk -v a="$(folded_share)" -v b="$(cat share)" \
	'BEGIN { exit !(a > b * 0.9 && a < b * 1.1) }' ||
	fail "folded stacks: $(cat folded)"
run "$PERFREC" report --json data
jq -e '.totals.time_from == "samples"' out >said || fail "--json: $(cat said)"
run_ok "$PERFREC" report --recorded data
expect_no_match out 'CPU samples and the stacks'
run "$PERFREC" report --recorded --raw data
expect_error 2 '^perfrec: error: --recorded: .*--raw'
run "$PERFREC" report --recorded --view cpu data
expect_error 2 '^perfrec: error: --recorded: only for --view functions'
run_ok "$PERFREC" diff data data

# Without samples, nothing else is known than recorded calls.
run_ok "$PERFREC" record --overhead 5% --cpu=off -o nocpu -- ./hot 200
expect_match err 'times +are of recorded calls only' '0 CPU samples: too few'
expect_true nocpu/summary.json '.totals.time_from == "calls"'
expect_true nocpu/summary.json 'all(.functions[]; .self_samples == 0)'

# This run records every call and has few samples, whose error is larger.
run_ok "$PERFREC" record -q -o full -- ./hot 3
expect_true full/summary.json '.totals.time_from == "calls"'
expect_true full/summary.json \
	'all(.functions[]; .self_ns == .recorded_self_ns)'
run "$PERFREC" diff data full
expect_match out 'some recordings have times from samples'
