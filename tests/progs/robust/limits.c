/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - sets limits of memory, as su and sudo do by pam_limits, and forks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
QUIET static void *run(void *unused)
{
	leaf();
	return unused;
}
/* limits MEGABYTES early|late: -1 is no limit, -2 mlockall(), -3 mlockall()
 * with a limit of 8 MiB. */
QUIET int main(int argc, char **argv)
{
	struct rlimit limit, locked = { RLIM_INFINITY, RLIM_INFINITY };
	long megabytes = atol(argv[1]);
	pthread_t thread;
	int status;

	getrlimit(RLIMIT_AS, &limit);
	if (megabytes >= 0)
		limit.rlim_cur = (rlim_t)megabytes << 20;
	if (argv[2][0] == 'e')
		leaf();
	if (megabytes == -3)
		locked.rlim_cur = locked.rlim_max = 8 << 20;
	if (megabytes <= -2 ? setrlimit(RLIMIT_MEMLOCK, &locked) ||
				      mlockall(MCL_CURRENT | MCL_FUTURE)
			    : setrlimit(RLIMIT_AS, &limit))
		return 1;
	if (setrlimit(RLIMIT_AS, (void *)1) != -1 || errno != EFAULT)
		return 2;
	if (argv[2][0] != 'e')
		leaf();
	if (megabytes && !pthread_create(&thread, NULL, run, NULL))
		pthread_join(thread, NULL);
	if (!fork()) {
		leaf();
		_exit(0);
	}
	wait(&status);
	return status != 0 || argc != 3;
}
