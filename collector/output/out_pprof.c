/* SPDX-License-Identifier: Apache-2.0
 *
 * out_pprof - protobuf allows a message to be split into consecutive messages.
 * So each piece here is a Profile with one item, which is packed, compressed
 * and freed. Memory only has the numbers of strings. A string is written before
 * its first use, so strings have the numbers 0, 1, 2 and so on in the file.
 */
#include "collector/output/out_pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/pool.h"
#include "collector/base/protobuf.h"
#include "collector/names/symbol_name.h"
#include "collector/output/gz_file.h"
#include "proto/profile.pb-c.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define LABELS 6
#define LABEL_BYTES 24 /* a tag, a length, two tags, two varints */

#define TAG_STRING 0x32 /* Profile.string_table, bytes */

/* protobuf-c prefixes all generated names with the package. */
typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__ValueType pb_value_type;
typedef Perftools__Profiles__Mapping pb_mapping;
typedef Perftools__Profiles__Location pb_location;
typedef Perftools__Profiles__Line pb_line;
typedef Perftools__Profiles__Function pb_function;

#define PROFILE_INIT PERFTOOLS__PROFILES__PROFILE__INIT

/* Sets optional scalar @field of message @m. */
#define SET(m, field, value) ((m)->has_##field = 1, (m)->field = (value))
/* Makes message @one the only element of repeated @field of @m. */
#define ONE(m, field, one) ((m)->n_##field = 1, (m)->field = &(one))

struct string {
	const char *text;
};

struct out_pprof {
	struct gz_file *file;
	int err; /* the first error */
	uint64_t bytes;
	uint8_t *buffer; /* for packing a piece */
	size_t buffer_bytes;
	struct pool strings; /* struct string, by number */
	size_t value_count;
	struct out_labels labels; /* of the last sample with labels */
	size_t label_bytes; /* of the packed labels; 0: none yet */
	uint8_t label[LABELS * LABEL_BYTES];
	pb_line *lines;
	pb_line **line_pointers;
	size_t line_room;
};

static void fail_file(struct out_pprof *out, int err)
{
	if (!out->err)
		out->err = err;
}

static bool reserve_buffer(struct out_pprof *out, size_t size)
{
	if (out->err)
		return false;
	if (size <= out->buffer_bytes)
		return true;
	free(out->buffer);
	out->buffer_bytes = 2 * size;
	out->buffer = malloc(out->buffer_bytes);
	if (out->buffer)
		return true;
	out->buffer_bytes = 0;
	fail_file(out, -ENOMEM);
	return false;
}

static void put_buffer(struct out_pprof *out, size_t size)
{
	out->bytes += size;
	fail_file(out, gz_file_write(out->file, out->buffer, size));
}

static void put_piece(struct out_pprof *out, const pb_profile *piece)
{
	size_t size = perftools__profiles__profile__get_packed_size(piece);

	if (!reserve_buffer(out, size))
		return;
	perftools__profiles__profile__pack(piece, out->buffer);
	put_buffer(out, size);
}

/* --- strings ------------------------------------------------------------- */

static uint64_t hash_string(const void *item)
{
	const struct string *string = item;

	return hash_fold(hash_text(HASH_START, string->text));
}

static bool is_same_string(const void *a, const void *b)
{
	const struct string *x = a, *y = b;

	return !strcmp(x->text, y->text);
}

static const struct pool_key string_key = { hash_string, is_same_string };

static int64_t string_number(struct out_pprof *out, const char *text)
{
	const struct string string = { text };
	uint32_t number;
	int added = pool_intern(&out->strings, &string, &number);

	if (added < 0) {
		fail_file(out, added);
		return 0;
	}
	if (added) {
		size_t length = strlen(text);
		uint8_t *at;

		/* Packed by hand: most pieces of a small file are strings. */
		if (reserve_buffer(out, WIRE_FIELD_MAX + length + 1)) {
			at = wire_put(out->buffer, TAG_STRING, length);
			memcpy(at, text, length + 1);
			symbol_name_clean((char *)at);
			put_buffer(out, (size_t)(at - out->buffer) + length);
		}
	}
	return number;
}

/* --- pieces -------------------------------------------------------------- */

static pb_value_type value_type(struct out_pprof *out,
				const struct out_value_type *one)
{
	pb_value_type value = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	SET(&value, type, string_number(out, one->type));
	SET(&value, unit, string_number(out, one->unit));
	return value;
}

