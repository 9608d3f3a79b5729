/* SPDX-License-Identifier: Apache-2.0
 *
 * mini_collector - just enough of a collector to test the shim alone: it
 * answers one hello with the settings a test wants and gives the test the
 * arena. It never drains by itself.
 */
#ifndef PERFREC_TESTS_SHIM_MINI_COLLECTOR_H
#define PERFREC_TESTS_SHIM_MINI_COLLECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/ring_shm.h"
#include "shared/wire.h"

struct mini_collector {
	char directory[64];
	char socket_path[96];
	int listener;
	struct liveness_shm *liveness;
	int liveness_fd;
	struct page_shm *page; /* after mini_collector_accept() */
	struct wire_hello hello;
	int thunk_fd, mem_fd; /* that came with it; -1: none */
};

/* Listens on a socket of its own; exits on any failure, as all here do. */
void mini_collector_start(struct mini_collector *mini);
/* From now on programs without hooks say hello as well. */
void mini_collector_want_all(const struct mini_collector *mini);
/* Waits for one hello and answers it with @settings (status, clock, on_full,
 * depth, alloc, alloc_period, stack_bytes). The arena's control is set to
 * @control first. A block_ns of 0 stands for a day. */
void mini_collector_accept(struct mini_collector *mini,
			   struct wire_reply settings, uint32_t control);
/* The two halves of that, for who answers otherwise. Waits for one hello; the
 * arena's control is set to @control. Returns the connection. */
int mini_collector_hear(struct mini_collector *mini, uint32_t control);
#define MINI_FDS_MAX 64
/* Sends @reply over @peer, with the @count descriptors @fds. */
void mini_collector_answer(int peer, const struct wire_reply *reply,
			   const int *fds, size_t count);
/* From now on it looks stopped to who waits for room, as by SIGSTOP. */
void mini_collector_freeze(struct mini_collector *mini);
void mini_collector_stop(struct mini_collector *mini);

struct slot_shm *mini_slot(const struct mini_collector *mini, uint32_t i);
struct record *mini_ring(const struct mini_collector *mini, uint32_t i);
/* The count cells of slot @i. */
struct count_cell *mini_counts(const struct mini_collector *mini, uint32_t i);

/* Start @argv with the shim preloaded and PERFREC_SOCKET set; @shim is the
 * path of libperfrec_preload.so; "" preloads nothing. */
pid_t mini_spawn(const struct mini_collector *mini, const char *shim,
		 char *const argv[]);

/* Where the build put @name: below $O, or below "build". Good until the
 * fourth call after it. */
const char *mini_build_path(const char *name);

#endif
