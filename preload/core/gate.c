/* SPDX-License-Identifier: Apache-2.0
 *
 * gate - changes the gate's word. Recording starts at the first request (a
 * hook, an annotation, the constructor), continues in a forked child with its
 * first record, and ends when the collector leaves.
 *
 * Rooms of higher rank do the rest through struct gate_actions. That is
 * constant data in the file, because hooks run before the shim's constructors.
 * It is not read until the dynamic linker has relocated it.
 */
#include "preload/core/gate.h"

#include <sys/mman.h>

#include "preload/core/chain.h"
#include "preload/core/libc.h"
#include "preload/core/linker.h"
#include "preload/core/sys.h"
#include "shared/ticks.h"

enum mode { MODE_NONE, MODE_STARTING, MODE_ON, MODE_OFF };

static enum mode g_mode;

struct gate g_gate = { .word = GATE_UNBEGUN };
struct shim g_shim;

/* One empty entry, never read. */
static const uint64_t g_no_filter[2];
static const uint16_t g_no_numbers[2];
struct gate_filter g_filter = { g_no_filter, 63, g_no_numbers, 0 };

/* The linker defines this symbol at the start of the section. */
extern const struct gate_actions __start_gate_actions[]
	__attribute__((visibility("hidden")));

static uint64_t set_word(uint64_t word)
{
	uint32_t epoch = (uint32_t)word & -GATE_EPOCH_STEP;

	/* relaxed: as below; thunks compare it with their thread's epoch */
	atom_store_rlx(&g_gate.count_epoch, epoch);
	/* relaxed: readers need only this word; the rest was settled before
	 * any other thread could see g_mode on */
	atom_store_rlx(&g_gate.word, word);
	return word;
}

static uint64_t off_word(void)
{
	/* hook_general() calls chained hooks even while recording is off. */
	return g_chain.enter || g_chain.exit ? GATE_OFF | GATE_GENERAL
					     : GATE_OFF;
}

void gate_switch_off(void)
{
	g_mode = MODE_OFF;
	set_word(off_word());
	__start_gate_actions->off();
}

/* Returns a word with a new epoch, different from those of all ancestors. */
static uint64_t open_word(void)
{
	uint32_t epoch =
		(uint32_t)(ticks_now() ^ (uint64_t)(uint32_t)g_shim.pid << 12) &
		-GATE_EPOCH_STEP;
	uint32_t flags = 0;

	if (g_filter.table != g_no_filter)
		flags |= GATE_FILTER;
	if (g_shim.general || g_shim.paused)
		flags |= GATE_GENERAL;
	return 1ULL << GATE_NEWS_SHIFT | /* not 0: a thread with 0 must check
					  * functions (map_log.c) */
	       (epoch ? epoch : GATE_EPOCH_STEP) | flags;
}

void gate_take_filter(void)
{
	const char *arena = (const char *)g_shim.page;
	/* relaxed: CONTROL ordered it, where it was seen not to be HOLD */
	uint32_t shift = atom_load_rlx(&g_shim.page->filter_shift);

	/* More than FILTER_ENTRIES would exceed the arena. */
	if (shift > 63 || shift < 64 - __builtin_ctz(FILTER_ENTRIES))
		return;
	g_filter.shift = shift;
	g_filter.numbers = (const uint16_t *)(arena + ARENA_FILTER_NUMBERS);
	g_filter.count = g_shim.functions;
	/* order: rel, GATEFILTER: children forked here see all or nothing */
	atom_store_rel(&g_filter.table,
		       (const uint64_t *)(arena + ARENA_FILTER));
}

