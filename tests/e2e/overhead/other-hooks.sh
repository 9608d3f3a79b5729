# SPDX-License-Identifier: Apache-2.0
#
# Another preloaded library that has hooks hears of all calls of hooks, and
# functions of an entry build, which call none, are recorded all the same.
. "$TOP/tests/e2e/lib.sh"
build libhooks.so -shared -fPIC -fno-instrument-functions <<'SOURCE'
#include <stdio.h>
static long g_calls;
void __cyg_profile_func_enter(void *f, void *c) { (void)f; (void)c; g_calls++; }
void __cyg_profile_func_exit(void *f, void *c) { (void)f; (void)c; }
__attribute__((destructor)) static void tell(void)
{
	if (g_calls)
		fprintf(stderr, "heard %ld\n", g_calls);
}
SOURCE
cat >entry.c <<'SOURCE'
__attribute__((noinline)) long tiny(long i) { __asm__(""); return i * 3; }
long hooked(long i);
int main(void)
{
	long sum = 0;
	for (long i = 0; i < 1000; i++)
		sum += tiny(i) + hooked(i);
	return sum == 42;
}
SOURCE
cat >hooked.c <<'SOURCE'
__attribute__((noinline)) long hooked(long i) { return i * 5; }
SOURCE
gcc -O1 -finstrument-functions -c hooked.c || fail "gcc"
"$PERFREC" cc --hooks=entry gcc -O1 entry.c hooked.o -o both || fail "perfrec cc"
for option in '--overhead off' '--count tiny --count hooked' '--exclude tiny'; do
	rm -rf data
	LD_PRELOAD=./libhooks.so run "$PERFREC" record -q $option -o data -- ./both
	expect_status 0
	expect_match err '^heard 1000$'
	calls=$(json data/summary.json '[.functions[] |
		select(.name == "tiny" or .name == "hooked") | .calls] | add')
	case $option in
	--exclude*) expect_eq "calls with $option" "$calls" 1000 ;;
	*) expect_eq "calls with $option" "$calls" 2000 ;;
	esac
	case $option in
	--count*)
		spans=$(json data/summary.json .totals.spans)
		[ "$spans" -lt 1100 ] || fail "tiny is not counted: $spans spans"
		expect_eq refused "$(json data/summary.json .totals.functions_refused)" 1
		;;
	esac
done

# A calls build alone cannot be changed then, and that is why.
build calls <<'SOURCE'
__attribute__((noinline)) long tiny(long i) { return i * 3; }
int main(void) { return tiny(1) != 3; }
SOURCE
LD_PRELOAD=./libhooks.so run "$PERFREC" record --exclude tiny -o data -- ./calls
expect_status 0
expect_match err "note +No hook could be switched off: another library's hooks hear of all calls\."
