#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The calls of a suspended context stay open while its thread runs another stack. That
# time is not on a CPU for them: in the tables, and by the trace alone, for a whole
# recording and for a part that starts while contexts are suspended.
. "$TOP/tests/e2e/lib.sh"

build swaps -finstrument-functions -O1 <<'SOURCE'
#include <time.h>
#include <ucontext.h>

#define QUIET __attribute__((no_instrument_function))
#define CALL __attribute__((noinline))
static ucontext_t g_main, g_first, g_second;
static char g_stacks[2][256 << 10];

QUIET static void spin(void)
{
	struct timespec now;
	long ms, end = 0;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
		end = end ? end : ms + 80;
	} while (ms < end);
}
CALL void main_works(void)
{
	spin();
}
CALL void first_works(void)
{
	spin();
}
CALL void second_works(void)
{
	spin();
}
CALL void first_yields(void)
{
	swapcontext(&g_first, &g_second);
}
CALL void first(void)
{
	first_yields();
	first_works();
}
/* Never goes on. */
CALL void second(void)
{
	second_works();
	swapcontext(&g_second, &g_first);
}
CALL void resumes(void)
{
	swapcontext(&g_main, &g_first);
}
QUIET static void make(ucontext_t *context, char *stack, void (*function)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = sizeof(g_stacks[0]);
	context->uc_link = &g_main;
	makecontext(context, function, 0);
}
int main(void)
{
	make(&g_first, g_stacks[0], first);
	make(&g_second, g_stacks[1], second);
	resumes();
	main_works();
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q --sched=on --alloc=off --cpu=off -o data ./swaps
[ "$(json data/summary.json .totals.on_cpu_ns)" -gt 0 ] ||
	skip 'the kernel tells nobody here when threads ran'
"$O/tests/tools/trace_check" data/trace.pftrace || fail 'a rule is broken'

# dumped FOLDER: NAME and ns on a CPU of each call in the trace.
dumped()
{
	"$PERFREC" dump "$1" | jq -r 'select(.kind == "end") | "\(.name) \(.on_cpu_ns)"'
}
# same FILE NAME OTHER: by FILE, NAME was on a CPU as long as OTHER (none: not at all),
# up to a tenth of the time that a function spins.
same()
{
	awk -v name="$2" -v other="${3-}" '{ ns[$1] = $2 } END {
		gap = ns[name] - ns[other]
		exit !(name in ns) || gap < -8e6 || gap > 8e6 }' "$1" ||
		fail "$1: $2 is not as long as '${3-}': $(cat "$1")"
}
dumped data >trace
json data/summary.json '.functions[] | "\(.name) \(.on_cpu_ns)"' >table
for file in trace table; do
	same $file first_yields
	same $file resumes
	same $file first first_works
	same $file second second_works
	same $file main main_works
done

# From the middle of what the second does to the middle of what the first does.
"$PERFREC" dump data | jq -s -r 'map(select(.kind == "end")) |
	(.[] | select(.name == "main") | .ns - .took_ns) as $origin |
	[.[] | select(.name == "second_works" or .name == "first_works") |
		(.ns - .took_ns / 2 - $origin | floor)] | "\(.[0])ns \(.[1])ns"' >range
read -r from to <range
"$PERFREC" cut --from "$from" --to "$to" -o cut.pftrace data || fail 'cut'
"$O/tests/tools/trace_check" cut.pftrace || fail 'a rule is broken in the cut'
dumped cut.pftrace >cut
same cut first_yields
same cut resumes
same cut main
same cut first first_works
same cut second second_works

# A thread that switches more often than the trace has slices for: that time is not
# known of its calls.
build often -finstrument-functions -O1 <<'SOURCE'
#include <ucontext.h>

static ucontext_t g_main, g_other;
static char g_stack[256 << 10];

__attribute__((noinline)) void yields(void)
{
	swapcontext(&g_other, &g_main);
}
__attribute__((noinline)) void other(void)
{
	for (;;)
		yields();
}
int main(void)
{
	getcontext(&g_other);
	g_other.uc_stack.ss_sp = g_stack;
	g_other.uc_stack.ss_size = sizeof(g_stack);
	makecontext(&g_other, other, 0);
	for (int i = 0; i < 20000; i++)
		swapcontext(&g_main, &g_other);
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q --sched=on --alloc=off --cpu=off -o data ./often
"$O/tests/tools/trace_check" data/trace.pftrace || fail 'a rule is broken'
"$PERFREC" dump data | grep '"end".*"name":"\(main\|other\)"' | jq -s -c 'map({ name, known: (.on_cpu_ns + .preempted_ns + .waited_ns),
		unknown: .unknown_sched_ns, took: .took_ns })' >often
jq -e 'length == 2 and all(.unknown > .took / 4 and .known < .took)' often >said ||
	fail "often: $(cat often)"
