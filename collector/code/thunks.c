/* SPDX-License-Identifier: Apache-2.0
 *
 * thunks - writes the thunk area (thunks.h). Keeps a copy of the contents here,
 * since the program may change the area. A thunk is written before a site calls
 * it, and never removed.
 */
#include "collector/code/thunks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/code/code_moves.h"
#include "collector/code/moved_thunk.h"
#include "collector/code/thunk_file.h"
#include "collector/code/thunks_asm.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

#define SEALS_NEEDED (F_SEAL_SHRINK | F_SEAL_GROW)

#define KIND_CHOICE 255 /* not in enum thunk_kind */

struct thunk_function {
	uint64_t function;
	uint64_t map; /* of a moved function: reached from its body */
	uint8_t path; /* enum thunk_path */
	uint8_t kind;
	bool is_there;
};

struct thunk_choice {
	uint32_t numbers[THUNK_CHOICES], count;
	uint32_t number; /* of its thunk */
	uint8_t side;
};

struct thunk_area {
	uint8_t *at; /* or NULL: only written to @fd */
	int fd;
	bool is_full; /* a write failed */
	struct thunk_area *next; /* in g_areas */
	uint64_t bytes;
	uint32_t functions; /* numbers are below */
	uint32_t frames; /* numbers in the table of frame descriptions */
	/* THUNK_FRAME_BYTES for each number: the frame descriptions of moved
	 * functions, which the program cannot change here. */
	uint8_t *descriptions;
	struct thunk_choice *choices;
	size_t choice_count, choice_room;
	struct thunk_shim shim;
	dev_t device;
	ino_t inode;
	/* Addresses of mappings with a row of pointers. 0: free. */
	uint64_t row[THUNK_MAPS];
	struct thunk_function function[];
};

_Static_assert(offsetof(struct thunk_page, exit) == 8 &&
		       offsetof(struct thunk_page, enter_general) == 16 &&
		       offsetof(struct thunk_page, entry_enter) == 24 &&
		       offsetof(struct thunk_page, entry_exit) == 32 &&
		       offsetof(struct thunk_page, entry_enter_general) == 40 &&
		       offsetof(struct thunk_page, entry_exit_pushed) == 48,
	       "the order of HOLE_PAGE");
_Static_assert(THUNK_TEMPLATE_BYTES == THUNK_BYTES, "one thunk");

/* All mapped areas, for unwinders. */
static struct {
	pthread_once_t once;
	struct lock lock;
	struct thunk_area *first; /* under the lock */
} g_areas = { .once = PTHREAD_ONCE_INIT };

static void init_areas(void)
{
	lock_init(&g_areas.lock, LOCK_THUNKS);
}

static void lock_areas(void)
{
	pthread_once(&g_areas.once, init_areas);
	lock_acquire(&g_areas.lock);
}

static uint64_t thunk_offset(uint32_t number, enum thunk_side side)
{
	static const uint16_t in_thunk[] = {
		[THUNK_SIDE_ENTRY] = 0,
		[THUNK_SIDE_EXIT] = THUNK_EXIT,
		[THUNK_SIDE_EXIT_JUMP] = THUNK_EXIT_JUMP,
		[THUNK_SIDE_EXIT_R11] = THUNK_EXIT_R11,
	};

	return THUNK_CODE + number * (uint64_t)THUNK_BYTES + in_thunk[side];
}

static uint64_t mode_offset(uint32_t number)
{
	return THUNK_MODES + number * sizeof(struct thunk_mode);
}

static void put_area(struct thunk_area *area, uint64_t offset, const void *from,
		     size_t bytes)
{
	if (area->at)
		memcpy(area->at + offset, from, bytes);
	else if (pwrite(area->fd, from, bytes, (off_t)offset) != (ssize_t)bytes)
		area->is_full = true;
}

/* For bytes that threads use meanwhile: either value is right. */
static void put_area_byte(struct thunk_area *area, uint64_t offset,
			  uint8_t byte)
{
	if (area->at)
		/* relaxed: see above */
		atom_store_rlx(area->at + offset, byte);
	else
		put_area(area, offset, &byte, sizeof(byte));
}

