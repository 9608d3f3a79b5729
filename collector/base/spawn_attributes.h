/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn_attributes - attributes of posix_spawn() for a process in a group of
 * its own, so that Ctrl-C does not reach it. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_SPAWN_ATTRIBUTES_H
#define PERFREC_COLLECTOR_BASE_SPAWN_ATTRIBUTES_H

#include <signal.h>
#include <spawn.h>

/* Initializes @out: the process leads a new group, blocks no signal and ignores
 * none. The caller ends it with posix_spawnattr_destroy(). */
static inline void spawn_attributes_init(posix_spawnattr_t *out)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(out);
	posix_spawnattr_setsigmask(out, &none);
	posix_spawnattr_setsigdefault(out, &all);
	posix_spawnattr_setflags(out, POSIX_SPAWN_SETSIGMASK |
					      POSIX_SPAWN_SETSIGDEF |
					      POSIX_SPAWN_SETPGROUP);
}

#endif
