# SPDX-License-Identifier: Apache-2.0
#
# A parallel make with the library in every process, below perfrec record and below
# a daemon: the objects are the same, and it should take at most 1.05 times as long.
# Other load on the machine counts as well, so only a time that load cannot explain,
# ten times as long, is a failure.
# timeout: 600
# long: compiles several times
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need make gcc

# Ten files like those of a small project.
for i in $(seq 10); do
	cat >part$i.c <<-SOURCE
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <pthread.h>
	#include <sys/socket.h>
	struct entry$i { struct entry$i *next; char name[16]; int value; };
	static struct entry$i *table[64];
	$(for j in $(seq 12); do cat <<-FUNCTION
	int part${i}_$j(const char *name, int value)
	{
		unsigned int hash = $j;
		struct entry$i *one;

		for (const char *c = name; *c; c++)
			hash = hash * 31 + (unsigned char)*c;
		for (one = table[hash % 64]; one; one = one->next)
			if (!strcmp(one->name, name))
				return one->value + value;
		one = calloc(1, sizeof(*one));
		snprintf(one->name, sizeof(one->name), "%s", name);
		one->value = value * $j;
		one->next = table[hash % 64];
		table[hash % 64] = one;
		return value;
	}
	FUNCTION
	done)
	SOURCE
done
cat >Makefile <<'SOURCE'
parts = $(patsubst %.c,%.o,$(wildcard part*.c))
all.o: $(parts)
	ld -r -o $@ $(sort $(parts))
%.o: %.c
	@if grep -q perfrec_preload /proc/self/maps; then echo $@ >>loaded; fi
	gcc -O2 -c -o $@ $<
SOURCE

# timed FILE COMMAND...: appends the milliseconds it takes to build all.
timed()
{
	file=$1
	shift
	rm -f ./*.o
	began=$(date +%s%N)
	timeout 100 "$@" make -j2 >out 2>err || fail "$*: $(cat err)"
	echo $((($(date +%s%N) - began) / 1000000)) >>"$file"
	[ ! -s err ] || fail "$*: $(cat err)"
}

# same WHAT: the objects are those of a build without perfrec.
same()
{
	sha256sum ./*.o >sums
	cmp -s sums expected || fail "$1: objects differ"
}

start_daemon
timed warm-up env
sha256sum ./*.o >expected
for round in 1 2; do
	timed plain env
	timed record "$PERFREC" record -q -o one
	same 'perfrec record'
	timed daemon env LD_PRELOAD="$SHIM" PERFREC_QUIET=1
	same daemon
done
stop_daemon

"$O/tests/tools/trace_check" one/trace.pftrace || fail 'a rule is broken'
expect_eq 'objects that were made with the library preloaded' \
	"$(wc -l <loaded)" 40

least()
{
	sort -n "$1" | head -n 1
}
for kind in record daemon; do
	ratio=$(($(least $kind) * 100 / $(least plain)))
	echo "$kind: $(least $kind) ms, plain: $(least plain) ms: $ratio %"
	[ $ratio -le 1000 ] || fail "$kind takes $ratio % of the time"
done
