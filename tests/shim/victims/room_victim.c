/* SPDX-License-Identifier: Apache-2.0
 *
 * room_victim - fills its ring and steps through the hook that waits for room.
 * A SIGTRAP handler fills the ring again at the k-th instruction, for every
 * STRIDE-th k: a step takes tens of microseconds in some virtual machines, and
 * there are some 1,500. Needs a ring of 64 KiB.
 *
 *   room_victim TOLD
 *
 * TOLD: a file with a struct room_told.
 */
#include "tests/shim/victims/room_victim.h"

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "shared/atomic.h"

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

#define FUNCTION ((void *)0x1000)
#define TRAP_FLAG 0x100
#define STRIDE 16

static struct room_told *g_told;
static volatile long g_step, g_target;
static volatile bool g_fired;

static void step(bool on)
{
	if (on)
		__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::
					 : "cc", "memory");
	else
		__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::
					 : "cc", "memory");
}

/* The stack pointer pairs the hooks, so one function calls both. */
static __attribute__((noinline)) void record_pair(bool stepped)
{
	if (stepped)
		step(true);
	__cyg_profile_func_enter(FUNCTION, NULL);
	step(false);
	__cyg_profile_func_exit(FUNCTION, NULL);
	/* prevents a tail call, which has another stack pointer */
	g_told->begins++;
}

static void fill(void)
{
	for (int i = 0; i < ROOM_PAIRS; i++)
		record_pair(false);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)signal;
	(void)info;
	if (g_step++ != g_target)
		return;
	g_fired = true;
	interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	fill();
}

static void empty_the_ring(void)
{
	/* sc: the records are in the ring first */
	uint32_t asked = atom_add_sc(&g_told->asked, 1) + 1;

	/* acquire: the tail that the test has stored */
	while (atom_load_acq(&g_told->emptied) != asked)
		sched_yield();
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_trap,
				    .sa_flags = SA_SIGINFO };
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;

	g_told = mmap(NULL, sizeof(*g_told), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	if (g_told == MAP_FAILED)
		err(2, "usage: room_victim TOLD");
	sigaction(SIGTRAP, &action, NULL);
	record_pair(false); /* attaches, so that the stepped call need not */
	do {
		empty_the_ring();
		fill();
		g_step = 0;
		g_fired = false;
		record_pair(true);
		g_target += STRIDE;
		g_told->handlers += g_fired;
	} while (g_fired);
	return 0;
}
