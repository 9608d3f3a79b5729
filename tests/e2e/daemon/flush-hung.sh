# SPDX-License-Identifier: Apache-2.0
# long: waits for a disk that hangs
#
# The disk of one recording hangs: a flush of all recordings flushes the others,
# and names the hung one after --timeout, with exit status 1. The flush of that
# one continues: its profile is complete when the disk responds again. Such
# flushes, and clients that are killed while they wait, block no connection of
# perfrec ctl. The flush waited for ever, and so did the files of the others.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/hung.sh"

build waits <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	alarm(600); /* whatever becomes of the test */
	close(open("up", O_CREAT | O_WRONLY, 0600));
	while (access("go", F_OK) < 0)
		usleep(10000);
	return 0;
}
SOURCE

start_hanging_daemon
preload ./waits &
other=$!
wait_for 60 test -e up
start_hung

# expect_partial: what flush.json says of a flush of both.
expect_partial()
{
	expect_eq 'flushed' "$(jq -r '.flushed[].folder' flush.json)" \
		"$(realpath data/waits-*)"
	expect_eq 'not flushed' "$(jq -r '.not_flushed[].folder' flush.json)" \
		"$(realpath data/hung-*)"
}
timeout 200 "$PERFREC" ctl flush --timeout 10s --json >flush.json 2>flush.err
expect_eq 'status' $? 1
expect_partial
grep -q "'.*data/hung-.*' is not flushed: " flush.err ||
	fail "not said: $(cat flush.err)"
for file in $(jq -r '.flushed[] | .folder + "/" + .files[]' flush.json); do
	[ -s "$file" ] || fail "flushed: no $file"
done
expect_eq 'profiles' "$(find data/waits-* -name 'wall.*.pb.gz' | wc -l)" 1

# As text, and more of them at once than there are connections.
timeout 200 "$PERFREC" ctl flush --timeout 1ms >flush.out 2>flush.err
expect_eq 'status as text' $? 1
grep -q "'.*data/hung-.*' is not flushed: " flush.err ||
	fail "not said: $(cat flush.err)"
clients=
for i in $(seq 20); do
	timeout 200 "$PERFREC" ctl flush --timeout 500ms hung >/dev/null 2>&1 &
	clients="$clients $!"
done
wait $clients
timeout 200 "$PERFREC" ctl flush waits >flush.out 2>flush.err ||
	fail "a flush of the other one: status $? $(cat flush.err)"
expect_match flush.out 'data/waits-.*/wall[.]'
# A killed client holds no connection any more.
for i in $(seq 16); do
	"$PERFREC" ctl flush --timeout 500s hung >/dev/null 2>&1 &
	killed=$!
	sleep 0.05
	kill -KILL $killed
	wait $killed 2>/dev/null
done
timeout 200 "$PERFREC" ctl list >list.out || fail 'ctl list is not answered'

# The program of the other one ends meanwhile.
touch go
wait $other || fail "waits: status $?"
wait_for 60 has_summary waits

rm hangs
wait $hung || fail "status $?"
wait_for 60 has_summary hung
expect_eq 'spans' "$(json data/hung-*/summary.json .totals.spans)" \
	$((CALLS + 2))
# The flush whose client gave up continued. Queued flushes did not start.
expect_eq 'profiles of the hung one' \
	"$(find data/hung-* -name 'wall.*.pb.gz' | wc -l)" 1
stop_daemon
