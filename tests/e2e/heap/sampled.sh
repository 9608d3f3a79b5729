# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: records exact counts and samples of the same programs
#
# Estimates of sampled allocations, compared with exact counts of the same program.
# Sampling is random: with T bytes between samples and N bytes allocated in small
# blocks, the standard error is about sqrt(N * T), because N / T samples stand for
# T bytes each. An error of six times that occurs once in a billion runs.
. "$TOP/tests/e2e/lib.sh"
need awk

# 20,000 kept blocks in one function, 200,000 temporary ones in another.
cat >keeps.c <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
static void *kept[20000];
NOINLINE static void keep(int i)
{
	kept[i] = malloc(1000 + i % 100);
	__asm__ volatile("");
}
NOINLINE static void churn(int i)
{
	void *volatile block = malloc(100 + i % 900);

	free(block);
}
int main(void)
{
	for (int i = 0; i < 200000; i++) {
		churn(i);
		if (i % 10 == 0)
			keep(i / 10);
	}
	printf("%d\n", kept[19999] != NULL);
	return 0;
}
SOURCE
gcc -O1 -g -o keeps keeps.c || fail 'gcc'

# value VIEW.json FUNCTION TYPE
value()
{
	json "$1" "[.functions[] | select(.name == \"$2\") | .self.$3] | add // 0"
}

# near WHAT GOT EXACT PERIOD
near()
{
	awk -v got="$2" -v exact="$3" -v period="$4" 'BEGIN {
		error = got > exact ? got - exact : exact - got
		exit error > 6 * sqrt(exact * period)
	}' || fail "$1 is $2, exactly $3: too far for samples every $4 bytes"
}

# Few enough samples for the sampler to keep up: 32 MiB of them.
for period in 16384 65536; do
	run_ok "$PERFREC" record -q --on-full block --cpu=off \
		--alloc=sampled:$period -o data ./keeps
	expect_eq 'output' "$(cat out)" 1
	"$PERFREC" report --view heap --json data >heap.json || fail 'no heap'
	expect_eq 'period' "$(json heap.json .period)" $period
	near 'kept, in use' "$(value heap.json keep inuse_space)" \
		20990000 $period
	near 'kept, allocated' "$(value heap.json keep alloc_space)" \
		20990000 $period
	near 'churned, allocated' "$(value heap.json churn alloc_space)" \
		109830000 $period
	expect_eq 'churned, in use' "$(value heap.json churn inuse_space)" 0
	near 'objects, as bytes' "$(($(value heap.json keep inuse_objects) *
		1049))" 20990000 $period
done
expect_eq 'lines are known' "$(json heap.json '[.functions[] |
	select(.name == "keep") | .file | sub(".*/"; "")] | unique[0]')" keeps.c

# The defaults for programs without hooks and with hooks.
run "$PERFREC" record -q --cpu=off -o data ./keeps
"$PERFREC" report --view heap --json data >heap.json || fail 'no heap'
expect_eq 'period' "$(json heap.json .period)" 524288
near 'kept' "$(value heap.json keep inuse_space)" 20990000 524288
gcc -O1 -g -finstrument-functions -o keeps keeps.c || fail 'gcc'
run "$PERFREC" record -q --cpu=off -o data ./keeps
"$PERFREC" report --view heap --json data >heap.json || fail 'no heap'
expect_eq 'period' "$(json heap.json .period)" 1
expect_eq 'kept' "$(value heap.json keep inuse_space)" 20990000
expect_eq 'churned' "$(value heap.json churn alloc_space)" 109830000
expect_eq 'blocks churned' "$(value heap.json churn alloc_objects)" 200000
