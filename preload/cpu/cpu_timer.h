/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_timer - CPU samples that a program takes of itself (--cpu=HZ,signal): a
 * timer for each thread, which counts its CPU time and raises SIGPROF. Only
 * where it was asked for, and only as long as the program does not want
 * SIGPROF itself.
 */
#ifndef PERFREC_PRELOAD_CPU_CPU_TIMER_H
#define PERFREC_PRELOAD_CPU_CPU_TIMER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct wire_reply;

/* A signal frame alone is 3 KB on machines with AVX-512. */
#define CPU_STACK_MIN (64u << 10)

struct cpu_engine {
	uint64_t period_ns;
	uint32_t stack_bytes;
	int32_t pid; /* whose timers there are */
	bool on; /* timers may be made */
};

extern struct cpu_engine g_cpu;

/* Once, when recording has started, with all signals blocked. */
void cpu_timer_start(const struct wire_reply *reply, bool quiet);

/* A thread begins, on a stack of @stack_bytes, at least CPU_STACK_MIN; or the
 * child of a fork. Neither does anything when the engine is off. */
void cpu_timer_thread_begins(size_t stack_bytes);
void cpu_timer_forked(void);
/* The thread ends, or may not be interrupted any more. Any context. */
void cpu_timer_thread_ends(void);

/* No timer fires from now on, in any thread, for good. Any context. */
void cpu_timer_stop(void);
/* The program is about to say what SIGPROF does: the same, and SIGPROF is
 * ignored until it has. @for_default: that will be SIG_DFL. False: a timer of
 * ours may fire yet, so our handler, which does nothing then, must stay: the
 * program must not set SIG_DFL, which would kill it. */
bool cpu_timer_give_up_signal(bool for_default);
/* The program, whose SIGPROF is, wants SIG_DFL for it. True: a timer of ours
 * may fire yet, so our handler is set instead, and *@old what was; SIGPROF is
 * ours again. Not in a vfork child. */
bool cpu_timer_stand_in(struct sigaction *old);
/* Whether SIGPROF is ours, and the program takes it for SIG_DFL. */
bool cpu_timer_has_signal(void);
/* A context that is being made may have a stack too small for us. */
void cpu_timer_spare(ucontext_t *context);
/* The thread is about to go on in @context, or NULL: to end. Any context. */
void cpu_timer_switch(const ucontext_t *context);

/* The real sigaction(); NULL: not found. */
int (*cpu_timer_sigaction(void))(int, const struct sigaction *,
				 struct sigaction *);

#endif
