/* SPDX-License-Identifier: Apache-2.0
 *
 * sys - system calls without libc. They keep errno, are no cancellation points,
 * and no other preloaded library can wrap them. Each returns the kernel's
 * result, or -errno. Callable from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_SYS_H
#define PERFREC_PRELOAD_CORE_SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#if defined(__x86_64__)
static inline long sys6(long number, long a, long b, long c, long d, long e,
			long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long sys6(long number, long a, long b, long c, long d, long e,
			long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "perfrec knows x86-64 and arm64"
#endif

/* Returns true if @result is -errno. A valid result may be an address. */
static inline bool sys_failed(long result)
{
	return (unsigned long)result > -4096UL;
}

/* sys(SYS_x, ...): missing arguments are 0. */
#define sys(...) SYS_PICK_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define SYS_PICK_(number, a, b, c, d, e, f, ...)                         \
	sys6((long)(number), (long)(a), (long)(b), (long)(c), (long)(d), \
	     (long)(e), (long)(f))

#define KERNEL_SIGSET_BYTES 8

/* Blocks all asynchronous signals. Signals of faults (SIGSEGV, SIGTRAP, ...)
 * stay unblocked: the kernel kills a program that faults while they are
 * blocked. Returns the old mask. */
static inline uint64_t sys_block_signals(void)
{
	/* SIGILL 4, SIGTRAP 5, SIGBUS 7, SIGFPE 8, SIGSEGV 11, SIGSYS 31 */
	const uint64_t synchronous =
		1u << 3 | 1u << 4 | 1u << 6 | 1u << 7 | 1u << 10 | 1u << 30;
	uint64_t mask = ~synchronous;
	uint64_t old = 0;

	sys(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &mask, &old,
	    KERNEL_SIGSET_BYTES);
	return old;
}

static inline void sys_restore_signals(uint64_t old)
{
	sys(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &old, 0,
	    KERNEL_SIGSET_BYTES);
}

/* Returns the soft limit of RLIMIT_x; may be RLIM_INFINITY. */
static inline uint64_t sys_limit(int resource)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	sys(SYS_prlimit64, 0, resource, 0, &limit);
	return limit.rlim_cur;
}

static inline uint64_t sys_timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 +
	       (uint64_t)time->tv_usec * 1000;
}

/* The C library's sigset_t begins with the kernel's. */
typedef uint64_t __attribute__((may_alias)) sigset_word;

static inline bool sigset_has(const sigset_t *set, int signal)
{
	return *(const sigset_word *)set >> (signal - 1) & 1;
}

static inline void sigset_add(sigset_t *set, int signal)
{
	*(sigset_word *)set |= 1ULL << (signal - 1);
}

static inline void sigset_remove(sigset_t *set, int signal)
{
	*(sigset_word *)set &= ~(1ULL << (signal - 1));
}

#endif
