/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_file - from blocks of packets to bytes on disk.
 *
 * A fixed pool of blocks goes round: a producer takes one, fills it, submits
 * it to the queue of a writer thread; the writer appends it and puts it back.
 * A disk that cannot keep up thus stops the producers, not the memory. There
 * is one writer, or with compression one per CPU; a sequence always has the
 * same one, which is all that keeps its packets in order.
 *
 * What a writer has ready but not written is its "pending": names found for
 * the next block and, with compression, the blocks of a bundle. Pending is
 * whole packets only, and is written whole or not at all: if a write fails,
 * the file is cut back to where it began, the reason is kept, and from then
 * on all blocks go straight back to the pool. Nobody ever waits for a trace
 * that has stopped.
 *
 * A trace that stops must still end the slices that are open in it. So for
 * each sequence it is known how many are, behind the last of its blocks that
 * is in the file; and under a size limit, what their ends and the marks of
 * losses will take is set aside: pending is appended only if it leaves room
 * for that as it will be then. The table has a few bytes for a sequence,
 * which has some hundred in the file.
 *
 * The file system gets room ready for what will be appended (fallocate(2),
 * beyond the end: the file's size does not change): then an append takes two
 * thirds of the time in ext4. As much as the file has, 8 MiB at most; what was
 * not used goes back when the file is closed. Whoever kills the collector
 * leaves that with the file.
 *
 * What belongs to no thread (sequence 1: clocks, processes) must come first,
 * and has one of the writers. So a block knows how much was queued there when
 * it was submitted, and its own writer waits for that. The writer of sequence
 * 1 waits for nobody.
 *
 * Locks: "lock" for the pool, the queues and their counts, held for a few
 * instructions (a memcpy in trace_file_append()); "write_lock" for the file,
 * held over a write. A writer takes them one after the other, never nested.
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
#include <unistd.h>

#include "collector/base/lock.h"
#include "collector/base/grow.h"
#include "collector/trace/encode.h"
#include "collector/base/varint.h"
#include "collector/trace/fields.h"
#include "collector/base/log.h"
#include "collector/names/modules.h"
#include "collector/options/limits.h"
#include "collector/trace/out_perfetto.h"
#include "collector/output/own_files.h"
#include "collector/names/sites.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Perfetto's bound of a bundle is 512 KB with all headers. */
#define PENDING_BYTES (500u * 1024)
#define NAMES_AT_ONCE 8

_Static_assert(NAMES_AT_ONCE *OUT_NAME_BYTES <= PENDING_BYTES,
	       "names fit into an empty bundle");
_Static_assert(TRACE_BLOCK_BYTES <= PENDING_BYTES, "so does a block");
/* A busy thread's events are written TRACE_BLOCK_BYTES at a time: a trace that
 * has no room for the first block, and for what ends the trace, shows nothing.
 */
_Static_assert(TRACE_BYTES_MIN >= TRACE_BLOCK_BYTES * 5 / 4,
	       "the smallest trace has room for a block");

/* Sequences in pending at a time; none if it has no bytes. */
#define CHANGES_MAX 256

/* An end at once (see encode.h), and the mark that says why. */
#define END_BYTES 16
#define STOP_MARK_BYTES 64

/* 6 MiB: more only made memory depend on how slow the disk was. */
#define POOL_BLOCKS_MIN 24
#define COMPRESSION_LEVEL 1

/* Room that is made ready at a time; none for small files. */
#define ROOM_BYTES_MIN (1u << 20)
#define ROOM_BYTES_MAX (8u << 20)

struct sequence {
	bool known; /* has a block in the file */
	uint16_t open; /* slices */
};

/* What pending means to one sequence. */
struct change {
	uint32_t sequence;
	int32_t opened;
};

struct writer {
	struct trace_file *file;
	pthread_t thread;

	/* Under file->lock. */
	struct trace_block *head, *tail;
	uint64_t queued, written; /* blocks, ever */
	pthread_cond_t wake;

	/* The writer thread's own. */
	uint64_t taken; /* blocks that are pending or in the file, ever */
	uint64_t after; /* pending comes after so many of the globals' writer */
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
	pthread_cond_t block_free, progress;
	struct trace_block *free; /* last in, first out: warm in the cache */
	bool closing;

	struct lock write_lock;
	int fd;
	uint64_t max_bytes;
	uint64_t bytes; /* stored under write_lock, read by anyone */
	uint64_t room_end; /* of what was made ready; 0: nothing yet */
	bool no_room; /* the file system has none, or cannot do it */
	int stopped; /* likewise */
	bool torn; /* half a packet is at the end */
	struct sequence *sequences; /* by id */
	uint32_t sequence_room, known; /* known: how many are */
	uint64_t open; /* slices of all */

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

/* Writes all of @parts, which it uses up. 0 or -errno. */
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

/* Takes off what a failed write left; O_APPEND goes on from there. Without
 * space to write there still is room to cut; were there not, readers ignore
 * half a packet at the end. */
static void cut_back(struct trace_file *file)
{
	file->torn = ftruncate(file->fd, (off_t)file->bytes) < 0;
	if (file->torn)
		log_warn("cannot cut half a packet off the trace: %s",
			 strerror(errno));
}

/* Makes room ready for @bytes more, if there is not enough. Should that fail,
 * appending does without. */
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

/* Gives back what was not used. That the file cannot be cut where it ends
 * matters to nobody. */
static void give_file_room_back(struct trace_file *file)
{
	if (file->room_end > file->bytes && !file->torn)
		(void)!ftruncate(file->fd, (off_t)file->bytes);
}

/* Puts whole packets at the end, or nothing. 0 or -errno. */
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

static int sequences_grow(struct trace_file *file, uint32_t id)
{
	uint32_t before = file->sequence_room;

	if (grow_array(file->sequences, file->sequence_room, (size_t)id + 1))
		return -ENOMEM;
	memset(file->sequences + before, 0,
	       (file->sequence_room - before) * sizeof(*file->sequences));
	return 0;
}

static uint64_t bytes_set_aside(uint32_t sequences, uint64_t open)
{
	return OUT_LOSSES_BYTES(sequences) +
	       (uint64_t)sequences * STOP_MARK_BYTES + open * END_BYTES;
}

/* May @bytes of pending be appended? 0, TRACE_AT_LIMIT or -errno. */
static int admit_pending(struct writer *writer, uint64_t bytes)
{
	struct trace_file *file = writer->file;
	uint32_t known = file->known;
	uint64_t open = file->open;

	for (unsigned int i = 0; i < writer->change_count; i++) {
		const struct change *change = &writer->changes[i];

		if (change->sequence >= file->sequence_room &&
		    sequences_grow(file, change->sequence) < 0)
			return -ENOMEM;
		known += !file->sequences[change->sequence].known;
		open += (uint64_t)(int64_t)change->opened;
	}
	bytes += bytes_set_aside(known, open);
	return file->max_bytes && bytes > file->max_bytes - file->bytes
		       ? TRACE_AT_LIMIT
		       : 0;
}

/* Pending has been appended. */
static void apply_pending_changes(struct writer *writer)
{
	struct trace_file *file = writer->file;

	for (unsigned int i = 0; i < writer->change_count; i++) {
		const struct change *change = &writer->changes[i];
		struct sequence *sequence = &file->sequences[change->sequence];
		int32_t open = sequence->open + change->opened;

		assert(open >= 0 && open <= TRACE_OPEN_MAX);
		file->known += !sequence->known;
		file->open += (uint64_t)(int64_t)change->opened;
		sequence->known = true;
		sequence->open = (uint16_t)open;
	}
}

/* Ends the slices that are open on sequence @id. 0 or -errno. */
static int end_slices(struct trace_file *file, uint32_t id)
{
	struct sequence *sequence = &file->sequences[id];
	struct out_event mark = { .type = OUT_INSTANT,
				  .sequence = id,
				  .name = file->stopped == TRACE_AT_LIMIT
						  ? "trace stopped: size limit"
						  : "trace stopped: no room" };
	uint8_t packets[STOP_MARK_BYTES + TRACE_OPEN_MAX * END_BYTES +
			ENCODE_EVENT_BYTES];
	struct encoder encoder;

	/* All at the last event: clocks count from there. */
	encoder_init(&encoder, id, 0);
	encoder.out =
		packets + out_perfetto_event(packets, STOP_MARK_BYTES, &mark);
	for (; sequence->open; sequence->open--)
		encode_end(&encoder, 0);

	struct iovec part = { packets, (size_t)(encoder.out - packets) };

	return put_parts(file, &part, 1);
}

static void stop_trace(struct trace_file *file, int err)
{
	/* relaxed: as in put_parts() */
	atom_store_rlx(&file->stopped, err);
	for (uint32_t id = 0; id < file->sequence_room; id++)
		if (file->sequences[id].open && end_slices(file, id) < 0)
			return;
}

/* Appends the pending of @writer, which is @parts; or stops the trace. */
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
	has = sequence < file->sequence_room && file->sequences[sequence].known;
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

static struct writer *writer_of(struct trace_file *file, uint32_t sequence)
{
	return &file->writers[sequence % file->writer_count];
}

/* Pending becomes one packet that holds a zlib stream of all its packets. */
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

static void report_written(struct writer *writer)
{
	struct trace_file *file = writer->file;

	lock_acquire(&file->lock);
	writer->written = writer->taken;
	pthread_cond_broadcast(&file->progress);
	lock_release(&file->lock);
}

/* What must lie before pending is in the file then, unless that stopped. */
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

/* Where @bytes more may be pending. */
static uint8_t *pending_room(struct writer *writer, size_t bytes)
{
	if (PENDING_BYTES - writer->pending_bytes < bytes ||
	    writer->change_count == CHANGES_MAX)
		flush_pending(writer);
	return writer->pending + writer->pending_bytes;
}

/* @block is pending. */
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

/* Site @site has the name @iid. */
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

/* Waits for a block; NULL when the file is being closed and none is left. */
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

/* Returns true when no other block waits. */
static bool give_block_back(struct writer *writer, struct trace_block *block)
{
	struct trace_file *file = writer->file;
	bool last;

	if (block->modules)
		modules_put(&block->modules);
	lock_acquire(&file->lock);
	block->next = file->free;
	file->free = block;
	last = !writer->head;
	pthread_cond_signal(&file->block_free);
	lock_release(&file->lock);
	return last;
}

static void *writer_main(void *context)
{
	struct writer *writer = context;
	struct trace_block *block;

	pthread_setname_np(pthread_self(), "perfrec-writer");
	while ((block = take_block(writer))) {
		write_block(writer, block);
		writer->taken++;
		/* A bundle grows only while there is more to put into it. */
		if (give_block_back(writer, block))
			flush_pending(writer);
		if (!writer->pending_bytes)
			report_written(writer);
	}
	return NULL;
}

/* --- producers --- */

struct trace_block *trace_file_block(struct trace_file *file)
{
	struct trace_block *block;

	lock_acquire(&file->lock);
	while (!file->free)
		lock_wait(&file->lock, &file->block_free);
	block = file->free;
	file->free = block->next;
	lock_release(&file->lock);

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

/* Adds @packet to a block that waits anyway, if one has room. It may be of
 * another sequence: the writer keeps the order of all that it gets. */
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

/* A producer may hold a block while it waits for another one (for a small
 * packet), so there are more than there are producers. */
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
	return 0;
}

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

static int start_writers(struct trace_file *file)
{
	sigset_t all, before;
	int err = 0;

	/* No signal of the collector's may be handled here; and with SIGXFSZ
	 * blocked a write beyond RLIMIT_FSIZE is an error as any other. */
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

/* Takes any state that open_trace_file() leaves behind. */
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
	free(file->sequences);
	if (file->blocks)
		munmap(file->blocks, file->block_count * sizeof(*file->blocks));
	free(file);
}

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
	pthread_cond_init(&file->block_free, NULL);
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
