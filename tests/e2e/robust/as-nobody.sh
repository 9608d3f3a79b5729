# SPDX-License-Identifier: Apache-2.0
#
# As a user who has nothing: no home, no $XDG_RUNTIME_DIR, and no folder except the
# one for the recording. A message names folders that the user may not write.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/surroundings.sh"
need setpriv
[ "$(id -u)" = 0 ] || skip 'only root becomes nobody'
build_calls
# nobody COMMAND...
cat >nobody <<'SCRIPT'
#!/bin/sh
exec setpriv --reuid 65534 --regid 65534 --clear-groups \
	env -u XDG_RUNTIME_DIR HOME=/nonexistent "$@"
SCRIPT
chmod 755 nobody
chmod 711 .
mkdir -m 777 own
cp calls own
cd own || exit 1
for path in "$PERFREC" ./calls; do
	../nobody test -x "$path" || skip "nobody may not run $path"
done
works nobody ../nobody "$PERFREC" record -q --cpu 250 --alloc exact -o data \
	./calls 1000
rm -rf data

# Not in a folder of somebody else. The program is not run either.
mkdir -m 755 theirs
cd theirs || exit 1
run timeout 100 ../../nobody "$PERFREC" record -q ../calls 1000
expect_status 1
expect_match err "cannot make folder 'perfrec.data': Permission denied"
[ ! -s out ] || fail "the program ran: $(cat out)"
cd .. || exit 1

# A collector of its own, in the folder that $TMPDIR names.
mkdir -m 777 tmp
TMPDIR=$PWD/tmp ../nobody "$O/perfrec-collect" -o all --overhead off \
	2>collect.log &
collector=$!
trap 'kill -KILL $collector 2>/dev/null' EXIT
wait_for 60 grep -q 'listening on' collect.log
TMPDIR=$PWD/tmp ../nobody env LD_PRELOAD="$O/libperfrec_preload.so" \
	PERFREC_DEADLINE_MS=20000 ./calls 1000 >/dev/null || fail 'the program'
TMPDIR=$PWD/tmp ../nobody "$PERFREC" ctl stats >stats ||
	fail 'perfrec ctl stats'
expect_match stats 'so far 1 program, '
kill -TERM $collector
wait $collector || fail "perfrec-collect: status $?"
expect_eq 'spans' "$(json all/calls-*/summary.json .totals.spans)" 1002