static void put_area_u32(struct thunk_area *area, uint64_t offset,
			 uint32_t word)
{
	if (area->at)
		/* relaxed: see above */
		atom_store_rlx((uint32_t *)(area->at + offset), word);
	else
		put_area(area, offset, &word, sizeof(word));
}

/* --- mapping ------------------------------------------------------------- */

static bool fits_int32(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

/* A file that shrinks, or lacks huge pages, would kill the collector if it maps
 * it. A file with a path has no seals, so it is only written. A write to a tmpfs
 * waits for no disk, but may wait for calls of the program for that file; the thread
 * that writes serves this program only. */
static bool is_sealed(int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS_NEEDED) == SEALS_NEEDED;
}

bool thunk_area_is_good(int fd, uint32_t functions)
{
	struct statfs filesystem;
	struct stat status;

	return (is_sealed(fd) || fcntl(fd, F_GET_SEALS) == F_SEAL_SEAL) &&
	       fstatfs(fd, &filesystem) == 0 &&
	       filesystem.f_type == TMPFS_MAGIC && fstat(fd, &status) == 0 &&
	       S_ISREG(status.st_mode) &&
	       (uint64_t)status.st_size == thunk_area_bytes(functions);
}

static int reach_area(struct thunk_area *area, int fd)
{
	void *at;

	if (!is_sealed(fd)) {
		area->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return area->fd < 0 ? -errno : 0;
	}
	at = mmap(NULL, area->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	area->at = at;
	return 0;
}

static void leave_area(struct thunk_area *area)
{
	if (area->at)
		munmap(area->at, area->bytes);
	if (area->fd >= 0)
		close(area->fd);
}

int thunk_area_map(int fd, uint32_t functions, const struct thunk_shim *shim,
		   struct thunk_area **out)
{
	struct thunk_area *area;
	struct stat status;
	void *at;
	int err;

#if !defined(__x86_64__)
	return -ENOTSUP;
#endif
	if (functions > FUNCTIONS_MAX || !thunk_area_is_good(fd, functions) ||
	    fstat(fd, &status) < 0)
		return -EINVAL;
	area = calloc(1, sizeof(*area) + functions * sizeof(*area->function));
	if (!area)
		return -ENOMEM;
	area->bytes = thunk_area_bytes(functions);
	area->functions = functions;
	memcpy(&area->shim, shim, sizeof(area->shim));
	if (!area->shim.count_epoch || !area->shim.page.entry_enter ||
	    !fits_int32(area->shim.epoch) || !fits_int32(area->shim.counts)) {
		free(area);
		return -EINVAL;
	}
	area->fd = -1;
	err = reach_area(area, fd);
	if (err) {
		free(area);
		return err;
	}
	at = mmap(NULL, functions * (size_t)THUNK_FRAME_BYTES,
		  PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		leave_area(area);
		free(area);
		return -ENOMEM;
	}
	area->descriptions = at;
	moved_thunk_common(area->descriptions);
	area->device = status.st_dev;
	area->inode = status.st_ino;
	put_area(area, THUNK_PAGE, &area->shim.page, sizeof(area->shim.page));
	lock_areas();
	area->next = g_areas.first;
	g_areas.first = area;
	lock_release(&g_areas.lock);
	*out = area;
	return 0;
}

void thunk_area_unmap(struct thunk_area *area)
{
	struct thunk_area **link = &g_areas.first;

	if (!area)
		return;
	lock_areas();
	while (*link != area)
		link = &(*link)->next;
	*link = area->next;
	lock_release(&g_areas.lock);
	leave_area(area);
	munmap(area->descriptions, area->functions * (size_t)THUNK_FRAME_BYTES);
	free(area->choices);
	free(area);
}

/* The list of areas is locked until unlock_areas(). Files of two file systems may
 * have the same number: the result is then NULL. */
static const struct thunk_area *lock_area_of(ino_t inode)
{
	const struct thunk_area *found = NULL;

	lock_areas();
	for (const struct thunk_area *area = g_areas.first; area;
	     area = area->next) {
		if (area->inode != inode)
			continue;
		if (found && found->device != area->device)
			return NULL;
		found = area;
	}
	return found;
}

static bool is_moved_number(const struct thunk_area *area, uint64_t number)
{
	return number < area->functions && area->function[number].is_there &&
	       area->function[number].kind == THUNK_MOVED;
}

/* Copies frame descriptions as they were written, whatever the program has made
 * of them since. Returns false if there are none. */
static bool read_written_frames(const struct thunk_area *area, uint64_t offset,
				void *out, size_t bytes)
{
	const uint64_t first = thunk_frame(area->functions, 0);
	const uint64_t end = thunk_frame(area->functions, area->functions);

	if (offset < first || offset >= end || bytes > end - offset)
		return false;
	memcpy(out, area->descriptions + (offset - first), bytes);
	return true;
}

bool thunk_area_read(ino_t inode, uint64_t offset, void *out, size_t bytes)
{
	const struct thunk_area *area = lock_area_of(inode);
	bool there =
		area && offset <= area->bytes && bytes <= area->bytes - offset;

	if (there && !read_written_frames(area, offset, out, bytes)) {
		if (area->at)
			memcpy(out, area->at + offset, bytes);
		else
			there = pread(area->fd, out, bytes, (off_t)offset) ==
				(ssize_t)bytes;
	}
	lock_release(&g_areas.lock);
	return there;
}

bool thunk_area_place(ino_t inode, uint64_t offset, struct thunk_place *out)
{
	const uint64_t number = (offset - THUNK_CODE) / THUNK_BYTES;
	const struct thunk_area *area = lock_area_of(inode);
	const bool moved =
		offset >= THUNK_CODE && area && is_moved_number(area, number);
	struct moved_frame frames[THUNK_FRAMES_OF];
	size_t i = THUNK_FRAMES_OF - 1;

	if (moved) {
		moved_thunk_frames(area->functions, (uint32_t)number, true,
				   frames);
		while (i && THUNK_FRAMES + (uint64_t)(int64_t)frames[i].code >
				    offset)
			i--;
		out->frame =
			THUNK_FRAMES + (uint64_t)(int64_t)frames[i].description;
		out->code = THUNK_FRAMES + (uint64_t)(int64_t)frames[i].code;
		out->function = i == MOVED_FRAME_BODY
					? area->function[number].function
					: 0;
	}
	lock_release(&g_areas.lock);
	return moved;
}

uint64_t thunk_area_size(const struct thunk_area *area)
{
	return area->bytes;
}

bool thunk_area_is_file(const struct thunk_area *area, dev_t device,
			ino_t inode)
{
	return area->device == device && area->inode == inode;
}

void thunk_area_file(const struct thunk_area *area, uint64_t *device,
		     uint64_t *inode)
{
	*device = area->device;
	*inode = area->inode;
}

/* --- thunks -------------------------------------------------------------- */

#if defined(__x86_64__)

/* @next is the end of the instruction with the hole, in the area. */
static uint64_t hole_value(const struct thunk_area *area, uint32_t number,
			   uint16_t kind, uint64_t next)
{
	uint64_t cell = number * sizeof(struct count_cell);

	switch (kind) {
	case HOLE_EPOCH:
		return (uint64_t)area->shim.epoch;
	case HOLE_COUNTS:
		return (uint64_t)area->shim.counts;
	case HOLE_COUNT_EPOCH:
		return area->shim.count_epoch;
	case HOLE_CALLS:
		return cell + offsetof(struct count_cell, calls);
	case HOLE_RECORDED:
		return cell + offsetof(struct count_cell, recorded);
	case HOLE_NUMBER:
		return number;
	case HOLE_PATH:
		return THUNK_PATH_COUNT;
	case HOLE_MODE:
		return mode_offset(number) + offsetof(struct thunk_mode, path) -
		       next - 1;
	case HOLE_FUNCTION:
		return mode_offset(number) +
		       offsetof(struct thunk_mode, function) - next;
	default:
		return THUNK_PAGE + (kind - HOLE_PAGE) * (uint64_t)8 - next;
	}
}

/* Writes one byte of code that decides about calls. */
static void write_flip(struct thunk_area *area, uint32_t number, uint32_t at,
		       uint8_t byte)
{
	put_area_byte(area, thunk_offset(number, THUNK_SIDE_ENTRY) + at, byte);
}

static const struct thunk_hole *holes_of(enum thunk_kind kind)
{
	return kind == THUNK_ENTRY ? thunk_holes_entry : thunk_holes_calls;
}

static size_t hole_bytes(const struct thunk_hole *hole)
{
	switch (hole->kind) {
	case HOLE_COUNT_EPOCH:
		return 8;
	case HOLE_PATH:
		return 1;
	default:
		return 4;
	}
}

static void write_path(struct thunk_area *area, uint32_t number,
		       enum thunk_path path)
{
	const enum thunk_kind kind =
		(enum thunk_kind)area->function[number].kind;
	const struct thunk_hole *hole = holes_of(kind);

	/* The frame of a moved function's thunk says that it is recorded, so
	 * there is nothing to drain. */
	if (kind == THUNK_MOVED) {
		write_flip(area, number, MOVED_RECORDS,
			   path == THUNK_RECORD ? MOVED_RECORDS_ON
						: MOVED_RECORDS_OFF);
		return;
	}
	while (hole->kind != HOLE_PATH)
		hole++;
	write_flip(area, number, hole->offset,
		   path == THUNK_COUNT ? THUNK_PATH_COUNT : THUNK_PATH_REST);
}

/* Adds the descriptions of @number, and of nothing for the numbers before it. */
static void write_frames(struct thunk_area *area, uint32_t number)
{
	uint8_t head[THUNK_FRAMES_HEAD];

	if (!area->frames) {
		moved_thunk_table(area->functions, head);
		put_area(area, THUNK_FRAMES, head, sizeof(head));
	}
	for (uint32_t i = MIN(area->frames, number); i <= number; i++) {
		const bool moved = is_moved_number(area, i);
		uint8_t *descriptions =
			area->descriptions + i * (size_t)THUNK_FRAME_BYTES;
		struct moved_frame frames[THUNK_FRAMES_OF];

		if (i && !moved)
			moved_thunk_nothing(area->functions, i, descriptions);

		moved_thunk_frames(area->functions, i, moved, frames);
		put_area(area,
			 THUNK_FRAMES + THUNK_FRAMES_HEAD + i * sizeof(frames),
			 frames, sizeof(frames));
		put_area(area, thunk_frame(area->functions, i), descriptions,
			 THUNK_FRAME_BYTES);
	}
	/* The program reads all that is counted. */
	if (area->is_full)
		return;
	area->frames = MAX(area->frames, number + 1);
	put_area_u32(area, THUNK_FRAMES_COUNT, area->frames * THUNK_FRAMES_OF);
}

static void write_thunks(struct thunk_area *area, uint32_t number,
			 enum thunk_kind kind)
{
	const struct thunk_hole *hole = holes_of(kind);
	uint64_t start = thunk_offset(number, THUNK_SIDE_ENTRY);
	uint8_t code[THUNK_BYTES];

	memcpy(code,
	       kind == THUNK_ENTRY ? thunk_template_entry
				   : thunk_template_calls,
	       sizeof(code));
	for (; hole->kind != HOLE_END; hole++) {
		size_t bytes = hole_bytes(hole);
		uint64_t value = hole_value(area, number, hole->kind,
					    start + hole->offset + bytes);

		/* x86 is little endian, so these are the lower bytes. */
		memcpy(code + hole->offset, &value, bytes);
	}
	put_area(area, start, code, sizeof(code));
}

static void put_thunk_bytes(uint8_t **at, const void *bytes, size_t count)
{
	memcpy(*at, bytes, count);
	*at += count;
}

static void put_distance(uint8_t **at, const uint8_t *code, uint64_t start,
			 uint64_t to)
{
	int32_t distance = (int32_t)(to - (start + (uint64_t)(*at - code) + 4));

	put_thunk_bytes(at, &distance, sizeof(distance));
}

static void write_choice(struct thunk_area *area,
			 const struct thunk_choice *choice)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t cmp_rdi[] = { 0x48, 0x3b, 0x3d };
	static const uint8_t je[] = { 0x0f, 0x84 };
	static const uint8_t jmp_memory[] = { 0xff, 0x25 };
	uint64_t start = thunk_offset(choice->number, THUNK_SIDE_ENTRY);
	uint8_t code[THUNK_BYTES], *at = code;

	_Static_assert(4 + THUNK_CHOICES * 13 + 6 <= THUNK_BYTES, "room");
	memset(code, 0xcc, sizeof(code));
	put_thunk_bytes(&at, endbr64, sizeof(endbr64));
	for (uint32_t i = 0; i < choice->count; i++) {
		put_thunk_bytes(&at, cmp_rdi, sizeof(cmp_rdi));
		put_distance(&at, code, start,
			     mode_offset(choice->numbers[i]) +
				     offsetof(struct thunk_mode, function));
		put_thunk_bytes(&at, je, sizeof(je));
		put_distance(&at, code, start,
			     thunk_offset(choice->numbers[i],
					  (enum thunk_side)choice->side));
	}
	put_thunk_bytes(&at, jmp_memory, sizeof(jmp_memory));
	put_distance(&at, code, start,
		     THUNK_PAGE +
			     (choice->side == THUNK_SIDE_ENTRY
				      ? offsetof(struct thunk_page, enter)
				      : offsetof(struct thunk_page, exit)));
	put_area(area, start, code, sizeof(code));
}

