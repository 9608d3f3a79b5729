/* SPDX-License-Identifier: Apache-2.0
 *
 * environment - adds the shim to environments for new programs, so that
 * programs started by a recorded program are recorded even if their environment
 * has no LD_PRELOAD (env -i, clearenv()) or another one.
 *
 * Between vfork() and exec the memory is the parent's, and a signal handler may
 * call exec. So these functions do not call malloc() or take a lock.
 */
#ifndef PERFREC_PRELOAD_START_ENVIRONMENT_H
#define PERFREC_PRELOAD_START_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* The environment of one call of exec or posix_spawn. */
struct environment {
	char *const *given; /* from the program */
	char *const *list; /* for the call: given, or an extended copy */
	void *block; /* memory of list and its new strings; or NULL */
	size_t bytes;
};

/* Stores the shim's path and perfrec's variables at the process's start. */
void environment_keep(char **variables);

/*
 * Fills @environment. Its list is @given (may be NULL) if that already loads
 * the shim, disables recording (PERFREC_DISABLE), or no collector exists.
 * Otherwise the list is @given, the shim in LD_PRELOAD, and the missing
 * variables of perfrec. Keeps errno. Any context.
 */
void environment_begin(struct environment *environment, char *const *given);

/* Frees @environment after the call has returned @err, 0 or an errno. Returns
 * true if the caller must repeat the call with the given list, because
 * perfrec's variables may have made the environment too large. Keeps errno. */
bool environment_again(struct environment *environment, int err);

/* Frees the environment of the child's exec, in the parent after vfork(). */
void environment_vfork_end(void);

#endif
