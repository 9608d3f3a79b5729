/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_read - a file in pprof's format, as `perfrec report` needs it. It is
 * read as a file of unknown origin: bounded in size and in the memory it may
 * take, and nothing in it refers to anything that is not there.
 */
#ifndef PERFREC_COLLECTOR_READ_PPROF_READ_H
#define PERFREC_COLLECTOR_READ_PPROF_READ_H

#include <stddef.h>
#include <stdint.h>

#define PPROF_VALUES_MAX 8
#define PPROF_NONE UINT32_MAX

struct pprof_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

struct pprof_function {
	const char *name, *file; /* file "": unknown */
};

struct pprof_line {
	uint32_t function; /* index */
	uint32_t line; /* 0: unknown */
};

struct pprof_location {
	const char *module; /* path; "": unknown */
	uint64_t address;
	const struct pprof_line *lines; /* innermost first */
	uint32_t line_count;
};

struct pprof_sample {
	const uint32_t *stack; /* indexes of locations, leaf first */
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
	void *memory; /* what all of it lives in */
};

/*
 * Read @dir/@name. On success the caller owns *@out. -ENOENT: there is none,
 * and nothing was logged; else -errno after one line (-EBADMSG: it is no such
 * file, -EFBIG: too large to be one of ours).
 */
int pprof_read(const char *dir, const char *name, struct pprof **out);
/* Also for NULL. */
void pprof_free(struct pprof **pprof);

/* Index of the value of this type, or PPROF_NONE. */
uint32_t pprof_find_type(const struct pprof *pprof, const char *type);

#endif
