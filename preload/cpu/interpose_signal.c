/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_signal - wraps functions that set the action of a signal. While the
 * shim owns SIGPROF (cpu_timer.h) the program sees SIG_DFL, as without the
 * shim. The shim releases SIGPROF before the program sets it.
 *
 * A handler on an alternate stack, which may be small, runs with SIGPROF
 * blocked. The shim hides this from the program.
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

/* Bits of signals whose mask has SIGPROF added by the shim. */
static uint64_t g_masked;

static uint64_t bit_of(int signal)
{
	return signal > 0 && signal <= SIGNALS_MAX ? 1ULL << (signal - 1) : 0;
}

/* A vfork() child has its parent's memory, but its own signals. */
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
	/* relaxed: set before threads exist; only its end can race */
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
	/* relaxed: only concurrent calls of the program race */
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
	return action->sa_handler == SIG_DFL; /* also with SA_SIGINFO */
}

/* SIG_DFL is wanted. Returns true if the shim's handler was set instead. */
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

/* Returns true if the call is done and returns *@old to the program. */
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

/* These only set an action. If SIGPROF was the shim's, the old one is
 * SIG_DFL. */
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
