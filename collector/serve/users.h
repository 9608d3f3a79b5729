/* SPDX-License-Identifier: Apache-2.0
 *
 * users - the shares of users in a daemon's limits.
 *
 * Programs of one user trust each other: any of them could end the daemon. If a
 * daemon serves other users (--allow-uid), the use of each user may not exceed
 * the free rest of a limit. So a greedy user gets half, and others always find
 * room. Each user has its own rate of starts.
 */
#ifndef PERFREC_COLLECTOR_SERVE_USERS_H
#define PERFREC_COLLECTOR_SERVE_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/serve/pace.h"

#define USERS_MAX 64 /* the last entry is shared by all other users */

/* Use of each limit. */
struct user_share {
	uint64_t sessions; /* listed */
	uint64_t recordings; /* unfinished, of one session each */
	uint64_t arena_bytes; /* of the sessions */
	uint64_t disk_bytes; /* of finished recordings */
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

/* Returns the entry of @uid; creates it on first use. Its address stays. */
struct user *users_find(struct users *users, uid_t uid);

/* Returns true if a user with @has of a limit @most may get @more while all
 * users together have @all. @shared: other users are served. Pure. */
bool users_may_have(uint64_t has, uint64_t all, uint64_t most, uint64_t more,
		    bool shared);

#endif
