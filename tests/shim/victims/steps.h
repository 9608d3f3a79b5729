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
 * Under the trap flag each instruction costs a signal and, in a virtual
 * machine, an exit to the host. So only the first call, with k = STEPS_LOOK, is
 * stepped through to its end, to note its instructions. Later calls have a
 * breakpoint in the shim's text shortly before the k-th instruction. A call
 * acts only if it reaches the noted instruction. A call that takes another path
 * (a signal restarts a restartable sequence, a chunk of the ring is full) does
 * not act. It is repeated with the same k, step by step: steps_missed(). If the
 * paths differ before the breakpoint, the instructions are first noted again.
 *
 * After the act or the miss, the call continues without steps. by_step in
 * g_steps avoids breakpoints; every acts at each instruction. Set both before
 * steps_begin().
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
	bool by_step; /* no breakpoints: @act may fork */
	volatile long target;
	volatile long step;
	volatile bool fired;
	volatile bool whole;
	volatile bool look; /* only note the instructions */
	volatile bool differs; /* the call differs from the noted one */
	volatile long head;
	/* Address of the breakpoint; 0: none. */
	volatile uintptr_t stop;
	volatile long stop_step;
	uint8_t byte; /* replaced by the breakpoint */
	volatile long length;
	uintptr_t trace[STEPS_MAX];
} g_steps;

static inline long steps_target(void)
{
	return g_steps.look ? STEPS_LOOK : g_steps.target;
}

static inline bool steps_fired(void)
{
	return g_steps.fired;
}

/* Returns true if the finished call did not act and is repeated. */
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

/* Shared text, such as thunks, is not writable. */
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

/* Sets a breakpoint after @now, not beyond the target, at an instruction that
 * the call reaches only once. */
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

/* True: go on step by step. */
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
	} /* otherwise popfq has just restored the flag */
	/* Setting it here is wrong: the call may have cleared it. */
	if (!go_on)
		registers[REG_EFL] &= ~STEPS_TRAP_FLAG;
}

/* Forgets notes of another call. @act runs on the signal handler's stack and
 * may leave by siglongjmp(). */
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

/* Follows each call. Returns false if it had no k-th instruction. */
static inline bool steps_go_on(void)
{
	bool again = true;

	if (g_steps.look) {
		if (g_steps.step > STEPS_MAX)
			errx(1, "more than %d steps", STEPS_MAX);
		g_steps.length = g_steps.step;
		g_steps.look = false;
	} else if (g_steps.fired) {
		g_steps.target++;
		g_steps.whole = g_steps.target >= g_steps.length;
	} else if (!g_steps.whole) {
		/* The breakpoint came too early for this call. */
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
/* Also removes the breakpoint of a call that missed. A later call, not stepped,
 * may reach it and would act. */
#define STEPS_OFF                                                              \
	do {                                                                   \
		__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" :: \
					 : "cc", "memory");                    \
		steps_unstop();                                                \
	} while (0)

#endif
