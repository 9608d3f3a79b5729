# SPDX-License-Identifier: Apache-2.0
#
# A daemon without options has a budget, so it counts the calls of hot functions.
# Without samples its first table gave the time of leaf() to hot(), which calls
# it. So it takes samples and records switches by itself, but only of programs
# with hooks: a shell that has the library preloaded has no recording.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
export XDG_CACHE_HOME="$PWD/cache"
prog overhead/hot

"$O/perfrec-collect" -o data 2>collect.log &
collector=$!
wait_for 60 grep -q 'listening on' collect.log
run_ok env LD_PRELOAD="$SHIM" ./hot 1500
run_ok env LD_PRELOAD="$SHIM" sh -c :
stop_daemon

for one in data/*/summary.json; do :; done
expect_eq 'the recordings' "$(ls data | grep -v '^control$' | wc -l)" 1
run_ok "$PERFREC" report "${one%/*}"
if jq -e '.notes | any(test("^(no CPU samples|.*not permit)"))' "$one" >/dev/null; then
	skip "perf_event is denied here"
fi
jq '.totals.time_from' "$one" >source
expect_eq 'the times are from' "$(cat source)" '"samples"'
jq -e 'def f($n): first(.functions[] | select(.name == $n));
	f("leaf").on_cpu_self_ns > 2 * f("hot").on_cpu_self_ns and
	f("leaf").calls == 30000000 and f("nap").blocked_self_ns >= 295000000' "$one" >said ||
	fail "$(jq -c '.functions[:4]' "$one")"
