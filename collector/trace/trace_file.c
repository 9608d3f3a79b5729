/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file - how blocks of packets become bytes on disk.
 *
 * The pool. There is a fixed number of blocks, and they go round. A producer
 * takes a block from the pool, fills it, and submits it to the queue of a
 * writer thread. The writer appends the block to the file, and puts it back
 * into the pool. There is one writer; with compression there are as many as the
 * option says. A sequence always has the same writer: that alone keeps its
 * packets in order.
 *
 * A slow disk. No producer ever waits, since a drain worker has the rings of
 * other recordings to read, too. If the pool is empty, a producer gets an extra
 * block, which is freed when it was written. What bounds memory is
 * trace_file_lags(): a drain worker asks it before each piece of a ring, and
 * leaves the rings of a recording that lags as they are. So workers never make
 * more extra blocks than a few pieces take. Samples of the kernel and sizes of
 * processes come as long as the disk hangs: their packets are left out when
 * there are EXTRA_BLOCKS_MAX (trace_file_admits()).
 *
 * Pending. "Pending" is what a writer has ready to be written: the names for
 * the next block and, with compression, the blocks of a bundle. Pending has
 * whole packets only. It is written whole or not at all. If a write fails, the
 * file is cut back to where the write began, the reason is kept, and the trace
 * has stopped. From then on the writers put all blocks straight back into the
 * pool, so that nobody waits for the disk.
 *
 * The end. When a trace stops, the slices that are open in the file must still
 * be ended. So sequences.h says for each sequence how many slices its blocks in
 * the file leave open. If there is a size limit, room is set aside for the ends
 * of these slices and for the marks of losses. Pending is appended only if it
 * leaves as much room as will then be needed.
 *
 * Room on disk. fallocate(2) makes room ready for the bytes that will be
 * appended. That room lies beyond the end of the file, so the size of the file
 * does not change. An append in ext4 then takes two thirds of the time. The
 * file gets as much room as it has bytes, but at most 8 MiB at a time. Room
 * that was not used is given back when the file is closed. If the collector is
 * killed, that room stays with the file.
 *
 * Sequence 1. What belongs to no thread (clocks, processes) is on sequence 1,
 * and must lie before what refers to it. When a block is submitted, it notes
 * how many blocks the writer of sequence 1 had got until then. The writer of
 * the block waits until these are written. The writer of sequence 1 waits for
 * no other writer.
 *
 * Locks. "lock" guards the pool, the queues and their counts. It is held for a
 * few instructions (for a memcpy in trace_file_append()). "write_lock" guards
 * the file, and is held during a write. No thread holds both at a time.
 */
#include "collector/trace/trace_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/lock.h"
#include "collector/trace/encode.h"
#include "collector/base/varint.h"
#include "collector/trace/fields.h"
#include "collector/base/log.h"
#include "collector/base/pulse.h"
#include "collector/base/thread_nice.h"
#include "collector/names/modules.h"
#include "collector/options/limits.h"
#include "collector/trace/out_perfetto.h"
#include "collector/output/own_files.h"
#include "collector/names/sites.h"
#include "collector/trace/sequences.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* The most bytes of pending. Perfetto takes a bundle of at most 512 KB with all
 * its headers. */
#define PENDING_BYTES (500u * 1024)
#define NAMES_AT_ONCE 8 /* names of a block that are encoded at a time */

_Static_assert(NAMES_AT_ONCE *OUT_NAME_BYTES <= PENDING_BYTES,
	       "names fit into an empty bundle");
_Static_assert(TRACE_BLOCK_BYTES <= PENDING_BYTES, "so does a block");
/* The events of a busy thread are written TRACE_BLOCK_BYTES at a time. A trace
 * shows nothing if it has no room for the first block and for the packets that
 * end the trace. */
_Static_assert(TRACE_BYTES_MIN >= TRACE_BLOCK_BYTES * 5 / 4,
	       "the smallest trace has room for a block");

/* Pending has blocks of so many sequences at most. If pending has no bytes, it
 * has no changes either. */