uint32_t thunk_pushed(uint64_t offset)
{
	uint64_t in_thunk = (offset - THUNK_CODE) % THUNK_BYTES;
	uint32_t pushed = 0;

	for (const struct thunk_frame *frame = thunk_frames;
	     offset >= THUNK_CODE && frame->offset <= in_thunk; frame++)
		pushed = frame->pushed;
	return pushed;
}

#else

uint32_t thunk_pushed(uint64_t offset)
{
	(void)offset;
	return 0;
}

static void write_choice(struct thunk_area *area,
			 const struct thunk_choice *choice)
{
	(void)area, (void)choice;
}

static void write_thunks(struct thunk_area *area, uint32_t number,
			 enum thunk_kind kind)
{
	(void)area, (void)number, (void)kind;
}

static void write_path(struct thunk_area *area, uint32_t number,
		       enum thunk_path path)
{
	(void)area, (void)number, (void)path;
}

static void write_flip(struct thunk_area *area, uint32_t number, uint32_t at,
		       uint8_t byte)
{
	(void)area, (void)number, (void)at, (void)byte;
}

static void write_frames(struct thunk_area *area, uint32_t number)
{
	(void)area, (void)number;
}

#endif

static bool is_number(const struct thunk_area *area, uint32_t number)
{
	return number > 0 && number < area->functions;
}

