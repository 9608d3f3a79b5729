# SPDX-License-Identifier: Apache-2.0
# long: waits for profiles of many seconds
#
# --listen: profiles of the next N seconds (?seconds=N). Requests that wait for one
# hold up no others.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/pull.sh"

build_programs
start_all

# With seconds=N the others cover N seconds, as those of Go: what
# came before is in none, and blocks that are in use no longer are negative.
has_changes()
{
	expect_get 200 '/debug/pprof/heap?seconds=1&program=churns'
	profile_stacks body >delta
	lasts 1000000000
	grep -q '^0 0 -[1-9][0-9]* -[1-9][0-9]*000 main;before$' delta &&
		grep -q '^\([1-9][0-9]*\) [1-9][0-9]*0 \1 [1-9][0-9]*0 main;later$' delta
}
wait_for 60 has_changes
expect_get 200 '/debug/pprof/heap?program=churns'
profile_stacks body >all
expect_match all '^4000 4000000 [0-9]+ [0-9]+000 main;before$'
for kind in allocs mutex block; do
	expect_get 200 "/debug/pprof/$kind?seconds=1"
	profile_stacks body >$kind
	lasts 1000000000
done
expect_no_match allocs '^[1-9].* main;step'

for seconds in 0 x 1000000 -1 ''; do
	for kind in profile heap block; do
		expect_get 400 "/debug/pprof/$kind?seconds=$seconds"
		expect_eq "$kind?seconds=$seconds" "$(cat body)" \
			'seconds: give a number from 1 to 120'
	done
done

# --- long requests do not hold up others ---------------------------------------
long=
for i in 1 2 3 4 5 6 7 8 9; do
	answer=long.$i http '/debug/pprof/profile?seconds=120' >long.$i.code &
	long="$long $!"
done
# One of them finds no room.
is_refused()
{
	refused=$(grep -lxs 503 long.*.code)
}
wait_for 60 is_refused
expect_eq 'requests that are over' "$(find . -name 'long.*.code' -size +0 | wc -l)" 1
expect_match "${refused%.code}" '^too many profiles of some seconds'
expect_get 200 /debug/pprof/heap
expect_get 200 /metrics
expect_get 503 '/debug/pprof/heap?seconds=120'
# No profile is made for HEAD.
for kind in profile profile?seconds=120 heap heap?seconds=120; do
	expect_get 200 /debug/pprof/$kind HEAD
	expect_match body.head '^Content-Type: application/octet-stream'
	[ ! -s body ] || fail "HEAD of $kind has a body"
done
expect_get 400 '/debug/pprof/profile?seconds=0' HEAD
expect_get 404 '/debug/pprof/profile?seconds=120&program=three' HEAD
expect_eq 'requests that are over' "$(find . -name 'long.*.code' -size +0 | wc -l)" 1
stop_all
# shellcheck disable=SC2086 # pids
wait $long
for i in 1 2 3 4 5 6 7 8 9; do
	case $(cat long.$i.code) in
	503 | none) ;;
	*) fail "long request $i: $(cat long.$i.code)" ;;
	esac
done