#define CHANGES_MAX 256

/* The most bytes of a packet that ends a slice at the time of the last event
 * (see encode.h), and of the mark that says why the trace stopped. */
#define END_BYTES 16
#define STOP_MARK_BYTES 64

/* About 5 MiB. More blocks only made the memory that is used depend on how slow
 * the disk was. */
#define POOL_BLOCKS_MIN 24
/* About 27 MiB. Samples and values make no more of them. */
#define EXTRA_BLOCKS_MAX 128
/* A trace lags while fewer blocks than these are in the pool. */
#define POOL_BLOCKS_LEAST 4
#define COMPRESSION_LEVEL 1 /* of libdeflate: the fastest that compresses */

/* Bytes of room on disk that are made ready at a time; see the top. A file of
 * less than ROOM_BYTES_MIN gets none. */
#define ROOM_BYTES_MIN (1u << 20)
#define ROOM_BYTES_MAX (8u << 20)

/* What will change for one sequence when pending is in the file. */
struct change {
	uint32_t sequence;
	int32_t opened; /* as in struct trace_block */
};

struct writer {
	struct trace_file *file;
	pthread_t thread;

	/* Guarded by file->lock. */
	struct trace_block *head, *tail; /* the queue; tail counts only if head
					  * is not NULL */
	uint64_t queued, written; /* how many blocks since the start; written
				   * counts those that were dropped, too */
	pthread_cond_t wake; /* a block is queued, or the file is closing */

	/* Only the writer thread uses these. */
	uint64_t taken; /* how many blocks it took from the queue and added to
			 * pending, wrote or dropped, since the start */
	uint64_t after; /* so many blocks of the writer of sequence 1 must be
			 * written before pending */
	uint8_t *pending;
	size_t pending_bytes;
	struct change changes[CHANGES_MAX];
	unsigned int change_count;
	struct libdeflate_compressor *compressor; /* NULL: none */
	uint8_t *packed;
	size_t packed_size;
};

struct trace_file {
	struct lock lock;
	pthread_cond_t progress; /* a written changed */
	struct trace_block *free; /* the block that came last is used first: it
				   * may still be in the cache */
	uint32_t free_count; /* changes under lock, any thread reads it */
	uint32_t extra_count; /* as free_count: blocks that are not of the pool
			       */
	uint64_t left_out; /* any thread */
	int nice; /* what the writers are to be; any thread */
	bool closing; /* the writers end when their queues are empty */

	struct lock write_lock;
	int fd;
	uint64_t max_bytes;
	uint64_t bytes; /* of the file; changes under write_lock, any thread
			 * reads it */
	uint64_t room_end; /* where the room on disk ends; 0: none is ready */
	bool no_room; /* fallocate(2) has failed: it is not tried again */
	int stopped; /* as trace_file_stopped(); changes under write_lock, any
		      * thread reads it */
	bool torn; /* the file ends in half a packet */
	struct sequences sequences; /* of which the file has blocks */

	struct trace_block *blocks;
	size_t block_count;
	struct writer *writers;
	unsigned int writer_count, writers_running;
};

/* --- the file --- */

static size_t parts_bytes(const struct iovec *parts, int count)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	return bytes;
}

/* Writes all of the @count @parts, and changes @parts. 0 or -errno; after an
 * error a part of the bytes may be written. */
