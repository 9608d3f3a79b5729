/* SPDX-License-Identifier: Apache-2.0
 *
 * known - allocates and keeps blocks by stacks that heap/exact.sh knows.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
static void *kept[1000];
static int keeps;

static void NOINLINE keep(void *p)
{
	kept[keeps++] = p;
}
static void NOINLINE plain(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(100));
	for (int i = 0; i < 1000; i++) {
		void *volatile p = malloc(50);
		free(p);
	}
}
static void NOINLINE zeroed(void)
{
	keep(calloc(7, 11));
}
static void NOINLINE aligned(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, 1000) == 0)
		keep(p);
	keep(aligned_alloc(4096, 8192));
	keep(memalign(32, 33));
}
/* Up, down, from nothing, and to a size that there is not. */
static void NOINLINE moved(void)
{
	volatile size_t too_much = PTRDIFF_MAX;
	char *p = realloc(NULL, 10), *q;

	p = realloc(p, 100000);
	p = realloc(p, 500);
	q = realloc(p, too_much);
	keep(q ? q : p);
	keep(reallocarray(NULL, 3, 100));
}
static void *NOINLINE there(void *unused)
{
	for (int i = 0; i < 5; i++)
		keep(malloc(2000));
	return unused;
}
/* Leaves blocks of an ended thread, and frees one of them here. */
static void NOINLINE elsewhere(void)
{
	pthread_t thread;
	int first = keeps;

	pthread_create(&thread, NULL, there, NULL);
	pthread_join(thread, NULL);
	free(kept[first]);
	kept[first] = NULL;
}
static void NOINLINE big(void)
{
	void *volatile p = malloc(10000000);

	free(p);
}
static void NOINLINE child(void)
{
	keep(malloc(12345));
	free(kept[0]);
	_exit(0);
}
static void NOINLINE forked(void)
{
	if (fork() == 0)
		child();
	wait(NULL);
}
int main(void)
{
	plain();
	zeroed();
	aligned();
	moved();
	elsewhere();
	big();
	forked();
	return 0;
}
