/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_read - reads a file in pprof's format.
 *
 * The file may be hostile: its size and memory are bounded, and every index in
 * the structures below is valid.
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
	const char *name, *file; /* @file "": unknown */
	uint32_t start_line; /* 0: unknown */
};

struct pprof_line {
	uint32_t function; /* index into pprof.functions */
	uint32_t line; /* 0: unknown */
};

/* A part of a file that the program mapped. */
struct pprof_mapping {
	uint64_t start, end, offset;
	const char *path, *build_id; /* "": unknown */
};

/* A frame of a stack, with its inlined functions. */
struct pprof_location {
	const char *module; /* path; "": unknown */
	uint32_t mapping; /* index into pprof.mappings, or PPROF_NONE */
	uint64_t address;
	const struct pprof_line *lines; /* innermost first */
	uint32_t line_count;
};

struct pprof_label {
	const char *key, *text; /* @text "": the value is @number */
	int64_t number;
};

struct pprof_sample {
	/* Indexes into pprof.locations, innermost frame first. */
	const uint32_t *stack;
	uint32_t depth;
	uint32_t label_count;
	const struct pprof_label *labels;
	int64_t value[PPROF_VALUES_MAX];
};

struct pprof {
	struct pprof_type type[PPROF_VALUES_MAX];
	size_t type_count;
	struct pprof_type period_type;
	uint64_t period, time_ns, duration_ns;
	const char **comments;
	size_t comment_count;
	struct pprof_function *functions;
	size_t function_count;
	struct pprof_mapping *mappings;
	size_t mapping_count;
	struct pprof_location *locations;
	size_t location_count;
	struct pprof_sample *samples;
	size_t sample_count;
	void *memory; /* owns everything above */
};

/*
 * Reads @dir/@name. Returns 0, and the caller frees *@out with pprof_free();
 * -ENOENT: no such file; -EBADMSG: not a profile; -EFBIG: larger than any
 * profile of perfrec; or another -errno. *@out is unchanged after an error.
 * Logs one line for each error except -ENOENT and -ENOMEM.
 */
int pprof_read(const char *dir, const char *name, struct pprof **out);
/* The same without the log, of the @count bytes of a file at @from, gzipped or
 * not. */
int pprof_read_bytes(const void *from, size_t count, struct pprof **out);
/* Frees *@pprof, which may be NULL, and sets it to NULL. */
void pprof_free(struct pprof **pprof);

/* Returns the number of the value called @type ("cpu"), or PPROF_NONE. */
uint32_t pprof_find_type(const struct pprof *pprof, const char *type);

#endif
