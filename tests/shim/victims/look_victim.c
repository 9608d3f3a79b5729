/* SPDX-License-Identifier: Apache-2.0
 *
 * look_victim - forks under a filter that kills a process which permits PID to
 * inspect it (PR_SET_PTRACER).
 *
 *   look_victim CASE PID
 *
 * CASE is "none": no fork and no filter; "fork": the shim does not know of the
 * filter; "told": the shim knows and avoids system calls; "namespace": the
 * child is the first process of another pid namespace. Exits with the signal
 * that killed the child, or 0, or 77 if it may not create a namespace.
 */
#include <err.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/shim/victims/look_victim.h"

/* A system call that bypasses the shim. */
static long hidden_call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2)
			 : "memory");
	return x0;
#endif
}

static void install(const char *name, int pid)
{
	struct sock_filter filter[LOOK_FILTER];
	struct sock_fprog program = { LOOK_FILTER, filter };
	long failed;

	look_filter(filter, pid);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err(1, "no_new_privs");
	if (!strcmp(name, "told"))
		failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	else
		failed = hidden_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
				     (long)&program);
	if (failed)
		errx(1, "seccomp");
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc != 3)
		errx(1, "expected two arguments");
	if (!strcmp(argv[1], "none"))
		return 0;
	if (!strcmp(argv[1], "namespace") && unshare(CLONE_NEWPID))
		return 77;
	install(argv[1], atoi(argv[2]));
	child = fork();
	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child)
		err(1, "fork");
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
