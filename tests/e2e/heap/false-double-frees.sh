#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program that frees each block once is not said to free one twice, when an
# allocation was not recorded: a thread had no room, and never said anything
# again, while another one freed its block; the program had paused; a child of
# vfork() made the block.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need gcc jq

cat >lost.c <<'SOURCE'
#define _GNU_SOURCE
#include <perfrec.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
SOURCE
gcc -O1 -fno-builtin -finstrument-functions -I"$TOP/preload" -o lost lost.c \
	-pthread || fail 'cannot compile lost.c'

# expect_no_double WHAT SUMMARY
expect_no_double()
{
	expect_eq "$1: double frees" "$(json "$2" .totals.double_frees)" 0
	expect_eq "$1: foreign frees" "$(json "$2" .totals.foreign_frees)" 1
}

start_daemon --on-full drop --alloc=exact
PERFREC_RING_KB=64 preload ./lost full >out &
program=$!
wait_for 60 grep -q ready out
kill -STOP "$collector"
touch full
wait_for 60 grep -q freed out
kill -CONT "$collector"
touch drained
wait "$program" || fail "status $?"
stop_daemon
[ "$(json data/lost-*/summary.json .totals.dropped_allocs)" -gt 0 ] ||
	fail 'nothing was dropped: nothing is shown'
expect_no_double 'a full ring' "$(echo data/lost-*/summary.json)"

for how in pause vfork; do
	run "$PERFREC" record -q --alloc=exact -o $how.data -- ./lost $how
	expect_status 0
	expect_no_double "$how" $how.data/summary.json
done
