/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_read - protobuf-c parses the file, with a limited allocator: a few
 * bytes of a hostile file can ask for a lot of memory. Then the data for the
 * views is copied into arrays, and ids become indexes. An unknown id means that
 * the file is not a profile.
 */
#include "collector/read/pprof_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/base/grow.h"
#include "collector/base/log.h"
#include "collector/output/own_files.h"
#include "proto/profile.pb-c.h"
#include "shared/compiler.h"

#define FILE_BYTES_MAX (UINT64_C(512) << 20) /* unpacked */
/* Limit of memory per unpacked byte: 5 to 10 is usual, 27 if all samples are
 * short; an empty message of two bytes takes 50. */
#define MEMORY_PER_BYTE 32
#define MEMORY_BYTES_MIN (UINT64_C(16) << 20)
/* Limits per byte of the file on disk. gzip shrinks a profile 5 to 21 times, a
 * file made to fill the memory 1,000 times. A profile of very deep recursion
 * comes near to that, so files below the _MIN values are read whatever their
 * size on disk. */
#define UNPACKED_PER_BYTE 256
#define MEMORY_PER_PACKED_BYTE 1024
#define UNPACKED_BYTES_MIN (UINT64_C(32) << 20)
#define MEMORY_PACKED_MIN (UINT64_C(96) << 20)
#define BLOCK_BYTES (256u << 10)
#define CHUNK_BYTES (64u << 10)
/* For inflateInit2(): the largest window, and + 16 for a gzip header. */
#define GZIP_WINDOW_BITS (15 + 16)

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__Function Function;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__ValueType ValueType;

struct unpacked {
	uint8_t *data;
	size_t size, room;
	uint64_t packed; /* size of the file on disk */
};

/* --- memory -------------------------------------------------------------- */

/* Memory of one file, which is freed as a whole. Large pieces have a block of
 * their own, the others share blocks. */
struct block {
	struct block *next;
	max_align_t data[];
};

struct memory {
	struct block *blocks;
	char *at; /* free space of the current block */
	size_t room;
	uint64_t left; /* bytes until the limit */
	int err; /* of the last refusal: -EFBIG, the limit; or -ENOMEM */
};

static char *add_block(struct memory *memory, size_t size)
{
	struct block *block = malloc(sizeof(*block) + size);

	if (!block) {
		memory->err = -ENOMEM;
		return NULL;
	}
	block->next = memory->blocks;
	memory->blocks = block;
	return (char *)block->data;
}

static void *memory_take(void *context, size_t size)
{
	struct memory *memory = context;
	char *taken;

	if (size >= memory->left) {
		memory->err = -EFBIG;
		return NULL;
	}
	size = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	memory->left -= MIN(size, memory->left);
	if (size > BLOCK_BYTES / 4)
		return add_block(memory, size);
	if (size > memory->room) {
		memory->at = add_block(memory, BLOCK_BYTES);
		memory->room = memory->at ? BLOCK_BYTES : 0;
	}
	taken = memory->at;
	if (!taken)
		return NULL;
	memory->at += size;
	memory->room -= size;
	return taken;
}

/* protobuf-c frees each piece; memory_free() frees all. */
static void memory_keep(void *context, void *data)
{
	(void)context;
	(void)data;
}

static void memory_free(struct memory *memory)
{
	struct block *block;

	while ((block = memory->blocks)) {
		memory->blocks = block->next;
		free(block);
	}
	free(memory);
}

static void *take_zeroed(struct memory *memory, size_t count, size_t size)
{
	void *array;

	if (count > memory->left / size) {
		memory->err = -EFBIG;
		return NULL;
	}
	array = memory_take(memory, count * size + 1);
	if (array)
		memset(array, 0, count * size);
	return array;
}

/* --- the file ------------------------------------------------------------ */

static uint64_t unpacked_max(const struct unpacked *bytes)
{
	uint64_t packed = MIN(bytes->packed, FILE_BYTES_MAX);

	return MIN(FILE_BYTES_MAX,
		   UNPACKED_BYTES_MIN + UNPACKED_PER_BYTE * packed);
}

static uint64_t memory_max(const struct unpacked *bytes)
{
	uint64_t packed = MIN(bytes->packed, FILE_BYTES_MAX);

	return MIN(MEMORY_BYTES_MIN + MEMORY_PER_BYTE * (uint64_t)bytes->size,
		   MEMORY_PACKED_MIN + MEMORY_PER_PACKED_BYTE * packed);
}

/* Makes room behind the data. 0, -EFBIG or -ENOMEM. */
static int make_room(struct unpacked *bytes)
{
	if (bytes->size >= unpacked_max(bytes))
		return -EFBIG;
	if (bytes->size == bytes->room &&
	    grow_array(bytes->data, bytes->room, bytes->room + CHUNK_BYTES))
		return -ENOMEM;
	return 0;
}

