/* SPDX-License-Identifier: Apache-2.0
 *
 * out_pprof - writes a file in pprof's format, piece by piece: mappings,
 * functions and locations before what refers to them, then samples. Numbers are
 * ids, from 1; 0 stands for none. Strings may have any bytes, and must stay
 * until out_pprof_close(), which also returns the first error. One thread at a
 * time.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_OUT_PPROF_H
#define PERFREC_COLLECTOR_PROFILE_OUT_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out_pprof;

#define OUT_VALUES_MAX 24

struct out_value_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

/* What a file is about. */
struct out_head {
	const struct out_value_type *types; /* of a sample's values, in order */
	size_t count; /* at most OUT_VALUES_MAX */
	size_t default_type; /* index: what viewers show first */
	struct out_value_type period_type;
	uint64_t period;
};

struct out_mapping {
	uint64_t id;
	uint64_t start, end, file_offset;
	const char *path, *build_id;
	bool has_functions, has_lines;
};

struct out_function {
	uint64_t id;
	const char *name, *file; /* file "": unknown */
	uint32_t start_line;
};

struct out_line {
	uint64_t function;
	uint32_t line;
};

struct out_location {
	uint64_t id, mapping, address;
	/* Innermost first: all but the last were inlined there. */
	const struct out_line *lines;
	size_t line_count;
};

/* Where samples were taken. */
struct out_labels {
	const char *process, *thread;
	int64_t pid, tid; /* tid 0: none */
};

struct out_profile_end {
	uint64_t time_ns, duration_ns; /* since the epoch; of the recording */
	const char *const *comments;
	size_t comment_count;
};

/* Begins the file @name in the folder @dir_fd, as gz_file_new() does. The
 * caller ends *@out with out_pprof_close(). 0 or -errno. */
int out_pprof_new(int dir_fd, const char *name, const struct out_head *head,
		  struct out_pprof **out);

void out_pprof_mapping(struct out_pprof *out, const struct out_mapping *one);
void out_pprof_function(struct out_pprof *out, const struct out_function *one);
void out_pprof_location(struct out_pprof *out, const struct out_location *one);
/* Writes a sample. @stack is the ids of @depth locations, the innermost first;
 * @value has as many values as there are types. @labels NULL: there are none.
 */
void out_pprof_sample(struct out_pprof *out, const uint64_t *stack,
		      size_t depth, const int64_t *value,
		      const struct out_labels *labels);

/* How many bytes were written, before they are compressed. */
uint64_t out_pprof_bytes(const struct out_pprof *out);

/* Ends the file, and sets *@out to NULL. Returns 0, and the file is there; or
 * @err, if it is not 0, or -errno of what failed first, and then no file is
 * left behind. */
int out_pprof_close(struct out_pprof **out, int err,
		    const struct out_profile_end *end);

#endif
