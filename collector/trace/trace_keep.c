/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_keep - the file is divided into parts. When there is no room for
 * another part, a thread gives up the oldest: it reads the part, makes the head
 * that replaces this and all earlier parts, and then turns the part into a
 * hole. Writers go on meanwhile, because there is room for a part or two; if
 * the thread is too slow, they wait.
 *
 * The head has the open slices of each sequence. A thread may have made a call
 * long ago and recorded nothing since, so its slices would begin then. At the
 * end, when all later packets are known, the last head is made again: an open
 * slice continues at the start of the trace or, if earlier, at the next event
 * of its sequence. So each part stores its sequences, and the step to the first
 * event of each.
 *
 * write_lock guards all data except fields that only the thread uses.
 */
#include "collector/trace/trace_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/pool.h"
#include "collector/options/limits.h"
#include "collector/trace/packet_look.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Parts of the size: one for the index, one for writes during the work on the
 * oldest part, and one for the current part. */
#define PARTS KEEP_PARTS
#define PARTS_SPARE 3
#define PARTS_INDEX 1

_Static_assert(KEEP_BYTES_MIN / PARTS >= PENDING_BYTES,
	       "a part has room for what is appended at a time");

/* At least the block size of any file system. */
#define HOLE_ALIGN (64u << 10)

struct keep_sequence {
	uint64_t id;
	uint64_t step; /* to its first event in the part; UINT64_MAX: none */
	uint64_t ended; /* 1: no packet follows */
};

struct keep_part {
	uint64_t offset; /* start in the file */
	uint64_t unpacked; /* bytes of packets before it */
	uint64_t first_ns; /* of its events; UINT64_MAX: none */
	struct pool sequences; /* of struct keep_sequence */
	bool unsure; /* some are missing for lack of memory */
};

struct trace_keep {
	struct trace_file *file;
	trace_head_make *make_head;
	int dir_fd;
	int reserve_fd; /* room for a head on a full disk; -1: none */
	uint64_t bytes, part_bytes;
	struct keep_part parts[PARTS + 1]; /* oldest first */
	unsigned int count;
	struct pool ended; /* as in struct keep_part: sequences that ended in
			    * the last part given up */
	uint64_t gone, head_bytes;
	/* Change under write_lock; any thread reads them. */
	uint64_t too_many; /* excess bytes of the file */
	uint64_t gone_unpacked, from_ns;
	bool crowded; /* the disk is full */
	bool pressed; /* a writer waits for room */
	bool closing, running;
	pthread_t thread;
	pthread_cond_t work, room;

	/* While the last head is made: */
	struct pool next; /* as in struct keep_part: later sequences */
	bool unsure;
};

static void init_sequences(struct pool *pool)
{
	pool_init(pool, NULL, sizeof(struct keep_sequence), sizeof(uint64_t));
}

static const struct keep_sequence *find(const struct pool *pool, uint64_t id)
{
	const struct keep_sequence wanted = { .id = id }, *items = pool->items;
	uint32_t number;

	return pool_find(pool, &wanted, &number) ? &items[number] : NULL;
}

/* --- appending ------------------------------------------------------------ */

static uint64_t bytes_now(const struct trace_keep *keep)
{
	const struct trace_file *file = keep->file;

	return MAX(file->bytes, file->room_end) - keep->gone + keep->head_bytes;
}

uint64_t trace_keep_bytes(const struct trace_keep *keep)
{
	return keep->bytes;
}

uint64_t trace_keep_gone(const struct trace_keep *keep)
{
	/* relaxed: a figure for a person */
	return atom_load_rlx(&keep->too_many);
}

uint64_t trace_keep_room(const struct trace_keep *keep)
{
	return keep->part_bytes / 4;
}

static void begin_part(struct trace_keep *keep, uint64_t offset)
{
	struct keep_part *part = &keep->parts[keep->count++];

	*part = (struct keep_part){ .offset = offset,
				    .unpacked = keep->file->unpacked,
				    .first_ns = UINT64_MAX };
	init_sequences(&part->sequences);
}

static void note_part_time(struct keep_part *part, uint64_t ns)
{
	part->first_ns = MIN(part->first_ns, ns);
}