bool thunk_area_takes_calls(const struct thunk_area *area)
{
	return area->shim.page.enter;
}

/* Makes @number that of @function. @frames: its frame descriptions if it is
 * moved, or NULL. Returns 1 if it is already, 0, or -EINVAL. */
static int claim_number(struct thunk_area *area, uint32_t number,
			uint64_t function, enum thunk_kind kind,
			const uint8_t *frames)
{
	struct thunk_function *known;

	if (!is_number(area, number))
		return -EINVAL;
	if (area->is_full)
		return -ENOSPC;
	known = &area->function[number];
	if (known->is_there)
		return known->function == function && known->kind == kind
			       ? 1
			       : -EINVAL;
	/* Unwinders may read. */
	lock_areas();
	known->is_there = true;
	known->function = function;
	known->kind = (uint8_t)kind;
	if (frames)
		memcpy(area->descriptions + number * (size_t)THUNK_FRAME_BYTES,
		       frames, THUNK_FRAME_BYTES);
	lock_release(&g_areas.lock);
	put_area(area,
		 mode_offset(number) + offsetof(struct thunk_mode, function),
		 &function, sizeof(function));
	return 0;
}

int thunk_area_add(struct thunk_area *area, uint32_t number, uint64_t function,
		   enum thunk_kind kind)
{
	int known = claim_number(area, number, function, kind, NULL);

