/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_timer - CPU samples that the program takes itself (--cpu=HZ,signal). Each
 * thread has a timer of its CPU time that raises SIGPROF. Timers exist only on
 * request, and only until the program uses SIGPROF itself.
 */
#ifndef PERFREC_PRELOAD_CPU_CPU_TIMER_H
#define PERFREC_PRELOAD_CPU_CPU_TIMER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct wire_reply;

/* Smaller stacks get no signals: a frame alone has 3 KB with AVX-512. */
#define CPU_STACK_MIN (64u << 10)

struct cpu_engine {
	uint64_t period_ns;
	uint32_t stack_bytes;
	int32_t pid; /* the process that owns the timers */
	bool on; /* timers may be made */
};

extern struct cpu_engine g_cpu;

/* Makes the first thread's timer as @reply asks. Writes a message if that
 * fails, unless @quiet. Once, when recording has started; all signals are
 * blocked. */
void cpu_timer_start(const struct wire_reply *reply, bool quiet);

/* Makes the timer of this new thread, whose stack has @stack_bytes, at least
 * CPU_STACK_MIN. Does nothing while the engine is off. */
void cpu_timer_thread_begins(size_t stack_bytes);

/* In a forked child: makes a timer if the forking thread had one. */
void cpu_timer_forked(void);

/* Deletes this thread's timer, at its end or when no signal may interrupt it
 * any more. Any context. */
void cpu_timer_thread_ends(void);

/* Deletes all timers, for good: none fires from now on. Any context. */
void cpu_timer_stop(void);

/*
 * The program is about to set an action for SIGPROF (@for_default: SIG_DFL).
 * Deletes all timers and ignores SIGPROF meanwhile. Returns false if SIG_DFL
 * must not be set, because a timer may still fire and would kill the program;
 * then the shim's handler stays, and does nothing.
 */
bool cpu_timer_give_up_signal(bool for_default);

/* The program owns SIGPROF and wants SIG_DFL. If a timer may still fire, sets
 * the shim's handler instead, sets *@old to the action before, takes SIGPROF
 * back, and returns true. Not in a vfork() child. */
bool cpu_timer_stand_in(struct sigaction *old);

/* Returns true while the shim owns SIGPROF; the program then sees SIG_DFL. */
bool cpu_timer_has_signal(void);

/* Blocks SIGPROF in the new @context, whose stack may be too small. */
void cpu_timer_spare(ucontext_t *context);

/* Before this thread switches to @context, or ends (NULL). Any context. */
void cpu_timer_switch(const ucontext_t *context);

/* Returns the real sigaction(); NULL if not found. */
int (*cpu_timer_sigaction(void))(int, const struct sigaction *,
				 struct sigaction *);

#endif