static int write_parts(int fd, struct iovec *parts, int count)
{
	while (count) {
		ssize_t done = writev(fd, parts, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		while (count && (size_t)done >= parts->iov_len) {
			done -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count) {
			parts->iov_base = (uint8_t *)parts->iov_base + done;
			parts->iov_len -= (size_t)done;
		}
	}
	return 0;
}

/* Cuts off the bytes that a failed write has left at the end of the file. With
 * O_APPEND the next write begins there. A full disk does not prevent this. If
 * it fails all the same, nothing more is appended: readers ignore half a packet
 * at the end. */
static void cut_back(struct trace_file *file)
{
	file->torn = ftruncate(file->fd, (off_t)file->bytes) < 0;
	if (file->torn)
		log_warn("cannot cut half a packet off the trace: %s",
			 strerror(errno));
}

/* Makes room on disk ready if there is not enough for @bytes more. If that
 * fails, blocks are appended without it. write_lock held. */
static void make_file_room(struct trace_file *file, uint64_t bytes)
{
	uint64_t from = MAX(file->room_end, file->bytes);
	uint64_t room = MIN(file->bytes, ROOM_BYTES_MAX);

	if (file->max_bytes)
		room = MIN(room, file->max_bytes - MIN(from, file->max_bytes));
	if (file->no_room || room < ROOM_BYTES_MIN ||
	    file->bytes + bytes <= file->room_end)
		return;
	file->no_room = fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)from,
				  (off_t)room) < 0;
	if (!file->no_room)
		file->room_end = from + room;
}

/* Gives back the room on disk that was not used. If that fails, it does not
 * matter: the file keeps some room. */
static void give_file_room_back(struct trace_file *file)
{
	if (file->room_end > file->bytes && !file->torn)
		(void)!ftruncate(file->fd, (off_t)file->bytes);
}

/* Appends @parts, which are whole packets, or nothing. Changes @parts. 0 or
 * -errno. write_lock held. */
static int put_parts(struct trace_file *file, struct iovec *parts, int count)
{
	uint64_t bytes = parts_bytes(parts, count);
	int err;

	if (file->torn)
		return -EIO;
	make_file_room(file, bytes);
	err = write_parts(file->fd, parts, count);
	if (err)
		cut_back(file);
	else
		/* relaxed: stored under write_lock alone, and who reads an
		 * older value stops a little later */
		atom_store_rlx(&file->bytes, file->bytes + bytes);
	return err;
}

/* --- a trace that stops --- */

/* How many bytes the end of the trace can take, if the file has blocks of
 * @sequences sequences, with @open open slices in all. */
static uint64_t bytes_set_aside(uint32_t sequences, uint64_t open)
{
	return OUT_LOSSES_BYTES(sequences) +
	       (uint64_t)sequences * STOP_MARK_BYTES + open * END_BYTES;
}

/* Returns 0 if pending, which has @bytes when it is written, may be appended;
 * TRACE_AT_LIMIT: there is no room; or -ENOMEM. write_lock held. */
static int admit_pending(struct writer *writer, uint64_t bytes)
{
	struct trace_file *file = writer->file;
	uint32_t known = file->sequences.count;
	uint64_t open = file->sequences.slices;

	for (unsigned int i = 0; i < writer->change_count; i++) {
		const struct change *change = &writer->changes[i];

		if (sequences_make_room(&file->sequences, change->sequence,
					writer->change_count) < 0)
			return -ENOMEM;
		known += !sequences_know(&file->sequences, change->sequence);
		open += (uint64_t)(int64_t)change->opened;
	}
	bytes += bytes_set_aside(known, open);
	return file->max_bytes && bytes > file->max_bytes - file->bytes
		       ? TRACE_AT_LIMIT
		       : 0;
}

/* Brings the table up to date after pending was appended. write_lock held. */
static void apply_pending_changes(struct writer *writer)
{
	struct trace_file *file = writer->file;

	for (unsigned int i = 0; i < writer->change_count; i++) {
		const struct change *change = &writer->changes[i];
		uint32_t open = sequences_change(
			&file->sequences, change->sequence, change->opened);

		assert(open <= TRACE_OPEN_MAX);
	}
}

/* Appends to sequence @open a mark that says why the trace stopped, and the
 * ends of its open slices. 0 or -errno. write_lock held. */