	if (known)
		return MIN(known, 0);
	write_thunks(area, number, kind);
	thunk_area_choose(area, number, THUNK_COUNT);
	return area->is_full ? -ENOSPC : 0;
}

/* Writes the thunk that was made for @number, which is there for the first
 * time. */
static void put_moved_thunk(struct thunk_area *area, uint32_t number,
			    const uint8_t code[THUNK_BYTES], uint32_t frame)
{
	put_area(area, mode_offset(number) + offsetof(struct thunk_mode, frame),
		 &frame, sizeof(frame));
	put_area(area, thunk_offset(number, THUNK_SIDE_ENTRY), code,
		 THUNK_BYTES);
	write_frames(area, number);
	thunk_area_choose(area, number, THUNK_COUNT);
}

int thunk_area_add_moved(struct thunk_area *area, uint32_t number, uint64_t map,
			 const struct code_moves *moves,
			 const struct code_move *move, uint64_t bias,
			 const struct thunk_words *words)
{
	const struct moved_thunk moved = { .shim = &area->shim,
					   .moves = moves,
					   .move = move,
					   .number = number,
					   .functions = area->functions,
					   .map = map,
					   .bias = bias,
					   .words = *words };
	uint8_t code[THUNK_BYTES], frames[THUNK_FRAME_BYTES];
	uint32_t frame;
	int known;

	if (!fits_int32((int64_t)(map + thunk_offset(number, THUNK_SIDE_ENTRY) -
				  (move->address + bias + move->before +
				   MOVE_JUMP_BYTES))) ||
	    !moved_thunk_make(&moved, code, frames, &frame))
		return -ERANGE;
	known = claim_number(area, number, move->address + bias, THUNK_MOVED,
			     frames);
	if (known > 0 && area->function[number].map != map)
		return -ERANGE;
	if (known)
		return MIN(known, 0);
	area->function[number].map = map;
	put_moved_thunk(area, number, code, frame);
	return area->is_full ? -ENOSPC : 0;
}

