/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_check accepts perfrec's traces. For each rule of
 * tests/tools/checker/rules.def, a trace here breaks it and must be rejected
 * under its name. The helpers below write traces byte by byte and share no code
 * with the collector's encoder.
 */
#include <unistd.h>
#include <zlib.h>

#include "tests/suite.h"

/* --- writing protobuf ---------------------------------------------------- */

struct message {
	size_t size;
	uint8_t data[2048];
};

struct trace {
	size_t size;
	uint8_t data[2 << 20];
};

static size_t varint(uint8_t *out, uint64_t value)
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		out[size++] = (uint8_t)(value | 0x80);
	out[size++] = (uint8_t)value;
	return size;
}

static void put_uint(struct message *message, uint32_t number, uint64_t value)
{
	uint8_t *out = &message->data[message->size];
	size_t size = varint(out, (uint64_t)number << 3);

	message->size += size + varint(out + size, value);
}

static void put_bytes(struct message *message, uint32_t number,
		      const void *bytes, size_t length)
{
	uint8_t *out = &message->data[message->size];
	size_t size = varint(out, (uint64_t)number << 3 | 2);

	size += varint(out + size, length);
	memcpy(out + size, bytes, length);
	message->size += size + length;
}

static void put_text(struct message *message, uint32_t number, const char *text)
{
	put_bytes(message, number, text, strlen(text));
}

static void put_message(struct message *message, uint32_t number,
			const struct message *inner)
{
	put_bytes(message, number, inner->data, inner->size);
}

static void put_packet(struct trace *trace, const struct message *packet)
{
	uint8_t *out = &trace->data[trace->size];
	size_t size = 1 + varint(out + 1, packet->size);

	out[0] = 0x0a;
	memcpy(out + size, packet->data, packet->size);
	trace->size += size + packet->size;
}

/* --- the packets of a trace ---------------------------------------------- */

enum { T0 = 1000000000 }; /* BOOTTIME of the first snapshot, ns */
enum { CLEARED = 1, NEEDS = 2 };
enum { BEGIN = 1, END = 2, INSTANT = 3 };

static struct message clock_reading(uint32_t id, uint64_t time,
				    bool incremental)
{
	struct message clock = { 0 };

	put_uint(&clock, 1, id);
	put_uint(&clock, 2, time);
	if (incremental)
		put_uint(&clock, 3, 1);
	return clock;
}

static void snapshot(struct trace *trace, uint64_t boottime, uint32_t primary)
{
	static const uint32_t others[] = { 3, 1, 4, 5 };
	struct message packet = { 0 }, clocks = { 0 }, clock;

	clock = clock_reading(6, boottime, false);
	put_message(&clocks, 1, &clock);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		clock = clock_reading(others[i], boottime - 5, false);
		put_message(&clocks, 1, &clock);
	}
	put_uint(&clocks, 2, primary);
	put_message(&packet, 6, &clocks);
	put_uint(&packet, 10, 1);
	put_packet(trace, &packet);
}

static void process(struct trace *trace, uint64_t uuid, uint64_t pid)
{
	struct message packet = { 0 }, track = { 0 }, inner = { 0 };

	put_uint(&inner, 1, pid);
	put_text(&inner, 2, "program");
	put_text(&inner, 2, "argument");
	put_text(&inner, 6, "program");
	put_uint(&track, 1, uuid);
	put_message(&track, 3, &inner);
	put_message(&packet, 60, &track);
	put_uint(&packet, 10, 1);
	put_packet(trace, &packet);
}

static void descriptor(struct trace *trace, uint32_t sequence, uint64_t uuid,
		       uint64_t pid, uint64_t tid)
{
	struct message packet = { 0 }, track = { 0 }, inner = { 0 };

	put_uint(&inner, 1, pid);
	put_uint(&inner, 2, tid);
	put_text(&inner, 5, "worker");
	put_uint(&track, 1, uuid);
	put_message(&track, 4, &inner);
	put_message(&packet, 60, &track);
	if (sequence)
		put_uint(&packet, 10, sequence);
	put_packet(trace, &packet);
}

/* A context of thread @parent; @name NULL: none. */
static void context_descriptor(struct trace *trace, uint32_t sequence,
			       uint64_t uuid, uint64_t parent, const char *name)
{
	struct message packet = { 0 }, track = { 0 };

	put_uint(&track, 1, uuid);
	if (name)
		put_text(&track, 2, name);
	put_uint(&track, 5, parent);
	put_uint(&track, 15, 2);
	put_message(&packet, 60, &track);
	put_uint(&packet, 10, sequence);
	put_packet(trace, &packet);
}

/* The first packet of a sequence; 0 omits a part. */
struct state {
	uint32_t sequence;
	uint64_t uuid, clock, start_ns;
	uint32_t flags;
	bool not_incremental;
};

static void state(struct trace *trace, const struct state *given)
{
	struct message packet = { 0 }, clocks = { 0 }, clock, defaults = { 0 };
	struct message event = { 0 };

	if (given->start_ns) {
		clock = clock_reading(64, given->start_ns,
				      !given->not_incremental);
		put_message(&clocks, 1, &clock);
		clock = clock_reading(6, given->start_ns, false);
		put_message(&clocks, 1, &clock);
		put_message(&packet, 6, &clocks);
	}
	if (given->uuid) {
		put_uint(&event, 11, given->uuid);
		put_message(&defaults, 11, &event);
		put_uint(&defaults, 58, given->clock);
		put_message(&packet, 59, &defaults);
	}
	if (given->flags)
		put_uint(&packet, 13, given->flags);
	put_uint(&packet, 87, 1);
	if (given->sequence)
		put_uint(&packet, 10, given->sequence);
	put_packet(trace, &packet);
}

static struct state good_state(uint32_t sequence)
{
	return (struct state){ sequence, 100 + sequence,  64,
			       T0,	 CLEARED | NEEDS, false };
}

static void named(struct trace *trace, uint32_t sequence, uint64_t iid,
		  const char *text)
{
	struct message packet = { 0 }, names = { 0 }, name = { 0 };

	put_uint(&name, 1, iid);
	put_text(&name, 2, text);
	put_message(&names, 2, &name);
	put_message(&packet, 12, &names);
	if (sequence)
		put_uint(&packet, 10, sequence);
	put_packet(trace, &packet);
}

static void event(struct trace *trace, uint32_t sequence, uint64_t delta,
		  uint32_t type, uint64_t iid, const char *text)
{
	struct message packet = { 0 }, inner = { 0 };

	put_uint(&packet, 8, delta);
	put_uint(&inner, 9, type);
	if (iid)
		put_uint(&inner, 10, iid);
	if (text)
		put_text(&inner, 23, text);
	put_message(&packet, 11, &inner);
	if (sequence)
		put_uint(&packet, 10, sequence);
	put_packet(trace, &packet);
}

