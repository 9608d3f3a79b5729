/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_map - a name belongs to a range of addresses. Ranges are collected in
 * file order and may overlap. jit_map_settle() splits them into pieces that do
 * not overlap: a piece names the range that wins from its start to the next
 * piece.
 *
 * It goes through the sorted starts and ends of all ranges. Open ranges are in
 * a heap, with the last one read on top, which wins. So a million nested ranges
 * take no longer than a million adjacent ones.
 *
 * The jitdump format: tools/perf/Documentation/jitdump-specification.txt in the
 * sources of Linux.
 */
#include "collector/names/jit_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "shared/compiler.h"

#define RANGES_MAX (1u << 20)
#define NAME_BYTES_MAX (64u << 20)
#define FILE_BYTES_MAX (1ull << 30)
/* 128 bytes for each of RANGES_MAX ranges of a perf map, read in 0.4 s. */
#define TEXT_BYTES_MAX (128ull << 20)
#define LINE_BYTES 4096u /* longer lines of a perf map are cut */
#define TEXT_BYTES (64u << 10)
#define RECORDS_MAX (4u << 20)
#define STEPS_MAX (64u << 20) /* sum over add_code_move() */
#define NOTHING UINT32_MAX

#define DUMP_MAGIC 0x4a695444u
enum dump_record { DUMP_LOAD = 0, DUMP_MOVE = 1, DUMP_CLOSE = 3 };

struct range {
	uint64_t start, end;
	uint32_t name;
};

struct piece {
	uint64_t start;
	uint32_t range; /* or NOTHING */
};

struct jit_map {
	struct range *ranges; /* in file order */
	size_t count, room;
	char *names;
	size_t name_bytes, name_room;
	struct piece *pieces;
	size_t piece_count;
	uint32_t steps; /* left for add_code_move() */
	bool is_cut;
	uint64_t bytes_read;
};

int jit_map_new(struct jit_map **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->steps = STEPS_MAX;
	return 0;
}

void jit_map_free(struct jit_map **map_ptr)
{
	struct jit_map *map = *map_ptr;

	*map_ptr = NULL;
	if (!map)
		return;
	free(map->ranges);
	free(map->names);
	free(map->pieces);
	free(map);
}

uint64_t jit_map_bytes(const struct jit_map *map)
{
	return sizeof(*map) + map->room * sizeof(*map->ranges) +
	       map->name_room + map->piece_count * sizeof(*map->pieces);
}

bool jit_map_is_cut(const struct jit_map *map)
{
	return map->is_cut;
}

uint64_t jit_map_bytes_read(const struct jit_map *map)
{
	return map->bytes_read;
}

/* --- gathering ------------------------------------------------------------ */

/* Copies the @bytes of @name. Skips ranges that are empty, overflow or have no
 * name. Returns 0, -ENOMEM, or -EFBIG: too many ranges or names. */
static int add_jit_range(struct jit_map *map, uint64_t start, uint64_t size,
			 const char *name, size_t bytes)
{
	if (!size || start > UINT64_MAX - size || !bytes)
		return 0;
	if (map->count == RANGES_MAX ||
	    bytes >= NAME_BYTES_MAX - map->name_bytes)
		return -EFBIG;
	if (grow_array(map->ranges, map->room, map->count + 1) ||
	    grow_array(map->names, map->name_room, map->name_bytes + bytes + 1))
		return -ENOMEM;
	map->ranges[map->count++] = (struct range){ start, start + size,
						    (uint32_t)map->name_bytes };
	memcpy(map->names + map->name_bytes, name, bytes);
	map->name_bytes += bytes;
	map->names[map->name_bytes++] = '\0';
	return 0;
}

static ssize_t read_dump_at(struct jit_map *map, int fd, void *out,
			    size_t bytes, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, out, bytes, (off_t)offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	map->bytes_read += (uint64_t)got;
	return got;
}

/* A hole may have any size. Returns UINT64_MAX at the end. */
static uint64_t next_dump_data(int fd, uint64_t offset)
{
	off_t next = lseek(fd, (off_t)offset, SEEK_DATA);

	if (next >= 0)
		return (uint64_t)next;
	return errno == ENXIO ? UINT64_MAX : offset;
}

/* --- perf maps ------------------------------------------------------------ */

