# SPDX-License-Identifier: Apache-2.0
#
# --listen: profiles of all programs by HTTP, as go tool pprof, Parca and Alloy
# fetch them.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/pull.sh"

build_programs
start_all

expect_get 200 /debug/pprof/heap
expect_match body.head '^Content-Type: application/octet-stream'
expect_eq 'step() in heap' "$(profile_stacks body | grep ' main;step$')" \
	'30 30000 28 28000 main;step'
expect_eq labels "$(programs)" 'program=churns program=one program=two '
expect_get 200 '/debug/pprof/allocs?program=two'
expect_eq 'step() in two' "$(profile_stacks body | grep ' main;step$')" \
	'20 20000 19 19000 main;step'
expect_eq labels "$(programs)" 'program=two '
expect_get 404 '/debug/pprof/heap?program=three'
expect_match body 'no program of this name is being recorded; perfrec ctl list names them$'
expect_get 404 '/debug/pprof/profile?seconds=100&program=three'
for kind in mutex block; do
	expect_get 200 /debug/pprof/$kind
	profile_stacks body >$kind
	grep -q contentions stacks.text || fail "$kind: $(head -n 20 stacks.text)"
done
# On a busy machine a program may not run for seconds.
has_burned()
{
	expect_get 200 '/debug/pprof/profile?seconds=1&program=one'
	profile_stacks body >profile
	lasts 1000000000
	grep -q 'main;burn$' profile
}
if [ -s "$(echo data/one-*/trace.pftrace)" ] &&
	! grep -q 'CPU' collect.log; then
	wait_for 60 has_burned
	expect_eq labels "$(programs)" 'program=one '
fi
# first_mapping: the file of the first mapping in the profile that was read last,
# which readers take for the program.
first_mapping()
{
	awk '/^[a-z_]+ \{$/ { what = $1 }
		what == "mapping" && $1 == "filename:" && !file { file = $2 }
		/^string_table:/ { if (count++ == file) print $2 }' stacks.text |
		tr -d '"'
}
for kind in heap block allocs; do
	expect_get 200 "/debug/pprof/$kind?program=two"
	profile_stacks body >$kind
	expect_eq "first mapping of $kind" "$(first_mapping)" "$PWD/two"
	# Its time is now, as in profiles of Go: servers refuse old profiles.
	expect_no_match stacks.text '^duration_nanos: [1-9]'
	expect_match stacks.text "^period: 1\$"
	awk -v least="$began" '/^time_nanos:/ && $2 / 1e9 >= least { ok = 1 }
		END { exit !ok }' stacks.text || fail "$kind: not of now"
done
if command -v go >/dev/null; then
	HOME=$PWD PPROF_TMPDIR=$PWD go tool pprof -top -sample_index=alloc_space \
		"$base/debug/pprof/heap" >top 2>&1 || fail "$(cat top)"
	expect_match top 'step'
else
	echo 'go is not installed: go tool pprof was not tried'
fi
stop_all
