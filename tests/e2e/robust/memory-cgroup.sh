# SPDX-License-Identifier: Apache-2.0
#
# In a control group with 64 MB of memory: a small program is recorded whole. A
# program whose rings alone are larger runs as usual; its recording is whole, or a
# line says that it is not.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/surroundings.sh"
build_calls
group=
trap '[ -z "$group" ] || rmdir "$group"' EXIT
for place in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	mkdir "$place/perfrec-test-$$" 2>/dev/null || continue
	group=$place/perfrec-test-$$
	for limit in memory.limit_in_bytes memory.max; do
		[ ! -w "$group/$limit" ] || break 2
	done
	rmdir "$group"
	group=
done
[ "$group" ] || skip 'no control group of memory can be made here'
echo 67108864 >"$group/$limit" || skip "$limit cannot be set"
cat >inside.sh <<'SCRIPT'
echo $$ >"$1/cgroup.procs" || exit 77
shift
exec "$@"
SCRIPT
sh inside.sh "$group" true || skip 'no process can be put into a group'

works '64 MB' sh inside.sh "$group" "$PERFREC" record -q --cpu 250 --alloc exact \
	-o data ./calls 1000

build many -pthread <<'SOURCE'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void leaf(long i) { free(malloc((size_t)i)); }
static void *work(void *sum)
{
	for (long i = 0; i < 100000; i++)
		leaf(i % 100);
	return sum;
}
int main(void)
{
	pthread_t thread[24];

	for (int i = 0; i < 24; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < 24; i++)
		pthread_join(thread[i], NULL);
	puts("done");
	return 9;
}
SOURCE
for mode in block drop; do
	rm -rf data
	run timeout 100 sh inside.sh "$group" "$PERFREC" record -q \
		--on-full=$mode --ring-size=8M -o data ./many
	# The kernel may have killed the program: that is not perfrec's choice.
	if [ "$status" -eq 137 ]; then
		echo "$mode: the kernel has killed the program"
		continue
	fi
	expect_status 9
	expect_eq "$mode: output" "$(cat out)" "done"
	[ -s data/summary.json ] || expect_match err '^perfrec: '
	echo "$mode: $(head -n 1 err)"
done
# With rings that fit it works.
rm -rf data
run timeout 100 sh inside.sh "$group" "$PERFREC" record -q --ring-size=64K \
	-o data ./many
expect_status 9
[ -s data/summary.json ] || fail "small rings: $(cat err)"