/* Returns the first step of the sequence's clock in the @bytes at @packets, or
 * UINT64_MAX. */
static uint64_t first_step(const uint8_t *packets, size_t bytes)
{
	struct wire left = { .at = packets, .end = packets + bytes };
	struct wire_field field;

	while (wire_next(&left, &field) && field.bytes) {
		struct wire fields = wire_of(&field);
		uint64_t step = UINT64_MAX;
		bool absolute = false;

		while (wire_next(&fields, &field)) {
			if (field.tag == TAG_TRACE_PACKET_TIMESTAMP)
				step = field.value;
			absolute |= field.tag ==
				    TAG_TRACE_PACKET_TIMESTAMP_CLOCK_ID;
		}
		if (step != UINT64_MAX && !absolute)
			return step;
	}
	return UINT64_MAX;
}

static void note_block(struct keep_part *part,
		       const struct pending_block *block)
{
	struct keep_sequence item = { .id = block->sequence,
				      .step = UINT64_MAX };
	struct keep_sequence *known;
	uint64_t step;
	uint32_t number;

	if (!block->own_bytes && !block->ended)
		return;
	step = first_step(block->data, block->own_bytes);
	if (pool_intern(&part->sequences, &item, &number) < 0) {
		part->unsure = true;
		return;
	}
	known = (struct keep_sequence *)part->sequences.items + number;
	if (known->step == UINT64_MAX)
		known->step = step;
	known->ended |= block->ended;
	/* Events with an absolute time may lie before the step. */
	if (block->own_bytes)
		note_part_time(part,
			       block->first_ns + (block->packets ? 0 : step));
}

/* Notes the times of packets outside of threads. */
static void note_packets(struct keep_part *part, const uint8_t *packets,
			 size_t bytes)
{
	struct wire left = { .at = packets, .end = packets + bytes };
	struct wire_field field;
	struct packet_look packet;

	while (wire_next(&left, &field) && field.bytes) {
		packet_look(wire_of(&field), &packet);
		if (packet_is_event(&packet) && packet.stamped)
			note_part_time(part, packet.first_ns);
	}
}

void trace_keep_appended(const struct writer *writer, uint64_t offset)
{
	struct trace_keep *keep = writer->file->keep;
	struct keep_part *part = &keep->parts[keep->count - 1];
	size_t done = 0;

	if (offset - part->offset >= keep->part_bytes && keep->count < PARTS) {
		begin_part(keep, offset);
		part++;
	}
	for (unsigned int i = 0; i < writer->block_count; i++) {
		const struct pending_block *block = &writer->blocks[i];

		note_packets(part, writer->pending + done, block->at - done);
		note_block(part, block);
		note_packets(part, block->data + block->own_bytes,
			     block->bytes - block->own_bytes);
		done = block->at + block->bytes;
	}
	if (done < writer->pending_bytes)
		note_packets(part, writer->pending + done,
			     writer->pending_bytes - done);
}

/* --- room ---------------------------------------------------------------- */

static bool is_due(const struct trace_keep *keep)
{
	return keep->count > 1 &&
	       (keep->crowded || keep->pressed ||
		bytes_now(keep) > keep->bytes - PARTS_SPARE * keep->part_bytes);
}

int trace_keep_await_room(struct trace_keep *keep, uint64_t bytes)
{
	struct trace_file *file = keep->file;

	while (!file->stopped &&
	       bytes_now(keep) + bytes >
		       keep->bytes - PARTS_INDEX * keep->part_bytes) {
		if (keep->count < 2)
			return TRACE_AT_LIMIT;
		keep->pressed = true;
		pthread_cond_signal(&keep->work);
		lock_wait(&file->write_lock, &keep->room);
	}
	if (is_due(keep))
		pthread_cond_signal(&keep->work);
	return file->stopped;
}