static int end_slices(struct trace_file *file, const struct open_sequence *open)
{
	struct out_event mark = { .type = OUT_INSTANT,
				  .sequence = open->id,
				  .name = file->stopped == TRACE_AT_LIMIT
						  ? "trace stopped: size limit"
						  : "trace stopped: no room" };
	uint8_t packets[STOP_MARK_BYTES + TRACE_OPEN_MAX * END_BYTES +
			ENCODE_EVENT_BYTES];
	struct encoder encoder;

	/* All of them have the time of the last event: the clock of the
	 * sequence counts from there. */
	encoder_init(&encoder, open->id, 0);
	encoder.out =
		packets + out_perfetto_event(packets, STOP_MARK_BYTES, &mark);
	for (uint32_t i = 0; i < open->slices; i++)
		encode_end(&encoder, 0);

	struct iovec part = { packets, (size_t)(encoder.out - packets) };

	return put_parts(file, &part, 1);
}

/* Stops the trace because of @err, and ends the slices that are open in it, as
 * far as there is room. write_lock held. */
static void stop_trace(struct trace_file *file, int err)
{
	const struct open_sequence *open;
	uint32_t at = 0;

	/* relaxed: as in put_parts() */
	atom_store_rlx(&file->stopped, err);
	while ((open = sequences_next_open(&file->sequences, &at)))
		if (end_slices(file, open) < 0)
			return;
}

/* Appends @parts, which are the pending of @writer, and maybe a block behind
 * it. If that is not possible, stops the trace. Pending is then empty. */
static void append_pending(struct writer *writer, struct iovec *parts,
			   int count)
{
	struct trace_file *file = writer->file;
	int err;

	lock_acquire(&file->write_lock);
	if (!file->stopped) {
		err = admit_pending(writer, parts_bytes(parts, count));
		if (!err)
			err = put_parts(file, parts, count);
		if (err)
			stop_trace(file, err);
		else
			apply_pending_changes(writer);
	}
	lock_release(&file->write_lock);
	writer->pending_bytes = 0;
	writer->change_count = 0;
}

void trace_file_append_last(struct trace_file *file, const void *packets,
			    size_t bytes)
{
	struct iovec part = { (void *)packets, bytes };
	int err = TRACE_AT_LIMIT;

	lock_acquire(&file->write_lock);
	if (!file->max_bytes || bytes <= file->max_bytes - file->bytes)
		err = put_parts(file, &part, 1);
	if (err && !file->stopped)
		stop_trace(file, err);
	lock_release(&file->write_lock);
}

bool trace_file_has(struct trace_file *file, uint32_t sequence)
{
	bool has;

	lock_acquire(&file->write_lock);
	has = sequences_know(&file->sequences, sequence);
	lock_release(&file->write_lock);
	return has;
}

int trace_file_stopped(struct trace_file *file)
{
	/* relaxed: as in put_parts() */
	return atom_load_rlx(&file->stopped);
}

uint64_t trace_file_bytes(struct trace_file *file)
{
	/* relaxed: as in put_parts() */
	return atom_load_rlx(&file->bytes);
}

/* --- a writer thread --- */

/* The writer of @sequence. */
static struct writer *writer_of(struct trace_file *file, uint32_t sequence)
{
	return &file->writers[sequence % file->writer_count];
}

/* Appends pending as one packet: it holds a zlib stream of all packets of
 * pending. */
static void append_bundle(struct writer *writer)
{
	uint8_t inner[16], outer[16], *inner_end, *outer_end;
	size_t bytes, inner_bytes;

	bytes = libdeflate_zlib_compress(writer->compressor, writer->pending,
					 writer->pending_bytes, writer->packed,
					 writer->packed_size);
	assert(bytes); /* packed_size is the bound that libdeflate gave */
	inner_end = varint_put(inner, TAG_TRACE_PACKET_COMPRESSED_PACKETS);
	inner_end = varint_put(inner_end, bytes);
	inner_bytes = (size_t)(inner_end - inner);
	outer_end = varint_put(outer, TAG_TRACE_PACKET);
	outer_end = varint_put(outer_end, inner_bytes + bytes);

	struct iovec parts[] = { { outer, (size_t)(outer_end - outer) },
				 { inner, inner_bytes },
				 { writer->packed, bytes } };
	append_pending(writer, parts, ARRAY_SIZE(parts));
}

/* Counts all blocks that @writer took as written, and wakes those that wait for
 * that. */
