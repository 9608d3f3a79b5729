/* SPDX-License-Identifier: Apache-2.0
 *
 * runs_match - which functions of one build are which of another.
 *
 * Functions of the same name and module are the same already. What only one
 * side has is matched in steps, the surest first: without what compilers put
 * behind a name (".isra.0", "[abi:cxx11]"); in a module of another name; with
 * other template arguments or parameters in the same file; and at last by file
 * and line. A step matches two functions only if nothing else on either side
 * fits.
 */
#ifndef PERFREC_COLLECTOR_COMPARE_RUNS_MATCH_H
#define PERFREC_COLLECTOR_COMPARE_RUNS_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

#define RUNS_NONE UINT32_MAX

enum runs_match {
	RUNS_SAME, /* the same name and module on both sides, or one side only
		    */
	RUNS_RENAMED, /* the two sides have other names for it */
	RUNS_MOVED, /* the two sides have it in other modules */
};

struct runs_function {
	const char *name, *module; /* as the first run has them */
	const char *file; /* "": unknown */
	uint32_t line; /* 0: unknown */
	bool on_a, on_b; /* the sides that have it */
	enum runs_match match;
	/* Of a function of side B: what it is called on side A, or itself. */
	uint32_t same_as;
	/* Of a function of side A: its number on side B; RUNS_NONE: it has no
	 * other. */
	uint32_t other;
};

/* Set match, same_as and other of @functions, a pool of struct runs_function.
 * @programs: what the program itself is called on side A and on side B. 0 or
 * -ENOMEM. */
int runs_match_sides(struct pool *functions, const char *const programs[2]);

/* What two builds have in common of the name @name of a function, in @out, of
 * @room bytes: without suffixes of clones and ABI tags; and with @folded also
 * without the arguments of templates and functions. What does not fit is cut.
 */
void runs_match_name(const char *name, bool folded, char *out, size_t room);

/* The same of the path of a module: its last part, up to ".so". */
void runs_match_module(const char *path, char *out, size_t room);

#endif
