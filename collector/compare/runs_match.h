/* SPDX-License-Identifier: Apache-2.0
 *
 * runs_match - matches the functions of two builds.
 *
 * Functions with the same name and module match. Functions that only one side
 * has are matched in steps, the surest first: without suffixes of compilers
 * (".isra.0", "[abi:cxx11]"); in a module of another name; with other template
 * arguments or parameters in the same file; and at last by file and line. A
 * step matches two functions only if no other function on either side fits.
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
	RUNS_RENAMED, /* the names on the two sides differ */
	RUNS_MOVED, /* the modules on the two sides differ */
};

struct runs_function {
	const char *name, *module; /* as in the first run */
	const char *file; /* "": unknown */
	uint32_t line; /* 0: unknown */
	bool on_a, on_b; /* exists on side A, B */
	enum runs_match match;
	/* For side B: the function's number on side A, or its own number. */
	uint32_t same_as;
	/* For side A: the function's number on side B; RUNS_NONE: the same. */
	uint32_t other;
};

/* Sets match, same_as and other of @functions, a pool of struct runs_function.
 * @programs: the main module's name on side A and on side B. Returns 0 or
 * -ENOMEM. */
int runs_match_sides(struct pool *functions, const char *const programs[2]);

/* Sets @out, of @room bytes, to the part of a function's name @name that two
 * builds have in common: without suffixes of copies and ABI tags; with @folded
 * also without the arguments of templates and functions. Cuts it at @room. */
void runs_match_name(const char *name, bool folded, char *out, size_t room);

/* Sets @out to the last part of the path of a module, up to ".so". */
void runs_match_module(const char *path, char *out, size_t room);

#endif