static void report_written(struct writer *writer)
{
	struct trace_file *file = writer->file;

	lock_acquire(&file->lock);
	writer->written = writer->taken;
	pthread_cond_broadcast(&file->progress);
	lock_release(&file->lock);
}

/* Waits until all blocks of sequence 1 that must lie before pending are in the
 * file, or were dropped because the trace has stopped. */
static void wait_for_globals(struct writer *writer)
{
	struct trace_file *file = writer->file;
	struct writer *globals = writer_of(file, 1);

	if (writer == globals)
		return;
	lock_acquire(&file->lock);
	while (globals->written < writer->after)
		lock_wait(&file->lock, &file->progress);
	lock_release(&file->lock);
}

/* Appends what is pending; after that nothing is. */
static void flush_pending(struct writer *writer)
{
	struct iovec parts[] = { { writer->pending, writer->pending_bytes } };

	if (!writer->pending_bytes)
		return;
	wait_for_globals(writer);
	if (writer->compressor)
		append_bundle(writer);
	else
		append_pending(writer, parts, ARRAY_SIZE(parts));
	report_written(writer);
}

/* Returns where to put @bytes more of pending. If there is not enough room, or
 * if pending has blocks of too many sequences, flushes pending first. */
static uint8_t *pending_room(struct writer *writer, size_t bytes)
{
	if (PENDING_BYTES - writer->pending_bytes < bytes ||
	    writer->change_count == CHANGES_MAX)
		flush_pending(writer);
	return writer->pending + writer->pending_bytes;
}

/* Notes what @block, which is pending now, will change. */
static void note_pending_change(struct writer *writer,
				const struct trace_block *block)
{
	struct change *change = writer->changes;
	struct change *end = change + writer->change_count;

	while (change < end && change->sequence != block->sequence)
		change++;
	if (change == end) {
		*change = (struct change){ .sequence = block->sequence };
		writer->change_count++;
	}
	change->opened += block->opened;
}

/* Adds to pending what a reader shall know of @site, which has the number @iid
 * on the sequence of @block: its category and its place in the source. */
static void put_site_name(struct writer *writer,
			  const struct trace_block *block, uint32_t iid,
			  const struct site *site)
{
	const struct out_site out = { .iid = iid,
				      .category = site->category,
				      .file = site->file,
				      .function = site->function,
				      .line = site->line };

	if (site->category[0] || site->file[0])
		writer->pending_bytes += out_perfetto_site(
			pending_room(writer, OUT_SITE_BYTES), OUT_SITE_BYTES,
			block->sequence, &out);
}

/* Adds the names of @block to pending. May read symbol tables. */
static void resolve_block_names(struct writer *writer,
				const struct trace_block *block)
{
	struct out_name names[NAMES_AT_ONCE];
	struct symbol symbol;
	uint8_t *out;

	for (uint32_t i = 0; i < block->name_count;) {
		uint32_t count = 0;

		for (; count < NAMES_AT_ONCE && i < block->name_count; i++) {
			modules_resolve(block->modules,
					block->names[i].function,
					block->names[i].generation, &symbol);
			if (symbol.site)
				put_site_name(writer, block,
					      block->names[i].iid, symbol.site);
			names[count].iid = block->names[i].iid;
			names[count++].name = symbol.name;
		}
		out = pending_room(writer, NAMES_AT_ONCE * OUT_NAME_BYTES);
		writer->pending_bytes +=
			out_perfetto_names(out, NAMES_AT_ONCE * OUT_NAME_BYTES,
					   block->sequence, names, count);
	}
}

/* Appends @block with its names; or, with compression, adds both to pending.
 * Drops it if the trace has stopped. */
static void write_block(struct writer *writer, struct trace_block *block)
{
	bool empty = !block->bytes && !block->name_count;

	if (empty || trace_file_stopped(writer->file))
		return;
	writer->after = MAX(writer->after, block->after);
	resolve_block_names(writer, block);
	if (writer->compressor) {
		memcpy(pending_room(writer, block->bytes), block->data,
		       block->bytes);
		writer->pending_bytes += block->bytes;
		note_pending_change(writer, block);
	} else {
		struct iovec parts[] = {
			{ writer->pending, writer->pending_bytes },
			{ block->data, block->bytes },
		};

		note_pending_change(writer, block);
		append_pending(writer, parts, ARRAY_SIZE(parts));
	}
}