static void dropped(struct trace *trace, uint32_t sequence)
{
	struct message packet = { 0 };

	put_uint(&packet, 42, 1);
	put_uint(&packet, 10, sequence);
	put_packet(trace, &packet);
}

static void stats(struct trace *trace, uint32_t sequence)
{
	struct message packet = { 0 }, stats = { 0 }, inner = { 0 };

	put_uint(&inner, 19, 7);
	put_message(&stats, 1, &inner);
	inner.size = 0;
	put_uint(&inner, 1, sequence);
	put_message(&stats, 18, &inner);
	put_message(&packet, 35, &stats);
	put_uint(&packet, 10, 1);
	put_packet(trace, &packet);
}

/* All before the first event of sequence 2; defines names 1 and 2. */
static void head(struct trace *trace)
{
	struct state first = good_state(2);

	snapshot(trace, T0, 6);
	process(trace, 50, 10);
	descriptor(trace, 2, 102, 10, 10);
	state(trace, &first);
	named(trace, 2, 1, "main");
	named(trace, 2, 2, "work");
}

static void named_track(struct trace *trace, uint64_t uuid, uint64_t parent,
			uint32_t what, const char *name)
{
	struct message packet = { 0 }, track = { 0 }, empty = { 0 };

	put_uint(&track, 1, uuid);
	put_text(&track, 2, name);
	if (parent)
		put_uint(&track, 5, parent);
	if (what)
		put_message(&track, what, &empty);
	put_message(&packet, 60, &track);
	put_uint(&packet, 10, 1);
	put_packet(trace, &packet);
}

/* A separate track: @what has the value 0, 8 (counter) or 18 (states). */
static void own_track(struct trace *trace, uint64_t uuid, uint64_t parent,
		      uint32_t what)
{
	named_track(trace, uuid, parent, what, "requests");
}

