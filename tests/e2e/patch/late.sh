# SPDX-License-Identifier: Apache-2.0
#
# --patch neither reads nor records a library that is opened while the program runs.
# The summary and perfrec ctl functions name it.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need jq gcc

cat >late.c <<'C'
__attribute__((noinline)) long late_leaf(long i) { return i * 5; }
long late_work(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += late_leaf(i);
	return sum;
}
C
gcc -O1 -fPIC -shared -o late.so late.c
gcc -O1 -fPIC -shared -o early.so -xc - <<'C'
long early_work(long n) { return n + 1; }
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
extern long early_work(long n);
int main(void)
{
	for (int i = 0; i < 2; i++) {
		void *late = dlopen("./late.so", RTLD_NOW);
		long (*work)(long) = (long (*)(long))dlsym(late, "late_work");

		printf("%ld\n", early_work(work(100)));
		fflush(stdout);
		if (!i) dlclose(late);
	}
	getchar();
	return 0;
}
C
gcc -O1 -o host host.c ./early.so

mkfifo input
start_daemon --patch
preload ./host <input >out.host &
program=$!
exec 9>input
late_is_listed()
{
	"$PERFREC" ctl --json functions >listed.json 2>/dev/null &&
		[ "$(json listed.json '[.functions[].functions[] |
			select(.name | endswith("/late.so")) | .refused] | first')" = \
			'it came after the program had started' ]
}
wait_for 60 late_is_listed
run "$PERFREC" ctl functions
expect_status 0
expect_match out "late.so +\(stays as it is: it came after the program had started\)$"
exec 9>&-
wait $program
expect_eq 'exit status' $? 0
stop_daemon
expect_eq output "$(cat out.host)" '24751
24751'
summary=$(find data -name summary.json)
run "$PERFREC" report "${summary%/*}"
expect_match out "No function of $PWD/late.so was recorded: it came after the"
expect_eq 'files, and functions, that were not patched' "$(json "$summary" \
	'"\(.totals.files_unpatched) \(.totals.functions_unpatched)"')" '1 0'
expect_eq 'calls of libraries' "$(json "$summary" \
	'[.functions[] | select(.name | test("early|late")) | "\(.name) \(.calls)"] | join(",")')" \
	'early_work 2'
