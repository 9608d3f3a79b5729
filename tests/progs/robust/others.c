/* SPDX-License-Identifier: Apache-2.0
 *
 * others - defines what the shim interposes beside memory, each calling the
 * next.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>
static int calls;
#define NEXT(result, name, parameters, arguments)                  \
	result name parameters                                     \
	{                                                          \
		static result(*next) parameters;                   \
		if (!next)                                         \
			*(void **)&next = dlsym(RTLD_NEXT, #name); \
		calls++;                                           \
		return next arguments;                             \
	}
NEXT(int, sigaction, (int s, const struct sigaction *a, struct sigaction *o),
     (s, a, o))
NEXT(sighandler_t, signal, (int s, sighandler_t a), (s, a))
NEXT(sighandler_t, sigset, (int s, sighandler_t a), (s, a))
NEXT(int, sigignore, (int s), (s))
NEXT(int, pthread_create,
     (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *x),
     (t, a, f, x))
NEXT(int, thrd_create, (thrd_t * t, thrd_start_t f, void *x), (t, f, x))
NEXT(int, pthread_setname_np, (pthread_t t, const char *n), (t, n))
NEXT(int, setrlimit, (__rlimit_resource_t r, const struct rlimit *l), (r, l))
NEXT(int, prlimit,
     (pid_t p, enum __rlimit_resource r, const struct rlimit *l,
      struct rlimit *o),
     (p, r, l, o))
NEXT(int, mlockall, (int f), (f))
NEXT(void *, dlopen, (const char *f, int m), (f, m))
NEXT(int, dlclose, (void *h), (h))
NEXT(int, prctl, (int o, ...), (o, 0, 0, 0, 0))
NEXT(long, syscall, (long n, ...), (n))
NEXT(void, __cyg_profile_func_enter, (void *f, void *c), (f, c))
NEXT(void, __cyg_profile_func_exit, (void *f, void *c), (f, c))
static void *thread(void *argument)
{
	return argument;
}
static int thread11(void *argument)
{
	return argument != NULL;
}
int main(void)
{
	struct sigaction action = { .sa_handler = SIG_IGN }, old;
	struct rlimit limit;
	pthread_t posix;
	thrd_t c11;
	int bad = 0, result;
	void *libm;
	bad |= sigaction(SIGUSR1, &action, &old) || old.sa_handler != SIG_DFL;
	bad |= signal(SIGUSR1, SIG_DFL) != SIG_IGN;
	bad |= (sigset(SIGUSR1, SIG_DFL) != SIG_DFL) << 1;
	bad |= sigignore(SIGUSR1) << 2;
	bad |= (pthread_create(&posix, NULL, thread, NULL) ||
		pthread_join(posix, NULL))
	       << 3;
	bad |= (thrd_create(&c11, thread11, NULL) != thrd_success ||
		thrd_join(c11, &result) != thrd_success || result)
	       << 4;
	bad |= pthread_setname_np(pthread_self(), "others") << 5;
	bad |= getrlimit(RLIMIT_CORE, &limit) << 6;
	bad |= setrlimit(RLIMIT_CORE, &limit) << 6;
	bad |= prlimit(0, RLIMIT_CORE, NULL, &limit) << 7;
	bad |= (mlockall(0) != -1) << 8;
	libm = dlopen("libm.so.6", RTLD_NOW);
	bad |= (!libm || dlclose(libm)) << 9;
	bad |= (prctl(PR_GET_DUMPABLE) < 0) << 10;
	bad |= (syscall(SYS_getpid) != getpid()) << 11;
	__cyg_profile_func_enter(NULL, NULL);
	__cyg_profile_func_exit(NULL, NULL);
	printf("%#x of %d\n", bad, calls);
	return 0;
}
