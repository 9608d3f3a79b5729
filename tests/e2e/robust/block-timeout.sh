# SPDX-License-Identifier: Apache-2.0
#
# --block-timeout reaches the collector of perfrec record, and is in the summary.
# An honest recording never reaches the limit; tests/shim/test_lying.c tests the
# effect.
. "$TOP/tests/e2e/lib.sh"
build_calls
run_ok "$PERFREC" record -q --on-full block --ring-size 64K --block-timeout 100ms \
	./calls 3000000
expect_eq 'setting' "$(json perfrec.data/summary.json .settings.block_timeout_ns)" \
	100000000
run "$PERFREC" record -q ./calls 10
expect_eq 'default' "$(json perfrec.data/summary.json .settings.block_timeout_ns)" \
	10000000000
expect_eq 'timeouts' "$(json perfrec.data/summary.json .totals.block_timeouts)" 0
expect_eq 'spans' "$(json perfrec.data/summary.json .totals.spans)" 12
