/* SPDX-License-Identifier: Apache-2.0
 *
 * init - starts and ends recording in this process.
 *
 * It starts in the constructor, or at the first hook or allocation if that
 * comes earlier or if the program had no instrumented module at its start. No
 * destructor ends it: hooks that run after the shim's destructor are recorded,
 * and the collector itself notices the end of the process. Only core/gate calls
 * this file, by struct gate_actions.
 */
#include <pthread.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <unistd.h>

#include "preload/alloc/heap_sample.h"
#include "preload/alloc/interpose_alloc.h"
#include "preload/annotate/annotate.h"
#include "preload/core/chain.h"
#include "preload/core/clock.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/say.h"
#include "preload/core/sys.h"
#include "preload/cpu/cpu_timer.h"
#include "preload/load/map_log.h"
#include "preload/ring/put.h"
#include "preload/ring/slot_memory.h"
#include "preload/start/environment.h"
#include "preload/start/hello.h"
#include "preload/start/instrumented.h"
#include "preload/start/parent.h"
#include "preload/start/thread_end.h"
#include "preload/sync/interpose_sync.h"
#include "shared/atomic.h"
#include "shared/ticks.h"

/* Puts a FORKING record. A handler that forks may have interrupted a put, which
 * must then fail in both processes (docs/RING.md). */
static void before_fork(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	if (thread_has_slot(atom_load_rlx(&g_gate.word)))
		put_record_now(RECORD_FORKING, 0, 0, g_shim.clock);
}

static void in_forked_child(void)
{
	/* For kernels without MADV_WIPEONFORK. */
	gate_wipe();
	cpu_timer_forked();
	if (!g_shim.no_syscalls)
		hello_permit_child();
	/* relaxed: the collector sets it before it writes any text */
	if (unlikely(atom_load_rlx(&g_shim.page->patched)) &&
	    !g_shim.no_syscalls)
		hello_from_child();
}

/* Uses the rseq area that glibc has registered. Returns false if there is none:
 * on old kernels, or with the tunable glibc.pthread.rseq=0, which leaves the
 * registration to the application. Hooks cannot use the application's area. */
static bool find_rseq(void)
{
	const char *thread = __builtin_thread_pointer();
	const char *state = (const char *)&t_thread;

	/* Not one expression: in the collector's copy (own_cost.c) the linker
	 * cannot turn a subtraction from the GOT into one without it. */
	__asm__("" : "+r"(state));
	if (!libc()->rseq_offset || !libc()->rseq_size || !*libc()->rseq_size)
		return false;
	g_rseq_cs = thread + *libc()->rseq_offset +
		    offsetof(struct rseq, rseq_cs) - state;
	return true;
}

static void adopt_reply(const struct hello_result *result,
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
	g_shim.functions = result->hello.functions;
	g_shim.block = result->reply.on_full == WIRE_ON_FULL_BLOCK;
	g_shim.block_ns = result->reply.block_ns;
	g_shim.quiet = settings->quiet;
	g_shim.depth = result->reply.depth;
	g_shim.tells_end = result->reply.asks & WIRE_ASK_END;
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
	g_shim.unheld = result->unheld;
	if (!g_shim.unheld)
		gate_take_filter();
}

/* Returns NULL, or why this process is not recorded; @detail has the rest. */
static const char *try_start(struct settings *settings,
			     struct hello_result *result, const char **detail)
{
	const char *why;

	map_begin();
	why = hello(settings, result, detail);
	if (why)
		return why;
	adopt_reply(result, settings);
	if (!slot_memory_map())
		return "cannot map memory for open spans";
	if (g_shim.no_syscalls)
		slot_memory_open_all();
	if (!gate_wipe_on_fork())
		return "cannot map memory for the gate";
	if (libc()->register_atfork(before_fork, NULL, in_forked_child,
				    &g_shim))
		return "cannot watch for fork";
	thread_end_init();
	annotate_start();
	return NULL;
}

static uint64_t cpu_time_ns(void)
{
	struct timespec now = { 0 };

	sys(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void begin_recording(void)
{
	char **environment = libc_start_environ();
	/* Not on the stack, which may be tiny. Only one start at a time. */
	static struct hello_result result;
	struct settings settings;
	const char *why, *detail = "";
	uint64_t before = cpu_time_ns();
	bool missed;

	chain_find();
	settings_read(environment, &settings);
	if (settings.disabled || libc()->getauxval(AT_SECURE)) {
		gate_switch_off();
		return;
	}
	/* libc knows its environment only after .preinit_array. */
	missed = libc_environ() && preinit_has_entries();
	why = clock_allowed() ? try_start(&settings, &result, &detail)
			      : "prctl(PR_SET_TSC) forbids to read the clock";
	if (why) {
		/* Only once for all processes of a build. */
		if (!settings.quiet &&
		    (result.connected || !parent_was_preloaded()))
			say((const char *[]){ "not recording: ", why, detail },
			    3);
		gate_switch_off();
		return;
	}
	if (settings.wrong && !settings.quiet && !parent_was_preloaded())
		settings_say_wrong(environment);
	if (missed)
		/* order: sc, FLAGS: as every flag; it stands for nothing else
		 */
		atom_or_sc(&result.page->flags, PAGE_PREINIT);
	gate_open();
	alloc_start(&result.reply);
	cpu_timer_start(&result.reply, settings.quiet);
	interpose_sync_record(result.reply.asks & WIRE_ASK_SYNC);
	/* relaxed: read after the program's end */
	atom_store_rlx(&result.page->start_ns, cpu_time_ns() - before);
}

/* Without hooks a program connects only if the collector wants every program.
 * Without any collector it tries to, because the user who preloaded the shim
 * expects a message. */
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

static void end_recording(void)
{
	interpose_sync_record(false);
	annotate_off();
	alloc_stop();
}

static const struct gate_actions g_actions GATE_ACTIONS = {
	.begin = begin_recording,
	.wants_recording = wants_recording,
	.off = end_recording,
	.forked = heap_sample_forked,
};

__attribute__((constructor)) static void constructor(void)
{
	environment_keep(libc_environ());
	alloc_begin();
}
