# SPDX-License-Identifier: Apache-2.0
#
# A full disk: the program ends as usual, the written part is intact, and one line,
# for any number of files, names them and the way out. If the program succeeds, the
# exit status also reports the error.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

if [ "${1:-}" != inside ]; then
	unshare -m true 2>/dev/null || skip 'mounting a small disk takes root'
	exec unshare -m sh "$0" inside
fi

build_calls
./calls 3000000 >expected
mkdir disk
mount -t tmpfs -o size=2M none disk || fail 'cannot mount'

for compress in --compress=off --compress; do
	# Calls of so many different lengths are not much smaller compressed.
	run timeout 100 "$PERFREC" record $compress -o disk/data \
		--max-size 1G ./calls 3000000 7
	expect_status 7
	cmp -s expected out || fail 'output has changed'
	expect_eq 'spans' "$(json disk/data/summary.json .totals.spans)" 3000002
	"$O/tests/tools/trace_check" --allow-open disk/data/trace.pftrace ||
		fail "a rule is broken $compress"
	if [ "$compress" = --compress=off ]; then
		expect_match err \
			"cannot write all of trace.pftrace in 'disk/data': No space left"
		expect_match disk/data/summary.json \
			'"trace_stopped": "No space left on device"'
	fi
	rm -rf disk/data
done

# With --keep last the disk is smaller than the limit of the trace: the trace drops
# its oldest part, and continues to the end.
run timeout 100 "$PERFREC" record -q --compress=off --alloc=off --cpu=off \
	-o disk/data --max-size 8M --keep last ./calls 3000000 7
expect_status 7
expect_eq 'trace_stopped' \
	"$(json disk/data/summary.json .totals.trace_stopped)" null
"$O/tests/tools/trace_check" disk/data/trace.pftrace ||
	fail 'a rule is broken with --keep last'
[ "$(stat -c %s disk/data/trace.pftrace)" -gt 300000 ] ||
	fail 'next to nothing was kept'
rm -rf disk/data

# The message about a default limit explains the limit. Raw from here on: calls of
# equal lengths, as some machines have them, are a 50th compressed.
run timeout 100 "$PERFREC" record -q --compress=off -o disk/data ./calls 3000000 7
expect_status 7
expect_match err '^perfrec: lost the rest .* a tenth of the free disk space'
rm -rf disk/data

# The trace alone: one line, and the status is the program's only if that has
# failed as well.
for expected in 7 1; do
	run timeout 100 "$PERFREC" record -q --compress=off -o disk/data \
		--max-size 1G ./calls 3000000 $((expected == 1 ? 0 : expected))
	[ "$status" -eq $expected ] || fail "status $status, not $expected"
	expect_eq 'lines' "$(cat err)" "perfrec-collect: error: cannot write all \
of trace.pftrace in 'disk/data': No space left on device (make room there, or \
choose another folder with -o)"
	expect_eq 'calls' "$(json disk/data/summary.json .totals.spans)" 3000002
	rm -rf disk/data
done

# Not even room for a summary: still one line, with all files.
head -c 2097152 /dev/zero >disk/full
for expected in 7 1; do
	run timeout 100 "$PERFREC" record --alloc=exact --cpu 999 -o disk/data \
		./calls 1000000 $((expected == 1 ? 0 : expected))
	[ "$status" -eq $expected ] || fail "status $status, not $expected"
	expect_eq 'lines' "$(wc -l <err)" 1
	for name in trace.pftrace wall.pb.gz cpu.pb.gz heap.pb.gz \
		heap-peak.pb.gz span.pb.gz summary.json; do
		expect_match err "cannot write all of .*$name.* in 'disk/data': No space"
	done
	rm -rf disk/data
done
rm -rf disk/*

# The daemon's disk fills up; when there is room again, so are recordings.
start_daemon --on-full block --compress=off --max-size 1G
mv data disk/data
ln -s disk/data data
preload ./calls 3000000 >out || fail "status $?"
cmp -s expected out || fail 'output has changed'
wait_for 60 grep -q 'No space left' collect.log

# The summary is the last file of a recording.
has_ended()
{
	ls disk/data/calls-*/summary.json >/dev/null 2>&1 ||
		grep -q 'cannot write all of .*summary.json' collect.log
}
wait_for 60 has_ended
rm -rf disk/data/*
preload ./calls 1000 >out || fail "status $?"
stop_daemon
expect_eq 'spans' "$(json disk/data/calls-*/summary.json .totals.spans)" 1002
"$O/tests/tools/trace_check" disk/data/calls-*/trace.pftrace ||
	fail 'a rule is broken'
