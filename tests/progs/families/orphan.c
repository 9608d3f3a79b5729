/* SPDX-License-Identifier: Apache-2.0
 *
 * orphan STEPS - a chain of processes; each process outlives its parent
 * (tests/e2e/families/orphans.sh explains the letters).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define QUIET __attribute__((noinline, no_instrument_function))
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
QUIET static void *calls(void *count)
{
	for (long i = 0; i < (long)count; i++)
		leaf();
	return NULL;
}
QUIET int main(int argc, char **argv)
{
	const char *step = argv[1];
	pid_t parent = 0;
	pthread_t thread;
	FILE *file;

	(void)argc;
	for (; *step; step++) {
		parent = getpid();
		if (*step == 'f')
			calls((void *)10);
		if (*step == 'd' ? daemon(1, 1) : fork())
			_exit(0);
		if (*step == 'S')
			setsid();
	}
	while (getppid() == parent)
		usleep(1000);
	fclose(fopen("up", "w"));
	while (access("go", F_OK) < 0)
		usleep(1000);
	/* A thread other than the main thread records first. */
	pthread_create(&thread, NULL, calls, (void *)500);
	pthread_join(thread, NULL);
	calls((void *)500);
	file = fopen("done.new", "w");
	fclose(file);
	rename("done.new", "done");
	return 0;
}
