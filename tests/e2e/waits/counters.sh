# SPDX-License-Identifier: Apache-2.0
#
# --counters: counts of the CPU, by call. If the machine lacks counters, the
# recording and stderr name them once, and the rest is recorded. An unknown counter
# is refused with the list of counters.
. "$TOP/tests/e2e/lib.sh"

build loops <<'SOURCE'
static volatile unsigned long g_count;
__attribute__((noinline)) static void turn(long times)
{
	while (times--)
		g_count++;
}
__attribute__((noinline)) static void one(void) { turn(20000000); }
__attribute__((noinline)) static void three(void) { turn(60000000); }
int main(void)
{
	one();
	three();
	return 0;
}
SOURCE

all=instructions,cycles,cache-references,cache-misses,branch-misses
for wrong in instruction '' cycles, cycles,cycles 'cycles instructions' "$all"; do
	run "$PERFREC" record -o data --counters "$wrong" ./loops
	expect_status 2
	grep -q 'choose instructions, cycles, cache-references, cache-misses or branch-misses' \
		err || fail "'$wrong': $(cat err)"
done
[ ! -e data ] || fail 'a recording was made'

# count NAME FUNCTION WHICH: 0 if it is not there.
count()
{
	jq "[.functions[] | select(.name == \"$2\") | .counters[] |
		select(.name == \"$1\") | .$3] | add // 0" data/summary.json
}

run_ok "$PERFREC" record -o data --counters cycles,instructions ./loops
mv err record.err
expect_eq 'settings' "$(jq -c .settings.counters data/summary.json)" \
	'["instructions","cycles"]'
expect_eq 'calls' "$(jq '[.functions[].calls] | add' data/summary.json)" 5
missing=$(jq -r '.notes[] | select(startswith("no counts of"))' data/summary.json)
for name in instructions cycles; do
	there=$(jq "[.functions[].counters[] | select(.name == \"$name\")] |
		length" data/summary.json)
	case $missing in
	*$name*)
		expect_eq "$name, which is missing" "$there" 0
		grep -q "no counts of.*$name" record.err ||
			fail "stderr: $(cat record.err)"
		expect_eq "$name: said once" \
			"$(grep -c 'no counts of' record.err)" 1
		run "$PERFREC" report --view span --sort $name data
		expect_status 1
		grep -q "no counts of $name by call: the kernel counted none" err ||
			fail "sorted by what is missing: $(cat err)"
		;;
	*)
		[ "$there" -ge 4 ] || fail "$name: of $there functions"
		# Three quarters are three()'s: it turns so often.
		all=$(count $name main total) three=$(count $name three total)
		[ "$all" -ge 80000000 ] || fail "$name: $all"
		[ $((three * 100)) -ge $((all * 60)) ] &&
			[ $((three * 100)) -le $((all * 90)) ] ||
			fail "$name: $three of $all"
		;;
	esac
done
