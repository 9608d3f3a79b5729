/* SPDX-License-Identifier: Apache-2.0
 *
 * out_pprof - writes a pprof file piece by piece: mappings, functions and
 * locations before their uses, then samples. Numbers are ids from 1; 0 means
 * none. Strings may have any bytes, and must stay valid until
 * out_pprof_close(), which also returns the first error. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_OUT_PPROF_H
#define PERFREC_COLLECTOR_OUTPUT_OUT_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct out_pprof;

#define OUT_VALUES_MAX 24

struct out_value_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

struct out_head {
	const struct out_value_type *types; /* of a sample's values, in order */
	size_t count; /* at most OUT_VALUES_MAX */
	size_t default_type; /* index of the viewers' default */
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
	/* Innermost first; all except the last are inlined. */
	const struct out_line *lines;
	size_t line_count;
};

struct out_labels {
	const char *program; /* if not NULL, the only label */
	const char *process, *thread; /* process NULL: no label of both, nor of
				       * the pid */
	int64_t pid, tid; /* tid 0: none */
	const char *trace_id, *span_id; /* may be NULL */
};

struct out_profile_end {
	uint64_t time_ns, duration_ns; /* since the epoch; of the recording */
	const char *const *comments;
	size_t comment_count;
};

/* Begins the file @name in the folder @dir_fd, as gz_file_new(). The caller
 * calls out_pprof_close(). Returns 0 or -errno. */
int out_pprof_new(int dir_fd, const char *name, const struct out_head *head,
		  struct out_pprof **out);

/* As out_pprof_new(), but appends to @to, as gz_file_new_in(). */
int out_pprof_new_in(struct bytes *to, const struct out_head *head,
		     struct out_pprof **out);

void out_pprof_mapping(struct out_pprof *out, const struct out_mapping *one);
void out_pprof_function(struct out_pprof *out, const struct out_function *one);
void out_pprof_location(struct out_pprof *out, const struct out_location *one);
/* Writes a sample. @stack has the ids of @depth locations, innermost first;
 * @value has one value for each type. @labels may be NULL. */
void out_pprof_sample(struct out_pprof *out, const uint64_t *stack,
		      size_t depth, const int64_t *value,
		      const struct out_labels *labels);

/* Returns the number of bytes before compression. */
uint64_t out_pprof_bytes(const struct out_pprof *out);

/* Ends the file and sets *@out to NULL. Returns 0 if the file exists. Otherwise
 * returns @err if it is not 0, or the first -errno, and leaves no file. */
int out_pprof_close(struct out_pprof **out, int err,
		    const struct out_profile_end *end);

#endif
