# SPDX-License-Identifier: Apache-2.0
#
# Threads with the id of an earlier thread. The times of an id equal the sum of the
# threads' own measurements.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
need unshare

# Ids are chosen in a namespace of the test's own.
unshare -pf --mount-proc "$WAITS/tasks" reused >alone 2>err ||
	skip "nobody may choose thread ids here: $(cat err)"
run_ok unshare -pf --mount-proc "$PERFREC" record -q -o reused "$WAITS/tasks" reused
cp out reused.truth
ids=$(jq -r 'select(.is == "thread").tid' out | sort | uniq -d | wc -l)
[ "$ids" -gt 0 ] || fail 'no id came again'
perf_permitted || sums=--sums
# shellcheck disable=SC2086 # no word, or one
waits_agree reused $sums