static void set_room_aside(struct trace_keep *keep)
{
	int fd = openat(keep->dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
			0600);

	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)trace_keep_room(keep)) == 0) {
		keep->reserve_fd = fd;
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void give_room_back(struct trace_keep *keep)
{
	if (keep->reserve_fd >= 0)
		close(keep->reserve_fd);
	keep->reserve_fd = -1;
}

bool trace_keep_make_room(struct trace_keep *keep)
{
	struct trace_file *file = keep->file;

	if (keep->count < 2)
		return false;
	keep->crowded = true;
	/* The disk has no more room for the trace. */
	keep->bytes = MIN(keep->bytes, bytes_now(keep));
	keep->part_bytes = keep->bytes / PARTS;
	pthread_cond_signal(&keep->work);
	while (keep->crowded && !file->stopped)
		lock_wait(&file->write_lock, &keep->room);
	return !file->stopped;
}

/* --- giving up ----------------------------------------------------------- */

/* For struct trace_rest. Later packets may still concern sequences that ended
 * in the part itself. */
static bool lives(void *context, uint32_t sequence)
{
	const struct trace_keep *keep = context;

	return !find(&keep->ended, sequence);
}

static uint64_t next_step(void *context, uint32_t sequence)
{
	const struct trace_keep *keep = context;
	const struct keep_sequence *known = find(&keep->next, sequence);

	if (known)
		return known->step;
	return keep->unsure ? 0 : UINT64_MAX;
}

/* Returns the rest from part @number on. */
static struct trace_rest rest_of(struct trace_keep *keep, unsigned int number)
{
	struct trace_rest rest = {
		.dir_fd = keep->dir_fd,
		.gone = keep->parts[number].offset,
		.lives = lives,
		.next_step = next_step,
		.context = keep,
	};

	return rest;
}

/* Removes the oldest part. write_lock held. */
static void forget_part(struct trace_keep *keep, const struct trace_head *head)
{
	struct keep_part *part = &keep->parts[0];
	const struct keep_sequence *item = part->sequences.items;
	uint32_t number;

	pool_release(&keep->ended);
	init_sequences(&keep->ended);
	/* Without memory the head stays larger than needed. */
	for (uint32_t i = 0; i < part->sequences.count; i++, item++)
		if (item->ended &&
		    pool_intern(&keep->ended, item, &number) >= 0)
			sequences_forget(&keep->file->sequences,
					 (uint32_t)item->id);
	pool_release(&part->sequences);
	keep->count--;
	memmove(keep->parts, keep->parts + 1,
		keep->count * sizeof(*keep->parts));
	keep->gone = keep->parts[0].offset;
	keep->head_bytes = head->bytes;
	keep->crowded = keep->pressed = false;
	/* relaxed: figures for a person */
	atom_store_rlx(&keep->too_many,
		       keep->gone - MIN(keep->head_bytes, keep->gone));
	/* relaxed: the same */
	atom_store_rlx(&keep->gone_unpacked, keep->parts[0].unpacked);
	if (head->from_ns)
		/* relaxed: the same */
		atom_store_rlx(&keep->from_ns, head->from_ns);
}

/* Gives up the oldest part. write_lock held, but released meanwhile. Returns 0
 * or -errno. */
static int give_up(struct trace_keep *keep)
{
	struct lock *lock = &keep->file->write_lock;
	struct trace_rest rest = rest_of(keep, 1);
	struct trace_head head;
	uint64_t gone = keep->gone;
	int err;

	if (keep->crowded)
		give_room_back(keep);
	lock_release(lock);
	rest.compress = trace_file_is_compressed(keep->file);
	err = keep->make_head(&rest, &head);
	if (!err) {
		/* With the block of the file system that the hole before
		 * shares with this one. */
		const uint64_t from = gone - gone % HOLE_ALIGN;

		/* If this fails, the disk fills up, which is reported. */
		(void)!fallocate(keep->file->fd,
				 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				 (off_t)from, (off_t)(rest.gone - from));
	}
	lock_acquire(lock);
	if (!err)
		forget_part(keep, &head);
	if (keep->reserve_fd < 0)
		set_room_aside(keep);
	return err;
}

static void *keep_main(void *context)
{
	struct trace_keep *keep = context;
	struct trace_file *file = keep->file;
	int err = 0;

	pthread_setname_np(pthread_self(), "perfrec-keep");
	lock_acquire(&file->write_lock);
	while (!err && !keep->closing) {
		if (is_due(keep))
			err = give_up(keep);
		else
			lock_wait(&file->write_lock, &keep->work);
		if (err)
			trace_append_stop(file, err);
		pthread_cond_broadcast(&keep->room);
	}
	lock_release(&file->write_lock);
	return NULL;
}

struct trace_kept trace_keep_told(const struct trace_keep *keep)
{
	struct trace_kept told;

	/* relaxed: figures for a person */
	told.from_ns = atom_load_rlx(&keep->from_ns);
	/* relaxed: the same */
	told.given_up = atom_load_rlx(&keep->gone_unpacked);
	return told;
}

/* --- life ---------------------------------------------------------------- */

/* Tests whether the file system of @fd, an empty file, can make holes. Returns
 * 0 or -errno. */
static int try_hole(int fd)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			 KEEP_PARTS) < 0
		       ? -errno
		       : 0;
}

