/* SPDX-License-Identifier: Apache-2.0
 *
 * init - recording starts with the constructor, or with the first hook where
 * that comes earlier or nothing was instrumented when the program started;
 * goes on in a forked child when that first records; and ends when the
 * collector leaves. No destructor ends it: hooks that run after ours would
 * have are recorded too, and the collector sees the process end by itself.
 */
#include "preload/start/init.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <unistd.h>

#include "preload/alloc/alloc.h"
#include "preload/annotate/annotate.h"
#include "preload/core/chain.h"
#include "preload/core/clock.h"
#include "preload/cpu/cpu_timer.h"
#include "preload/alloc/heap_sample.h"
#include "preload/start/hello.h"
#include "preload/start/instrumented.h"
#include "preload/start/interpose.h"
#include "preload/core/libc.h"
#include "preload/load/map_log.h"
#include "preload/start/parent.h"
#include "preload/ring/put.h"
#include "preload/core/say.h"
#include "preload/ring/slot.h"
#include "preload/ring/slot_memory.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "shared/atomic.h"
#include "shared/ticks.h"

enum mode { MODE_NONE, MODE_STARTING, MODE_ON, MODE_OFF };

static enum mode g_mode;

/* Without filters the table is one empty entry, never looked at. */
static const uint64_t g_no_filter[2];
const uint64_t *g_filter_table = g_no_filter;
uint64_t g_filter_shift = 63;
long g_rseq_cs = T_NO_RSEQ;

static uint64_t set_gate(uint64_t gate)
{
	/* relaxed: readers need only this word; the rest was settled before
	 * any other thread could see g_mode on */
	atom_store_rlx(&g_gate.word, gate);
	return gate;
}

static uint64_t off_gate(void)
{
	/* Chained hooks are called by hook_general(), recording or not. */
	return g_chain.enter || g_chain.exit ? GATE_OFF | GATE_GENERAL
					     : GATE_OFF;
}

void init_switch_off(void)
{
	g_mode = MODE_OFF;
	set_gate(off_gate());
	annotate_off();
	alloc_stop();
}

/* An epoch tells a process from every one it was forked from. */
static uint64_t open_gate(void)
{
	uint32_t epoch =
		(uint32_t)(ticks_now() ^ (uint64_t)(uint32_t)g_shim.pid << 12) &
		-GATE_EPOCH_STEP;
	uint32_t flags = 0;

	if (g_filter_table != g_no_filter)
		flags |= GATE_FILTER;
	if (g_shim.general || g_shim.paused)
		flags |= GATE_GENERAL;
	return set_gate(1ULL << GATE_NEWS_SHIFT | /* 0: see map_follow() */
			(epoch ? epoch : GATE_EPOCH_STEP) | flags);
}

/* The gate's page was wiped: this is a forked child, in its parent's arena. */
static uint64_t continue_in_child(void)
{
	int32_t pid = (int32_t)sys(SYS_getpid);

	if (g_shim.pid != pid) {
		g_shim.fork_parent = g_shim.pid;
		g_shim.pid = pid;
		t_thread.untold = 0; /* the parent tells them */
		heap_sample_forked();
	}
	return open_gate();
}

/* A put that a forking handler interrupts must fail in both processes:
 * docs/RING.md. */
static void before_fork(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	if (thread_has_slot(atom_load_rlx(&g_gate.word)))
		put_record_now(RECORD_FORKING, 0, 0, g_shim.clock);
}

/* For kernels without MADV_WIPEONFORK. */
static void in_forked_child(void)
{
	set_gate(0);
	g_gate.map_lock = g_gate.map_closing = g_gate.map_opened = 0;
	g_gate.slot_lock = 0;
	cpu_timer_forked();
}

/*
 * Use the rseq area that glibc has registered. Where it has not, by an old
 * kernel or by the tunable glibc.pthread.rseq=0, which an application sets to
 * register its own, the hooks do without: that registration is not ours.
 */
static bool find_rseq(void)
{
	const char *thread = __builtin_thread_pointer();
	const char *state = (const char *)&t_thread;

	/* Not one expression: in the collector's copy (own_cost.c) the linker
	 * cannot make a subtraction from the GOT one without. */
	__asm__("" : "+r"(state));
	if (!libc()->rseq_offset || !libc()->rseq_size || !*libc()->rseq_size)
		return false;
	g_rseq_cs = thread + *libc()->rseq_offset +
		    offsetof(struct rseq, rseq_cs) - state;
	return true;
}

/* The kernel wipes no page of a file, so the gate gets another page. Until its
 * fields are back it is not settled, as before. */
