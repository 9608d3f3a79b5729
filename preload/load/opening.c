/* SPDX-License-Identifier: Apache-2.0
 *
 * opening - waits inside of dlopen() (opening.h). The text of a new module may
 * be changed only while no thread can run in it. That is so after the dynamic
 * linker has mapped it and before it calls resolvers and constructors. At that
 * moment it calls _dl_debug_state(), which does nothing, for debuggers. A jump
 * there leads to opening_notice().
 *
 * The thread that waits holds the dynamic linker's lock. Others run on; they wait
 * only where they would wait for a slow constructor: in dlopen(), dlclose() and
 * dlsym().
 *
 * The jump stays for good. Without recording it costs a load for each dlopen().
 */
#include "preload/load/opening.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/core/clock.h"
#include "preload/core/gate.h"
#include "preload/core/linker.h"
#include "preload/core/liveness.h"
#include "preload/core/sys.h"
#include "preload/load/debugger.h"
#include "preload/load/map_log.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/futex.h"

#if defined(__x86_64__)
/* Interval of checks for the collector's death. */
#define STEP_NS 50000000L
#define TEXT_STEP_NS 50000L

static struct {
	const struct r_debug *debug;
	uint64_t plan_ns, text_ns;
	uint32_t number; /* of the running dlopen(); guarded by its lock */
} g_opening;

void opening_entry(void);
void opening_notice(void);

static uint32_t next_number(struct page_shm *page)
{
	uint16_t number;

	do {
		/* relaxed: only the number matters */
		number = (uint16_t)(atom_add_rlx(&page->openings, 1) + 1);
	} while (!number);
	return number;
}

/* Returns the number of the running dlopen(), from the first call during it on; 0:
 * another process waits already. */
static uint32_t opening_number(void)
{
	struct page_shm *page = g_shim.page;
	uint32_t number;

	if (g_opening.number)
		return g_opening.number;
	number = next_number(page);
	/* order: sc, OPENING: before the entries of the map log */
	if (atom_cas_sc(&page->opening, OPENING_NONE,
			number * OPENING_STEP | OPENING_SEES))
		g_opening.number = number;
	return g_opening.number;
}

/* Returns true if dlopen() @number still waits. */
static bool is_waiting(uint32_t number, uint32_t *word)
{
	/* order: acq, OPENING: the changed text is whole */
	*word = atom_load_acq(&g_shim.page->opening);
	return *word / OPENING_STEP == number;
}

/* Goes on although the collector has not finished, unless it is writing into the
 * text just now. */
static void stop_waiting(uint32_t number)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + g_opening.text_ns;
	const struct timespec step = { 0, TEXT_STEP_NS };
	uint32_t word;

	while (is_waiting(number, &word)) {
		bool writes = (word & OPENING_STATE) == OPENING_WRITES &&
			      !collector_left() &&
			      clock_ns(CLOCK_MONOTONIC) < until;

		if (writes)
			sys(SYS_nanosleep, &step, 0);
		else
			/* order: sc, OPENING: the collector sees it before it
			 * writes, or we see it writing */
			(void)atom_cas_sc(&g_shim.page->opening, word,
					  OPENING_NONE);
	}
}

static void wait_for_collector(uint32_t number)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + g_opening.plan_ns;
	uint32_t *opening = &g_shim.page->opening, word;

	/* order: sc, OPENING: all modules are reported */
	(void)atom_cas_sc(opening, number * OPENING_STEP | OPENING_SEES,
			  number * OPENING_STEP | OPENING_WAITS);
	map_tell_opening();
	while (is_waiting(number, &word)) {
		const uint64_t now = clock_ns(CLOCK_MONOTONIC);
		const struct timespec step = {
			0, (long)MIN(until - now, (uint64_t)STEP_NS)
		};

		if (now >= until || collector_left())
			break;
		sys(SYS_futex, opening, FUTEX_OP_WAIT, word, &step);
	}
	stop_waiting(number);
}

/* The dynamic linker calls it whenever its list has changed or will change, with
 * its lock held. */
void opening_notice(void)
{
	const int state = g_opening.debug->r_state;

	g_opening.number = 0;
	/* Under a seccomp filter the thread cannot wait. */
	if (state == RT_CONSISTENT && !g_shim.no_syscalls &&
	    gate_is_recording())
		map_arrive(opening_number);
	map_set_adding(state == RT_ADD);
	if (!g_opening.number)
		return;
	wait_for_collector(g_opening.number);
	debugger_show_thunks();
}

/* Returns true if "ret" and a nop of at least four bytes are at @code, in one
 * aligned word. */
static bool is_free(const uint8_t *code)
{
	const uint8_t *padding = code + 1;

	if ((uintptr_t)code % 16 || code[0] != 0xc3)
		return false;
	while (*padding == 0x66 || *padding == 0x2e)
		padding++;
	/* It has three bytes beside its prefixes and its displacement. */
	return padding[0] == 0x0f && padding[1] == 0x1f &&
	       (padding > code + 1 || padding[2] & 0xc0);
}

bool opening_begin(uint64_t plan_ns, uint64_t text_ns)
{
	const struct r_debug *debug = linker_debug();
	uint64_t at, word;
	int64_t distance;
	long memory, written;

	if (!debug || !debug->r_brk || g_shim.no_syscalls)
		return false;
	at = debug->r_brk;
	distance = (int64_t)((uintptr_t)opening_entry - (at + 5));
	if (distance != (int32_t)distance || !is_free((const uint8_t *)at))
		return false;
	memory = sys(SYS_openat, AT_FDCWD, "/proc/self/mem",
		     O_WRONLY | O_CLOEXEC);
	if (memory < 0)
		return false;
	g_opening.debug = debug;
	g_opening.plan_ns = plan_ns;
	g_opening.text_ns = text_ns;
	/* jmp opening_entry. The kernel writes an aligned word at once. */
	memcpy(&word, (const void *)at, sizeof(word));
	word = (word & ~(uint64_t)0xffffffffff) | 0xe9 |
	       (uint64_t)(uint32_t)distance << 8;
	written = sys(SYS_pwrite64, memory, &word, sizeof(word), at);
	sys(SYS_close, memory);
	return written == sizeof(word);
}
#else
bool opening_begin(uint64_t plan_ns, uint64_t text_ns)
{
	(void)plan_ns, (void)text_ns;
	return false;
}
#endif
