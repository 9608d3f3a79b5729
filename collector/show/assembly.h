/* SPDX-License-Identifier: Apache-2.0
 *
 * assembly - the machine code of functions, with the values that profiles have
 * for each instruction.
 *
 * The code is that of the module's file, which must be the recorded one: it has
 * the same build-id, or without one is older than the recording. perfrec-reader
 * disassembles it. So code that was changed in memory (--patch) is shown as it
 * is in the file.
 */
#ifndef PERFREC_COLLECTOR_SHOW_ASSEMBLY_H
#define PERFREC_COLLECTOR_SHOW_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct assembly;
struct pprof;

#define ASSEMBLY_VALUES 12

struct assembly_line { /* an instruction */
	uint64_t vaddr;
	uint32_t bytes;
	uint32_t line; /* of the source; 0: unknown */
	const char *file; /* "": unknown */
	char *text; /* with names for addresses: any bytes */
	int64_t value[ASSEMBLY_VALUES];
};

/* The code of a function in a file, or the reason that it is missing. */
struct assembly_part {
	const char *wish; /* the function that was wished for */
	const char *module, *build_id;
	/* The function that has the code: another one if it was inlined there;
	 * "": unknown. */
	const char *symbol;
	uint64_t start, end; /* virtual addresses of the file; 0: unknown */
	struct assembly_line *lines; /* by address; NULL: see why */
	size_t count;
	uint64_t left_out; /* bytes at the end without lines */
	int64_t sum[ASSEMBLY_VALUES];
	char *why; /* NULL, or why there are no lines */
};

/* A column of a profile. */
struct assembly_column {
	uint32_t type; /* in pprof.type, or PPROF_NONE */
	uint32_t value; /* in assembly_line.value */
	bool self; /* only of the innermost frame */
};

/* Begins without functions. Returns 0 or -ENOMEM. The caller calls
 * assembly_free(). One thread at a time. */
int assembly_new(struct assembly **out);
void assembly_free(struct assembly **assembly);
/* Wishes for the function @name, which must outlive @assembly, with its cold
 * part if that is no wish of its own. Returns 0 or -ENOMEM. */
int assembly_wish(struct assembly *assembly, const char *name);
/* Adds the samples of @pprof, which must outlive @assembly, after all wishes.
 * A sample counts for the innermost frame of each function: for the
 * instruction that was to run next, or the call. Returns 0 or -ENOMEM. */
int assembly_add(struct assembly *assembly, const struct pprof *pprof,
		 const struct assembly_column *columns, size_t count);
/* Reads the code; may take seconds. *@out has *@count parts, those with the
 * largest first value first, and belongs to @assembly. Returns 0 or
 * -ENOMEM. */
int assembly_read(struct assembly *assembly, struct assembly_part **out,
		  size_t *count);

/* Returns true if @name is the part of @function that the compiler moved away,
 * because it rarely runs: f.cold of f(), or f(int) [clone .cold]. */
bool assembly_is_cold_part(const char *name, const char *function);

#endif