int trace_keep_new(struct trace_file *file,
		   const struct trace_file_options *options)
{
	struct trace_keep *keep = calloc(1, sizeof(*keep));
	int err;

	if (!keep)
		return -ENOMEM;
	keep->file = file;
	keep->make_head = options->make_head;
	keep->bytes = options->keep_bytes;
	keep->part_bytes = keep->bytes / PARTS;
	keep->reserve_fd = -1;
	pthread_cond_init(&keep->work, NULL);
	pthread_cond_init(&keep->room, NULL);
	init_sequences(&keep->ended);
	init_sequences(&keep->next);
	begin_part(keep, 0);
	file->keep = keep;
	keep->dir_fd = fcntl(options->dir_fd, F_DUPFD_CLOEXEC, 0);
	err = keep->dir_fd < 0 ? -errno : try_hole(file->fd);
	if (err)
		return err;
	set_room_aside(keep);
	err = -pthread_create(&keep->thread, NULL, keep_main, keep);
	keep->running = !err;
	return err;
}

static void end_thread(struct trace_keep *keep)
{
	struct lock *lock = &keep->file->write_lock;

	if (!keep->running)
		return;
	lock_acquire(lock);
	keep->closing = true;
	pthread_cond_signal(&keep->work);
	lock_release(lock);
	pthread_join(keep->thread, NULL);
	keep->running = false;
	give_room_back(keep);
}

/* Sets keep->next. Returns the time of the first event, or 0. */
static uint64_t look_ahead(struct trace_keep *keep)
{
	uint64_t first_ns = UINT64_MAX;
	uint32_t number;

	for (unsigned int i = 0; i < keep->count; i++) {
		const struct keep_part *part = &keep->parts[i];
		const struct keep_sequence *item = part->sequences.items;

		first_ns = MIN(first_ns, part->first_ns);
		keep->unsure |= part->unsure;
		for (uint32_t j = 0; j < part->sequences.count; j++, item++)
			if (item->step != UINT64_MAX &&
			    pool_intern(&keep->next, item, &number) < 0)
				keep->unsure = true;
	}
	return first_ns == UINT64_MAX ? 0 : first_ns;
}

/* Makes the last head again, after the last append. */
static void make_last_head(struct trace_keep *keep)
{
	struct trace_rest rest = rest_of(keep, 0);
	struct trace_head head;
	int err;

	rest.compress = trace_file_is_compressed(keep->file);
	rest.all_known = true;
	rest.from_ns = trace_keep_told(keep).from_ns;
	rest.first_ns = look_ahead(keep);
	err = keep->make_head(&rest, &head);
	/* The existing head is good enough. */
	if (err)
		log_dbg("no last head: %s", strerror(-err));
}

int trace_keep_end(struct trace_keep *keep)
{
	int fd = keep->dir_fd;

	end_thread(keep);
	if (keep->gone)
		make_last_head(keep);
	keep->dir_fd = -1;
	return fd;
}

void trace_keep_free(struct trace_keep **keep)
{
	struct trace_keep *freed = *keep;

	if (!freed)
		return;
	end_thread(freed);
	give_room_back(freed);
	for (unsigned int i = 0; i < freed->count; i++)
		pool_release(&freed->parts[i].sequences);
	pool_release(&freed->ended);
	pool_release(&freed->next);
	if (freed->dir_fd >= 0)
		close(freed->dir_fd);
	free(freed);
	*keep = NULL;
}