static void put_profile_head(struct out_pprof *out, const struct out_head *head)
{
	pb_value_type types[OUT_VALUES_MAX], *pointers[OUT_VALUES_MAX];
	pb_profile piece = PROFILE_INIT;
	pb_value_type period;

	string_number(out, ""); /* must be number 0 */
	for (size_t i = 0; i < head->count; i++) {
		types[i] = value_type(out, &head->types[i]);
		pointers[i] = &types[i];
	}
	piece.n_sample_type = head->count;
	piece.sample_type = pointers;
	if (*head->period_type.type) {
		period = value_type(out, &head->period_type);
		piece.period_type = &period;
	}
	SET(&piece, period, (int64_t)MIN(head->period, INT64_MAX));
	SET(&piece, default_sample_type,
	    string_number(out, head->types[head->default_type].type));
	put_piece(out, &piece);
}

/* Takes over @file. 0 or -ENOMEM. */
static int begin_pprof(struct gz_file *file, const struct out_head *head,
		       struct out_pprof **out)
{
	struct out_pprof *pprof = calloc(1, sizeof(*pprof));

	if (!pprof)
		return gz_file_close(&file, -ENOMEM);
	pprof->file = file;
	pool_init_key(&pprof->strings, NULL, sizeof(struct string),
		      &string_key);
	pprof->value_count = head->count;
	put_profile_head(pprof, head);
	*out = pprof;
	return 0;
}

int out_pprof_new(int dir_fd, const char *name, const struct out_head *head,
		  struct out_pprof **out)
{
	struct gz_file *file;
	int err = gz_file_new(dir_fd, name, &file);

	return err ? err : begin_pprof(file, head, out);
}

int out_pprof_new_in(struct bytes *to, const struct out_head *head,
		     struct out_pprof **out)
{
	struct gz_file *file;
	int err = gz_file_new_in(to, &file);

	return err ? err : begin_pprof(file, head, out);
}

void out_pprof_mapping(struct out_pprof *out, const struct out_mapping *one)
{
	pb_profile piece = PROFILE_INIT;
	pb_mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
	pb_mapping *pointer = &mapping;

	SET(&mapping, id, one->id);
	SET(&mapping, memory_start, one->start);
	SET(&mapping, memory_limit, one->end);
	SET(&mapping, file_offset, one->file_offset);
	SET(&mapping, filename, string_number(out, one->path));
	SET(&mapping, build_id, string_number(out, one->build_id));
	SET(&mapping, has_functions, one->has_functions);
	SET(&mapping, has_filenames, one->has_lines);
	SET(&mapping, has_line_numbers, one->has_lines);
	/* An instrumented inlined function has its own calls. */
	SET(&mapping, has_inline_frames, one->has_functions);
	ONE(&piece, mapping, pointer);
	put_piece(out, &piece);
}

void out_pprof_function(struct out_pprof *out, const struct out_function *one)
{
	pb_profile piece = PROFILE_INIT;
	pb_function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
	pb_function *pointer = &function;

	SET(&function, id, one->id);
	SET(&function, name, string_number(out, one->name));
	SET(&function, system_name, function.name);
	SET(&function, filename, string_number(out, one->file));
	SET(&function, start_line, one->start_line);
	ONE(&piece, function, pointer);
	put_piece(out, &piece);
}

static bool reserve_lines(struct out_pprof *out, size_t count)
{
	if (count <= out->line_room)
		return true;
	free(out->lines);
	free(out->line_pointers);
	out->lines = calloc(2 * count, sizeof(*out->lines));
	out->line_pointers = calloc(2 * count, sizeof(pb_line *));
	out->line_room = 2 * count;
	if (out->lines && out->line_pointers)
		return true;
	out->line_room = 0;
	return false;
}

void out_pprof_location(struct out_pprof *out, const struct out_location *one)
{
	pb_profile piece = PROFILE_INIT;
	pb_location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	pb_location *pointer = &location;

	if (!reserve_lines(out, one->line_count)) {
		fail_file(out, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < one->line_count; i++) {
		pb_line *line = &out->lines[i];

		perftools__profiles__line__init(line);
		SET(line, function_id, one->lines[i].function);
		SET(line, line, one->lines[i].line);
		out->line_pointers[i] = line;
	}
	SET(&location, id, one->id);
	SET(&location, mapping_id, one->mapping);
	SET(&location, address, one->address);
	location.n_line = one->line_count;
	location.line = out->line_pointers;
	ONE(&piece, location, pointer);
	put_piece(out, &piece);
}

/* --- samples: packed by hand, because they are most of the file ---------- */

#define TAG_SAMPLE 0x12 /* Profile.sample, bytes */
#define TAG_LOCATION_ID 0x0a /* Sample.location_id, packed varints */
#define TAG_VALUE 0x12 /* .value, packed varints */
#define TAG_LABEL 0x1a /* .label, bytes */
#define TAG_KEY 0x08 /* Label.key, varint */
#define TAG_STR 0x10 /* .str, varint */
#define TAG_NUM 0x18 /* .num, varint */

static size_t varint_bytes(uint64_t value)
{
	return (9 * (64 - (size_t)__builtin_clzll(value | 1)) + 64) / 64;
}

/* Returns the size of a field of packed varints, and sets *@content to the size
 * of the varints. */
static size_t packed_bytes(const uint64_t *value, size_t count, size_t *content)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += varint_bytes(value[i]);
	*content = bytes;
	return bytes ? 1 + varint_bytes(bytes) + bytes : 0;
}

