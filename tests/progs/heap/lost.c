/* SPDX-License-Identifier: Apache-2.0
 *
 * lost full|pause|vfork - frees blocks, each of them once, whose allocation was
 * not recorded.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/perfrec.h"

static void *volatile block;
static pthread_barrier_t turn;

static void wait_for(const char *name)
{
	while (access(name, F_OK) != 0)
		usleep(1000);
}

/* The same address three times: freed, allocated unseen, freed by another. */
static void *there(void *unused)
{
	void *volatile p = malloc(1000), *volatile small;

	block = p;
	free(p);
	pthread_barrier_wait(&turn);
	wait_for("full");
	for (int i = 0; i < 20000; i++) {
		small = malloc(24);
		free(small);
	}
	p = malloc(1000);
	if (p != block)
		abort();
	pthread_barrier_wait(&turn);
	for (;;)
		pause();
	return unused;
}

static void full(void)
{
	pthread_t thread;

	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&thread, NULL, there, NULL);
	pthread_barrier_wait(&turn);
	puts("ready");
	fflush(stdout);
	pthread_barrier_wait(&turn);
	free(block);
	puts("freed");
	fflush(stdout);
	wait_for("drained");
	_exit(0);
}

static void paused(void)
{
	void *volatile p = malloc(1000);

	block = p;
	free(p);
	perfrec_pause();
	p = malloc(1000);
	if (p != block)
		abort();
	perfrec_resume();
	free(p);
}

static void by_child(void)
{
	void *volatile p = malloc(1000);

	block = p;
	free(p);
	if (vfork() == 0) {
		p = malloc(1000);
		_exit(p != block);
	}
	wait(NULL);
	free(block);
}

int main(int argc, char **argv)
{
	switch (argc > 1 ? argv[1][0] : 0) {
	case 'f':
		full();
		break;
	case 'p':
		paused();
		break;
	case 'v':
		by_child();
		break;
	}
	return 0;
}
