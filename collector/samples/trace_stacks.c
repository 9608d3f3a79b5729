/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_stacks - the iid of a stack is its number; a bitmap has the written
 * stacks. Pools number frames, mappings and strings; their iids are those
 * numbers plus 1.
 *
 * A deep stack, of spans, is cut to its innermost frames: viewers draw no more,
 * and each frame costs bytes. As in profiles (stack_profile.c), perfrec's work
 * in the program is one frame "[perfrec]", and a function that the program calls
 * through perfrec has no frames of perfrec above it.
 *
 * Packets are buffered, and submitted when there are many, or after a while.
 */
#include "collector/samples/trace_stacks.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/names/kernel_names.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/profile/stacks.h"
#include "collector/record/recording.h"
#include "collector/trace/out_stacks.h"
#include "collector/trace/trace_file.h"
#include "shared/compiler.h"

#define DEPTH_MAX 512u
#define FLUSH_NS 1000000000u
/* Room for one packet: a name has at most SYMBOL_NAME_BYTES, a callstack
 * DEPTH_MAX numbers. */
#define PACKET_BYTES 8192u

/* Keys come first in these structs; see pool.h. */
struct string {
	const char *text; /* the symbol cache's: each once */
	uint64_t kind;
};

struct mapping {
	uint64_t start, end, file_offset, bias;
	const char *path, *build_id;
};

struct frame {
	uint64_t address;
	uint32_t generation, kind;

	bool own; /* perfrec's code */
	bool written;
	uint8_t pad[6];
};

struct trace_stacks {
	struct trace_file *file;
	struct modules *modules;
	struct stacks *stacks;
	pid_t pid;
	uint32_t sequence;
	struct pool strings, mappings, frames;
	uint8_t *written; /* one bit per stack */
	uint32_t written_bytes;
	uint64_t flushed_ns; /* sample time of the last timed flush */
	size_t used;
	uint8_t buffer[TRACE_STACKS_BYTES + PACKET_BYTES];
};

int trace_stacks_new(struct recording *recording, struct modules *modules,
		     struct stacks *stacks, pid_t pid,
		     struct trace_stacks **out)
{
	const struct recording_setup *setup = recording_setup(recording);
	struct trace_stacks *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return -ENOMEM;
	trace->file = setup->trace;
	trace->modules = modules;
	trace->stacks = stacks;
	trace->pid = pid;
	trace->sequence = recording_sequence(recording);
	pool_init(&trace->strings, setup->budget, sizeof(struct string),
		  sizeof(struct string));
	pool_init(&trace->mappings, setup->budget, sizeof(struct mapping),
		  sizeof(struct mapping));
	pool_init(&trace->frames, setup->budget, sizeof(struct frame),
		  offsetof(struct frame, own));
	trace->used = out_stacks_first(trace->buffer, sizeof(trace->buffer),
				       trace->sequence, setup->options->cpu_hz);
	*out = trace;
	return 0;
}

void trace_stacks_free(struct trace_stacks **trace)
{
	struct trace_stacks *old = *trace;

	*trace = NULL;
	if (!old)
		return;
	trace_stacks_flush(old);
	pool_release(&old->strings);
	pool_release(&old->mappings);
	pool_release(&old->frames);
	free(old->written);
	free(old);
}

uint32_t trace_stacks_sequence(const struct trace_stacks *trace)
{
	return trace->sequence;
}

/* --- packets ------------------------------------------------------------- */

void trace_stacks_flush(struct trace_stacks *trace)
{
	if (trace->used)
		trace_file_append(trace->file, trace->sequence, trace->buffer,
				  trace->used);
	trace->used = 0;
}

static uint8_t *packet_room(struct trace_stacks *trace)
{
	if (trace->used >= TRACE_STACKS_BYTES)
		trace_stacks_flush(trace);
	return trace->buffer + trace->used;
}

