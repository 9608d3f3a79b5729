# SPDX-License-Identifier: Apache-2.0
#
# perfrec replay of a range and of a thread by name prints the same with the index
# and without it. A call belongs to the name that its thread had when its outermost
# call began, even if that lies before the range; if no thread was renamed, only the
# parts of the range are read.
. "$TOP/tests/e2e/lib.sh"

build renamed -D_GNU_SOURCE -I "$TOP/preload" <<-'SOURCE'
#include <pthread.h>
#include "perfrec.h"
volatile long sum;
__attribute__((noinline)) void leaf(void) { sum++; }
__attribute__((noinline)) void rounds(int n) { while (n--) leaf(); }
__attribute__((noinline)) void outer(const char *name)
{
	rounds(70000);
	/* The collector reads the first name, then the second. */
	perfrec_flush();
	pthread_setname_np(pthread_self(), name);
	leaf();
	perfrec_flush();
	rounds(150000);
	rounds(10000);
}
__attribute__((no_instrument_function)) static void *run(void *name)
{
	pthread_setname_np(pthread_self(), "first");
	outer(name);
	outer(name);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, argv[argc - 1]);
	pthread_join(thread, NULL);
	return 0;
}
SOURCE

record()
{
	rm -rf data whole
	run_ok "$PERFREC" record -q --on-full=block --alloc=off --cpu=off -o data \
		./renamed "$1"
	cp -r data whole
	rm whole/trace.index
}

# replay NUMBER NAME FOLDER >FOLDER.out: the end of call NUMBER of outer().
replay()
{
	set -- "$@" $("$PERFREC" find --json --sort time --limit 0 rounds whole |
		jq -r ".calls[3 * $1 + 2] | .begin_ns, .duration_ns")
	"$PERFREC" replay --thread "$2" --from ${4}ns \
		--until $(($4 + $5))ns "$3" >"$3.out" 2>&1
}

# same NAME: calls of thread NAME near both ends, with and without index.
same()
{
	for number in 0 1; do
		replay $number "$1" whole
		replay $number "$1" data
		cmp whole.out data.out || fail "by the index, call $number of \
outer() in thread $1 is another one"
	done
}

record second
same second
grep -q leaf data.out || fail 'no call of the renamed thread'
same first
! grep -q leaf data.out || fail 'a call by an old name'
replay 0 first data
grep -q leaf data.out || fail 'no call by the name that outer() began with'

# Without a new name the index is used: the middle of the trace is not read.
record first
same first
trace=data/trace.pftrace
dd if=/dev/zero of=$trace conv=notrunc bs=1024 count=200 status=none \
	seek=$(($(stat -c %s $trace) / 4096))
replay 1 first data
replay 1 first whole
cmp data.out whole.out || fail 'all of the trace was read'