void gate_take_late_filter(void)
{
	uint64_t gate;

	/* relaxed: the swap decides */
	if (likely(!atom_load_rlx(&g_shim.unheld)) ||
	    /* order: acq, CONTROL: a filter that is on is whole */
	    atom_load_acq(&g_shim.page->control) == CONTROL_HOLD ||
	    /* order: sc, GATEFILTER: one thread does it */
	    !atom_cas_sc(&g_shim.unheld, 1, 0))
		return;
	gate_take_filter();
	if (g_filter.table == g_no_filter)
		return;
	do {
		/* relaxed: the swap decides */
		gate = atom_load_rlx(&g_gate.word);
		/* Off or wiped: the opener sees the table. */
		if (gate < GATE_EPOCH_STEP)
			return;
		/* order: sc, GATEFILTER: the flag implies the table */
	} while (!atom_cas_sc(&g_gate.word, gate, gate | GATE_FILTER));
}

void gate_open(void)
{
	g_mode = MODE_ON;
	set_word(open_word());
}

/* A wiped page: this is a forked child, in its parent's arena. */
static uint64_t continue_in_child(void)
{
	int32_t pid = (int32_t)sys(SYS_getpid);

	if (g_shim.pid != pid) {
		g_shim.fork_parent = g_shim.pid;
		g_shim.pid = pid;
		t_thread.untold = 0; /* the parent reports its own */
		__start_gate_actions->forked();
	}
	return set_word(open_word());
}

/* Returns true in the one thread that called begin(). */
static bool begin_once(void)
{
	/* order: sc, START: one thread; the others do not record yet */
	if (!atom_cas_sc(&g_mode, MODE_NONE, MODE_STARTING))
		return false;
	__start_gate_actions->begin();
	return true;
}

uint64_t gate_settle(void)
{
	uint64_t signals;
	int saved_errno;
	bool begun;

	/* A vfork() child would start its parent's recording. */
	if (t_thread.in_vfork)
		return 0;
	if (g_mode == MODE_ON)
		return continue_in_child();
	if (g_mode == MODE_OFF)
		return set_word(off_word());
	/* Too early: the shim's pointers or the environment are not set up. */
	if (!linker_has_relocated() || !libc_start_environ())
		return 0;
	saved_errno = *libc()->errno_location();
	signals = sys_block_signals();
	begun = begin_once();
	sys_restore_signals(signals);
	*libc()->errno_location() = saved_errno;
	/* relaxed: this thread has written it */
	return begun ? atom_load_rlx(&g_gate.word) : 0;
}

bool gate_is_recording(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	if (!gate_is_settled(gate) && g_mode == MODE_ON)
		gate = continue_in_child();
	return gate >= GATE_EPOCH_STEP;
}

bool gate_begin_if_wanted(void)
{
	static bool begun;

	/* libc does not know its environment yet. */
	if (begun || !linker_has_relocated() || !libc_environ())
		return false;
	begun = true;
	/* relaxed: there are no threads yet to race with */
	if (!gate_is_settled(atom_load_rlx(&g_gate.word)) &&
	    __start_gate_actions->wants_recording())
		gate_settle();
	return true;
}

/* The kernel does not wipe pages of files, so the gate gets an anonymous page.
 * Until the fields are restored, the gate is unsettled, as before. */
bool gate_wipe_on_fork(void)
{
	/* relaxed, all: nothing is recorded yet */
	uint32_t map_lock = atom_load_rlx(&g_gate.map_lock);
	uint32_t map_closing = atom_load_rlx(&g_gate.map_closing);
	uint32_t map_opened = atom_load_rlx(&g_gate.map_opened);
	long address =
		sys(SYS_mmap, &g_gate, sizeof(g_gate), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (sys_failed(address))
		return false;
	atom_store_rlx(&g_gate.map_lock, map_lock);
	atom_store_rlx(&g_gate.map_closing, map_closing);
	atom_store_rlx(&g_gate.map_opened, map_opened);
	sys(SYS_madvise, &g_gate, sizeof(g_gate), MADV_WIPEONFORK);
	return true;
}

void gate_wipe(void)
{
	set_word(0);
	g_gate.map_lock = g_gate.map_closing = g_gate.map_opened = 0;
	g_gate.slot_lock = 0;
}