void trace_stacks_append(struct trace_stacks *trace, const void *packets,
			 size_t bytes)
{
	trace_stacks_flush(trace);
	memcpy(trace->buffer, packets, MIN(bytes, TRACE_STACKS_BYTES));
	trace->used = MIN(bytes, TRACE_STACKS_BYTES);
}

/* --- parts of stacks ------------------------------------------------------ */

/* Each returns an iid, or 0: no memory, or no frame of the trace. */

static uint64_t write_string(struct trace_stacks *trace,
			     enum out_string_kind kind, const char *text)
{
	const struct string string = { .text = text, .kind = (uint64_t)kind };
	uint32_t number;
	int added = pool_intern(&trace->strings, &string, &number);

	if (added < 0 || !text[0])
		return 0;
	if (added)
		trace->used += out_stacks_string(packet_room(trace),
						 PACKET_BYTES, trace->sequence,
						 kind, number + 1ULL, text);
	return number + 1ULL;
}

static uint64_t write_mapping(struct trace_stacks *trace,
			      const struct module_place *place,
			      const struct symbol *symbol)
{
	const struct mapping mapping = { .start = place->start,
					 .end = place->end,
					 .file_offset = place->file_offset,
					 .bias = place->bias,
					 .path = symbol->module,
					 .build_id = symbol->build_id };
	struct out_stack_mapping out = { .start = place->start,
					 .end = place->end,
					 .file_offset = place->file_offset };
	uint32_t number;
	int added = pool_intern(&trace->mappings, &mapping, &number);

	if (added <= 0)
		return added < 0 ? 0 : number + 1ULL;
	out.iid = number + 1ULL;
	out.path = write_string(trace, OUT_STRING_PATH, symbol->module);
	out.build_id =
		write_string(trace, OUT_STRING_BUILD_ID, symbol->build_id);
	trace->used += out_stacks_mapping(packet_room(trace), PACKET_BYTES,
					  trace->sequence, &out);
	return out.iid;
}

static void describe_frame(struct trace_stacks *trace,
			   const struct stack_frame *frame,
			   struct out_stack_frame *out)
{
	uint64_t address = frame->address - (frame->kind == FRAME_RETURN);
	struct module_place place;
	struct symbol symbol;

	if (frame->kind == FRAME_NAMED || frame->kind == FRAME_TEXT) {
		out->function = write_string(
			trace, OUT_STRING_FUNCTION,
			frame->kind == FRAME_TEXT
				? stack_frame_text(frame)
				: stacks_frame_name(frame->address));
		return;
	}
	if (frame->kind == FRAME_KERNEL_CODE) {
		const struct kernel_names *names = kernel_names_shared();
		const uint32_t number = (uint32_t)frame->address;

		place = (struct module_place){ .bias = 0 };
		symbol = (struct symbol){
			.module = kernel_names_module(names, number),
			.build_id = "",
		};
		out->function = write_string(trace, OUT_STRING_FUNCTION,
					     kernel_names_name(names, number));
		out->mapping = write_mapping(trace, &place, &symbol);
		return;
	}
	modules_resolve(trace->modules, address, frame->generation, &symbol);
	out->function = write_string(trace, OUT_STRING_FUNCTION, symbol.name);
	out->rel_pc = symbol.offset;
	if (symbol.is_jit)
		place = (struct module_place){ .bias = 0 };
	else if (symbol.site || !modules_place(trace->modules, address,
					       frame->generation, &place))
		return;
	out->mapping = write_mapping(trace, &place, &symbol);
	symbol_file_put(&place.file);
}

/* Returns true for the kernel and for clocks: their work belongs to their
 * caller. */
static bool serves_caller(struct trace_stacks *trace,
			  const struct stack_frame *frame)
{
	if (frame->kind == FRAME_PC || frame->kind == FRAME_RETURN)
		return modules_clock_at(trace->modules,
					frame->address -
						(frame->kind == FRAME_RETURN),
					frame->generation);
	return frame->kind == FRAME_KERNEL_CODE ||
	       (frame->kind == FRAME_NAMED && frame->address == FRAME_KERNEL);
}

