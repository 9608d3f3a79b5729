#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A trace that is compressed from some point on (--compress=auto): every reader gets
# the same as from the uncompressed packets, wherever the bundles start. And the
# option reports the start of compression.
. "$TOP/tests/e2e/lib.sh"
need python3

build_calls
build threads -pthread <<'SOURCE'
#include <pthread.h>
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
__attribute__((noinline)) static void *work(void *context)
{
	for (int i = 0; i < 300; i++)
		leaf();
	return context;
}
int main(void)
{
	pthread_t threads[5];

	for (int i = 0; i < 5; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
SOURCE

# --- readers

cat >mix.py <<'PYTHON'
# mix.py TRACE PART OF: the packets from PART / OF on become bundles of up to 40.
import sys
import zlib

trace = open(sys.argv[1], 'rb').read()
packets, at = [], 0


def varint(number):
    out = b''
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


while at < len(trace):
    begin, shift, length = at, 0, 0
    assert trace[at] == 0x0a
    at += 1
    while True:
        length |= (trace[at] & 127) << shift
        shift += 7
        at += 1
        if trace[at - 1] < 128:
            break
    at += length
    packets.append(trace[begin:at])
raw = len(packets) * int(sys.argv[2]) // int(sys.argv[3])
out = b''.join(packets[:raw])
for i in range(raw, len(packets), 40):
    packed = zlib.compress(b''.join(packets[i:i + 40]), 1)
    inner = varint(50 << 3 | 2) + varint(len(packed)) + packed
    out += b'\x0a' + varint(len(inner)) + inner
sys.stdout.buffer.write(out)
PYTHON

# seen FOLDER TO: what readers say of the trace in FOLDER.
seen()
{
	"$O/tests/tools/trace_check" --dump "$1/trace.pftrace" >"$2.check" ||
		fail "$1: a rule is broken"
	"$PERFREC" dump "$1" >"$2.dump" || fail "$1: dump"
	"$PERFREC" replay "$1" >"$2.replay" || fail "$1: replay"
	"$PERFREC" export --to csv --calls "$1" >"$2.csv" || fail "$1: export"
	rm -rf lost
	mkdir -m 700 lost
	cp "$1/trace.pftrace" lost
	"$PERFREC" report --json lost |
		jq -S '.functions' >"$2.functions" || fail "$1: report"
}

run_ok "$PERFREC" record -q --compress=off --sched on -o raw -- ./threads
seen raw raw
expect_match raw.functions '"calls": 1500'
for part in 0 1 2 3; do
	rm -rf mixed
	cp -r raw mixed
	python3 mix.py raw/trace.pftrace $part 4 >mixed/trace.pftrace
	[ "$(stat -c %s mixed/trace.pftrace)" -lt \
		"$(stat -c %s raw/trace.pftrace)" ] || fail 'nothing is packed'
	seen mixed mixed
	for file in check dump replay csv functions; do
		cmp raw.$file mixed.$file || fail "$part: $file differs"
	done
done

# --- the option

# compressed OPTION...: whether the summary says so, and whether it is so.
compressed()
{
	run_ok "$PERFREC" record -q -o data "$@" -- ./calls 1000
	size=$(stat -c %s data/trace.pftrace)
	unpacked=$(json data/summary.json .totals.trace_unpacked_bytes)
	if [ "$size" -lt "$unpacked" ]; then
		echo true
	elif [ "$size" -eq "$unpacked" ]; then
		echo false
	else
		echo "$size bytes, of which unpacked $unpacked"
	fi
	json data/summary.json .settings.compress
}
both()
{
	printf '%s\n%s' "$1" "$1"
}
expect_eq '--compress' "$(compressed --compress)" "$(both true)"
expect_eq '--compress=on' "$(compressed --compress=on)" "$(both true)"
expect_eq '--compress=off' "$(compressed --compress=off --max-size 300K)" \
	"$(both false)"
expect_eq 'little room' "$(compressed --max-size 300K)" "$(both true)"
expect_eq 'little room, auto' \
	"$(compressed --compress=on --compress=auto --max-size 300K)" \
	"$(both true)"
# A short trace with all the room that it needs; the disk of this test may have less.
if [ "$(df --output=avail -B 1M . | tail -n 1)" -gt 20000 ]; then
	expect_eq 'as usual' "$(compressed)" "$(both false)"
fi
run "$PERFREC" record -q -o data --compress=often -- ./calls 1000
expect_error 2 "--compress 'often': choose auto, on or off"

# A daemon has the option as well.
. "$TOP/tests/e2e/lib/daemon.sh"
start_daemon --compress=on
preload ./calls 1000 >out || fail "status $?"
stop_daemon
expect_eq 'of a daemon' "$(json data/calls-*/summary.json .settings.compress)" \
	true
