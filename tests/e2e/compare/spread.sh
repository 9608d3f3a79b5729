# SPDX-License-Identifier: Apache-2.0
#
# Three equal runs against three: nothing is called a change, and times are
# judged. Three runs of a program with threads, whose counts may vary: a function
# with twice as many calls is found. perfrec aggregate shows the runs.

. "$TOP/tests/e2e/lib.sh"

build threads -pthread <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
volatile int sum;
__attribute__((noinline)) void one(void) { sum = sum + 1; }
__attribute__((noinline)) void two(void) { sum = sum + 2; }
static int n;
static void *work(void *arg)
{
	for (int i = 0; i < 20000; i++)
		one();
	for (int i = 0; i < n; i++)
		two();
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t thread;

	n = atoi(argv[argc - 1]);
	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	return pthread_join(thread, NULL);
}
SOURCE
for i in 1 2 3; do
	for side in a b c; do
		count=10000
		[ $side = c ] && count=20000
		run_ok "$PERFREC" record -q -o $side$i ./threads $count
	done
done

changed()
{
	jq -r '.functions[] | .name as $name | .values | to_entries[] |
		select(.value.changed) | .key + " " + $name' out | sort | paste -s -d ,
}
run_ok "$PERFREC" diff a1 a2 a3 -- b1 b2 b3 --json
expect_eq 'changes of equal runs' "$(changed)" ''
expect_eq 'judged' "$(jq -r '[.metrics[].judged] | unique | join(" ")' out)" spread
run "$PERFREC" diff --json a1 a2 a3 -- c1 c2 c3
expect_match out '"key": "calls"'
changed >list
expect_match list '(^|,)calls two(,|$)'
expect_no_match list 'calls one'
run "$PERFREC" diff a1 a2 a3 -- c1 c2 c3
expect_match out 'only changes above about' '^ +\* +20,000 +40,000 .* two '

run_ok "$PERFREC" aggregate a1 a2 a3 c1 --value calls
expect_match out '^a1 and 3 more recordings: calls$' \
	'^ +40,000 +40,000 +40,000 +0 +0 +0\.0 +one ' \
	'^ +20,000 +20,000 +40,000 +10,000 +0 +50\.0 +two '
run "$PERFREC" aggregate a1 a2 a3 c1 --value calls --json
expect_eq 'two' "$(jq -c '.functions[] | select(.name == "two") | .values.calls' out)" \
	'{"min":20000,"median":20000,"max":40000,"stddev":10000,"mad":0}'