/* Waits for a block in the queue of @writer, and takes it. NULL: the file is
 * being closed, and no block is left. */
static struct trace_block *take_block(struct writer *writer)
{
	struct trace_file *file = writer->file;
	struct trace_block *block;

	lock_acquire(&file->lock);
	while (!writer->head && !file->closing)
		lock_wait(&file->lock, &writer->wake);
	block = writer->head;
	if (block)
		writer->head = block->next;
	lock_release(&file->lock);
	return block;
}

/* Whether @block is one of the pool, and no extra block. */
static bool is_of_pool(const struct trace_file *file,
		       const struct trace_block *block)
{
	return block >= file->blocks &&
	       block < file->blocks + file->block_count;
}

/* Puts @block back into the pool, or frees it if it is an extra one, and gives
 * the reference to its modules back. Returns true if no other block waits for
 * @writer. */
static bool give_block_back(struct writer *writer, struct trace_block *block)
{
	struct trace_file *file = writer->file;
	bool last;

	if (block->modules)
		modules_put(&block->modules);
	if (!is_of_pool(file, block)) {
		munmap(block, sizeof(*block));
		block = NULL;
	}
	lock_acquire(&file->lock);
	if (!block) {
		/* relaxed: trace_file_admits() may see it a little later */
		atom_store_rlx(&file->extra_count, file->extra_count - 1);
	} else {
		block->next = file->free;
		file->free = block;
		/* relaxed: trace_file_lags() may see it a little later */
		atom_store_rlx(&file->free_count, file->free_count + 1);
	}
	last = !writer->head;
	lock_release(&file->lock);
	return last;
}

static void *writer_main(void *context)
{
	struct writer *writer = context;
	struct trace_block *block;

	pthread_setname_np(pthread_self(), "perfrec-writer");
	while ((block = take_block(writer))) {
		/* relaxed: it stands for nothing else */
		thread_nice_raise(atom_load_rlx(&writer->file->nice));
		pulse_begin("writes a trace and the names in it");
		write_block(writer, block);
		pulse_end();
		writer->taken++;
		/* Pending grows only as long as more blocks wait. */
		if (give_block_back(writer, block))
			flush_pending(writer);
		if (!writer->pending_bytes)
			report_written(writer);
	}
	return NULL;
}

void trace_file_set_nice(struct trace_file *file, int nice)
{
	/* relaxed: it stands for nothing else */
	atom_store_rlx(&file->nice, nice);
}

/* --- producers --- */

bool trace_file_lags(struct trace_file *file)
{
	/* relaxed: a hint; extra blocks are for what it misses */
	return atom_load_rlx(&file->free_count) < POOL_BLOCKS_LEAST;
}

bool trace_file_admits(struct trace_file *file)
{
	/* relaxed: a hint, some blocks more are no harm */
	if (atom_load_rlx(&file->extra_count) < EXTRA_BLOCKS_MAX)
		return true;
	/* relaxed: a figure for a person */
	atom_add_rlx(&file->left_out, 1);
	return false;
}

uint64_t trace_file_left_out(struct trace_file *file)
{
	/* relaxed: a figure for a person */
	return atom_load_rlx(&file->left_out);
}

/* A block of the pool; NULL: all are in use. */
static struct trace_block *take_from_pool(struct trace_file *file)
{
	struct trace_block *block;

	lock_acquire(&file->lock);
	block = file->free;
	if (block) {
		file->free = block->next;
		/* relaxed: as in give_block_back() */
		atom_store_rlx(&file->free_count, file->free_count - 1);
	}
	lock_release(&file->lock);
	return block;
}

/* A block that is not of the pool. The system lacks memory for some time at
 * most: there is nothing better to do than to try again. */
