/* SPDX-License-Identifier: Apache-2.0
 *
 * steps - a program acts at the k-th instruction of a call, for every k:
 *
 *	steps_begin(act);
 *	do {
 *		k = steps_target();
 *		if (!sigsetjmp(out, 1)) {
 *			STEPS_ON;
 *			call();
 *			STEPS_OFF;
 *		}
 *	} while (steps_go_on());
 *
 * Under the trap flag each instruction costs a signal, and an exit to the host
 * where the machine is a guest. So the call is stepped through as a whole only
 * once, with k = STEPS_LOOK, and nothing is done but to note its instructions.
 * From then on a breakpoint, in the text of the shim, stops the call shortly
 * before its k-th instruction. The call acts only where it has come to the very
 * instruction that was noted. If it goes another way (a signal starts a
 * restartable sequence over, a chunk of the ring is full), it does not act, and
 * is tried again with the same k, step by step: steps_missed(). Where it has
 * gone another way before the breakpoint, it is looked at again first.
 *
 * Once it has acted, or missed, the rest of the call runs by itself. With
 * g_steps.by_step there are no breakpoints, only this; with g_steps.every it
 *acts at every instruction. Both are set before steps_begin().
 */
#ifndef PERFREC_TESTS_SHIM_STEPS_H
#define PERFREC_TESTS_SHIM_STEPS_H

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>

#define STEPS_LOOK (-1)
#define STEPS_MAX 65536
#define STEPS_TRAP_FLAG 0x100
static struct {
	void (*act)(void);
	int memory; /* /proc/self/mem */
	bool every; /* act at every instruction, not at the k-th */
	bool by_step; /* no breakpoints: what acts may fork */
	volatile long target; /* k */
	volatile long step; /* instructions that were seen */
	volatile bool fired; /* it has acted */
	volatile bool whole; /* no breakpoint */
	volatile bool look; /* note the instructions; do not act */
	volatile bool differs; /* the call is not as it was noted */
	volatile long head; /* the first so many are stepped through */
	/* The breakpoint, in place of an instruction; 0: there is none. */
	volatile uintptr_t stop;
	volatile long stop_step;
	uint8_t byte; /* that was there */
	volatile long length; /* of trace */
	uintptr_t trace[STEPS_MAX]; /* the call, as it was seen at first */
} g_steps;

static inline long steps_target(void)
{
	return g_steps.look ? STEPS_LOOK : g_steps.target;
}

static inline bool steps_fired(void)
{
	return g_steps.fired;
}

/* Whether the call that is over was to act, but did not, and is tried again. */
static inline bool steps_missed(void)
{
	return !g_steps.look && !g_steps.fired && !g_steps.whole;
}

static inline void steps_unstop(void)
{
	if (g_steps.stop &&
	    pwrite(g_steps.memory, &g_steps.byte, 1, (off_t)g_steps.stop) != 1)
		err(1, "/proc/self/mem");
	g_steps.stop = 0;
}

/* Text that is shared, as thunks are, can not be written. */
static inline bool steps_stop_at(long step)
{
	const uint8_t int3 = 0xcc;
	uintptr_t at = g_steps.trace[step];

	g_steps.byte = *(const uint8_t *)at;
	if (pwrite(g_steps.memory, &int3, 1, (off_t)at) != 1)
		return false;
	g_steps.stop = at;
	g_steps.stop_step = step;
	return true;
}

/* Whether a breakpoint after @now was set, not beyond the target, at an
 * instruction that the call reaches only once from here. */
static inline bool steps_set_stop(long now)
{
	for (long step = g_steps.target; step > now + 1; step--) {
		long i = now;

		while (i < step && g_steps.trace[i] != g_steps.trace[step])
			i++;
		if (i == step && steps_stop_at(step))
			return true;
	}
	return false;
}

/* Instruction @step is about to run. Whether to go on step by step. */
static inline bool steps_at(long step, uintptr_t instruction)
{
	if (g_steps.every) {
		g_steps.fired = true;
		g_steps.act();
		return true;
	}
	if (g_steps.look) {
		if (step < STEPS_MAX)
			g_steps.trace[step] = instruction;
		return true;
	}
	if (!g_steps.whole &&
	    (step >= g_steps.length || g_steps.trace[step] != instruction)) {
		g_steps.differs = true;
		return false;
	}
	if (step == g_steps.target) {
		g_steps.fired = true;
		g_steps.act();
		return false;
	}
	return g_steps.whole || step < g_steps.head || !steps_set_stop(step);
}

static inline void steps_on_trap(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	bool go_on = false;

	(void)signal;
	(void)info;
	if (!g_steps.stop) {
		if (!g_steps.fired || g_steps.every)
			go_on = steps_at(g_steps.step++,
					 (uintptr_t)registers[REG_RIP]);
	} else if ((uintptr_t)registers[REG_RIP] == g_steps.stop + 1) {
		registers[REG_RIP] = (greg_t)g_steps.stop;
		steps_unstop();
		g_steps.step = g_steps.stop_step;
		go_on = steps_at(g_steps.step++, (uintptr_t)registers[REG_RIP]);
		if (go_on)
			registers[REG_EFL] |= STEPS_TRAP_FLAG;
	} /* else the flag was on the stack, and came back from there */
	/* Not set here: the call may have cleared it. */
	if (!go_on)
		registers[REG_EFL] &= ~STEPS_TRAP_FLAG;
}

/* What was noted of another call is forgotten. @act is called on the signal
 * handler's stack; it may leave by siglongjmp(). */
static inline void steps_begin(void (*act)(void))
{
	struct sigaction action = { .sa_sigaction = steps_on_trap,
				    .sa_flags = SA_SIGINFO };

	if (!g_steps.act) {
		g_steps.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
		if (g_steps.memory < 0)
			err(1, "/proc/self/mem");
		sigaction(SIGTRAP, &action, NULL);
	}
	g_steps.act = act;
	g_steps.target = 0;
	g_steps.whole = g_steps.every || g_steps.by_step;
	g_steps.look = !g_steps.whole;
	g_steps.differs = false;
	g_steps.fired = false;
	g_steps.head = g_steps.step = 0;
}

/* The call is over. Whether there is another one to make; false once it has no
 * k-th instruction. */
static inline bool steps_go_on(void)
{
	bool again = true;

	steps_unstop(); /* one that was not reached */
	if (g_steps.look) {
		if (g_steps.step > STEPS_MAX)
			errx(1, "more than %d steps", STEPS_MAX);
		g_steps.length = g_steps.step;
		g_steps.look = false;
	} else if (g_steps.fired) {
		g_steps.target++;
		g_steps.whole = g_steps.target >= g_steps.length;
	} else if (!g_steps.whole) {
		/* The breakpoint came too early for this one. */
		if (g_steps.head < g_steps.target)
			g_steps.head = g_steps.target;
		g_steps.look = g_steps.differs;
		g_steps.whole = true;
	} else {
		again = false;
	}
	g_steps.differs = false;
	g_steps.fired = false;
	g_steps.step = 0;
	return again;
}

#define STEPS_ON                                                     \
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" :: \
				 : "cc", "memory")
#define STEPS_OFF                                                      \
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" :: \
				 : "cc", "memory")

#endif
