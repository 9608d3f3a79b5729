/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_signal - the functions by which a program says what a signal does.
 * While SIGPROF is ours (cpu_timer.h) the program is told that it is SIG_DFL,
 * as it would be without the shim. When the program sets it, the shim lets go
 * of it first.
 *
 * A handler that runs on a stack of its own, which may be small, gets SIGPROF
 * blocked while it runs. When the program asks for that handler's action, the
 * shim hides this.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/core/find_next.h"
#include "preload/core/libc.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/cpu/cpu_timer.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define SIGNALS_MAX 64

/* A bit for each signal to whose mask the shim has added SIGPROF. */
static uint64_t g_masked;

static uint64_t bit_of(int signal)
{
	return signal > 0 && signal <= SIGNALS_MAX ? 1ULL << (signal - 1) : 0;
}

/* A vfork child has its parent's memory, but not its signals. */
static bool is_signal_ours(int signal)
{
	return signal == SIGPROF && !t_thread.in_vfork &&
	       cpu_timer_has_signal();
}

static void set_masked(int signal, bool masked)
{
	uint64_t bit = bit_of(signal), old;

	do {
		/* relaxed: the swap decides */
		old = atom_load_rlx(&g_masked);
		if (t_thread.in_vfork || !bit || !(old & bit) == !masked)
			return;
		/* order: sc, MASKED: other threads set other bits */
	} while (!atom_cas_sc(&g_masked, old, old ^ bit));
}

static bool must_mask(int signal, const struct sigaction *action)
{
	/* relaxed: settled before there are threads, but for its end */
	return action && bit_of(signal) && atom_load_rlx(&g_cpu.on) &&
	       action->sa_flags & SA_ONSTACK &&
	       !sigset_has(&action->sa_mask, SIGPROF);
}

static int set_action(int signal, const struct sigaction *action,
		      struct sigaction *old)
{
	int (*real)(int, const struct sigaction *, struct sigaction *) =
		cpu_timer_sigaction();
	bool mask = must_mask(signal, action), hidden;
	struct sigaction masked;
	int result;

	if (!real) {
		*libc()->errno_location() = ENOSYS;
		return -1;
	}
	/* relaxed: only what this program does at once is unordered */
	hidden = atom_load_rlx(&g_masked) & bit_of(signal);
	if (mask) {
		masked = *action;
		sigset_add(&masked.sa_mask, SIGPROF);
		result = real(signal, &masked, old);
	} else {
		result = real(signal, action, old);
	}
	if (result)
		return result;
	if (old && hidden)
		sigset_remove(&old->sa_mask, SIGPROF);
	if (action)
		set_masked(signal, mask);
	return 0;
}

static bool is_default(const struct sigaction *action)
{
	return action->sa_handler == SIG_DFL; /* with SA_SIGINFO, too */
}

/* The program wants SIG_DFL. True when a handler of ours was set in its place.
 */
static bool is_stood_in(int signal, struct sigaction *old)
{
	return signal == SIGPROF && !t_thread.in_vfork &&
	       cpu_timer_stand_in(old);
}

ATTR_EXPORT int sigaction(int signal, const struct sigaction *action,
			  struct sigaction *old)
{
	struct sigaction before;
	int result;

	if (!is_signal_ours(signal)) {
		if (!action || !is_default(action) ||
		    !is_stood_in(signal, &before))
			return set_action(signal, action, old);
		if (old)
			*old = before;
		return 0;
	}
	if (action && !cpu_timer_give_up_signal(is_default(action)))
		action = NULL;
	result = set_action(signal, action, old);
	if (!result && old)
		*old = (struct sigaction){ .sa_handler = SIG_DFL };
	return result;
}

int __sigaction(int signal, const struct sigaction *action,
		struct sigaction *old);

ATTR_EXPORT int __sigaction(int signal, const struct sigaction *action,
			    struct sigaction *old)
{
	return sigaction(signal, action, old);
}

/* True when *@old is what to return to the program, and nothing is left to do.
 */
static bool is_settled(int signal, sighandler_t action, bool was_ours,
		       sighandler_t *old)
{
	struct sigaction before;

	*old = SIG_DFL;
	/* These set no action. */
	if (action == SIG_ERR || action == SIG_HOLD)
		return false;
	if (was_ours)
		return !cpu_timer_give_up_signal(action == SIG_DFL);
	if (action != SIG_DFL || !is_stood_in(signal, &before))
		return false;
	*old = before.sa_handler;
	return true;
}

/* The other functions only set. If SIGPROF was ours, SIG_DFL was set before. */
#define SETTER(name)                                                          \
	sighandler_t name(int signal, sighandler_t action);                   \
	ATTR_EXPORT sighandler_t name(int signal, sighandler_t action)        \
	{                                                                     \
		static sighandler_t (*real)(int, sighandler_t);               \
		bool was_ours = is_signal_ours(signal);                       \
		sighandler_t old;                                             \
                                                                              \
		if (!real)                                                    \
			real = (sighandler_t(*)(int, sighandler_t))find_next( \
				#name);                                       \
		if (is_settled(signal, action, was_ours, &old))               \
			return old;                                           \
		set_masked(signal, false);                                    \
		old = real(signal, action);                                   \
		if (old == SIG_ERR || old == SIG_HOLD)                        \
			return old;                                           \
		return was_ours ? SIG_DFL : old;                              \
	}

SETTER(signal)
SETTER(bsd_signal)
SETTER(ssignal)
SETTER(sysv_signal)
SETTER(__sysv_signal)
SETTER(sigset)

ATTR_EXPORT int sigignore(int signal)
{
	static int (*real)(int);

	if (!real)
		real = (int (*)(int))find_next("sigignore");
	if (is_signal_ours(signal))
		cpu_timer_give_up_signal(false);
	set_masked(signal, false);
	return real(signal);
}