static struct trace_block *make_extra_block(struct trace_file *file)
{
	const struct timespec pause = { 0, 1000000 };
	struct trace_block *block = NULL;

	while (!block) {
		block = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block != MAP_FAILED) {
			lock_acquire(&file->lock);
			/* relaxed: as in give_block_back() */
			atom_store_rlx(&file->extra_count,
				       file->extra_count + 1);
			lock_release(&file->lock);
			break;
		}
		nanosleep(&pause, NULL);
		block = take_from_pool(file);
	}
	return block;
}

struct trace_block *trace_file_block(struct trace_file *file)
{
	struct trace_block *block = take_from_pool(file);

	if (!block)
		block = make_extra_block(file);
	block->next = NULL;
	block->sequence = 0;
	block->modules = NULL;
	block->name_count = 0;
	block->bytes = 0;
	block->opened = 0;
	return block;
}

void trace_file_submit(struct trace_file *file, struct trace_block *block)
{
	struct writer *writer = writer_of(file, block->sequence);

	block->next = NULL;
	lock_acquire(&file->lock);
	block->after = writer_of(file, 1)->queued;
	if (writer->head)
		writer->tail->next = block;
	else
		writer->head = block;
	writer->tail = block;
	writer->queued++;
	pthread_cond_signal(&writer->wake);
	lock_release(&file->lock);
}

/* Adds @packet to the last block in the queue of @writer, and returns true. The
 * block may be of another sequence: a writer keeps the order of all that it
 * gets. False: the queue is empty, or that block has no room. */
static bool append_to_queue(struct trace_file *file, struct writer *writer,
			    const void *packet, size_t bytes)
{
	struct trace_block *last;
	bool done = false;

	lock_acquire(&file->lock);
	last = writer->head ? writer->tail : NULL;
	if (last && TRACE_BLOCK_BYTES - last->bytes >= bytes) {
		memcpy(last->data + last->bytes, packet, bytes);
		last->bytes += (uint32_t)bytes;
		last->after = writer_of(file, 1)->queued;
		done = true;
	}
	lock_release(&file->lock);
	return done;
}

void trace_file_append(struct trace_file *file, uint32_t sequence,
		       const void *packet, size_t bytes)
{
	struct trace_block *block;

	assert(bytes <= TRACE_BLOCK_BYTES);
	if (append_to_queue(file, writer_of(file, sequence), packet, bytes))
		return;
	block = trace_file_block(file);
	block->sequence = sequence;
	block->bytes = (uint32_t)bytes;
	memcpy(block->data, packet, bytes);
	trace_file_submit(file, block);
}

/* Waits until @writer has written or dropped all blocks that are in its queue
 * now. */
static void wait_for_writer(struct writer *writer)
{
	struct trace_file *file = writer->file;
	uint64_t queued;

	lock_acquire(&file->lock);
	queued = writer->queued;
	while (writer->written < queued)
		lock_wait(&file->lock, &file->progress);
	lock_release(&file->lock);
}

void trace_file_flush(struct trace_file *file)
{
	for (unsigned int i = 0; i < file->writer_count; i++)
		wait_for_writer(&file->writers[i]);
}

/* --- opening and closing --- */

/* Makes the blocks of the pool: more than there are producers, each of which
 * may hold one and need another for a small packet. 0 or -ENOMEM. */
