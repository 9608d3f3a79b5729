/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/serve/users.h"

struct user *users_find(struct users *users, uid_t uid)
{
	for (size_t i = 0; i < users->count; i++)
		if (users->user[i].uid == uid)
			return &users->user[i];
	if (users->count == USERS_MAX)
		return &users->user[USERS_MAX - 1];
	users->user[users->count].uid = uid;
	return &users->user[users->count++];
}

bool users_may_have(uint64_t has, uint64_t all, uint64_t most, uint64_t more,
		    bool shared)
{
	if (all > most || more > most - all)
		return false;
	return !shared || has <= most - all - more;
}
