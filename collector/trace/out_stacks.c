/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/trace/out_stacks.h"

#include <string.h>

#include "collector/trace/packet.h"
#include "shared/compiler.h"

#define COUNTER(name) PERFETTO__PROTOS__PERF_EVENTS__COUNTER__##name
#define CPU_MODE(name) PERFETTO__PROTOS__PROFILING__CPU_MODE__MODE_##name
#define BUILD_ID_BYTES 64

typedef Perfetto__Protos__InternedData pb_interned;
typedef Perfetto__Protos__InternedString pb_string;

#define INTERNED_INIT PERFETTO__PROTOS__INTERNED_DATA__INIT

size_t out_stacks_first(uint8_t *buffer, size_t size, uint32_t sequence,
			uint32_t hz)
{
	pb_packet packet = PACKET_INIT;
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__Protos__PerfSampleDefaults samples =
		PERFETTO__PROTOS__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__Protos__PerfEvents__Timebase timebase =
		PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INIT;

	SET(&timebase, frequency, hz);
	SET(&timebase, counter, COUNTER(SW_TASK_CLOCK));
	samples.timebase = &timebase;
	SET(&defaults, timestamp_clock_id, BUILTIN_CLOCK(BOOTTIME));
	if (hz)
		defaults.perf_sample_defaults = &samples;
	packet.trace_packet_defaults = &defaults;
	SET(&packet, trusted_packet_sequence_id, sequence);
	SET(&packet, sequence_flags, SEQUENCE_FLAG(INCREMENTAL_STATE_CLEARED));
	SET(&packet, first_packet_on_sequence, 1);
	return packet_pack(buffer, size, &packet);
}

static size_t pack_interned(uint8_t *buffer, size_t size, uint32_t sequence,
			    pb_interned *data)
{
	pb_packet packet = PACKET_INIT;

	packet.interned_data = data;
	SET(&packet, trusted_packet_sequence_id, sequence);
	SET(&packet, sequence_flags, SEQUENCE_FLAG(NEEDS_INCREMENTAL_STATE));
	return packet_pack(buffer, size, &packet);
}

/* --- interned data -------------------------------------------------------- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
				      : 0;
}

static size_t build_id_from_hex(const char *text, uint8_t out[BUILD_ID_BYTES])
{
	size_t bytes = MIN(strlen(text) / 2, (size_t)BUILD_ID_BYTES);

	for (size_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 |
				   hex_digit(text[2 * i + 1]));
	return bytes;
}

size_t out_stacks_string(uint8_t *buffer, size_t size, uint32_t sequence,
			 enum out_string_kind kind, uint64_t iid,
			 const char *text)
{
	pb_string string = PERFETTO__PROTOS__INTERNED_STRING__INIT;
	pb_string *pointer = &string;
	pb_interned data = INTERNED_INIT;
	uint8_t build_id[BUILD_ID_BYTES];

	SET(&string, iid, iid);
	string.has_str = 1;
	/* protobuf-c only reads the text. */
	string.str.data = (uint8_t *)text;
	string.str.len = strlen(text);
	if (kind == OUT_STRING_BUILD_ID) {
		string.str.data = build_id;
		string.str.len = build_id_from_hex(text, build_id);
		ONE(&data, build_ids, pointer);
	} else if (kind == OUT_STRING_PATH) {
		ONE(&data, mapping_paths, pointer);
	} else {
		ONE(&data, function_names, pointer);
	}
	return pack_interned(buffer, size, sequence, &data);
}

size_t out_stacks_mapping(uint8_t *buffer, size_t size, uint32_t sequence,
			  const struct out_stack_mapping *mapping)
{
	Perfetto__Protos__Mapping message = PERFETTO__PROTOS__MAPPING__INIT;
	Perfetto__Protos__Mapping *pointer = &message;
	pb_interned data = INTERNED_INIT;
	uint64_t path = mapping->path;

	SET(&message, iid, mapping->iid);
	if (mapping->build_id)
		SET(&message, build_id, mapping->build_id);
	SET(&message, exact_offset, mapping->file_offset);
	SET(&message, start_offset, mapping->file_offset);
	SET(&message, start, mapping->start);
	SET(&message, end, mapping->end);
	SET(&message, load_bias, mapping->load_bias);
	if (path) {
		message.n_path_string_ids = 1;
		message.path_string_ids = &path;
	}
	ONE(&data, mappings, pointer);
	return pack_interned(buffer, size, sequence, &data);
}

size_t out_stacks_frame(uint8_t *buffer, size_t size, uint32_t sequence,
			const struct out_stack_frame *frame)
{
	Perfetto__Protos__Frame message = PERFETTO__PROTOS__FRAME__INIT;
	Perfetto__Protos__Frame *pointer = &message;
	pb_interned data = INTERNED_INIT;

	SET(&message, iid, frame->iid);
	if (frame->function)
		SET(&message, function_name_id, frame->function);
	if (frame->mapping) {
		SET(&message, mapping_id, frame->mapping);
		SET(&message, rel_pc, frame->rel_pc);
	}
	ONE(&data, frames, pointer);
	return pack_interned(buffer, size, sequence, &data);
}

size_t out_stacks_callstack(uint8_t *buffer, size_t size, uint32_t sequence,
			    uint64_t iid, uint64_t *frame, size_t count)
{
	Perfetto__Protos__Callstack message = PERFETTO__PROTOS__CALLSTACK__INIT;
	Perfetto__Protos__Callstack *pointer = &message;
	pb_interned data = INTERNED_INIT;

	SET(&message, iid, iid);
	message.n_frame_ids = count;
	message.frame_ids = frame;
	ONE(&data, callstacks, pointer);
	return pack_interned(buffer, size, sequence, &data);
}

/* --- samples ------------------------------------------------------------- */

size_t out_stacks_sample(uint8_t *buffer, size_t size, uint32_t sequence,
			 const struct out_sample *sample)
{
	Perfetto__Protos__PerfSample message =
		PERFETTO__PROTOS__PERF_SAMPLE__INIT;
	pb_packet packet = PACKET_INIT;

	SET(&message, pid, (uint32_t)sample->pid);
	SET(&message, tid, (uint32_t)sample->tid);
	if (sample->callstack)
		SET(&message, callstack_iid, sample->callstack);
	SET(&message, cpu_mode,
	    sample->is_kernel ? CPU_MODE(KERNEL) : CPU_MODE(USER));
	packet.perf_sample = &message;
	SET(&packet, timestamp, sample->ns);
	SET(&packet, trusted_packet_sequence_id, sequence);
	SET(&packet, sequence_flags, SEQUENCE_FLAG(NEEDS_INCREMENTAL_STATE));
	return packet_pack(buffer, size, &packet);
}
