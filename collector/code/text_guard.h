/* SPDX-License-Identifier: Apache-2.0
 *
 * text_guard - runs perfrec-keeper, a process that restores the text of
 * programs when perfrec-collect is killed (text_keeper.h). End of file on its
 * socket means that the collector is gone; a stopped collector is not gone.
 *
 * The keeper has its own session, ignores signals that ask it to end, and has
 * no files but its socket and its texts. If it is killed, the caller starts it
 * again and passes all texts again. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_CODE_TEXT_GUARD_H
#define PERFREC_COLLECTOR_CODE_TEXT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kept_text;

/* argv[0] that makes perfrec-collect the keeper. */
#define TEXT_GUARD_NAME "perfrec-keeper"

/* Initialize to zero. */
struct text_guard {
	pid_t pid; /* 0: not running */
	int socket;
	uint64_t started_ns;
	size_t kept, room; /* texts; room: limit by descriptors */
	uint64_t refused; /* rejected texts */
	uint64_t first; /* at most the lowest number kept */
};

/* Passes @text to the keeper, and starts it if necessary. The descriptors stay
 * the caller's. Numbers must increase. Returns 0; -ENOSPC; -EAGAIN: started a
 * moment ago or just ended (text_guard_has_ended()); or the error of the
 * start. */
int text_guard_keep(struct text_guard *guard, const struct kept_text *text);
/* Replaces the text of the same number. Returns 0, or -EAGAIN if this keeper
 * does not have it. */
int text_guard_renew(struct text_guard *guard, const struct kept_text *text);
/* Does nothing if an earlier keeper had the text. */
void text_guard_drop(struct text_guard *guard, uint64_t number);
/* Readable when the keeper ends; -1: not running. */
int text_guard_descriptor(const struct text_guard *guard);
/* Returns true once if the keeper has ended by itself. Counts rejected
 * texts. */
bool text_guard_has_ended(struct text_guard *guard);
void text_guard_stop(struct text_guard *guard);

int text_guard_main(void);

#endif
