/* SPDX-License-Identifier: Apache-2.0
 *
 * family forks|spawns|chain N|calls N - makes other processes in every way that
 * there is: fork while threads run, vfork, posix_spawn, system, popen, a chain
 * of exec. "calls N" calls leaf() N times.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static volatile int stop;
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
__attribute__((noinline)) static void calls(int n)
{
	while (n--)
		leaf();
}
static void *busy(void *unused)
{
	while (!stop)
		calls(100), usleep(50);
	return unused;
}
static void *some(void *unused)
{
	calls(50);
	return unused;
}
static void child(int i)
{
	pthread_t thread;

	calls(1000 + i);
	if (i % 3 == 0) {
		pthread_create(&thread, NULL, some, NULL);
		pthread_join(thread, NULL);
	}
	if (i % 5 == 0 && fork() == 0) {
		calls(7);
		_exit(0);
	}
	/* A recording ends with its command. */
	wait(NULL);
	if (i % 2)
		_exit(3);
	exit(3);
}
static void forks(void)
{
	pthread_t threads[3];
	int i, status, sum = 0;

	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, busy, NULL);
	for (i = 0; i < 30; i++) {
		pid_t pid = i % 4 == 3 ? _Fork() : fork();

		if (pid == 0)
			child(i);
		if (i % 2)
			continue;
		waitpid(pid, &status, 0);
		sum += WEXITSTATUS(status);
	}
	while (wait(&status) > 0)
		sum += WEXITSTATUS(status);
	stop = 1;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("children: %d\n", sum);
}
static void spawns(const char *self)
{
	char *argument[] = { (char *)self, "calls", "20", NULL };
	char line[4096];
	int status;
	FILE *pipe;
	pid_t pid;

	calls(5);
	pid = vfork();
	if (pid == 0) {
		execv(self, argument);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	printf("vfork %d\n", WEXITSTATUS(status));
	pid = vfork();
	if (pid == 0)
		_exit(9);
	waitpid(pid, &status, 0);
	printf("vfork, no exec %d\n", WEXITSTATUS(status));
	posix_spawn(&pid, self, NULL, NULL, argument, environ);
	waitpid(pid, &status, 0);
	printf("spawn %d\n", WEXITSTATUS(status));
	snprintf(line, sizeof(line), "%s calls 30", self);
	printf("system %d\n", WEXITSTATUS(system(line)));
	pipe = popen(line, "r");
	printf("popen %s", fgets(line, sizeof(line), pipe));
	printf("pclose %d\n", WEXITSTATUS(pclose(pipe)));
	calls(6);
}
int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	char text[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "forks"))
		forks();
	else if (argc > 1 && !strcmp(argv[1], "spawns"))
		spawns(argv[0]);
	else if (argc > 1 && !strcmp(argv[1], "calls")) {
		calls(n);
		printf("%d calls\n", n);
		return n;
	} else {
		calls(10 + n);
		snprintf(text, sizeof(text), "%d", n - 1);
		if (n)
			execl(argv[0], argv[0], "chain", text, NULL);
		puts("end of the chain");
	}
	return 0;
}
