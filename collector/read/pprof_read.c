/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf-c parses, from an allocator that refuses what is too much: a few
 * bytes of a hostile file can ask for many of memory. Then everything that the
 * views want is copied into arrays, with ids made indexes; what has no place
 * there makes the whole file no profile.
 */
#include "collector/read/pprof_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/base/log.h"
#include "collector/output/own_files.h"
#include "proto/profile.pb-c.h"
#include "shared/compiler.h"

#define FILE_BYTES_MAX (UINT64_C(512) << 20) /* unpacked */
/* Of memory for an unpacked byte: 5 to 10 are usual, an empty message of two
 * bytes takes 50. */
#define MEMORY_PER_BYTE 16
#define MEMORY_BYTES_MIN (UINT64_C(16) << 20)
#define BLOCK_BYTES (256u << 10)
#define CHUNK_BYTES (64u << 10)

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__Function Function;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__Sample Sample;

struct bytes {
	uint8_t *data;
	size_t size, room;
};

/* --- memory ------------------------------------------------------------------
 */

/* All that is made for one file, freed together: from blocks, or one of its
 * own for what is large. */
struct block {
	struct block *next;
	max_align_t data[];
};

struct memory {
	struct block *blocks;
	char *at; /* in the block that is being filled */
	size_t room;
	uint64_t left; /* that may yet be asked for */
	bool refused;
};

static char *new_block(struct memory *memory, size_t size)
{
	struct block *block = malloc(sizeof(*block) + size);

	if (!block)
		return NULL;
	block->next = memory->blocks;
	memory->blocks = block;
	return (char *)block->data;
}

static void *memory_take(void *context, size_t size)
{
	struct memory *memory = context;
	char *taken = NULL;

	if (size < memory->left) {
		size = (size + sizeof(max_align_t) - 1) &
		       ~(sizeof(max_align_t) - 1);
		memory->left -= MIN(size, memory->left);
		if (size > BLOCK_BYTES / 4)
			return new_block(memory, size);
		if (size > memory->room) {
			memory->at = new_block(memory, BLOCK_BYTES);
			memory->room = memory->at ? BLOCK_BYTES : 0;
		}
		taken = memory->at;
	}
	if (!taken) {
		memory->refused = true;
		return NULL;
	}
	memory->at += size;
	memory->room -= size;
	return taken;
}

/* Only all at once: memory_free(). */
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

static void *take_array(struct memory *memory, size_t count, size_t size)
{
	void *array;

	if (count > memory->left / size)
		return NULL;
	array = memory_take(memory, count * size + 1);
	if (array)
		memset(array, 0, count * size);
	return array;
}

/* --- the file ----------------------------------------------------------------
 */

static int grow(struct bytes *bytes)
{
	size_t room = bytes->room ? 2 * bytes->room : CHUNK_BYTES;
	uint8_t *longer;

	if (bytes->room >= FILE_BYTES_MAX)
		return -EFBIG;
	longer = realloc(bytes->data, room);
	if (!longer)
		return -ENOMEM;
	bytes->data = longer;
	bytes->room = room;
	return 0;
}

