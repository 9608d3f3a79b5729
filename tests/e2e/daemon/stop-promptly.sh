# SPDX-License-Identifier: Apache-2.0
#
# SIGTERM ends a daemon while the files of a program cannot be read: 5 s later
# it waits for no names any more, and the recording is whole without them. Each
# of the files would take 5 s.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/plugins.sh"

FILES=20

build_plugins "$FILES"
# Files with different bytes.
seq "$FILES" | while read -r i; do
	echo "$i" >>"plugin$i.so"
done

printf '#!/bin/sh\n: >"%s/asked"\nexec sleep 1000\n' "$PWD" >reader
chmod +x reader
PERFREC_READER=$PWD/reader
export PERFREC_READER
start_daemon
LD_PRELOAD=$SHIM ./host >out 2>err || fail "$(cat err)"
expect_eq 'what the program prints' "$(cat out)" "$FILES"
wait_for 60 test -e asked
# After 10 s the watchdog names the thread that still runs.
wait_for 60 grep -q 'thread perfrec-[a-z]* ([0-9]*) has made no progress for [0-9]* s: it waits for perfrec-reader' \
	collect.log
begin=$(date +%s)
stop_daemon
took=$(($(date +%s) - begin))
[ "$took" -le 50 ] || fail "the end took $took s"
expect_eq 'spans' "$(json data/host-*/summary.json .totals.spans)" \
	$((FILES + 1))
expect_eq 'what the summary says' "$(json data/host-*/summary.json \
	'.notes | map(test("took too long")) | any')" true
"$O/tests/tools/trace_check" data/host-*/trace.pftrace >check.out ||
	fail "the trace: $(cat check.out)"