static uint8_t *put_packed_values(uint8_t *at, uint8_t tag,
				  const uint64_t *value, size_t count,
				  size_t content)
{
	if (!content)
		return at;
	at = wire_put(at, tag, content);
	for (size_t i = 0; i < count; i++)
		at = varint_put(at, value[i]);
	return at;
}

static void add_label(struct out_pprof *out, const char *key, const char *text,
		      int64_t number)
{
	uint8_t *label = out->label + out->label_bytes, *end = label + 2;

	end = wire_put(end, TAG_KEY, (uint64_t)string_number(out, key));
	end = wire_put(end, text ? TAG_STR : TAG_NUM,
		       (uint64_t)(text ? string_number(out, text) : number));
	label[0] = TAG_LABEL;
	label[1] = (uint8_t)(end - label - 2);
	out->label_bytes = (size_t)(end - out->label);
}

static void make_labels(struct out_pprof *out, const struct out_labels *labels)
{
	const struct out_labels *last = &out->labels;

	if (out->label_bytes && labels->program == last->program &&
	    labels->process == last->process &&
	    labels->thread == last->thread && labels->pid == last->pid &&
	    labels->tid == last->tid && labels->trace_id == last->trace_id &&
	    labels->span_id == last->span_id)
		return;
	out->labels = *labels;
	out->label_bytes = 0;
	if (labels->program) {
		add_label(out, "program", labels->program, 0);
		return;
	}
	if (labels->process) {
		add_label(out, "process", labels->process, 0);
		add_label(out, "thread", labels->thread, 0);
		add_label(out, "pid", NULL, labels->pid);
	}
	if (labels->tid)
		add_label(out, "tid", NULL, labels->tid);
	if (labels->trace_id)
		add_label(out, "trace_id", labels->trace_id, 0);
	if (labels->span_id)
		add_label(out, "span_id", labels->span_id, 0);
}

void out_pprof_sample(struct out_pprof *out, const uint64_t *stack,
		      size_t depth, const int64_t *value,
		      const struct out_labels *labels)
{
	uint64_t values[OUT_VALUES_MAX];
	size_t stack_content, value_content, bytes;
	uint8_t *at;

	memcpy(values, value, out->value_count * sizeof(*values));
	if (labels)
		make_labels(out, labels);
	bytes = packed_bytes(stack, depth, &stack_content) +
		packed_bytes(values, out->value_count, &value_content) +
		(labels ? out->label_bytes : 0);
	if (!reserve_buffer(out, WIRE_FIELD_MAX + bytes))
		return;
	at = wire_put(out->buffer, TAG_SAMPLE, bytes);
	at = put_packed_values(at, TAG_LOCATION_ID, stack, depth,
			       stack_content);
	at = put_packed_values(at, TAG_VALUE, values, out->value_count,
			       value_content);
	if (labels)
		memcpy(at, out->label, out->label_bytes);
	at += labels ? out->label_bytes : 0;
	put_buffer(out, (size_t)(at - out->buffer));
}

uint64_t out_pprof_bytes(const struct out_pprof *out)
{
	return out->bytes;
}

static void put_profile_end(struct out_pprof *out,
			    const struct out_profile_end *end)
{
	pb_profile piece = PROFILE_INIT;
	int64_t *comments = calloc(end->comment_count + 1, sizeof(*comments));

	if (!comments) {
		fail_file(out, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < end->comment_count; i++)
		comments[i] = string_number(out, end->comments[i]);
	piece.n_comment = end->comment_count;
	piece.comment = comments;
	SET(&piece, time_nanos, (int64_t)MIN(end->time_ns, INT64_MAX));
	SET(&piece, duration_nanos, (int64_t)MIN(end->duration_ns, INT64_MAX));
	put_piece(out, &piece);
	free(comments);
}

int out_pprof_close(struct out_pprof **out, int err,
		    const struct out_profile_end *end)
{
	struct out_pprof *old = *out;

	*out = NULL;
	fail_file(old, err);
	put_profile_end(old, end);
	err = gz_file_close(&old->file, old->err);
	free(old->buffer);
	free(old->lines);
	free(old->line_pointers);
	pool_release(&old->strings);
	free(old);
	return err;
}
