/* SPDX-License-Identifier: Apache-2.0
 *
 * mini_collector - a minimal collector for tests of the shim. It answers one
 * hello with the settings of the test and hands over the arena. It never
 * drains.
 */
#ifndef PERFREC_TESTS_SHIM_MINI_COLLECTOR_H
#define PERFREC_TESTS_SHIM_MINI_COLLECTOR_H

#include <stdbool.h>
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
	bool awaited; /* marks all descriptors, in the arena of the next hello */
	struct page_shm *page; /* after mini_collector_accept() */
	struct wire_hello hello;
	int thunk_fd, mem_fd; /* -1: not received */
};

/* Listens on a private socket. All functions here exit on failure. */
void mini_collector_start(struct mini_collector *mini);
/* From now on programs without hooks say hello as well. */
void mini_collector_want_all(const struct mini_collector *mini);
/* Waits for one hello and answers it with @settings (status, clock, on_full,
 * depth, alloc, alloc_period, stack_bytes), after setting the arena's control
 * to @control. A block_ns of 0 means a day. */
void mini_collector_accept(struct mini_collector *mini,
			   struct wire_reply settings, uint32_t control);
/* The first half: waits for one hello and sets the arena's control. Returns the
 * connection for mini_collector_answer(). */
int mini_collector_hear(struct mini_collector *mini, uint32_t control);
#define MINI_FDS_MAX 64
/* Sends @reply and the @count descriptors @fds to @peer. */
void mini_collector_answer(int peer, const struct wire_reply *reply,
			   const int *fds, size_t count);
/* From now on waiting writers take it for stopped, as by SIGSTOP. */
void mini_collector_freeze(struct mini_collector *mini);
void mini_collector_stop(struct mini_collector *mini);

struct slot_shm *mini_slot(const struct mini_collector *mini, uint32_t i);
struct record *mini_ring(const struct mini_collector *mini, uint32_t i);
struct count_cell *mini_counts(const struct mini_collector *mini, uint32_t i);

/* Starts @argv with the shim preloaded and PERFREC_SOCKET set. @shim is the
 * path of libperfrec_preload.so, or "" for no shim. */
pid_t mini_spawn(const struct mini_collector *mini, const char *shim,
		 char *const argv[]);

/* Returns the path of @name below $O or "build". The fourth call after it
 * overwrites the result. */
const char *mini_build_path(const char *name);

#endif