static int make_block_pool(struct trace_file *file, unsigned int producers)
{
	file->block_count = MAX(POOL_BLOCKS_MIN, 16 + 2 * producers);
	file->blocks = mmap(NULL, file->block_count * sizeof(*file->blocks),
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (file->blocks == MAP_FAILED) {
		file->blocks = NULL;
		return -ENOMEM;
	}
	for (size_t i = file->block_count; i-- > 0;) {
		file->blocks[i].next = file->free;
		file->free = &file->blocks[i];
	}
	file->free_count = (uint32_t)file->block_count;
	return 0;
}

/* 0 or -ENOMEM; trace_file_free() frees what was made, also after an error. */
static int writer_init(struct writer *writer, struct trace_file *file,
		       bool compress)
{
	writer->file = file;
	pthread_cond_init(&writer->wake, NULL);
	writer->pending = malloc(PENDING_BYTES);
	if (!writer->pending)
		return -ENOMEM;
	if (!compress)
		return 0;
	writer->compressor = libdeflate_alloc_compressor(COMPRESSION_LEVEL);
	if (!writer->compressor)
		return -ENOMEM;
	writer->packed_size = libdeflate_zlib_compress_bound(writer->compressor,
							     PENDING_BYTES);
	writer->packed = malloc(writer->packed_size);
	return writer->packed ? 0 : -ENOMEM;
}

/* Starts the writer threads. 0 or -errno; some may then run. */
static int start_writers(struct trace_file *file)
{
	sigset_t all, before;
	int err = 0;

	/* The writers must not handle the signals of the collector. And with
	 * SIGXFSZ blocked, a write beyond RLIMIT_FSIZE is an ordinary error. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned int i = 0; i < file->writer_count && !err; i++) {
		err = -pthread_create(&file->writers[i].thread, NULL,
				      writer_main, &file->writers[i]);
		if (!err)
			file->writers_running++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

/* Ends the writer threads that run, after they have emptied their queues. */
static void stop_writers(struct trace_file *file)
{
	lock_acquire(&file->lock);
	file->closing = true;
	for (unsigned int i = 0; i < file->writers_running; i++)
		pthread_cond_signal(&file->writers[i].wake);
	lock_release(&file->lock);
	for (unsigned int i = 0; i < file->writers_running; i++)
		pthread_join(file->writers[i].thread, NULL);
}

/* Frees @file, in any state that open_trace_file() leaves behind. Does not
 * close the file. */
static void trace_file_free(struct trace_file *file)
{
	stop_writers(file);
	for (unsigned int i = 0; file->writers && i < file->writer_count; i++) {
		struct writer *writer = &file->writers[i];

		free(writer->pending);
		free(writer->packed);
		if (writer->compressor)
			libdeflate_free_compressor(writer->compressor);
	}
	free(file->writers);
	sequences_release(&file->sequences);
	if (file->blocks)
		munmap(file->blocks, file->block_count * sizeof(*file->blocks));
	free(file);
}

/* Fills @file. 0 or -errno; the caller then calls trace_file_free(). */
static int open_trace_file(struct trace_file *file,
			   const struct trace_file_options *options)
{
	unsigned int cpus = (unsigned int)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	int err = make_block_pool(file, options->producers ?: cpus);

	if (err)
		return err;
	file->max_bytes = options->max_bytes;
	file->writer_count = 1;
	if (options->compress)
		file->writer_count = options->compress_threads ?: cpus;
	file->writers = calloc(file->writer_count, sizeof(*file->writers));
	if (!file->writers)
		return -ENOMEM;
	for (unsigned int i = 0; i < file->writer_count && !err; i++)
		err = writer_init(&file->writers[i], file, options->compress);
	if (err)
		return err;
	file->fd = own_files_create(options->dir_fd, options->name, O_APPEND);
	if (file->fd < 0)
		return file->fd;
	err = start_writers(file);
	if (err) {
		close(file->fd);
		own_files_discard(options->dir_fd, options->name);
	}
	return err;
}

int trace_file_open(const struct trace_file_options *options,
		    struct trace_file **out)
{
	struct trace_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	lock_init(&file->lock, LOCK_TRACE);
	lock_init(&file->write_lock, LOCK_TRACE_WRITE);
	pthread_cond_init(&file->progress, NULL);
	err = open_trace_file(file, options);
	if (err) {
		trace_file_free(file);
		return err;
	}
	*out = file;
	return 0;
}

int trace_file_close(struct trace_file **file)
{
	int stopped, fd = (*file)->fd;

	trace_file_flush(*file);
	give_file_room_back(*file);
	stopped = (*file)->stopped;
	trace_file_free(*file);
	*file = NULL;
	if (close(fd) < 0 && !stopped)
		stopped = -errno;
	return stopped;
}
