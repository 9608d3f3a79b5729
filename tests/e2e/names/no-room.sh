# SPDX-License-Identifier: Apache-2.0
#
# A recording that has more names than it may keep says so: while it goes on, in
# the log, in its summary and in its report.
. "$TOP/tests/e2e/lib.sh"

cp "$O/tests/progs/names/tells_names" teller
mkfifo hold
"$PERFREC" record --compress -o many -- ./teller 2600 1023 20 wait <hold \
	2>err &
recorder=$!
exec 3>hold
# is_full: nothing is kept of what the program tells any more.
is_full()
{
	"$PERFREC" ctl -o many list --json 2>/dev/null | jq -r \
		'.programs[].budgets[] | select(.name == "names").full_since' |
		grep -q ^20
}
wait_for 60 is_full
"$PERFREC" ctl -o many list >list
grep -q 'NAMES' list || fail "$(cat list)"
grep -q 'no room for names since 20.*Z: it may have 256 MiB' list ||
	fail "$(cat list)"
exec 3>&-
wait $recorder
expect_eq 'status' $? 7
grep -q 'many: names that the program sent (.*) take 128 MiB' err ||
	fail "$(cat err)"
unkept=$(json many/summary.json .totals.unkept_names)
[ "$unkept" -gt 1000 ] || fail "unkept names: $unkept"
"$PERFREC" report many >report
grep -q 'unnamed .*a new name found no room' report || fail "$(cat report)"
# Names from symbol tables still have room.
expect_eq 'functions' \
	"$(json many/summary.json '[.functions[].name] | sort | join(" ")')" \
	'main set_text tell'