static int inflate_file(gzFile file, struct unpacked *bytes)
{
	for (;;) {
		int got, err = make_room(bytes);

		if (err)
			return err;
		errno = 0;
		got = gzread(
			file, bytes->data + bytes->size,
			(unsigned int)MIN(bytes->room - bytes->size, 1u << 30));
		if (got < 0)
			return errno ? -errno : -EBADMSG;
		if (!got)
			break;
		bytes->size += (size_t)got;
	}
	return 0;
}

static int read_gz_file(const char *path, struct unpacked *bytes)
{
	int fd = own_files_open(path), err;
	struct stat status;
	gzFile file;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status)) {
		err = -errno;
		close(fd);
		return err;
	}
	bytes->packed = status.st_size > 0 ? (uint64_t)status.st_size : 0;
	file = gzdopen(fd, "rb");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	err = inflate_file(file, bytes);
	if (gzclose_r(file) != Z_OK && !err)
		err = -EBADMSG;
	return err;
}

static int inflate_stream(z_stream *stream, struct unpacked *bytes)
{
	int err, state = Z_OK;

	while (state != Z_STREAM_END) {
		uInt room;

		err = make_room(bytes);
		if (err)
			return err;
		room = (uInt)MIN(bytes->room - bytes->size, 1u << 30);
		stream->next_out = bytes->data + bytes->size;
		stream->avail_out = room;
		state = inflate(stream, Z_NO_FLUSH);
		bytes->size += room - stream->avail_out;
		if (state != Z_OK && state != Z_STREAM_END)
			return state == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	}
	return stream->avail_in ? -EBADMSG : 0;
}

/* Sets @bytes to the file of @count bytes at @from, which has one gzip stream
 * at most. */
static int unpack_bytes(const uint8_t *from, size_t count,
			struct unpacked *bytes)
{
	z_stream stream = { .avail_in = (uInt)count };
	int err;

