# SPDX-License-Identifier: Apache-2.0
#
# Blocks in use at chosen points of a run, by snapshots of perfrec ctl flush, equal
# an independent count at these points.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/alloc.sh"
need od

build stops <<'SOURCE'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *block[900];
__attribute__((noinline)) static void point(int number)
{
	char up[16], go[16];

	sprintf(up, "up%d", number);
	sprintf(go, "go%d", number);
	close(creat(up, 0600));
	/* Not for ever, should the test have failed. */
	for (int i = 0; i < 12000 && access(go, F_OK) < 0; i++)
		usleep(10000);
}
int main(void)
{
	for (int i = 0; i < 900; i++)
		block[i] = malloc(100 + i);
	point(1);
	for (int i = 0; i < 900; i += 3)
		free(block[i]);
	for (int i = 1; i < 900; i += 3)
		block[i] = realloc(block[i], 5000);
	point(2);
	return 0;
}
SOURCE

COUNT_OUT=$PWD/count LD_PRELOAD=$counter "$PERFREC" record -q --alloc=exact \
	--cpu=off --on-full block -o data ./stops 2>err &
perfrec=$!
for point in 1 2; do
	wait_for 60 test -e up$point
	expected=$(counted stops)
	"$PERFREC" ctl -o data flush \
		>flush.$point 2>&1 || fail "flush: $(cat flush.$point)"
	snapshot=$(find data -name 'heap.2*.pb.gz' | sort | tail -n 1)
	[ "$snapshot" ] || fail "no snapshot: $(ls data; cat flush.$point)"
	mkdir -p point$point
	cp "$snapshot" point$point/heap.pb.gz
	echo "$expected" >point$point/expected
	touch go$point
done
wait "$perfrec" || fail "exit status $?: $(cat err)"
for point in 1 2; do
	cp data/summary.json point$point
	"$PERFREC" report --view heap --json point$point >heap.json ||
		fail "point $point"
	expect_eq "point $point" "$(json heap.json '.sum | [.alloc_objects,
		.alloc_space, .inuse_objects, .inuse_space] |
		map(tostring) | join(" ")')" "$(cat point$point/expected)"
done
