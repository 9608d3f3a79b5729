/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_timer - CPU samples that a program takes of itself (--cpu=HZ,signal).
 * Each thread has a timer that counts its CPU time and raises SIGPROF. There
 * are timers only where they were asked for, and only as long as the program
 * does not want SIGPROF for itself.
 */
#ifndef PERFREC_PRELOAD_CPU_CPU_TIMER_H
#define PERFREC_PRELOAD_CPU_CPU_TIMER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct wire_reply;

/* Smaller stacks get no signals: a signal frame alone is 3 KB with AVX-512. */
#define CPU_STACK_MIN (64u << 10)

struct cpu_engine {
	uint64_t period_ns;
	uint32_t stack_bytes;
	int32_t pid; /* of the process that the timers are of */
	bool on; /* timers may be made */
};

extern struct cpu_engine g_cpu;

/* Make a timer for the first thread, as @reply asks. If that is not possible,
 * say so unless @quiet. Once, when recording has started, with all signals
 * blocked. */
void cpu_timer_start(const struct wire_reply *reply, bool quiet);

/* This thread begins, on a stack of @stack_bytes, at least CPU_STACK_MIN: make
 * its timer. Nothing happens when the engine is off. */
void cpu_timer_thread_begins(size_t stack_bytes);

/* This is a forked child: make its thread a timer, if the parent's had one. */
void cpu_timer_forked(void);

/* This thread ends, or may not be interrupted any more: end its timer. Any
 * context.
 */
void cpu_timer_thread_ends(void);

/* End all timers: none fires from now on, in any thread, for good. Any context.
 */
void cpu_timer_stop(void);

/*
 * The program is about to say what SIGPROF does (@for_default: SIG_DFL): end
 * all timers, and ignore SIGPROF until the program has said it. False if a
 * timer of ours may still fire: then SIG_DFL would kill the program, so it must
 * not be set, and our handler stays, which does nothing then.
 */
bool cpu_timer_give_up_signal(bool for_default);

/*
 * SIGPROF is the program's, and it wants SIG_DFL for it. True if a timer of
 * ours may still fire: then our handler was set in place of SIG_DFL, *@old is
 * what was set before, and SIGPROF is ours again. Not in a vfork child.
 */
bool cpu_timer_stand_in(struct sigaction *old);

/* Whether SIGPROF is ours; the program is told that it is SIG_DFL. */
bool cpu_timer_has_signal(void);

/* @context is being made: block SIGPROF in it, as its stack may be too small.
 */
void cpu_timer_spare(ucontext_t *context);

/* The thread is about to go on in @context or, if that is NULL, to end. Any
 * context.
 */
void cpu_timer_switch(const ucontext_t *context);

/* The real sigaction(); NULL if it was not found. */
int (*cpu_timer_sigaction(void))(int, const struct sigaction *,
				 struct sigaction *);

#endif