/* Returns the iid of @frame, and writes the frame if it is new. Returns 0 without
 * memory, and for a frame of perfrec or of a function that works for it. *@own is
 * true if the caller is such a frame; it becomes true if @frame is one, else
 * false. */
static uint64_t write_frame(struct trace_stacks *trace,
			    const struct stack_frame *frame, bool *own)
{
	const struct frame key = { .address = frame->address,
				   .generation = frame->generation,
				   .kind = frame->kind };
	struct out_stack_frame out = { 0 };
	struct frame *known;
	uint32_t number;
	int added = pool_intern(&trace->frames, &key, &number);

	if (added < 0)
		return 0;
	known = (struct frame *)trace->frames.items + number;
	if (added && (frame->kind == FRAME_PC || frame->kind == FRAME_RETURN))
		known->own = modules_owner(trace->modules,
					   frame->address - (frame->kind ==
							     FRAME_RETURN),
					   frame->generation) != MODULE_PROGRAM;
	*own = known->own || (*own && serves_caller(trace, frame));
	if (*own)
		return 0;
	out.iid = number + 1ULL;
	if (known->written)
		return out.iid;
	known->written = true;
	describe_frame(trace, frame, &out);
	trace->used += out_stacks_frame(packet_room(trace), PACKET_BYTES,
					trace->sequence, &out);
	return out.iid;
}

/* --- stacks -------------------------------------------------------------- */

/* Returns false if @stack already was marked. */
static bool mark_stack_written(struct trace_stacks *trace, uint32_t stack)
{
	uint8_t bit = (uint8_t)(1u << stack % 8);
	uint32_t before = trace->written_bytes;
	bool is_new;

	if (grow_array(trace->written, trace->written_bytes, stack / 8 + 1))
		return true; /* writing it again is harmless */
	memset(trace->written + before, 0, trace->written_bytes - before);
	is_new = !(trace->written[stack / 8] & bit);
	trace->written[stack / 8] |= bit;
	return is_new;
}

uint64_t trace_stacks_iid(struct trace_stacks *trace, uint32_t stack)
{
	static const struct stack_frame perfrec = { .address = FRAME_PERFREC,
						    .kind = FRAME_NAMED };
	uint64_t iid[DEPTH_MAX + 1];
	uint32_t path[DEPTH_MAX], depth = 0, count = 0;
	bool own = false, none = false;

	if (stack == STACKS_ROOT || !mark_stack_written(trace, stack))
		return stack;
	for (uint32_t at = stack; at != STACKS_ROOT && depth < DEPTH_MAX;
	     at = stacks_parent(trace->stacks, at))
		path[depth++] = at;
	while (depth) {
		const struct stack_frame frame =
			stacks_frame(trace->stacks, path[--depth]);

		if (frame.kind == FRAME_LABEL)
			continue; /* only profiles show it */
		iid[count] = write_frame(trace, &frame, &own);
		count += iid[count] != 0;
	}
	if (own) {
		iid[count] = write_frame(trace, &perfrec, &none);
		count += iid[count] != 0;
	}
	trace->used += out_stacks_callstack(packet_room(trace), PACKET_BYTES,
					    trace->sequence, stack, iid, count);
	return stack;
}

void trace_stacks_sample(struct trace_stacks *trace, uint64_t ns, pid_t tid,
			 uint32_t stack, bool is_kernel)
{
	const struct out_sample sample = {
		.ns = ns,
		.pid = trace->pid,
		.tid = tid,
		.callstack = trace_stacks_iid(trace, stack),
		.is_kernel = is_kernel,
	};

	if (trace_file_admits(trace->file))
		trace->used +=
			out_stacks_sample(packet_room(trace), PACKET_BYTES,
					  trace->sequence, &sample);
	if (ns - trace->flushed_ns < FLUSH_NS)
		return;
	trace->flushed_ns = ns;
	trace_stacks_flush(trace);
}
