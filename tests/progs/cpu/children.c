/* SPDX-License-Identifier: Apache-2.0
 *
 * children [fork|exec PROGRAM] - ten children, forked or executed, that use CPU
 * time; prints the getrusage() of itself and of the children.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void spend(void)
{
	struct timespec time = { 0 };
	volatile long sum = 0;

	while (time.tv_sec * 1000 + time.tv_nsec / 1000000 < 40) {
		for (int i = 0; i < 1000; i++)
			sum += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	}
}
static long long used(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}
int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < 10; i++) {
		if (fork() == 0) {
			if (argc > 2)
				execl(argv[2], argv[2], (char *)0);
			spend();
			_exit(argc > 2);
		}
		wait(NULL);
	}
	spend();
	if (argc > 1)
		printf("%lld %lld\n", used(RUSAGE_SELF), used(RUSAGE_CHILDREN));
	return 0;
}
