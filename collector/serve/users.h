/* SPDX-License-Identifier: Apache-2.0
 *
 * users - what the programs of each user have of a daemon's limits.
 *
 * Programs of one user are trusted with each other: whoever is that user can
 * end the daemon as well. Where it serves others, too (--allow-uid), each user
 * may have as much of a limit as is left of it: half, if there is one who wants
 * much, so that others always find some. Each has a rate of its own.
 */
#ifndef PERFREC_COLLECTOR_SERVE_USERS_H
#define PERFREC_COLLECTOR_SERVE_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/serve/pace.h"

#define USERS_MAX 64 /* that are told apart; the last is all others */

/* What there is of each limit. */
struct user_share {
	uint64_t sessions; /* that are listed */
	uint64_t recordings; /* of one session each, not finished */
	uint64_t arena_bytes; /* of them */
	uint64_t disk_bytes; /* of recordings that have ended */
};

struct user {
	uid_t uid;
	struct pace pace; /* of hellos */
	struct user_share has;
};

/* All zero at first. */
struct users {
	struct user user[USERS_MAX];
	size_t count;
};

/* The entry of @uid, which is made when it is asked for first. Stays where it
 * is. */
struct user *users_find(struct users *users, uid_t uid);

/* Whether one who has @has of a limit of @most may have @more, when all
 * together have @all. @shared: others are served, too. Pure. */
bool users_may_have(uint64_t has, uint64_t all, uint64_t most, uint64_t more,
		    bool shared);

#endif
