/* SPDX-License-Identifier: Apache-2.0
 *
 * out_stacks - packets of stacks and samples. As in out_perfetto.h, each
 * function writes a whole packet to the @size bytes at @buffer and returns its
 * bytes, or 0 if it does not fit. Times are ns of CLOCK_BOOTTIME. Pure, any
 * thread.
 *
 * Interned data has a number, its iid, chosen by the caller: not 0, and unique
 * for its kind on the sequence. A packet that interns data must precede all
 * packets that use the data.
 */
#ifndef PERFREC_COLLECTOR_TRACE_OUT_STACKS_H
#define PERFREC_COLLECTOR_TRACE_OUT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The first packet of @sequence. @hz: CPU samples per second; 0: none. */
size_t out_stacks_first(uint8_t *buffer, size_t size, uint32_t sequence,
			uint32_t hz);

enum out_string_kind {
	OUT_STRING_FUNCTION,
	OUT_STRING_BUILD_ID, /* hex; written as bytes */
	OUT_STRING_PATH, /* of a mapping */
};
/* Interns @text, which has no NUL. */
size_t out_stacks_string(uint8_t *buffer, size_t size, uint32_t sequence,
			 enum out_string_kind kind, uint64_t iid,
			 const char *text);

struct out_stack_mapping {
	uint64_t iid, build_id, path; /* build_id, path: iids; 0: none */
	uint64_t start, end, file_offset, load_bias;
};
size_t out_stacks_mapping(uint8_t *buffer, size_t size, uint32_t sequence,
			  const struct out_stack_mapping *mapping);

struct out_stack_frame {
	uint64_t iid, function, mapping; /* function, mapping: iids; 0: none */
	uint64_t rel_pc; /* virtual address in the mapping's file */
};
size_t out_stacks_frame(uint8_t *buffer, size_t size, uint32_t sequence,
			const struct out_stack_frame *frame);

/* Interns a stack: @frame has the iids of its @count frames, outermost
 * first. */
size_t out_stacks_callstack(uint8_t *buffer, size_t size, uint32_t sequence,
			    uint64_t iid, uint64_t *frame, size_t count);

struct out_sample {
	uint64_t ns;
	pid_t pid, tid;
	uint64_t callstack; /* iid; 0: none */
	bool is_kernel;
};
size_t out_stacks_sample(uint8_t *buffer, size_t size, uint32_t sequence,
			 const struct out_sample *sample);

#endif
