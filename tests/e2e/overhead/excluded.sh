# SPDX-License-Identifier: Apache-2.0
#
# --exclude '*': no hook is called. The text of the program is changed, and it
# runs as before.
. "$TOP/tests/e2e/lib.sh"
prog overhead/busy

./busy 100000 2 1 >expected
run_ok "$PERFREC" record -q --exclude '*' -o data -- ./busy 100000 2 1
cmp out expected || fail "the output has changed"
expect_eq spans "$(json data/summary.json .totals.spans)" 0
expect_eq 'excluded hooks' "$(json data/summary.json '.totals.excluded_hooks // 0')" 0