/* Skips the blanks after the number. Returns false if there are none. */
static bool parse_jit_hex(const char **at, const char *end, uint64_t *out)
{
	const char *next = *at;
	uint64_t value = 0;
	int digits = 0;

	if (end - next > 2 && next[0] == '0' && (next[1] | 32) == 'x')
		next += 2;
	for (; next < end; next++, digits++) {
		char byte = (char)(*next | 32);

		if (*next >= '0' && *next <= '9')
			value = value << 4 | (uint64_t)(*next - '0');
		else if (byte >= 'a' && byte <= 'f')
			value = value << 4 | (uint64_t)(byte - 'a' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || next == end || *next != ' ')
		return false;
	while (next < end && *next == ' ')
		next++;
	*at = next;
	*out = value;
	return true;
}

/* Adds the complete lines in @text. Moves an incomplete line to the start of
 * @text and sets *@bytes to its length. A line of LINE_BYTES is added at once:
 * then *@is_rest is true until its newline. */
static int add_text_lines(struct jit_map *map, char *text, size_t *bytes,
			  bool *is_rest)
{
	size_t at = 0;
	int err = 0;

	while (!err) {
		size_t left = *bytes - at;
		char *newline = memchr(text + at, '\n', left);
		size_t length = newline ? (size_t)(newline - text) - at : left;
		const char *line = text + at;
		const char *end = line + MIN(length, LINE_BYTES);
		uint64_t start, size;

		if (!newline && left < LINE_BYTES)
			break;
		if (!*is_rest && parse_jit_hex(&line, end, &start) &&
		    parse_jit_hex(&line, end, &size))
			err = add_jit_range(
				map, start, size, line,
				strnlen(line, (size_t)(end - line)));
		*is_rest = !newline;
		at += length + (newline != NULL);
	}
	*bytes -= at;
	memmove(text, text + at, *bytes);
	return err;
}

/* -EFBIG only sets is_cut. Other errors are returned. */
static int cut_at_limit(struct jit_map *map, int err)
{
	if (err != -EFBIG)
		return err;
	map->is_cut = true;
	return 0;
}

static int read_text_map(struct jit_map *map, int fd, char *text)
{
	uint64_t offset = 0, next, bytes = 0;
	size_t left = 0;
	bool is_rest = false;
	int err = 0;

	while (!err && (next = next_dump_data(fd, offset)) != UINT64_MAX) {
		ssize_t got;

		if (next > offset) { /* no line continues after a hole */
			offset = next;
			left = 0;
			is_rest = true;
		}
		got = read_dump_at(map, fd, text + left, TEXT_BYTES - left,
				   offset);
		if (got <= 0)
			return (int)got;
		if (bytes >= TEXT_BYTES_MAX)
			return -EFBIG;
		bytes += (uint64_t)got;
		offset += (uint64_t)got;
		left += (size_t)got;
		err = add_text_lines(map, text, &left, &is_rest);
	}
	/* An incomplete last line is still being written. */
	return err;
}

int jit_map_read_text(struct jit_map *map, int fd)
{
	char *text = malloc(TEXT_BYTES);
	int err = text ? read_text_map(map, fd, text) : -ENOMEM;

	free(text);
	return cut_at_limit(map, err);
}

/* --- jitdump -------------------------------------------------------------- */

struct dump_head {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t time, flags;
};

struct record_head {
	uint32_t kind, bytes;
	uint64_t time;
};

struct load_record {
	struct record_head head;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct move_record {
	struct record_head head;
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

static int add_code_load(struct jit_map *map, const char *record, size_t got)
{
	const size_t fixed = sizeof(struct load_record);
	struct load_record load;

	if (got <= fixed)
		return 0;
	memcpy(&load, record, fixed);
	if (load.head.bytes < fixed)
		return 0;
	got = MIN(got, load.head.bytes) - fixed;
	return add_jit_range(map, load.address, load.size, record + fixed,
			     strnlen(record + fixed, got));
}

/* The code keeps the name of the last range that starts at its old address. */
static int add_code_move(struct jit_map *map, const char *record, size_t got)
{
	struct move_record move;
	size_t i = map->count;
	char name[LINE_BYTES];
	size_t bytes;

	if (got < sizeof(move))
		return 0;
	memcpy(&move, record, sizeof(move));
	while (i && map->ranges[i - 1].start != move.from && map->steps) {
		map->steps--;
		i--;
	}
	if (!i || map->ranges[i - 1].start != move.from)
		return 0;
	/* A copy, since add_jit_range() may move map->names. */
	bytes = strnlen(map->names + map->ranges[i - 1].name, sizeof(name));
	memcpy(name, map->names + map->ranges[i - 1].name, bytes);
	return add_jit_range(map, move.to, move.size, name, bytes);
}

/* Returns 1, 0 at the end, or -errno. */
static int add_dump_record(struct jit_map *map, int fd, uint64_t *offset)
{
	char bytes[sizeof(struct load_record) + LINE_BYTES];
	ssize_t got = read_dump_at(map, fd, bytes, sizeof(bytes), *offset);
	struct record_head head;
	int err = 0;

	if (got < (ssize_t)sizeof(head))
		return got < 0 ? (int)got : 0;
	memcpy(&head, bytes, sizeof(head));
	if (head.bytes < sizeof(head) || head.kind == DUMP_CLOSE)
		return 0;
	if (head.kind == DUMP_LOAD)
		err = add_code_load(map, bytes, (size_t)got);
	else if (head.kind == DUMP_MOVE)
		err = add_code_move(map, bytes, (size_t)got);
	*offset += head.bytes;
	return err ? err : 1;
}

int jit_map_read_dump(struct jit_map *map, int fd)
{
	struct dump_head head;
	ssize_t got = read_dump_at(map, fd, &head, sizeof(head), 0);
	uint64_t offset;
	uint32_t records = 0;
	int more = 1;

	if (got < 0)
		return (int)got;
	if (got < (ssize_t)sizeof(head) || head.magic != DUMP_MAGIC ||
	    head.bytes < sizeof(head))
		return -EBADMSG;
	offset = head.bytes;
	while (more == 1 && records++ < RECORDS_MAX && offset < FILE_BYTES_MAX)
		more = add_dump_record(map, fd, &offset);
	return cut_at_limit(map, more == 1 ? -EFBIG : more);
}

/* --- pieces --------------------------------------------------------------- */

struct sweep {
	const struct jit_map *map;
	uint32_t *by_start; /* sorted by start */
	uint64_t *edges; /* sorted */
	uint32_t *heap; /* open ranges, the last read first */
	size_t heap_count, next; /* next: index in by_start */
};

static int compare_range_edges(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int compare_range_starts(const void *left, const void *right,
				void *context)
{
	const struct range *ranges = context;
	const uint32_t *a = left, *b = right;

	return (ranges[*a].start > ranges[*b].start) -
	       (ranges[*a].start < ranges[*b].start);
}

static void heap_put_range(struct sweep *sweep, uint32_t range)
{
	uint32_t *heap = sweep->heap;
	size_t at = sweep->heap_count++;

	while (at && heap[(at - 1) / 2] < range) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = range;
}

static void heap_drop_first_range(struct sweep *sweep)
{
	uint32_t *heap = sweep->heap;
	uint32_t last = heap[--sweep->heap_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < sweep->heap_count) {
		if (child + 1 < sweep->heap_count &&
		    heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= last)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
}

/* Returns the range that wins from @edge on; NOTHING: none. Call with edges in
 * ascending order. */
static uint32_t range_at(struct sweep *sweep, uint64_t edge)
{
	const struct range *ranges = sweep->map->ranges;

	while (sweep->next < sweep->map->count &&
	       ranges[sweep->by_start[sweep->next]].start <= edge)
		heap_put_range(sweep, sweep->by_start[sweep->next++]);
	while (sweep->heap_count && ranges[sweep->heap[0]].end <= edge)
		heap_drop_first_range(sweep);
	return sweep->heap_count ? sweep->heap[0] : NOTHING;
}

static int sweep_ranges(struct jit_map *map, struct sweep *sweep)
{
	size_t count = map->count;
	uint32_t last = NOTHING;

	map->pieces = calloc(2 * count + 1, sizeof(*map->pieces));
	if (!sweep->by_start || !sweep->edges || !sweep->heap || !map->pieces)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		sweep->by_start[i] = (uint32_t)i;
		sweep->edges[2 * i] = map->ranges[i].start;
		sweep->edges[2 * i + 1] = map->ranges[i].end;
	}
	qsort_r(sweep->by_start, count, sizeof(*sweep->by_start),
		compare_range_starts, map->ranges);
	qsort(sweep->edges, 2 * count, sizeof(*sweep->edges),
	      compare_range_edges);
	for (size_t i = 0; i < 2 * count; i++) {
		uint32_t range = range_at(sweep, sweep->edges[i]);

		if (range != last)
			map->pieces[map->piece_count++] =
				(struct piece){ sweep->edges[i], range };
		last = range;
	}
	return 0;
}

int jit_map_settle(struct jit_map *map)
{
	size_t count = map->count + 1;
	struct sweep sweep = {
		.map = map,
		.by_start = calloc(count, sizeof(*sweep.by_start)),
		.edges = calloc(2 * count, sizeof(*sweep.edges)),
		.heap = calloc(count, sizeof(*sweep.heap)),
	};
	int err;

	free(map->pieces);
	map->piece_count = 0;
	err = sweep_ranges(map, &sweep);
	free(sweep.by_start);
	free(sweep.edges);
	free(sweep.heap);
	return err;
}

const char *jit_map_find(const struct jit_map *map, uint64_t address)
{
	size_t low = search_first(i, map->piece_count,
				  map->pieces[i].start > address);

	if (!low || map->pieces[low - 1].range == NOTHING)
		return NULL;
	return map->names + map->ranges[map->pieces[low - 1].range].name;
}