int thunk_area_add_called(struct thunk_area *area, uint32_t number,
			  uint64_t function, bool many_arguments,
			  const struct thunk_words *words)
{
	const struct code_move move = {
		.arguments = (many_arguments ? THUNK_MANY_BYTES
					     : THUNK_UNKNOWN_BYTES) /
			     8,
		.is_unknown = 1,
		.is_wide = 1,
	};
	const struct moved_thunk called = { .shim = &area->shim,
					    .move = &move,
					    .number = number,
					    .functions = area->functions,
					    .called = function,
					    .words = *words };
	uint8_t code[THUNK_BYTES], frames[THUNK_FRAME_BYTES];
	uint32_t frame;
	int known;

	(void)moved_thunk_make(&called, code, frames, &frame);
	known = claim_number(area, number, function, THUNK_MOVED, frames);
	if (known)
		return MIN(known, 0);
	put_moved_thunk(area, number, code, frame);
	return area->is_full ? -ENOSPC : 0;
}

void thunk_area_show(struct thunk_area *area, const uint64_t *maps,
		     size_t count)
{
	uint8_t page[THUNK_FILE_BYTES];

	if (!area->frames)
		return;
	thunk_file_make_area(page, area->functions, area->frames);
	put_area(area, 0, page, sizeof(page));
	for (uint32_t i = 0; i < THUNK_MAPS; i++) {
		thunk_file_make(page, i, i < count ? maps[i] : 0,
				area->functions, area->frames);
		put_area(area,
			 thunk_files(area->functions) +
				 i * (uint64_t)THUNK_FILE_BYTES,
			 page, sizeof(page));
	}
}

uint64_t thunk_area_address(uint64_t map, uint32_t number)
{
	return map + thunk_offset(number, THUNK_SIDE_ENTRY);
}

void thunk_area_mute(struct thunk_area *area, uint32_t number, bool muted)
{
	if (is_number(area, number) && area->function[number].is_there &&
	    area->function[number].kind == THUNK_MOVED)
		write_flip(area, number, MOVED_FLIP,
			   muted ? MOVED_FLIP_OFF : MOVED_FLIP_ON);
}

