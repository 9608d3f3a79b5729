/* SPDX-License-Identifier: Apache-2.0
 *
 * known - makes as many calls as count-preload.sh knows: in threads, a signal
 * handler, constructors and destructors, forks, an exec, a plugin.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
static NOINLINE void leaf(void)
{
	__asm__("");
}
static volatile long spins, handled;
static NOINLINE void spin(void)
{
	spins++;
}
static NOINLINE void handler(int signal)
{
	(void)signal;
	handled++;
	leaf();
}
static NOINLINE void *thread(void *count)
{
	for (long i = 0; i < (long)count; i++)
		leaf();
	return NULL;
}
static NOINLINE void child(void)
{
	leaf();
}
static NOINLINE void again(void)
{
	leaf();
	leaf();
}
__attribute__((constructor)) static void before(void)
{
	leaf();
}
__attribute__((destructor)) static void after(void)
{
	leaf();
}
int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { 0 };
	pthread_t threads[3];
	void (*plugin)(void);

	if (argc > 1 && !strcmp(argv[1], "again")) {
		again();
		kill(getpid(), SIGKILL);
	}
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(1000L << i));
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 100)
		spin();
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%ld %ld\n", handled, spins);
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	plugin = (void (*)(void))dlsym(dlopen("./plugin.so", RTLD_NOW),
				       "plugin");
	plugin();
	if (!fork()) {
		child();
		_exit(0);
	}
	wait(NULL);
	if (!fork()) {
		child();
		execl("./known", "known", "again", NULL);
	}
	wait(NULL);
	return 0;
}
