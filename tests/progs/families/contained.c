/* SPDX-License-Identifier: Apache-2.0
 *
 * contained DIR - three threads and three processes. Each calls only_here() 100
 * times, makes a file DIR/up.N, and waits for DIR/go.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
void only_here(void);
static int dir;
QUIET static void serve(int n)
{
	char name[16];

	for (int i = 0; i < 100; i++)
		only_here();
	snprintf(name, sizeof(name), "up.%d", n);
	close(openat(dir, name, O_CREAT | O_WRONLY, 0600));
	while (faccessat(dir, "go", F_OK, 0) < 0)
		usleep(1000);
}
QUIET static void *thread(void *n)
{
	serve((int)(long)n);
	return NULL;
}
QUIET static void grandchild(void)
{
	if (fork() == 0) {
		alarm(60);
		serve(3);
		_exit(0);
	}
}
QUIET static void child(int n)
{
	if (fork())
		return;
	alarm(60);
	if (n == 1)
		grandchild();
	else if (chroot("inside"))
		perror("chroot");
	serve(n);
	while (wait(NULL) > 0)
		;
	_exit(0);
}
QUIET int main(int argc, char **argv)
{
	pthread_t threads[3];

	/* No process stays if the test is killed. */
	alarm(60);
	dir = open(argv[1], O_RDONLY | O_DIRECTORY);
	child(1);
	child(2);
	for (long i = 0; i < 3; i++)
		pthread_create(threads + i, NULL, thread, (void *)(4 + i));
	serve(0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	while (wait(NULL) > 0)
		;
	return 7;
}
