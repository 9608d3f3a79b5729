#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tools that scan the memory of a process find little memory of perfrec: valgrind's
# leak check read 16 GiB, and took a minute. Their reports are the same as without
# perfrec: valgrind's leaks with their callers, and dumps by gcore.
. "$TOP/tests/e2e/lib.sh"

prog robust/leaks

# At most 26 MiB are for all threads together, and 4.5 MiB for each slot: three threads have
# four, as slots 2 and 3 get access together.
run "$PERFREC" record -q -o data ./leaks recorded
if [ "$status" -eq 0 ]; then
	./leaks alone >/dev/null
	ours=$(stat -c %s recorded.*) alone=$(stat -c %s alone.*)
	[ "$ours" -le $((alone + 8388608)) ] ||
		fail "gcore wrote $ours bytes, without perfrec $alone"
else
	grep -q 'not permitted\|not found' gcore.out || fail "gcore: $(cat gcore.out)"
	echo 'gcore cannot look at a process here'
fi
for who in parent child; do
	kib=$(awk -v who=$who '$1 == who { print $2 }' out)
	[ -n "$kib" ] && [ "$kib" -gt 4096 ] ||
		fail "$who: no slot has access: $(cat out)"
	[ "$kib" -le $((26 * 1024 + 4 * 4608)) ] ||
		fail "$who: may touch $kib KiB of the arena"
done
expect_eq 'spans' "$(json data/summary.json .totals.spans)" 7

need valgrind
# stacks FILE: leaks, without addresses and process ids.
stacks()
{
	awk '/definitely lost in/ { on = 1 } /^==[0-9]*== $/ { on = 0 }
		on { sub(/^==[0-9]*== /, ""); gsub(/0x[0-9A-F]*: /, ""); print }' \
		"$1" | sed 's/loss record .*//'
}
run_ok valgrind --leak-check=full ./leaks
stacks err >expected
grep -q 'by main' expected || skip 'valgrind sees no callers here'
run_ok timeout 200 "$PERFREC" record -q -o data valgrind --leak-check=full ./leaks
stacks err >got
cmp -s expected got || fail "valgrind's leaks have changed: $(diff expected got)"
spans=$(json data/summary.json .totals.spans)
[ "$spans" -eq 4 ] ||
	fail "spans under valgrind: $spans, expected 4: $(cat err)" \
		"$(json data/summary.json '.notes, .processes' | head -c 4000)"