	bytes->packed = count;
	if (count > FILE_BYTES_MAX)
		return -EFBIG;
	/* zlib's type lacks a const. */
	stream.next_in = (Bytef *)(uintptr_t)from;
	if (count < 2 || from[0] != 0x1f || from[1] != 0x8b) {
		if (grow_array(bytes->data, bytes->room, count + 1))
			return -ENOMEM;
		memcpy(bytes->data, from, count);
		bytes->size = count;
		return 0;
	}
	if (inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	err = inflate_stream(&stream, bytes);
	inflateEnd(&stream);
	return err;
}

/* --- ids to indexes ------------------------------------------------------ */

struct id_index {
	uint64_t id;
	uint32_t index;
};

struct ids {
	struct id_index *list; /* sorted by id */
	size_t count;
};

static int compare_ids(const void *left, const void *right)
{
	const struct id_index *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

typedef uint64_t id_of(const Profile *from, size_t i);

static uint64_t function_id(const Profile *from, size_t i)
{
	return from->function[i]->id;
}

static uint64_t location_id(const Profile *from, size_t i)
{
	return from->location[i]->id;
}

static uint64_t mapping_id(const Profile *from, size_t i)
{
	return from->mapping[i]->id;
}

static int make_ids(struct memory *memory, const Profile *from, size_t count,
		    id_of *id, struct ids *out)
{
	out->count = count;
	out->list = take_zeroed(memory, count, sizeof(*out->list));
	if (!out->list || count >= PPROF_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		out->list[i] = (struct id_index){ id(from, i), (uint32_t)i };
	qsort(out->list, count, sizeof(*out->list), compare_ids);
	for (size_t i = 0; i < count; i++)
		if (!out->list[i].id ||
		    (i && out->list[i].id == out->list[i - 1].id))
			return -EBADMSG;
	return 0;
}

static int find_id(const struct ids *ids, uint64_t id, uint32_t *out)
{
	const struct id_index key = { .id = id }, *found;

	/* perfrec's profiles have the ids 1, 2, 3. */
	if (id && id <= ids->count && ids->list[id - 1].id == id)
		found = &ids->list[id - 1];
	else
		found = bsearch(&key, ids->list, ids->count, sizeof(*ids->list),
				compare_ids);
	if (!found)
		return -EBADMSG;
	*out = found->index;
	return 0;
}

/* --- conversion ---------------------------------------------------------- */

struct convert {
	struct memory *memory;
	const Profile *from;
	struct pprof *to;
	struct ids functions, locations, mappings;
};

static int get_string(const struct convert *convert, int64_t index,
		      const char **out)
{
	if (index < 0 || (uint64_t)index >= convert->from->n_string_table)
		return -EBADMSG;
	*out = convert->from->string_table[index];
	return 0;
}

static int convert_type(const struct convert *convert, const ValueType *one,
			struct pprof_type *out)
{
	int err = get_string(convert, one->type, &out->type);

	return err ? err : get_string(convert, one->unit, &out->unit);
}

static int convert_head(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int err = 0;

	if (!from->n_sample_type || from->n_sample_type > PPROF_VALUES_MAX)
		return -EBADMSG;
	to->type_count = from->n_sample_type;
	for (size_t i = 0; i < to->type_count && !err; i++)
		err = convert_type(convert, from->sample_type[i], &to->type[i]);
	to->period_type = (struct pprof_type){ "", "" };
	if (from->period_type && !err)
		err = convert_type(convert, from->period_type,
				   &to->period_type);
	to->period = from->period > 0 ? (uint64_t)from->period : 0;
	to->time_ns = from->time_nanos > 0 ? (uint64_t)from->time_nanos : 0;
	to->duration_ns =
		from->duration_nanos > 0 ? (uint64_t)from->duration_nanos : 0;
	to->comments = take_zeroed(convert->memory, from->n_comment,
				   sizeof(*to->comments));
	if (!to->comments)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_comment && !err; i++)
		err = get_string(convert, from->comment[i], &to->comments[i]);
	to->comment_count = from->n_comment;
	return err;
}

static int convert_functions(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int err = make_ids(convert->memory, from, from->n_function, function_id,
			   &convert->functions);

	if (err)
		return err;
	to->functions = take_zeroed(convert->memory, from->n_function,
				    sizeof(*to->functions));
	if (!to->functions)
		return -ENOMEM;
	to->function_count = from->n_function;
	for (size_t i = 0; i < to->function_count && !err; i++) {
		const Function *one = from->function[i];

		err = get_string(convert, one->name, &to->functions[i].name);
		if (!err)
			err = get_string(convert, one->filename,
					 &to->functions[i].file);
		if (one->start_line > 0 && one->start_line <= INT32_MAX)
			to->functions[i].start_line = (uint32_t)one->start_line;
	}
	return err;
}

static int convert_mappings(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int err = make_ids(convert->memory, from, from->n_mapping, mapping_id,
			   &convert->mappings);

	if (err)
		return err;
	to->mappings = take_zeroed(convert->memory, from->n_mapping,
				   sizeof(*to->mappings));
	if (!to->mappings)
		return -ENOMEM;
	to->mapping_count = from->n_mapping;
	for (size_t i = 0; i < to->mapping_count && !err; i++) {
		const Mapping *one = from->mapping[i];
		struct pprof_mapping *mapping = &to->mappings[i];

		mapping->start = one->memory_start;
		mapping->end = one->memory_limit;
		mapping->offset = one->file_offset;
		err = get_string(convert, one->filename, &mapping->path);
		if (!err)
			err = get_string(convert, one->build_id,
					 &mapping->build_id);
	}
	return err;
}

static int convert_lines(struct convert *convert, const Location *one,
			 struct pprof_location *to)
{
	struct pprof_line *lines =
		take_zeroed(convert->memory, one->n_line, sizeof(*lines));
	int err = 0;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < one->n_line && !err; i++) {
		int64_t line = one->line[i]->line;

		err = find_id(&convert->functions, one->line[i]->function_id,
			      &lines[i].function);
		if (line > 0 && line <= INT32_MAX)
			lines[i].line = (uint32_t)line;
	}
	to->lines = lines;
	to->line_count = (uint32_t)one->n_line;
	return err;
}

static int convert_location(struct convert *convert, const Location *one,
			    struct pprof_location *to)
{
	to->module = "";
	to->mapping = PPROF_NONE;
	to->address = one->address;
	if (one->mapping_id) {
		int err = find_id(&convert->mappings, one->mapping_id,
				  &to->mapping);

		if (err)
			return err;
		to->module = convert->to->mappings[to->mapping].path;
	}
	return convert_lines(convert, one, to);
}

static int convert_locations(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int err = make_ids(convert->memory, from, from->n_location, location_id,
			   &convert->locations);

	if (err)
		return err;
	to->locations = take_zeroed(convert->memory, from->n_location,
				    sizeof(*to->locations));
	if (!to->locations)
		return -ENOMEM;
	to->location_count = from->n_location;
	for (size_t i = 0; i < to->location_count && !err; i++)
		err = convert_location(convert, from->location[i],
				       &to->locations[i]);
	return err;
}

static int convert_labels(struct convert *convert, const Sample *one,
			  struct pprof_sample *to)
{
	struct pprof_label *labels =
		take_zeroed(convert->memory, one->n_label, sizeof(*labels));
	int err = 0;