static struct thunk_choice *find_choice(const struct thunk_area *area,
					const struct thunk_choice *wanted)
{
	for (size_t i = 0; i < area->choice_count; i++) {
		struct thunk_choice *choice = &area->choices[i];

		if (choice->side == wanted->side &&
		    choice->count == wanted->count &&
		    !memcmp(choice->numbers, wanted->numbers,
			    sizeof(choice->numbers)))
			return choice;
	}
	return NULL;
}

int thunk_area_choice(struct thunk_area *area, const uint32_t *numbers,
		      uint32_t count, enum thunk_side side, uint32_t *number)
{
	struct thunk_choice wanted = { .count = count, .side = (uint8_t)side };
	const struct thunk_choice *choice;

	if (count > THUNK_CHOICES)
		return -ENOSPC;
	memcpy(wanted.numbers, numbers, count * sizeof(*numbers));
	choice = find_choice(area, &wanted);
	if (choice) {
		*number = choice->number;
		return 0;
	}
	wanted.number = area->functions - 1 - (uint32_t)area->choice_count;
	if (area->choice_count >= area->functions / 4 ||
	    area->function[wanted.number].is_there)
		return -ENOSPC;
	if (grow_array(area->choices, area->choice_room,
		       area->choice_count + 1) < 0)
		return -ENOMEM;
	area->choices[area->choice_count++] = wanted;
	area->function[wanted.number] = (struct thunk_function){
		.kind = KIND_CHOICE,
		.is_there = true,
	};
	write_choice(area, &wanted);
	*number = wanted.number;
	return area->is_full ? -ENOSPC : 0;
}

void thunk_area_choose(struct thunk_area *area, uint32_t number,
		       enum thunk_path path)
{
	if (!is_number(area, number) || !area->function[number].is_there ||
	    area->function[number].kind == KIND_CHOICE)
		return;
	area->function[number].path = (uint8_t)path;
	/* A thunk that reads the mode before or after the byte leaves the bits
	 * of open calls right. */
	put_area_u32(area,
		     mode_offset(number) + offsetof(struct thunk_mode, path),
		     (uint32_t)path);
	write_path(area, number, path);
}

enum thunk_path thunk_area_path(const struct thunk_area *area, uint32_t number)
{
	return is_number(area, number)
		       ? (enum thunk_path)area->function[number].path
		       : THUNK_COUNT;
}

/* --- reaching them ------------------------------------------------------- */

static int row_of_map(struct thunk_area *area, uint64_t map)
{
	for (uint32_t i = 0; i < THUNK_MAPS; i++) {
		if (!area->row[i])
			area->row[i] = map;
		if (area->row[i] == map)
			return (int)i;
	}
	return -1;
}

/* Returns 0 if no row is free, or @number has no pointers. */
static uint64_t pointer_to(struct thunk_area *area, uint64_t map,
			   uint32_t number, enum thunk_side side)
{
	int row = number < FUNCTIONS_USUAL ? row_of_map(area, map) : -1;
	uint64_t offset;

	if (row < 0)
		return 0;
	offset = THUNK_POINTERS +
		 ((uint64_t)row * FUNCTIONS_USUAL + number) * 16 +
		 (side == THUNK_SIDE_ENTRY ? 0 : 8);
	map += thunk_offset(number, side);
	put_area(area, offset, &map, sizeof(map));
	return area->is_full ? 0 : offset;
}

bool thunk_area_operand(struct thunk_area *area, uint64_t map, uint32_t number,
			enum thunk_side side, bool through_memory,
			uint64_t next, int32_t *operand)
{
	const uint64_t low =
		through_memory ? THUNK_POINTERS : thunk_offset(number, side);
	const uint64_t high = through_memory ? THUNK_CODE : low;
	uint64_t offset = low;

	if (!map || !is_number(area, number) ||
	    !area->function[number].is_there ||
	    !fits_int32((int64_t)(map + low - next)) ||
	    !fits_int32((int64_t)(map + high - next)))
		return false;
	if (through_memory)
		offset = pointer_to(area, map, number, side);
	if (!offset)
		return false;
	*operand = (int32_t)(map + offset - next);
	return true;
}
