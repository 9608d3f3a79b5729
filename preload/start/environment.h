/* SPDX-License-Identifier: Apache-2.0
 *
 * environment - programs that a recorded program starts are recorded, too, even
 * if it gives them an environment without LD_PRELOAD (env -i, clearenv()) or
 * with an LD_PRELOAD of its own.
 *
 * Between vfork() and exec the memory is the parent's, and a signal handler may
 * call exec. So nothing here allocates by malloc() or takes a lock.
 */
#ifndef PERFREC_PRELOAD_START_ENVIRONMENT_H
#define PERFREC_PRELOAD_START_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* An environment for one call of exec or posix_spawn. */
struct environment {
	char *const *given; /* by the program */
	char *const *list; /* for the call: given, or with more variables */
	void *block; /* the memory of list and its new strings; or NULL */
	size_t bytes;
};

/* Remember the shim's path and the variables of perfrec in @variables (as
 * environ). When the process starts. */
void environment_keep(char **variables);

/*
 * Fill in @environment. Its list is @given, which may be NULL, if that loads
 * the shim by itself, asks for no recording (PERFREC_DISABLE), or no collector
 * is there. Else the list has the shim in LD_PRELOAD, and what else of
 * perfrec's variables is missing. Keeps errno. Any context.
 */
void environment_begin(struct environment *environment, char *const *given);

/* The call with @environment has returned @err, 0 or an errno: free the
 * environment. True if the call must be repeated, as only perfrec's variables
 * made the environment too large; then @environment is what was given. Keeps
 * errno. */
bool environment_again(struct environment *environment, int err);

/* In the parent, after vfork(): free the environment with which the child has
 * called exec. */
void environment_vfork_end(void);

#endif