	if (!labels || one->n_label > UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < one->n_label && !err; i++) {
		labels[i].number = one->label[i]->num;
		err = get_string(convert, one->label[i]->key, &labels[i].key);
		if (!err)
			err = get_string(convert, one->label[i]->str,
					 &labels[i].text);
	}
	to->labels = labels;
	to->label_count = (uint32_t)one->n_label;
	return err;
}

static int convert_sample(struct convert *convert, const Sample *one,
			  struct pprof_sample *to)
{
	uint32_t *stack = take_zeroed(convert->memory, one->n_location_id,
				      sizeof(*stack));
	int err = 0;

	if (!stack)
		return -ENOMEM;
	if (one->n_value != convert->to->type_count ||
	    one->n_location_id > UINT32_MAX)
		return -EBADMSG;
	memcpy(to->value, one->value, one->n_value * sizeof(*one->value));
	for (size_t i = 0; i < one->n_location_id && !err; i++)
		err = find_id(&convert->locations, one->location_id[i],
			      &stack[i]);
	to->stack = stack;
	to->depth = (uint32_t)one->n_location_id;
	return err ? err : convert_labels(convert, one, to);
}

static int convert_samples(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int err = 0;

	to->samples = take_zeroed(convert->memory, from->n_sample,
				  sizeof(*to->samples));
	if (!to->samples)
		return -ENOMEM;
	to->sample_count = from->n_sample;
	for (size_t i = 0; i < to->sample_count && !err; i++)
		err = convert_sample(convert, from->sample[i], &to->samples[i]);
	return err;
}

static int convert_bytes(const struct unpacked *bytes, struct pprof *to)
{
	struct memory *memory = to->memory;
	ProtobufCAllocator allocator = {
		.alloc = memory_take,
		.free = memory_keep,
		.allocator_data = memory,
	};
	struct convert convert = { .memory = memory, .to = to };
	int err;

	memory->left = memory_max(bytes);
	convert.from = perftools__profiles__profile__unpack(
		&allocator, bytes->size, bytes->data);
	if (!convert.from)
		return memory->err ? memory->err : -EBADMSG;
	err = convert_head(&convert);
	if (!err)
		err = convert_functions(&convert);
	if (!err)
		err = convert_mappings(&convert);
	if (!err)
		err = convert_locations(&convert);
	if (!err)
		err = convert_samples(&convert);
	return err == -ENOMEM && memory->err ? memory->err : err;
}

static int read_pprof(const char *path, struct pprof *to)
{
	struct unpacked bytes = { 0 };
	int err = read_gz_file(path, &bytes);

	if (!err)
		err = convert_bytes(&bytes, to);
	free(bytes.data);
	return err;
}

static void log_unreadable(const char *path, int err)
{
	if (err == -EBADMSG)
		log_err("'%s' is no profile, or is damaged", path);
	else if (err == -EFBIG)
		log_err("'%s' is too large to be a profile of perfrec", path);
	else
		log_err("cannot read '%s': %s", path, strerror(-err));
}

static struct pprof *new_pprof(void)
{
	struct pprof *new = calloc(1, sizeof(*new));
	struct memory *memory = new ? calloc(1, sizeof(*memory)) : NULL;

	if (!memory) {
		free(new);
		return NULL;
	}
	new->memory = memory;
	return new;
}

int pprof_read(const char *dir, const char *name, struct pprof **out)
{
	struct pprof *new = new_pprof();
	int err = -ENOMEM;
	char *path;

	if (!new || asprintf(&path, "%s/%s", dir, name) < 0) {
		pprof_free(&new);
		return -ENOMEM;
	}
	err = read_pprof(path, new);
	if (err && err != -ENOENT)
		log_unreadable(path, err);
	free(path);
	if (err)
		pprof_free(&new);
	else
		*out = new;
	return err;
}

int pprof_read_bytes(const void *from, size_t count, struct pprof **out)
{
	struct pprof *new = new_pprof();
	struct unpacked bytes = { 0 };
	int err = new ? unpack_bytes(from, count, &bytes) : -ENOMEM;

	if (!err)
		err = convert_bytes(&bytes, new);
	free(bytes.data);
	if (err)
		pprof_free(&new);
	else
		*out = new;
	return err;
}

void pprof_free(struct pprof **pprof)
{
	if (*pprof) {
		memory_free((*pprof)->memory);
		free(*pprof);
	}
	*pprof = NULL;
}

uint32_t pprof_find_type(const struct pprof *pprof, const char *type)
{
	for (size_t i = 0; i < pprof->type_count; i++)
		if (strcmp(pprof->type[i].type, type) == 0)
			return (uint32_t)i;
	return PPROF_NONE;
}