static bool wipe_gate_on_fork(void)
{
	/* relaxed, all: nothing is recorded yet */
	uint32_t map_lock = atom_load_rlx(&g_gate.map_lock);
	uint32_t map_closing = atom_load_rlx(&g_gate.map_closing);
	uint32_t map_opened = atom_load_rlx(&g_gate.map_opened);
	long address =
		sys(SYS_mmap, &g_gate, sizeof(g_gate), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (address < 0 && address > -4096)
		return false;
	atom_store_rlx(&g_gate.map_lock, map_lock);
	atom_store_rlx(&g_gate.map_closing, map_closing);
	atom_store_rlx(&g_gate.map_opened, map_opened);
	sys(SYS_madvise, &g_gate, sizeof(g_gate), MADV_WIPEONFORK);
	return true;
}

static void use_filter(struct page_shm *page)
{
	/* relaxed: CONTROL ordered it, in wait_while_held() */
	uint32_t shift = atom_load_rlx(&page->filter_shift);

	/* 2 entries to FILTER_ENTRIES: nothing else is inside the arena. */
	if (shift > 63 || shift < 64 - __builtin_ctz(FILTER_ENTRIES))
		return;
	g_filter_shift = shift;
	g_filter_table = (const uint64_t *)((const char *)page + ARENA_FILTER);
}

static void adopt(const struct hello_result *result,
		  const struct settings *settings)
{
	struct page_shm *page = result->page;

	g_shim.page = page;
	g_shim.slots = (struct slot_shm *)((char *)page + ARENA_SLOTS);
	g_shim.rings = (struct record *)((char *)page +
					 arena_rings(result->hello.slot_count));
	g_shim.liveness = result->liveness;
	g_shim.slot_count = result->hello.slot_count;
	g_shim.ring_cells = result->hello.ring_cells;
	g_shim.block = result->reply.on_full == WIRE_ON_FULL_BLOCK;
	g_shim.depth = result->reply.depth;
	g_shim.clock = result->reply.clock == WIRE_CLOCK_TSC ? ticks_now
							     : clock_boottime;
	g_shim.general = settings->no_rseq || !find_rseq() || g_shim.depth ||
			 g_chain.enter || g_chain.exit ||
			 g_shim.clock != ticks_now;
	if (g_shim.general)
		/* order: sc, FLAGS: as every flag; it stands for nothing else
		 */
		atom_or_sc(&page->flags, PAGE_GENERAL);
	g_shim.pid = result->hello.pid;
	use_filter(page);
}

/* NULL, or why this process is not recorded. */
static const char *try_start(struct settings *settings,
			     struct hello_result *result, const char **detail)
{
	const char *why;

	map_begin();
	why = hello(settings, result, detail);
	if (why)
		return why;
	adopt(result, settings);
	if (!slot_memory_map())
		return "cannot map memory for open spans";
	if (g_shim.no_syscalls)
		slot_memory_open_all();
	if (!wipe_gate_on_fork())
		return "cannot map memory for the gate";
	if (libc()->register_atfork(before_fork, NULL, in_forked_child,
				    &g_shim))
		return "cannot watch for fork";
	slot_init();
	annotate_start();
	return NULL;
}

static uint64_t cpu_time_ns(void)
{
	struct timespec now = { 0 };

	sys(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t start(char **environment)
{
	/* Not on the stack: it may be a tiny one. One start at a time. */
	static struct hello_result result;
	struct settings settings;
	const char *why, *detail = "";
	uint64_t gate, before = cpu_time_ns();

	chain_find();
	settings_read(environment, &settings);
	if (settings.disabled || libc()->getauxval(AT_SECURE)) {
		init_switch_off();
		return off_gate();
	}
	why = clock_allowed() ? try_start(&settings, &result, &detail)
			      : "prctl(PR_SET_TSC) forbids to read the clock";
	if (why) {
		/* Not once for each process of a build. */
		if (!settings.quiet &&
		    (result.connected || !parent_was_preloaded()))
			say((const char *[]){ "not recording: ", why, detail },
			    3);
		init_switch_off();
		return off_gate();
	}
	if (settings.wrong && !settings.quiet && !parent_was_preloaded())
		settings_say_wrong(environment);
	g_mode = MODE_ON;
	gate = open_gate();
	alloc_start(&result.reply);
	cpu_timer_start(&result.reply, settings.quiet);
	/* relaxed: read when the program is gone */
	atom_store_rlx(&result.page->start_ns, cpu_time_ns() - before);
	return gate;
}

uint64_t init_gate(void)
{
	uint64_t signals;
	uint64_t gate = 0;
	int saved_errno;

	if (g_mode == MODE_ON)
		return continue_in_child();
	if (g_mode == MODE_OFF)
		return set_gate(off_gate());
	/* A hook before libc knows its environment: too early to start. */
	if (!libc_environ())
		return 0;
	saved_errno = *libc()->errno_location();
	signals = sys_block_signals();
	/* order: sc, START: one thread; the others do not record yet */
	if (atom_cas_sc(&g_mode, MODE_NONE, MODE_STARTING))
		gate = start(libc_environ());
	sys_restore_signals(signals);
	*libc()->errno_location() = saved_errno;
	return gate;
}

bool init_is_recording(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	if (!gate_is_settled(gate) && g_mode == MODE_ON)
		gate = continue_in_child();
	return gate >= GATE_EPOCH_STEP;
}

/* A program without hooks has nothing to say hello for, unless the collector
 * wants every program. When there is nobody to say it to, whoever preloaded us
 * wants to know. */
static bool wants_recording(void)
{
	struct settings settings;

	if (instrumented())
		return true;
	settings_read(libc_environ(), &settings);
	if (settings.disabled)
		return false;
	return hello_has_socket(&settings, ".all") ||
	       !hello_has_socket(&settings, "");
}

void alloc_begin(void)
{
	static bool begun;

	/* Too early as long as libc does not know its environment. */
	if (begun || !libc_environ())
		return;
	begun = true;
	/* relaxed: there are no threads yet to race with */
	if (!gate_is_settled(atom_load_rlx(&g_gate.word)) && wants_recording())
		init_gate();
	/* relaxed: as above */
	if (atom_load_rlx(&g_alloc.mode) == ALLOC_UNDECIDED)
		alloc_stop();
}

__attribute__((constructor)) static void constructor(void)
{
	alloc_begin();
}
