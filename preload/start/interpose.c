/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose - wraps libc functions that change what the shim may do: names of
 * threads, seccomp (a filter may kill for system calls), limits on memory that
 * the arena would exhaust, and process ends without destructors. Each returns
 * the real function's result. vfork() and syscall() are assembly
 * (interpose_x86_64.S), because they may return twice on one stack.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/core/find_next.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/cpu/cpu_timer.h"
#include "preload/load/thunk_map.h"
#include "preload/ring/slot.h"
#include "preload/ring/slot_memory.h"
#include "preload/start/environment.h"
#include "preload/start/interpose.h"
#include "preload/start/thread_figures.h"
#include "shared/atomic.h"

/* Memory that unused slots may keep when a program locks its memory. */
#define LOCKED_BYTES_MAX (16ULL << 20)

static void forbid_syscalls(void)
{
	cpu_timer_stop();
	slot_memory_open_all();
	g_shim.no_syscalls = true;
	if (g_shim.page)
		/* order: sc, FLAGS: other threads may set other ones */
		atom_or_sc(&g_shim.page->flags, PAGE_NO_SYSCALLS);
}

/* Returns the seccomp mode that a system call would set. libseccomp probes the
 * kernel by calls that must fail; they set none. */
static unsigned long seccomp_mode(long number, unsigned long first,
				  unsigned long second, unsigned long third)
{
	if (number == SYS_prctl) {
		if (first != PR_SET_SECCOMP)
			return SECCOMP_MODE_DISABLED;
		return second == SECCOMP_MODE_FILTER && !third
			       ? SECCOMP_MODE_DISABLED
			       : second;
	}
	if (first == SECCOMP_SET_MODE_STRICT && !second && !third)
		return SECCOMP_MODE_STRICT;
	return first == SECCOMP_SET_MODE_FILTER && third
		       ? SECCOMP_MODE_FILTER
		       : SECCOMP_MODE_DISABLED;
}

void interpose_syscall(long number, unsigned long first, unsigned long second,
		       unsigned long third)
{
	unsigned long mode;

	if (number != SYS_prctl && number != SYS_seccomp) {
		thread_figures_tell();
		return;
	}
	mode = seccomp_mode(number, first, second, third);
	if (mode == SECCOMP_MODE_STRICT ||
	    (number == SYS_prctl && first == PR_SET_TSC &&
	     second == PR_TSC_SIGSEGV)) {
		cpu_timer_thread_ends();
		slot_mute();
	} else if (mode == SECCOMP_MODE_FILTER) {
		forbid_syscalls();
	}
}

ATTR_EXPORT int prctl(int option, ...)
{
	unsigned long a[4];
	va_list args;
	int result;

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(args, unsigned long);
	va_end(args);
	interpose_syscall(SYS_prctl, (unsigned long)option, a[0], a[1]);
	result = NEXT(prctl)(option, a[0], a[1], a[2], a[3]);
	if (!result && option == PR_SET_NAME)
		slot_set_name((uint64_t)libc()->self(), (const char *)a[0]);
	return result;
}

ATTR_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = NEXT(pthread_setname_np)(thread, name);

	if (!result)
		slot_set_name((uint64_t)thread, name);
	return result;
}

/* Returns the bytes of @resource that slots may use: address space (RLIMIT_AS)
 * or locked memory (RLIMIT_MEMLOCK). The latter is 0 under a seccomp filter,
 * which may kill for prlimit64() even if it permits mlockall(). */
static uint64_t room_within(int resource)
{
	uint64_t limit;

	if (resource == RLIMIT_MEMLOCK && g_shim.no_syscalls)
		return 0;
	limit = sys_limit(resource);
	if (limit != RLIM_INFINITY)
		return limit / ADDRESS_SPACE_SHARE;
	return resource == RLIMIT_AS ? UINT64_MAX : LOCKED_BYTES_MAX;
}

/*
 * mlockall() would allocate every ring, or fail. Only the kernel knows whether
 * the limit applies (not with CAP_IPC_LOCK in the first user namespace), and
 * root's limit of 8 MiB would leave no slot for another thread. So the first
 * attempt keeps as many slots as without a limit. The kernel checks the limit
 * before it locks any page.
 */
ATTR_EXPORT int mlockall(int flags)
{
	int saved_errno = *libc()->errno_location();
	uint64_t room;
	int result;

	if (!(flags & MCL_CURRENT))
		return NEXT(mlockall)(flags);
	thunk_map_give_back();
	room = room_within(RLIMIT_MEMLOCK);
	if (room < LOCKED_BYTES_MAX && !g_shim.no_syscalls) {
		slot_retire_unused(LOCKED_BYTES_MAX);
		result = NEXT(mlockall)(flags);
		if (!result || *libc()->errno_location() != ENOMEM)
			return result;
		*libc()->errno_location() = saved_errno;
	}
	slot_retire_unused(room);
	return NEXT(mlockall)(flags);
}

/* Runs after the call, when the kernel has read the program's pointers; @result
 * is its answer. Without @limit the program has only read the limit. */
static int limit_changed(int resource, const void *limit, int result)
{
	if (!result && limit && resource == RLIMIT_AS)
		slot_retire_unused(room_within(RLIMIT_AS));
	return result;
}

ATTR_EXPORT int setrlimit(__rlimit_resource_t resource,
			  const struct rlimit *limit)
{
	return limit_changed((int)resource, limit,
			     NEXT(setrlimit)(resource, limit));
}

ATTR_EXPORT int setrlimit64(__rlimit_resource_t resource,
			    const struct rlimit64 *limit)
{
	return limit_changed((int)resource, limit,
			     NEXT(setrlimit64)(resource, limit));
}

ATTR_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource,
			const struct rlimit *limit, struct rlimit *old)
{
	return limit_changed((int)resource, limit,
			     NEXT(prlimit)(pid, resource, limit, old));
}

ATTR_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource,
			  const struct rlimit64 *limit, struct rlimit64 *old)
{
	return limit_changed((int)resource, limit,
			     NEXT(prlimit64)(pid, resource, limit, old));
}

/* Ends the process without exit(): no destructor runs. */
__attribute__((noreturn)) static void end_at_once(int status)
{
	void (*real)(int) = (void (*)(int))NEXT(_exit);

	thread_figures_tell();
	if (real)
		real(status);
	for (;;)
		sys(SYS_exit_group, status);
}

ATTR_EXPORT void _exit(int status)
{
	end_at_once(status);
}

ATTR_EXPORT void _Exit(int status)
{
	end_at_once(status);
}

void *interpose_real_syscall(void)
{
	return (void *)NEXT(syscall);
}

void interpose_vfork_begin(void)
{
	t_thread.epoch_before_vfork = t_thread.epoch;
	t_thread.in_vfork = true;
	t_thread.epoch = EPOCH_NONE;
}

void interpose_vfork_end(void)
{
	t_thread.epoch = t_thread.epoch_before_vfork;
	t_thread.in_vfork = false;
	environment_vfork_end();
}

int interpose_error(int errnum)
{
	*libc()->errno_location() = errnum;
	return -1;
}
