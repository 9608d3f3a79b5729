#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Exact allocations: heap.pb.gz, heap-peak.pb.gz and span.pb.gz have, by stack,
# what a program with known blocks allocated and kept; the summary has the same
# in all and by function, and the trace the counters.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
need protoc gcc

prog heap/known
run_ok "$PERFREC" record -q --alloc=exact -o data -- ./known

# Blocks of main() and elsewhere() belong to libc: pthread_create() and the like.
profile_stacks data/heap.pb.gz | grep -v ' main$' >got
cat >want <<'WANT'
1 10000000 0 0 main;big
1 12345 1 12345 child
1 77 1 77 main;zeroed
1010 51000 10 1000 main;plain
3 9225 3 9225 main;aligned
4 100810 2 800 main;moved
5 10000 4 8000 there
WANT
grep -v 'elsewhere\|\[' got | LC_ALL=C sort >plain.got
LC_ALL=C sort want | cmp -s - plain.got || {
	diff want plain.got
	fail "heap.pb.gz (>) is not as it should be (<)"
}
for stack in 'main;big' 'there' 'main;plain'; do
	profile_stacks data/span.pb.gz | awk -v stack="$stack" \
		'$14 == stack { print $4, $5, $6, $7, $14 }' >span
	grep " $stack\$" plain.got >heap
	cmp -s span heap || fail "span.pb.gz has '$(cat span)' of $stack"
done

# The peak is while big() has its block; nobody can have had more.
profile_stacks data/heap-peak.pb.gz >peak
expect_match peak '^1 10000000 1 10000000 main;big$' \
	'^1010 51000 10 1000 main;plain$' '^5 10000 4 8000 there$'

# The sums are those of the stacks.
for column in 1:allocs 2:alloc_bytes 3:live_blocks 4:live_bytes; do
	expect_eq "${column#*:}" \
		"$(json data/summary.json ".totals.${column#*:}")" \
		"$(profile_stacks data/heap.pb.gz |
		awk -v n="${column%:*}" '{ s += $n } END { printf "%.0f\n", s }')"
done
expect_eq "blocks of plain()" "$(jq -c '.functions[] |
	select(.name == "plain") | [.alloc_objects, .alloc_bytes,
	.inuse_objects, .inuse_bytes, .temporary_objects]' \
	data/summary.json)" '[1010,51000,10,1000,1000]'
for count in double_frees late_frees implied_frees dropped_allocs \
	dropped_frees untracked_blocks odd_heap_records; do
	expect_eq "$count" "$(json data/summary.json ".totals.$count")" 0
done
# The child has freed a block of its parent.
[ "$(json data/summary.json .totals.inherited_frees)" -ge 1 ] ||
	fail "no inherited free"

gunzip -c data/heap.pb.gz | grep -q 'recorded exactly' ||
	fail "heap.pb.gz does not say that it is exact"
protoc --decode=perfetto.protos.Trace -I "$TOP/proto" \
	"$TOP/proto/perfetto_trace.proto" <data/trace.pftrace >trace ||
	fail "protoc cannot decode the trace"
expect_match trace '"heap: bytes in use"' '"heap: blocks"' \
	'"heap: allocated"' 'counter_value: ' 'self_allocated: 10000000' \
	'heap_name: "malloc"'
"$O/tests/tools/trace_check" data/trace.pftrace || fail "a rule is broken"

# --- a block that is freed twice, by a program that goes on -------------------
cat >twice.c <<'SOURCE'
#include <stdlib.h>
int main(void)
{
	void *volatile p = malloc(8);

	free(p);
	free(p);
	return 0;
}
SOURCE
# An allocator that does not mind.
cat >lenient.c <<'SOURCE'
#include <stddef.h>
static _Alignas(16) char pool[1 << 20];
static size_t used;
void *malloc(size_t n)
{
	char *p = pool + used + 16;

	used += (n + 47) & ~(size_t)15;
	((size_t *)p)[-1] = n;
	return used < sizeof(pool) ? p : NULL;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m)
{
	return malloc(n * m);
}
void *realloc(void *old, size_t n)
{
	char *p = malloc(n);

	for (size_t i = 0; p && old && i < n && i < ((size_t *)old)[-1]; i++)
		p[i] = ((char *)old)[i];
	return p;
}
SOURCE
gcc -O1 -fno-builtin -shared -fPIC -o liblenient.so lenient.c &&
	gcc -O1 -g -fno-builtin -finstrument-functions -o twice twice.c \
		-L. -llenient -Wl,-rpath,"$PWD" || fail "cannot compile twice.c"
run_ok "$PERFREC" record -q --alloc=exact -o twice.data -- ./twice
expect_eq double_frees "$(json twice.data/summary.json .totals.double_frees)" 1
expect_match twice.data/trace.pftrace 'double free of 0x'
gunzip -c twice.data/heap.pb.gz | grep -q 'freed twice' ||
	fail "heap.pb.gz does not tell of the double free"

# --- none ---------------------------------------------------------------------
run_ok "$PERFREC" record -q --alloc=off -o none -- ./known
expect_eq "files without --alloc" "$(ls none | grep heap)" ""
