/* SPDX-License-Identifier: Apache-2.0
 *
 * pulse - a thread owns a slot of a table from its first piece of work to its
 * end. Threads without a slot are not watched.
 */
#include "collector/base/pulse.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "shared/atomic.h"

/* Twice the threads of a thousand recordings. */
#define SLOTS 4096

struct slot { /* all fields atomic; tid is claimed, the owner writes the
	       * others */
	uint32_t tid;
	uint64_t since_ns;
	const char *what;
};

static struct slot g_slot[SLOTS];
static uint32_t g_used;
static pthread_key_t g_key;
static pthread_once_t g_once = PTHREAD_ONCE_INIT;
static __thread struct slot *g_own;
static __thread bool g_asked; /* claim_slot() was called */

static void free_slot(void *slot_ptr)
{
	struct slot *slot = slot_ptr;

	/* relaxed, both: the watchdog only reads */
	atom_store_rlx(&slot->since_ns, 0);
	atom_store_rlx(&slot->tid, 0);
	g_own = NULL;
}

static void make_pulse_key(void)
{
	(void)pthread_key_create(&g_key, free_slot);
}

static void note_used(uint32_t count)
{
	/* relaxed: a hint; a slot that is missed once is seen later */
	uint32_t used = atom_load_rlx(&g_used);

	/* order: sc, PULSE: it only grows */
	while (used < count && !atom_cas_sc(&g_used, used, count))
		/* relaxed: compared again */
		used = atom_load_rlx(&g_used);
}

static struct slot *claim_slot(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	g_asked = true;
	(void)pthread_once(&g_once, make_pulse_key);
	for (uint32_t i = 0; i < SLOTS; i++) {
		/* order: sc, PULSE: a slot has one owner */
		if (!atom_cas_sc(&g_slot[i].tid, 0, tid))
			continue;
		note_used(i + 1);
		g_own = &g_slot[i];
		(void)pthread_setspecific(g_key, g_own);
		return g_own;
	}
	return NULL;
}

void pulse_begin(const char *what)
{
	struct slot *slot = g_own || g_asked ? g_own : claim_slot();

	if (!slot)
		return;
	/* relaxed, both: the watchdog may briefly see only one of them */
	atom_store_rlx(&slot->what, what);
	atom_store_rlx(&slot->since_ns, clock_monotonic_ns());
}

void pulse_end(void)
{
	if (g_own)
		/* relaxed: as above */
		atom_store_rlx(&g_own->since_ns, 0);
}

const char *pulse_step(const char *what)
{
	const char *before;

	/* relaxed, all: the thread's own slot, and as above */
	if (!what || !g_own || !atom_load_rlx(&g_own->since_ns))
		return NULL;
	before = atom_load_rlx(&g_own->what);
	atom_store_rlx(&g_own->what, what);
	return before;
}

bool pulse_next(size_t *at, struct pulse *out)
{
	/* relaxed, all: a thread may start or end its work just now */
	size_t used = atom_load_rlx(&g_used);

	for (; *at < used; ++*at) {
		const struct slot *slot = &g_slot[*at];

		*out = (struct pulse){
			.tid = (pid_t)atom_load_rlx(&slot->tid),
			.what = atom_load_rlx(&slot->what),
			.since_ns = atom_load_rlx(&slot->since_ns),
		};
		if (out->tid && out->what && out->since_ns) {
			++*at;
			return true;
		}
	}
	return false;
}