static int unpack(gzFile file, struct bytes *bytes)
{
	for (;;) {
		int got, error = bytes->size == bytes->room ? grow(bytes) : 0;

		if (error)
			return error;
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

static int read_file(const char *path, struct bytes *bytes)
{
	int fd = own_files_open(path), error;
	gzFile file;

	if (fd < 0)
		return fd;
	file = gzdopen(fd, "rb");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	error = unpack(file, bytes);
	if (gzclose_r(file) != Z_OK && !error)
		error = -EBADMSG;
	return error;
}

/* --- ids to indexes ----------------------------------------------------------
 */

struct id_index {
	uint64_t id;
	uint32_t index;
};

struct ids {
	struct id_index *list; /* by id */
	size_t count;
};

static int by_id(const void *left, const void *right)
{
	const struct id_index *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* The id of entry @i of any of the three kinds. */
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
	out->list = take_array(memory, count, sizeof(*out->list));
	if (!out->list || count >= PPROF_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		out->list[i] = (struct id_index){ id(from, i), (uint32_t)i };
	qsort(out->list, count, sizeof(*out->list), by_id);
	for (size_t i = 0; i < count; i++)
		if (!out->list[i].id ||
		    (i && out->list[i].id == out->list[i - 1].id))
			return -EBADMSG;
	return 0;
}

static int find_id(const struct ids *ids, uint64_t id, uint32_t *out)
{
	const struct id_index key = { .id = id }, *found;

	/* Ours are 1, 2, 3. */
	if (id && id <= ids->count && ids->list[id - 1].id == id)
		found = &ids->list[id - 1];
	else
		found = bsearch(&key, ids->list, ids->count, sizeof(*ids->list),
				by_id);
	if (!found)
		return -EBADMSG;
	*out = found->index;
	return 0;
}

/* --- conversion --------------------------------------------------------------
 */

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

static int convert_head(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int error = 0;

	if (!from->n_sample_type || from->n_sample_type > PPROF_VALUES_MAX)
		return -EBADMSG;
	to->type_count = from->n_sample_type;
	for (size_t i = 0; i < to->type_count && !error; i++) {
		error = get_string(convert, from->sample_type[i]->type,
				   &to->type[i].type);
		if (!error)
			error = get_string(convert, from->sample_type[i]->unit,
					   &to->type[i].unit);
	}
	to->period = from->period > 0 ? (uint64_t)from->period : 0;
	to->duration_ns =
		from->duration_nanos > 0 ? (uint64_t)from->duration_nanos : 0;
	to->comments = take_array(convert->memory, from->n_comment,
				  sizeof(*to->comments));
	if (!to->comments)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_comment && !error; i++)
		error = get_string(convert, from->comment[i], &to->comments[i]);
	to->comment_count = from->n_comment;
	return error;
}

static int convert_functions(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int error = make_ids(convert->memory, from, from->n_function,
			     function_id, &convert->functions);

	if (error)
		return error;
	to->functions = take_array(convert->memory, from->n_function,
				   sizeof(*to->functions));
	if (!to->functions)
		return -ENOMEM;
	to->function_count = from->n_function;
	for (size_t i = 0; i < to->function_count && !error; i++) {
		const Function *one = from->function[i];

		error = get_string(convert, one->name, &to->functions[i].name);
		if (!error)
			error = get_string(convert, one->filename,
					   &to->functions[i].file);
	}
	return error;
}

static int convert_lines(struct convert *convert, const Location *one,
			 struct pprof_location *to)
{
	struct pprof_line *lines =
		take_array(convert->memory, one->n_line, sizeof(*lines));
	int error = 0;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < one->n_line && !error; i++) {
		int64_t line = one->line[i]->line;

		error = find_id(&convert->functions, one->line[i]->function_id,
				&lines[i].function);
		if (line > 0 && line <= INT32_MAX)
			lines[i].line = (uint32_t)line;
	}
	to->lines = lines;
	to->line_count = (uint32_t)one->n_line;
	return error;
}

static int convert_location(struct convert *convert, const Location *one,
			    struct pprof_location *to)
{
	uint32_t mapping;
	int error;

	to->module = "";
	to->address = one->address;
	if (one->mapping_id) {
		error = find_id(&convert->mappings, one->mapping_id, &mapping);
		if (!error)
			error = get_string(
				convert,
				convert->from->mapping[mapping]->filename,
				&to->module);
		if (error)
			return error;
	}
	return convert_lines(convert, one, to);
}

static int convert_locations(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int error = make_ids(convert->memory, from, from->n_mapping, mapping_id,
			     &convert->mappings);

	if (!error)
		error = make_ids(convert->memory, from, from->n_location,
				 location_id, &convert->locations);
	if (error)
		return error;
	to->locations = take_array(convert->memory, from->n_location,
				   sizeof(*to->locations));
	if (!to->locations)
		return -ENOMEM;
	to->location_count = from->n_location;
	for (size_t i = 0; i < to->location_count && !error; i++)
		error = convert_location(convert, from->location[i],
					 &to->locations[i]);
	return error;
}

static int convert_sample(struct convert *convert, const Sample *one,
			  struct pprof_sample *to)
{
	uint32_t *stack =
		take_array(convert->memory, one->n_location_id, sizeof(*stack));
	int error = 0;

	if (!stack)
		return -ENOMEM;
	if (one->n_value != convert->to->type_count ||
	    one->n_location_id > UINT32_MAX)
		return -EBADMSG;
	memcpy(to->value, one->value, one->n_value * sizeof(*one->value));
	for (size_t i = 0; i < one->n_location_id && !error; i++)
		error = find_id(&convert->locations, one->location_id[i],
				&stack[i]);
	to->stack = stack;
	to->depth = (uint32_t)one->n_location_id;
	return error;
}

static int convert_samples(struct convert *convert)
{
	const Profile *from = convert->from;
	struct pprof *to = convert->to;
	int error = 0;

	to->samples = take_array(convert->memory, from->n_sample,
				 sizeof(*to->samples));
	if (!to->samples)
		return -ENOMEM;
	to->sample_count = from->n_sample;
	for (size_t i = 0; i < to->sample_count && !error; i++)
		error = convert_sample(convert, from->sample[i],
				       &to->samples[i]);
	return error;
}

static int convert_bytes(const struct bytes *bytes, struct pprof *to)
{
	struct memory *memory = to->memory;
	ProtobufCAllocator allocator = {
		.alloc = memory_take,
		.free = memory_keep,
		.allocator_data = memory,
	};
	struct convert convert = { .memory = memory, .to = to };
	int error;

	memory->left = MEMORY_BYTES_MIN + MEMORY_PER_BYTE * bytes->size;
	convert.from = perftools__profiles__profile__unpack(
		&allocator, bytes->size, bytes->data);
	if (!convert.from)
		return memory->refused ? -EFBIG : -EBADMSG;
	error = convert_head(&convert);
	if (!error)
		error = convert_functions(&convert);
	if (!error)
		error = convert_locations(&convert);
	return error ? error : convert_samples(&convert);
}

static int read_pprof(const char *path, struct pprof *to)
{
	struct bytes bytes = { 0 };
	int error = read_file(path, &bytes);

	if (!error)
		error = convert_bytes(&bytes, to);
	free(bytes.data);
	return error;
}

static void complain(const char *path, int error)
{
	if (error == -EBADMSG)
		log_err("'%s' is no profile, or is damaged", path);
	else if (error == -EFBIG)
		log_err("'%s' is too large to be a profile of perfrec", path);
	else
		log_err("cannot read '%s': %s", path, strerror(-error));
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
	int error = -ENOMEM;
	char *path;

	if (!new || asprintf(&path, "%s/%s", dir, name) < 0) {
		pprof_free(&new);
		return -ENOMEM;
	}
	error = read_pprof(path, new);
	if (error && error != -ENOENT)
		complain(path, error);
	free(path);
	if (error)
		pprof_free(&new);
	else
		*out = new;
	return error;
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
