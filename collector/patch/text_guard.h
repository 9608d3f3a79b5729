/* SPDX-License-Identifier: Apache-2.0
 *
 * text_guard - a process of its own, perfrec-keeper, that restores the text of
 * programs when this process is killed (text_keeper.h). It is started by
 * perfrec-collect when there is the first text to keep, and lives as long. Its
 * end of a socket says what happens: messages while all is well, and the end of
 * file when the collector is gone. A collector that is stopped is not gone.
 *
 * The keeper has a session of its own, ignores what asks it to end, and has
 * nothing open but its socket and what it keeps. It takes nothing back: should
 * it be killed itself, it is started anew, and all is handed over again.
 *
 * One thread at a time, which may be any.
 */
#ifndef PERFREC_COLLECTOR_PATCH_TEXT_GUARD_H
#define PERFREC_COLLECTOR_PATCH_TEXT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kept_text;

/* What perfrec-collect is called to be the keeper: argv[0]. */
#define TEXT_GUARD_NAME "perfrec-keeper"

/* All zero: not started yet. */
struct text_guard {
	pid_t pid; /* 0: it does not run */
	int socket; /* if it runs */
	uint64_t started_ns; /* the last time */
	size_t kept, room; /* texts; as many as descriptors allow */
	uint64_t refused; /* texts that it could not take, ever */
	uint64_t first; /* number that it keeps, or a smaller one */
};

/*
 * Hands @text over, whose descriptors stay the caller's; starts the keeper if
 * it does not run. Each text has a larger number than those before. Returns 0;
 * -ENOSPC: it keeps as many as it may; -EAGAIN: it has been started a moment
 * ago, or has just ended (text_guard_has_ended() says so), try again; or why it
 * cannot be started.
 */
int text_guard_keep(struct text_guard *guard, const struct kept_text *text);
/*
 * Hands @text over in the place of the one with its number, which takes no
 * further room. Returns 0, or -EAGAIN: the keeper has ended, or another one
 * runs by now, and has nothing of that number.
 */
int text_guard_renew(struct text_guard *guard, const struct kept_text *text);
/* The text of that number, which is kept, need not be restored any more. If a
 * keeper that has ended kept it, nothing is done. */
void text_guard_drop(struct text_guard *guard, uint64_t number);
/* The descriptor that is readable once the keeper has ended; -1: it does not
 * run. */
int text_guard_descriptor(const struct text_guard *guard);
/* Whether the keeper has ended by itself, once: nothing is kept any more. Also
 * takes in what it says: refused. */
bool text_guard_has_ended(struct text_guard *guard);
/* All text is restored: end the keeper. */
void text_guard_stop(struct text_guard *guard);

/* What the keeper does, in a process of its own. Returns its exit status. */
int text_guard_main(void);

#endif
