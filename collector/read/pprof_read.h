/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_read - a file in pprof's format, as `perfrec report` needs it.
 *
 * The file may come from anywhere. Its size and the memory that it takes are
 * bounded, and every index in the structures below is valid.
 */
#ifndef PERFREC_COLLECTOR_READ_PPROF_READ_H
#define PERFREC_COLLECTOR_READ_PPROF_READ_H

#include <stddef.h>
#include <stdint.h>

#define PPROF_VALUES_MAX 20
#define PPROF_NONE UINT32_MAX

struct pprof_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

struct pprof_function {
	const char *name, *file; /* file "": unknown */
};

struct pprof_line {
	uint32_t function; /* index into pprof.functions */
	uint32_t line; /* 0: unknown */
};

/* A frame of a stack, with the functions that are inlined there. */
struct pprof_location {
	const char *module; /* path; "": unknown */
	uint64_t address;
	const struct pprof_line *lines; /* innermost first */
	uint32_t line_count;
};

struct pprof_sample {
	/* Indexes into pprof.locations, innermost frame first. */
	const uint32_t *stack;
	uint32_t depth;
	int64_t value[PPROF_VALUES_MAX];
};

struct pprof {
	struct pprof_type type[PPROF_VALUES_MAX];
	size_t type_count;
	uint64_t period, duration_ns;
	const char **comments;
	size_t comment_count;
	struct pprof_function *functions;
	size_t function_count;
	struct pprof_location *locations;
	size_t location_count;
	struct pprof_sample *samples;
	size_t sample_count;
	void *memory; /* everything above is in it */
};

/*
 * Read @dir/@name. On success the caller owns *@out, and frees it with
 * pprof_free(). Returns 0; -ENOENT: there is no such file, and the log has
 * nothing about it; -EBADMSG: it is no profile; -EFBIG: it is too large to be
 * one of perfrec's; or another -errno. Then *@out is as it was, and the log has
 * one line (but for -ENOENT, and for want of memory).
 */
int pprof_read(const char *dir, const char *name, struct pprof **out);
/* Free *@pprof, which may be NULL, and set it to NULL. */
void pprof_free(struct pprof **pprof);

/* The number of the value that is called @type ("cpu"), or PPROF_NONE. */
uint32_t pprof_find_type(const struct pprof *pprof, const char *type);

#endif
