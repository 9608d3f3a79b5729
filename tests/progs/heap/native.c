/* SPDX-License-Identifier: Apache-2.0
 *
 * native - allocates by known stacks; built with and without hooks.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
static void *kept[20000];
static int keeps;

/* 4,000,000 bytes in 20,000 blocks; 1,000,000 bytes in 5,000 blocks stay. */
static void NOINLINE mixed(void)
{
	for (int i = 0; i < 20000; i++) {
		void *volatile p = malloc(200);

		if (i % 4)
			free(p);
		else
			kept[keeps++] = p;
	}
}
/* 4,000,000 bytes in 2,000 blocks, and all of these stay. */
static void NOINLINE stays(void)
{
	for (int i = 0; i < 2000; i++)
		kept[keeps++] = malloc(2000);
}
/* 8,000,000 bytes in 80,000, one at a time. */
static void NOINLINE goes(void)
{
	for (int i = 0; i < 80000; i++) {
		void *volatile p = malloc(100);

		free(p);
	}
}
static void NOINLINE child(void)
{
	for (int i = 0; i < 10000; i++)
		kept[keeps++] = malloc(100);
}
int main(int argc, char **argv)
{
	(void)argv;
	mixed();
	stays();
	goes();
	if (argc > 1 && fork() == 0) {
		child();
		_exit(0);
	}
	wait(NULL);
	return 0;
}