static void own_event(struct trace *trace, uint64_t uuid, uint64_t ns,
		      uint32_t type, uint32_t field, uint64_t value)
{
	struct message packet = { 0 }, inner = { 0 };

	put_uint(&packet, 8, ns);
	put_uint(&packet, 58, 6);
	put_uint(&inner, 9, type);
	put_uint(&inner, 11, uuid);
	if (field)
		put_uint(&inner, field, value);
	put_message(&packet, 11, &inner);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

/* InternedData.@field of sequence 2. */
static void interned(struct trace *trace, uint32_t field, uint64_t iid)
{
	struct message packet = { 0 }, data = { 0 }, entry = { 0 };

	put_uint(&entry, 1, iid);
	put_text(&entry, 2, "text");
	put_message(&data, field, &entry);
	put_message(&packet, 12, &data);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

static void argument(struct trace *trace, uint64_t key, unsigned int values)
{
	struct message packet = { 0 }, inner = { 0 }, one = { 0 };

	put_uint(&one, 1, key);
	if (values > 0)
		put_uint(&one, 3, 7);
	if (values > 1)
		put_uint(&one, 4, 7);
	put_uint(&packet, 8, 1);
	put_uint(&inner, 9, INSTANT);
	put_uint(&inner, 10, 1);
	put_message(&inner, 4, &one);
	put_message(&packet, 11, &inner);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

static void slice(struct trace *trace, uint32_t sequence, uint64_t iid)
{
	event(trace, sequence, 300, BEGIN, iid, NULL);
	event(trace, sequence, 20, END, 0, NULL);
}

static void raw(struct trace *trace, const void *bytes, size_t size)
{
	memcpy(&trace->data[trace->size], bytes, size);
	trace->size += size;
}

/* @extra bytes follow the stream. */
static void bundle(struct trace *trace, const struct trace *content,
		   size_t extra)
{
	static uint8_t packed[2 << 20];
	uLongf size = sizeof(packed) - 16;
	uint8_t *out = &trace->data[trace->size];
	uint8_t inner[16];
	size_t inner_size, used;

	ck_assert_int_eq(
		compress2(packed, &size, content->data, content->size, 1),
		Z_OK);
	memset(&packed[size], 0, extra);
	size += extra;
	inner_size = varint(inner, 50 << 3 | 2);
	inner_size += varint(inner + inner_size, size);
	out[0] = 0x0a;
	used = 1 + varint(out + 1, inner_size + size);
	memcpy(out + used, inner, inner_size);
	memcpy(out + used + inner_size, packed, size);
	trace->size += used + inner_size + size;
}

/* --- running trace_check ------------------------------------------------- */

static struct trace g_trace, g_inner;
static char g_output[1 << 16];

/* The output is in g_output. */
static int run(const struct trace *trace, const char *options)
{
	char path[] = "/tmp/test_trace_check.XXXXXX", command[512];
	int fd = mkstemp(path), status;
	size_t got;
	FILE *pipe;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, trace->data, trace->size),
			 (ssize_t)trace->size);
	close(fd);
	snprintf(command, sizeof(command), "%s %s %s 2>&1", TRACE_CHECK,
		 options, path);
	pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	got = fread(g_output, 1, sizeof(g_output) - 1, pipe);
	g_output[got] = '\0';
	status = pclose(pipe);
	unlink(path);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void fresh(void)
{
	g_trace.size = g_inner.size = 0;
}

/* --- a broken trace per rule --------------------------------------------- */

enum { MUTATIONS = 115 };

static struct mutation {
	const char *rule;
	void (*build)(struct trace *trace);
} g_mutations[MUTATIONS + 1];
static size_t g_mutation_count;

/* In front of a body that adds to @trace, which has a head, what breaks @rule alone. */
#define BREAK(broken, how)                                                \
	static void break_##how(struct trace *trace);                     \
	__attribute__((constructor)) static void add_##how(void)          \
	{                                                                 \
		if (g_mutation_count <= MUTATIONS)                        \
			g_mutations[g_mutation_count++] =                 \
				(struct mutation){ broken, break_##how }; \
	}                                                                 \
	static void break_##how(struct trace *trace)
/* The same for one call. */
#define BREAK_BY(rule, how, call) \
	BREAK(rule, how)          \
	{                         \
		call;             \
	}

BREAK("framing", framing)
{
	static const uint8_t other_field[] = { 0x12, 0x01, 0x00 };

	raw(trace, other_field, sizeof(other_field));
}

BREAK("framing", framing_by_cut)
{
	named(trace, 2, 3, "short");
	trace->size--;
}

BREAK("malformed", malformed)
{
	static const uint8_t long_varint[] = { 0x0a, 0x0c, 0x40, 0xff, 0xff,
					       0xff, 0xff, 0xff, 0xff, 0xff,
					       0xff, 0xff, 0x7f, 0x00 };

	raw(trace, long_varint, sizeof(long_varint));
}

BREAK("malformed", malformed_by_cut)
{
	static const uint8_t short_event[] = { 0x0a, 0x04, 0x5a,
					       0x05, 0x48, 0x01 };

	raw(trace, short_event, sizeof(short_event));
}

BREAK("malformed", malformed_by_type)
{
	struct message packet = { 0 };

	put_text(&packet, 8, "noon");
	put_packet(trace, &packet);
}

BREAK("unknown-field", unknown_field)
{
	struct message packet = { 0 };

	put_uint(&packet, 79, 1);
	put_packet(trace, &packet);
}

BREAK("unknown-field", unknown_field_inside)
{
	struct message packet = { 0 }, inner = { 0 };

	put_uint(&inner, 9, BEGIN);
	put_uint(&inner, 10, 1);
	put_text(&inner, 22, "category");
	put_uint(&packet, 8, 1);
	put_message(&packet, 11, &inner);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
	event(trace, 2, 1, END, 0, NULL);
}

BREAK("field-twice", field_twice)
{
	struct message packet = { 0 };

	put_uint(&packet, 10, 2);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

BREAK("field-twice", field_twice_by_payload)
{
	struct message packet = { 0 }, empty = { 0 };

	put_message(&packet, 45, &empty);
	put_message(&packet, 126, &empty);
	put_packet(trace, &packet);
}

BREAK_BY("utf8", utf8, named(trace, 2, 3, "caf\xe9"))
BREAK_BY("utf8", utf8_by_overlong, named(trace, 2, 3, "a\xc0\xaf"))
BREAK_BY("utf8", utf8_by_surrogate, named(trace, 2, 3, "\xed\xa0\x80"))
BREAK_BY("empty", empty, trace->size = 0)

BREAK("bundle-inflate", bundle_inflate)
{
	slice(&g_inner, 2, 1);
	bundle(trace, &g_inner, 1);
}

BREAK("bundle-inflate", bundle_inflate_by_noise)
{
	struct message packet = { 0 };

	put_text(&packet, 50, "not zlib at all");
	put_packet(trace, &packet);
}

BREAK("bundle-size", bundle_size)
{
	while (g_inner.size < 512 * 1024)
		slice(&g_inner, 2, 1);
	bundle(trace, &g_inner, 0);
}

BREAK("bundle-size", bundle_size_packed)
{
	static const uint8_t start[] = { 0x0a, 0x85, 0x80, 0x20, 0x92,
					 0x03, 0x80, 0x80, 0x20 };

	raw(trace, start, sizeof(start));
	memset(&trace->data[trace->size], 0, 512 * 1024);
	trace->size += 512 * 1024;
}

BREAK("bundle-nested", bundle_nested)
{
	static struct trace innermost;

	innermost.size = 0;
	slice(&innermost, 2, 1);
	bundle(&g_inner, &innermost, 0);
	bundle(trace, &g_inner, 0);
}

BREAK("snapshot-first", snapshot_first)
{
	struct state first = good_state(2);

	trace->size = 0;
	process(trace, 50, 10);
	descriptor(trace, 2, 102, 10, 10);
	state(trace, &first);
	snapshot(trace, T0, 6);
}

BREAK("snapshot-first", snapshot_first_by_primary)
{
	trace->size = 0;
	snapshot(trace, T0, 3);
}

BREAK_BY("snapshot-backwards", snapshot_backwards, snapshot(trace, T0 - 1, 6))

BREAK("clock-undefined", clock_undefined)
{
	struct state second = good_state(3);

	second.start_ns = 0;
	descriptor(trace, 3, 103, 10, 11);
	state(trace, &second);
	named(trace, 3, 1, "main");
	slice(trace, 3, 1);
}

BREAK("clock-properties", clock_properties)
{
	struct state again = good_state(2);

	again.not_incremental = true;
	state(trace, &again);
}

BREAK("time-missing", time_missing)
{
	struct message packet = { 0 }, inner = { 0 };

	put_uint(&inner, 9, INSTANT);
	put_text(&inner, 23, "when");
	put_message(&packet, 11, &inner);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

BREAK_BY("time-backwards", time_backwards,
	 event(trace, 2, (uint64_t)-5, INSTANT, 0, "yesterday"))

BREAK("time-backwards", time_backwards_by_snapshot)
{
	struct state again = good_state(2);

	slice(trace, 2, 1);
	state(trace, &again);
}

BREAK_BY("time-absurd", time_absurd,
	 event(trace, 2, 1ULL << 60, INSTANT, 0, "in 36 years"))
BREAK_BY("sequence-zero", sequence_zero,
	 event(trace, 0, 1, INSTANT, 0, "where"))
BREAK_BY("sequence-reused", sequence_reused, descriptor(trace, 2, 102, 10, 11))
BREAK_BY("uuid-unique", uuid_unique, descriptor(trace, 3, 102, 10, 11))
BREAK_BY("uuid-unique", uuid_unique_by_zero, process(trace, 0, 10))
BREAK_BY("uuid-unique", uuid_unique_by_process, process(trace, 50, 12))
BREAK_BY("ids", ids, process(trace, 51, (uint64_t)-1))
BREAK_BY("ids", ids_by_thread, descriptor(trace, 3, 103, 10, 0))
BREAK_BY("process-missing", process_missing, descriptor(trace, 3, 103, 77, 77))
BREAK_BY("context-parent", context_parent,
	 context_descriptor(trace, 3, 103, 50, "context 1 of main"))
BREAK_BY("context-parent", context_parent_by_name,
	 context_descriptor(trace, 3, 103, 102, "main"))

BREAK("context-parent", context_parent_by_context)
{
	context_descriptor(trace, 3, 103, 102, "context 1 of main");
	context_descriptor(trace, 4, 104, 103, "context 2 of main");
}

BREAK("descriptor-missing", descriptor_missing)
{
	struct state second = good_state(3);

	state(trace, &second);
	event(trace, 3, 1, INSTANT, 0, "who");
}

BREAK("defaults-missing", defaults_missing)
{
	struct state second = good_state(3);

	second.uuid = 0;
	descriptor(trace, 3, 103, 10, 11);
	state(trace, &second);
	event(trace, 3, 1, INSTANT, 0, "which track");
}

BREAK("defaults-missing", defaults_by_track)
{
	struct state second = good_state(3);

	second.uuid = 102;
	descriptor(trace, 3, 103, 10, 11);
	state(trace, &second);
	event(trace, 3, 1, INSTANT, 0, "another's track");
}

BREAK("defaults-missing", defaults_by_clock)
{
	struct state second = good_state(3);

	second.clock = 6;
	descriptor(trace, 3, 103, 10, 11);
	state(trace, &second);
	event(trace, 3, 1, INSTANT, 0, "which clock");
}

BREAK("not-cleared", not_cleared)
{
	struct state second = good_state(3);

	second.flags = 0;
	descriptor(trace, 3, 103, 10, 11);
	state(trace, &second);
	event(trace, 3, 1, INSTANT, 0, "no state");
}

BREAK("not-cleared", not_cleared_by_names)
{
	descriptor(trace, 3, 103, 10, 11);
	named(trace, 3, 1, "main");
}

BREAK("needs-state", needs_state)
{
	struct state second = good_state(3);

	second.flags = NEEDS;
	descriptor(trace, 3, 103, 10, 11);
	state(trace, &second);
}

BREAK("needs-state", needs_state_after_loss)
{
	struct message packet = { 0 };

	dropped(trace, 2);
	put_uint(&packet, 13, NEEDS);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
	stats(trace, 2);
}

BREAK_BY("name-iid", name_iid, named(trace, 2, 0, "nothing"))
BREAK_BY("name-iid", name_iid_by_size,
	 named(trace, 2, 1ULL << 40, "everything"))

BREAK("name-unknown", name_unknown)
{
	slice(trace, 2, 3);
	named(trace, 2, 3, "too late");
}

BREAK("name-unknown", name_unknown_on_other)
{
	struct state second = good_state(3);

	descriptor(trace, 3, 103, 10, 11);
	state(trace, &second);
	slice(trace, 3, 1);
}

BREAK("name-unknown", name_unknown_after_clear)
{
	struct state again = good_state(2);

	state(trace, &again);
	slice(trace, 2, 1);
}

BREAK_BY("name-changed", name_changed, named(trace, 2, 1, "other"))

BREAK("name-empty", name_empty)
{
	event(trace, 2, 1, BEGIN, 0, NULL);
	event(trace, 2, 1, END, 0, NULL);
}

BREAK("name-empty", name_empty_inline)
{
	event(trace, 2, 1, BEGIN, 0, "");
	event(trace, 2, 1, END, 0, NULL);
}

BREAK_BY("name-empty", name_empty_interned, named(trace, 2, 3, ""))
BREAK_BY("event-type", event_type, event(trace, 2, 1, 4, 1, NULL))

BREAK("event-type", event_type_on_own_track)
{
	own_track(trace, 7, 50, 0);
	own_event(trace, 7, T0, 6, 10, 1);
}

BREAK_BY("track-undescribed", track_undescribed,
	 own_event(trace, 7, T0, 3, 10, 1))
BREAK_BY("track-parent", track_parent, own_track(trace, 7, 8, 0))

BREAK("track-parent", track_parent_by_circle)
{
	own_track(trace, 7, 8, 0);
	own_track(trace, 8, 7, 0);
}

BREAK("track-kind", track_kind)
{
	own_track(trace, 7, 50, 0);
	own_event(trace, 7, T0, 4, 30, 1);
}

BREAK("track-kind", track_kind_by_state)
{
	own_track(trace, 7, 50, 8);
	own_event(trace, 7, T0, 5, 10, 1);
}

BREAK("track-kind", track_kind_by_slice)
{
	own_track(trace, 7, 50, 18);
	own_event(trace, 7, T0, BEGIN, 10, 1);
	own_event(trace, 7, T0, END, 0, 0);
}

BREAK("counter-value", counter_value)
{
	own_track(trace, 7, 50, 8);
	own_event(trace, 7, T0, 4, 0, 0);
}

BREAK("counter-value", counter_value_by_name)
{
	struct message packet = { 0 }, inner = { 0 };

	own_track(trace, 7, 50, 8);
	put_uint(&packet, 8, 0);
	put_uint(&inner, 9, 4);
	put_uint(&inner, 10, 1);
	put_uint(&inner, 11, 7);
	put_uint(&inner, 30, 1);
	put_message(&packet, 11, &inner);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

BREAK("iid-unknown", iid_unknown_category)
{
	own_track(trace, 7, 50, 18);
	own_event(trace, 7, T0, 5, 3, 9);
}

BREAK("iid-unknown", iid_unknown_place)
{
	own_track(trace, 7, 50, 18);
	interned(trace, 1, 9);
	own_event(trace, 7, T0, 5, 34, 9);
}

BREAK_BY("iid-unknown", iid_unknown_key, argument(trace, 1, 1))

static void interned_with(struct trace *trace, uint32_t field, uint32_t number,
			  uint64_t value)
{
	struct message packet = { 0 }, data = { 0 }, entry = { 0 };

	put_uint(&entry, 1, 1);
	put_uint(&entry, number, value);
	put_message(&data, field, &entry);
	put_message(&packet, 12, &data);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

/* @iid 0: no stack. */
static void sample(struct trace *trace, uint64_t tid, uint64_t iid)
{
	struct message packet = { 0 }, inner = { 0 };

	put_uint(&packet, 8, T0);
	put_uint(&inner, 2, 7);
	put_uint(&inner, 3, tid);
	if (iid)
		put_uint(&inner, 4, iid);
	put_message(&packet, 66, &inner);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

BREAK_BY("iid-unknown", iid_unknown_stack, sample(trace, 7, 1))
BREAK_BY("iid-unknown", iid_unknown_frame, interned_with(trace, 7, 2, 5))
BREAK_BY("iid-unknown", iid_unknown_function, interned_with(trace, 6, 2, 5))
BREAK_BY("iid-unknown", iid_unknown_mapping, interned_with(trace, 6, 3, 5))
BREAK_BY("iid-unknown", iid_unknown_path, interned_with(trace, 19, 7, 5))
BREAK_BY("ids", ids_of_sample, sample(trace, 0, 0))

BREAK("argument", argument)
{
	interned(trace, 3, 1);
	argument(trace, 1, 0);
}

BREAK("argument", argument_by_two)
{
	interned(trace, 3, 1);
	argument(trace, 1, 2);
}

/* These tracks obey the rules of thread tracks. */
BREAK("time-backwards", own_time_backwards)
{
	own_track(trace, 7, 50, 0);
	own_event(trace, 7, T0 + 5, BEGIN, 10, 1);
	own_event(trace, 7, T0, END, 0, 0);
}

BREAK("end-without-begin", own_end_without_begin)
{
	own_track(trace, 7, 50, 0);
	own_event(trace, 7, T0, END, 0, 0);
}

BREAK("open-at-end", own_open_at_end)
{
	own_track(trace, 7, 50, 0);
	own_event(trace, 7, T0, BEGIN, 10, 1);
}

BREAK("end-named", own_end_named)
{
	own_track(trace, 7, 50, 0);
	own_event(trace, 7, T0, BEGIN, 10, 1);
	own_event(trace, 7, T0, END, 10, 1);
}

BREAK("depth", own_depth)
{
	own_track(trace, 7, 50, 0);
	for (int i = 0; i < 513; i++)
		own_event(trace, 7, T0, BEGIN, 10, 1);
	for (int i = 0; i < 513; i++)
		own_event(trace, 7, T0, END, 0, 0);
}

BREAK_BY("uuid-unique", own_uuid, own_track(trace, 50, 0, 0))

BREAK("clock-properties", own_clock)
{
	struct message packet = { 0 }, inner = { 0 };

	put_uint(&packet, 8, T0);
	put_uint(&packet, 58, 3);
	put_uint(&inner, 9, INSTANT);
	put_uint(&inner, 10, 1);
	put_message(&packet, 11, &inner);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

BREAK("end-named", end_named)
{
	event(trace, 2, 1, BEGIN, 1, NULL);
	event(trace, 2, 1, END, 1, NULL);
}

BREAK("end-without-begin", end_without_begin)
{
	slice(trace, 2, 1);
	event(trace, 2, 1, END, 0, NULL);
}

BREAK("open-at-end", open_at_end)
{
	event(trace, 2, 1, BEGIN, 1, NULL);
	slice(trace, 2, 2);
}

static void nest(struct trace *trace, unsigned int depth)
{
	for (unsigned int i = 0; i < depth; i++)
		event(trace, 2, 1, BEGIN, 1, NULL);
	for (unsigned int i = 0; i < depth; i++)
		event(trace, 2, 1, END, 0, NULL);
}

BREAK_BY("depth", depth, nest(trace, 513))

BREAK("dropped-first", dropped_first)
{
	dropped(trace, 3);
	stats(trace, 3);
}

BREAK("loss-unreported", loss_unreported)
{
	stats(trace, 2);
	dropped(trace, 2);
}

BREAK_BY("loss-unreported", loss_unreported_by_instant,
	 event(trace, 2, 1, INSTANT, 0, "3 spans lost"))
BREAK_BY("stats-sequence", stats_sequence, stats(trace, 99))

/* --- switches --- */

/* The thread gets @state and @tid comes, @step ns after the last switch. */
struct one_switch {
	uint64_t step, state, tid;
};

struct switches {
	uint32_t cpu;
	bool lost;
	size_t count;
	struct one_switch at[8];
	/* Errors. */
	size_t missing; /* number of last lists that lack an entry */
	uint64_t priority; /* 0: 120 */
	const char *name;
};

static size_t missing(const struct switches *switches, size_t list)
{
	return 5 - list <= switches->missing;
}

/* Packs list @list of five: @numbers, or all the same. */
static void put_list(struct message *sched, uint32_t field, size_t list,
		     const struct switches *switches, const uint64_t *numbers)
{
	uint8_t bytes[80];
	size_t size = 0;

	for (size_t i = 0; i + missing(switches, list) < switches->count; i++)
		size += varint(bytes + size, numbers[i]);
	put_bytes(sched, field, bytes, size);
}

static void put_switches(struct trace *trace, const struct switches *given)
{
	struct message packet = { 0 }, inner = { 0 }, sched = { 0 };
	uint64_t numbers[5][8] = { 0 };

	for (size_t i = 0; i < given->count; i++) {
		numbers[0][i] = given->at[i].step;
		numbers[1][i] = given->at[i].state;
		numbers[2][i] = given->at[i].tid;
		numbers[3][i] = given->priority ? given->priority : 120;
	}
	put_text(&sched, 5, given->name ? given->name : "");
	for (uint32_t list = 0; list < 5; list++)
		put_list(&sched, list < 4 ? list + 1 : 6, list, given,
			 numbers[list]);
	put_uint(&inner, 1, given->cpu);
	if (given->lost)
		put_uint(&inner, 3, 1);
	put_message(&inner, 4, &sched);
	put_message(&packet, 1, &inner);
	put_uint(&packet, 10, 4);
	put_packet(trace, &packet);
}

BREAK_BY("sched-cpu", sched_cpu,
	 put_switches(trace, &(struct switches){
				     .cpu = 1024,
				     .count = 1,
				     .at = { { T0, 0, 0 } },
			     }))
BREAK_BY("sched-lists", sched_lists,
	 put_switches(trace,
		      &(struct switches){
			      .count = 3,
			      .at = { { T0, 0, 0 }, { 0, 0, 10 }, { 5, 1, 0 } },
			      .missing = 1,
		      }))
BREAK_BY("sched-lists", sched_lists_by_none,
	 put_switches(trace, &(struct switches){ .count = 0 }))
BREAK_BY("sched-name", sched_name,
	 put_switches(trace, &(struct switches){
				     .count = 2,
				     .at = { { T0, 0, 0 }, { 0, 0, 10 } },
				     .name = "work",
			     }))
BREAK_BY("sched-name", sched_name_by_priority,
	 put_switches(trace, &(struct switches){
				     .count = 2,
				     .at = { { T0, 0, 0 }, { 0, 0, 10 } },
				     .priority = 99,
			     }))
BREAK_BY("sched-state", sched_state,
	 put_switches(trace, &(struct switches){
				     .count = 3,
				     .at = { { T0, 0, 0 },
					     { 0, 0, 10 },
					     { 5, 2048, 0 } },
			     }))
BREAK_BY("sched-state", sched_state_of_nobody,
	 put_switches(trace, &(struct switches){
				     .count = 2,
				     .at = { { T0, 0, 0 }, { 0, 1, 10 } },
			     }))
BREAK_BY("sched-primed", sched_primed,
	 put_switches(trace, &(struct switches){
				     .count = 2,
				     .at = { { T0, 0, 10 }, { 5, 1, 0 } },
			     }))

BREAK("sched-backwards", sched_backwards)
{
	static const struct switches first = {
		.count = 2,
		.at = { { T0, 0, 0 }, { 0, 0, 10 } },
	};
	static const struct switches second = {
		.count = 1,
		.at = { { T0 - 1, 1, 0 } },
	};

	put_switches(trace, &first);
	put_switches(trace, &second);
}

BREAK("sched-lost", sched_lost)
{
	static const struct switches first = {
		.count = 2,
		.at = { { T0, 0, 0 }, { 0, 0, 10 } },
	};
	static const struct switches second = {
		.lost = true,
		.count = 1,
		.at = { { T0 + 5, 128, 11 } },
	};

	put_switches(trace, &first);
	put_switches(trace, &second);
}

BREAK("sched-overlap", sched_overlap)
{
	static const struct switches first = {
		.count = 3,
		.at = { { T0, 0, 0 }, { 0, 0, 10 }, { 100, 1, 0 } },
	};
	static const struct switches second = {
		.cpu = 1,
		.count = 3,
		.at = { { T0 + 99, 0, 0 }, { 0, 0, 10 }, { 100, 1, 0 } },
	};

	put_switches(trace, &first);
	put_switches(trace, &second);
}

/* --- waits --- */

/* Thread 10 sleeps from 300 to 500, and from 600 to the end at 900. */
static void sleeps(struct trace *trace)
{
	put_switches(trace, &(struct switches){
				    .count = 6,
				    .at = { { T0, 0, 0 },
					    { 0, 0, 10 },
					    { 300, 1, 0 },
					    { 200, 0, 10 },
					    { 100, 1, 0 },
					    { 300, 0, 0 } },
			    });
}

static void wait_of_thread(struct trace *trace, uint64_t from, uint64_t to)
{
	named_track(trace, 7, 102, 0, "perfrec: waits");
	own_event(trace, 7, T0 + from, BEGIN, 10, 1);
	own_event(trace, 7, T0 + to, END, 0, 0);
}

/* With name 1 and a cut's mark @key. */
static void clipped_event(struct trace *trace, uint64_t ns, uint32_t type,
			  const char *key)
{
	struct message packet = { 0 }, inner = { 0 }, mark = { 0 };

	put_uint(&packet, 8, T0 + ns);
	put_uint(&packet, 58, 6);
	put_uint(&inner, 9, type);
	put_uint(&inner, 11, 7);
	if (type == BEGIN)
		put_uint(&inner, 10, 1);
	put_text(&mark, 10, key);
	put_uint(&mark, 4, 1);
	put_message(&inner, 4, &mark);
	put_message(&packet, 11, &inner);
	put_uint(&packet, 10, 2);
	put_packet(trace, &packet);
}

/* The thread is awake from 500 to 600. */
BREAK("wait-blocked", wait_blocked_clipped)
{
	sleeps(trace);
	named_track(trace, 7, 102, 0, "perfrec: waits");
	clipped_event(trace, 400, BEGIN, "perfrec.began_ns");
	clipped_event(trace, 700, END, "perfrec.goes_on");
}

BREAK("wait-blocked", wait_blocked_by_another_mark)
{
	sleeps(trace);
	named_track(trace, 7, 102, 0, "perfrec: waits");
	clipped_event(trace, 400, BEGIN, "perfrec.began");
	own_event(trace, 7, T0 + 500, END, 0, 0);
}

BREAK("wait-slice", wait_slice)
{
	sleeps(trace);
	wait_of_thread(trace, 300, 500);
	own_event(trace, 7, T0 + 600, END, 0, 0);
}

BREAK("wait-slice", wait_slice_by_instant)
{
	sleeps(trace);
	wait_of_thread(trace, 300, 500);
	own_event(trace, 7, T0 + 600, INSTANT, 10, 1);
}

BREAK("wait-slice", wait_slice_by_two)
{
	sleeps(trace);
	named_track(trace, 7, 102, 0, "perfrec: waits");
	own_event(trace, 7, T0 + 300, BEGIN, 10, 1);
	own_event(trace, 7, T0 + 300, BEGIN, 10, 1);
	own_event(trace, 7, T0 + 500, END, 0, 0);
}

BREAK("wait-slice", wait_slice_of_process)
{
	sleeps(trace);
	named_track(trace, 7, 50, 0, "perfrec: waits");
	own_event(trace, 7, T0 + 300, BEGIN, 10, 1);
	own_event(trace, 7, T0 + 500, END, 0, 0);
}

BREAK("wait-blocked", wait_blocked)
{
	sleeps(trace);
	wait_of_thread(trace, 301, 500);
}

BREAK("wait-blocked", wait_blocked_by_end)
{
	sleeps(trace);
	wait_of_thread(trace, 300, 499);
}

BREAK("wait-blocked", wait_blocked_by_running)
{
	put_switches(trace, &(struct switches){
				    .count = 5,
				    .at = { { T0, 0, 0 },
					    { 0, 0, 10 },
					    { 300, 1, 0 },
					    { 100, 0, 10 },
					    { 50, 1, 0 } },
			    });
	/* Another CPU has no later event, as the trace stopped. */
	put_switches(trace, &(struct switches){
				    .cpu = 1,
				    .count = 2,
				    .at = { { T0, 0, 0 }, { 0, 0, 0 } },
			    });
	wait_of_thread(trace, 300, 500);
}

BREAK("wait-blocked", wait_blocked_by_preemption)
{
	put_switches(trace, &(struct switches){
				    .count = 5,
				    .at = { { T0, 0, 0 },
					    { 0, 0, 10 },
					    { 300, 256, 0 },
					    { 200, 0, 10 },
					    { 100, 1, 0 } },
			    });
	wait_of_thread(trace, 300, 500);
}

BREAK_BY("ids", ids_of_switch,
	 put_switches(trace,
		      &(struct switches){
			      .count = 2,
			      .at = { { T0, 0, 0 }, { 0, 0, UINT64_MAX } },
		      }))

BREAK("snapshot-first", snapshot_first_by_switch)
{
	trace->size = 0;
	put_switches(trace, &(struct switches){
				    .count = 2,
				    .at = { { T0, 0, 0 }, { 0, 0, 10 } },
			    });
	snapshot(trace, T0, 6);
}

BREAK_BY("time-absurd", time_absurd_by_switch,
	 put_switches(trace,
		      &(struct switches){
			      .count = 2,
			      .at = { { UINT64_MAX, 0, 0 }, { 0, 0, 10 } },
		      }))

FIXTURE(fresh, NULL);

TEST(trace_check_mutated_is_rejected_by_that_rule_alone, EACH(0, MUTATIONS))
{
	const struct mutation *mutation = &g_mutations[_i];
	char expected[64];

	head(&g_trace);
	mutation->build(&g_trace);
	ck_assert_msg(run(&g_trace, "") == 1, "%s: accepted", mutation->rule);
	snprintf(expected, sizeof(expected), ": %s: at byte ", mutation->rule);
	ck_assert_msg(strstr(g_output, expected), "%s: %s", mutation->rule,
		      g_output);
	ck_assert_msg(strchr(g_output, '\n') == strrchr(g_output, '\n'),
		      "more than %s: %s", mutation->rule, g_output);
}

TEST(trace_check_every_rule_has_a_mutation)
{
	static const char *const rules[] = {
#define RULE(id, name, sentence) name,
#include "tests/tools/checker/rules.def"
#undef RULE
	};

	ck_assert_uint_eq(g_mutation_count, MUTATIONS);
	for (size_t rule = 0; rule < ARRAY_SIZE(rules); rule++) {
		bool found = false;

		for (size_t i = 0; i < MUTATIONS; i++)
			found |= !strcmp(g_mutations[i].rule, rules[rule]);
		ck_assert_msg(found, "%s: no trace breaks it", rules[rule]);
	}
}

/* --- valid traces -------------------------------------------------------- */

/* With slices inside and outside a bundle, and a reported loss. */
static void whole_trace(struct trace *trace)
{
	/* begin of 1 after 100 ns and its end after 300, as fixed-width varints
	 * with redundant bytes */
	static const uint8_t fixed[] = { 0x0a, 0x0d, 0x40, 0xe4, 0x80, 0x00,
					 0x5a, 0x05, 0x48, 0x01, 0x50, 0x81,
					 0x00, 0x50, 0x02, 0x0a, 0x0a, 0x40,
					 0xac, 0x82, 0x00, 0x5a, 0x02, 0x48,
					 0x02, 0x50, 0x02 };
	struct state second = good_state(3);

	head(trace);
	raw(trace, fixed, sizeof(fixed));
	descriptor(trace, 3, 103, 10, 11);
	state(trace, &second);
	named(trace, 3, 1, "work");
	slice(trace, 3, 1);
	event(&g_inner, 2, 5, BEGIN, 2, NULL);
	slice(&g_inner, 2, 2);
	event(&g_inner, 2, 5, END, 0, NULL);
	bundle(trace, &g_inner, 0);
	event(trace, 3, 0, BEGIN, 0, "perfrec: waiting for collector");
	event(trace, 3, 9, END, 0, NULL);
	event(trace, 2, 2, INSTANT, 0, "3 spans lost");
	dropped(trace, 2);
	stats(trace, 2);
}

TEST(trace_check_own_tracks_are_accepted)
{
	struct trace *trace = &g_trace;

	head(trace);
	own_track(trace, 7, 50, 0);
	own_track(trace, 8, 7, 8);
	own_track(trace, 9, 0, 18);
	own_event(trace, 7, T0, BEGIN, 10, 1);
	own_event(trace, 7, T0 + 9, END, 0, 0);
	own_event(trace, 7, T0, INSTANT, 10, 1);
	own_event(trace, 8, T0, 4, 30, 1);
	own_event(trace, 9, T0, 5, 10, 1);
	own_event(trace, 9, T0, 5, 0, 0);
	interned(trace, 3, 1);
	argument(trace, 1, 1);
	ck_assert_msg(run(trace, "--counts") == 0, "%s", g_output);
	ck_assert_str_eq(g_output, "");
}

TEST(trace_check_valid_is_accepted)
{
	whole_trace(&g_trace);
	ck_assert_msg(run(&g_trace, "") == 0, "%s", g_output);
	ck_assert_str_eq(g_output, "");
}

TEST(trace_check_contexts_are_told_from_their_thread)
{
	struct state state_3 = good_state(3);

	head(&g_trace);
	context_descriptor(&g_trace, 3, 103, 102, "context 7 of main");
	state(&g_trace, &state_3);
	named(&g_trace, 3, 1, "work");
	event(&g_trace, 2, 5, BEGIN, 1, NULL);
	slice(&g_trace, 3, 1);
	event(&g_trace, 2, 5, END, 0, NULL);
	ck_assert_int_eq(run(&g_trace, "--counts-by-thread"), 0);
	ck_assert_str_eq(g_output, "10\t10\t1\tmain\n10\t10/7\t1\twork\n");
	ck_assert_int_eq(run(&g_trace, "--dump"), 0);
	ck_assert_ptr_nonnull(strstr(g_output, "B 10 10/7 "));
}

TEST(trace_check_depth_of_512_is_accepted)
{
	head(&g_trace);
	nest(&g_trace, 512);
	ck_assert_msg(run(&g_trace, "") == 0, "%s", g_output);
}

TEST(trace_check_counts_are_merged_over_threads)
{
	whole_trace(&g_trace);
	ck_assert_int_eq(run(&g_trace, "--counts"), 0);
	ck_assert_str_eq(g_output, "1\tmain\n"
				   "1\tperfrec: waiting for collector\n"
				   "3\twork\n");
}

TEST(trace_check_counts_survive_cleared_names)
{
	struct state again = good_state(2);

	head(&g_trace);
	slice(&g_trace, 2, 1);
	again.start_ns += 1000;
	state(&g_trace, &again);
	named(&g_trace, 2, 1, "other");
	slice(&g_trace, 2, 1);
	ck_assert_msg(run(&g_trace, "--counts") == 0, "%s", g_output);
	ck_assert_str_eq(g_output, "1\tmain\n1\tother\n");
}

TEST(trace_check_counts_by_thread)
{
	whole_trace(&g_trace);
	ck_assert_int_eq(run(&g_trace, "--counts-by-thread"), 0);
	ck_assert_str_eq(g_output, "10\t10\t1\tmain\n"
				   "10\t10\t2\twork\n"
				   "10\t11\t1\tperfrec: waiting for collector\n"
				   "10\t11\t1\twork\n");
}

TEST(trace_check_dump_shows_nesting)
{
	head(&g_trace);
	event(&g_trace, 2, 5, BEGIN, 1, NULL);
	slice(&g_trace, 2, 2);
	event(&g_trace, 2, 5, END, 0, NULL);
	ck_assert_int_eq(run(&g_trace, "--dump"), 0);
	ck_assert_str_eq(g_output, "B 10 10 1000000005 0 main\n"
				   "B 10 10 1000000305 1 work\n"
				   "E 10 10 1000000325 1 work\n"
				   "E 10 10 1000000330 0 main\n");
}

TEST(trace_check_json_has_totals)
{
	char bytes[32];

	whole_trace(&g_trace);
	ck_assert_int_eq(run(&g_trace, "--json"), 0);
	snprintf(bytes, sizeof(bytes), "{\"bytes\": %zu, ", g_trace.size);
	ck_assert_ptr_nonnull(strstr(g_output, bytes));
	ck_assert_ptr_nonnull(strstr(
		g_output, "\"bundles\": 1, \"begins\": 5, \"ends\": 5, "
			  "\"instants\": 1, \"processes\": 1, \"threads\": 2, "
			  "\"max_depth\": 2, \"losses\": 1, "
			  "\"first_ns\": 1000000100, "
			  "\"last_ns\": 1000000732, "
			  "\"waits\": 0, \"switches\": 0, "
			  "\"sched_losses\": 0}\n"));
}

/* Thread 10 runs, is preempted, runs on another CPU and sleeps. Then switches
 * of CPU 0 are lost. */
static void switches_of_two_cpus(struct trace *trace)
{
	static const struct switches first = {
		.count = 4,
		.at = { { T0, 0, 0 },
			{ 0, 0, 10 },
			{ 100, 256, 11 },
			{ 50, 1, 0 } },
	};
	static const struct switches lost = {
		.lost = true,
		.count = 3,
		.at = { { T0 + 600, 128, 0 }, { 200, 0, 10 }, { 100, 16, 0 } },
	};
	static const struct switches other = {
		.cpu = 1,
		.count = 3,
		.at = { { T0 + 130, 0, 0 }, { 0, 0, 10 }, { 170, 1, 0 } },
	};

	put_switches(trace, &first);
	put_switches(trace, &lost);
	put_switches(trace, &other);
}

TEST(trace_check_sched_sums_what_threads_did)
{
	head(&g_trace);
	switches_of_two_cpus(&g_trace);
	ck_assert_msg(run(&g_trace, "--sched") == 0, "%s", g_output);
	ck_assert_str_eq(g_output, "10\t370\t30\t300\t200\t3\n"
				   "11\t50\t0\t0\t0\t1\n");
	ck_assert_int_eq(run(&g_trace, "--json"), 0);
	ck_assert_ptr_nonnull(
		strstr(g_output, "\"switches\": 10, \"sched_losses\": 1}"));
}

TEST(trace_check_waits_are_no_other_slices)
{
	head(&g_trace);
	sleeps(&g_trace);
	wait_of_thread(&g_trace, 300, 500);
	ck_assert_msg(run(&g_trace, "--waits") == 0, "%s", g_output);
	ck_assert_str_eq(g_output, "10\t1000000300\t200\tmain\n");
	ck_assert_int_eq(run(&g_trace, "--json"), 0);
	ck_assert_ptr_nonnull(strstr(g_output, "\"begins\": 0, \"ends\": 0"));
	ck_assert_ptr_nonnull(strstr(g_output, "\"waits\": 1"));
	ck_assert_int_eq(run(&g_trace, "--text"), 0);
	ck_assert_ptr_null(strstr(g_output, "waits"));
}

static void kept_from(struct trace *trace, uint64_t ns)
{
	struct message packet = { 0 }, attributes = { 0 }, attribute = { 0 };

	put_text(&attribute, 1, "perfrec.cut_kept_from_ns");
	put_uint(&attribute, 2, T0 + ns);
	put_message(&attributes, 1, &attribute);
	put_message(&packet, 126, &attributes);
	put_uint(&packet, 10, 1);
	put_packet(trace, &packet);
}

/* Waits of a discarded part may follow without its switches. */
TEST(trace_check_waits_before_a_trace_has_all_are_accepted)
{
	head(&g_trace);
	kept_from(&g_trace, 250);
	sleeps(&g_trace);
	named_track(&g_trace, 7, 102, 0, "perfrec: waits");
	own_event(&g_trace, 7, T0 - 200, BEGIN, 10, 1);
	own_event(&g_trace, 7, T0 - 100, END, 0, 0);
	own_event(&g_trace, 7, T0 + 300, BEGIN, 10, 1);
	own_event(&g_trace, 7, T0 + 500, END, 0, 0);
	ck_assert_msg(run(&g_trace, "") == 0, "%s", g_output);
	fresh();
	head(&g_trace);
	kept_from(&g_trace, 250);
	sleeps(&g_trace);
	wait_of_thread(&g_trace, 301, 500);
	ck_assert_int_ne(run(&g_trace, ""), 0);
	ck_assert_ptr_nonnull(strstr(g_output, "wait-blocked"));
}

TEST(trace_check_waits_after_the_last_switch_are_accepted)
{
	head(&g_trace);
	sleeps(&g_trace);
	wait_of_thread(&g_trace, 600, 800);
	ck_assert_int_ne(run(&g_trace, ""), 0);
	ck_assert_msg(run(&g_trace, "--allow-cut") == 0, "%s", g_output);
	fresh();
	head(&g_trace);
	sleeps(&g_trace);
	wait_of_thread(&g_trace, 600, 901);
	ck_assert_msg(run(&g_trace, "") == 0, "%s", g_output);
}

/* The first wait lacks its start, the second its end. */
TEST(trace_check_waits_that_are_clipped_are_accepted)
{
	head(&g_trace);
	sleeps(&g_trace);
	named_track(&g_trace, 7, 102, 0, "perfrec: waits");
	clipped_event(&g_trace, 400, BEGIN, "perfrec.began_ns");
	own_event(&g_trace, 7, T0 + 500, END, 0, 0);
	own_event(&g_trace, 7, T0 + 600, BEGIN, 10, 1);
	clipped_event(&g_trace, 700, END, "perfrec.goes_on");
	ck_assert_msg(run(&g_trace, "") == 0, "%s", g_output);
}

TEST(trace_check_sched_by_name_splits_slices)
{
	head(&g_trace);
	event(&g_trace, 2, 50, BEGIN, 1, NULL); /* main: from 50 to 950 */
	event(&g_trace, 2, 60, BEGIN, 2, NULL); /* work: from 110 to 400 */
	event(&g_trace, 2, 290, END, 0, NULL);
	event(&g_trace, 2, 550, END, 0, NULL);
	switches_of_two_cpus(&g_trace);
	ck_assert_msg(run(&g_trace, "--sched-by-name") == 0, "%s", g_output);
	/* main: on a CPU 50..100, 800..900; preempted ..110; blocked 400..600;
	 * unknown 600..800, and after its end at 900. */
	ck_assert_str_eq(g_output, "150\t10\t200\t250\tmain\n"
				   "170\t20\t100\t0\twork\n");
}

TEST(trace_check_allow_open_accepts_open_slices)
{
	head(&g_trace);
	break_open_at_end(&g_trace);
	ck_assert_int_eq(run(&g_trace, "--allow-open"), 0);
}

TEST(trace_check_allow_cut_accepts_every_cut)
{
	size_t first;

	snapshot(&g_trace, T0, 6);
	first = g_trace.size;
	g_trace.size = 0;
	whole_trace(&g_trace);
	while (--g_trace.size >= first)
		ck_assert_msg(run(&g_trace, "--allow-cut --allow-open") == 0,
			      "cut at %zu: %s", g_trace.size, g_output);
}

TEST(trace_check_missing_file_exits_1_and_usage_2)
{
	ck_assert_int_eq(WEXITSTATUS(system(TRACE_CHECK " /nowhere 2>&-")), 1);
	ck_assert_int_eq(WEXITSTATUS(system(TRACE_CHECK " 2>&-")), 2);
	ck_assert_int_eq(WEXITSTATUS(system(TRACE_CHECK " --what x 2>&-")), 2);
}
