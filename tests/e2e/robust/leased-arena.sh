# SPDX-License-Identifier: Apache-2.0
#
# A hostile process has leases on the memory of its rings: opening such memory to
# write waits 45 s. `perfrec record` records another process meanwhile.
. "$TOP/tests/e2e/lib.sh"

build_calls
cat >both.sh <<'SCRIPT'
mkfifo hold
"$1" "$PERFREC_SOCKET" lease 3 <hold >leased 2>leased.err &
exec 6>hold
until grep -q ready leased; do
	kill -0 $! 2>/dev/null || exit 78
	sleep 0.05
done
./calls 1000 7
status=$?
exec 6>&-
wait
exit $status
SCRIPT
run "$PERFREC" record --overhead off -o data -- \
	sh both.sh "$O/tests/attacks/hostile"
[ "$status" -ne 78 ] || fail "no lease: $(cat leased.err)"
expect_status 7
expect_eq 'spans' "$(json data/summary.json .totals.spans)" 1002
run "$PERFREC" report data
expect_match out '^  lost       nothing$'
