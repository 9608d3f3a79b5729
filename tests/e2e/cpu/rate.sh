# SPDX-License-Identifier: Apache-2.0
#
# How often CPU time is sampled when nobody has said it: 499 times a second, or as
# often as the budget has room for; not at all where the budget is less than ten
# samples cost; by the other engine where the kernel takes no samples.
. "$TOP/tests/e2e/lib.sh"

setting()
{
	json data/summary.json ".settings.$1"
}

# expect_note WORDS: a note of the summary has them.
expect_note()
{
	jq -e --arg words "$1" 'any(.notes[]; contains($words))' \
		data/summary.json >notes.out ||
		fail "no note has '$1': $(json data/summary.json .notes)"
}

build_calls
record()
{
	run_ok "$@" record -q --alloc=off -o data $options ./calls 1000
}

options='--overhead 5%' record "$O/tests/progs/cpu_deny" "$PERFREC"
expect_eq 'engine where perf is denied' "$(setting cpu_engine)" signal
expect_note 'timers in the program'
# A user who asked for an engine gets no other.
options='--overhead 5% --cpu 99' record "$O/tests/progs/cpu_deny" "$PERFREC"
expect_eq 'engine that was asked for' "$(setting cpu_engine)" perf
expect_note 'no CPU samples: perf_event_open is not permitted'

options='' record "$PERFREC"
expect_eq 'rate without a budget' "$(setting cpu_hz)" 499
jq -e '.notes | any(contains("perf_event"))' data/summary.json >notes.out &&
	skip 'the kernel takes no samples here'

# A sample costs less than 225 us, and more than 0.5 us.
options='--overhead 90%' record "$PERFREC"
expect_eq 'rate of a large budget' "$(setting cpu_hz)" 1000
options='--overhead 0.001%' record "$PERFREC"
expect_eq 'rate of a budget that is too small' "$(setting cpu_hz)" 0
expect_note 'no CPU samples: 10 a second'
options='--overhead 0.001% --cpu 99' record "$PERFREC"
expect_eq 'rate that was asked for' "$(setting cpu_hz)" 99
expect_note 'more than --overhead 0.001%'
