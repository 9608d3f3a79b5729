/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_writers - the threads that take blocks from the queue and append them.
 * See the top of trace_file.c.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "collector/base/log.h"
#include "collector/base/pulse.h"
#include "collector/base/thread_nice.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* With this much in the queue one more writer starts a run. With less, bundles
 * would only be smaller. */
#define QUEUE_BYTES_ENOUGH (TRACE_BLOCK_BYTES * 2 / 3)
/* Estimated bytes of a name in pending. If the names of a bundle take more, it
 * becomes two bundles. */
#define NAME_BYTES_ABOUT 100

static const char writes[] = "writes a trace and the names in it";

/* Returns true if an idle writer should take blocks. lock held. */
static bool may_take(const struct trace_file *file)
{
	return file->head && (!file->busy || file->closing ||
			      file->queue_bytes >= QUEUE_BYTES_ENOUGH);
}

void trace_writers_queue_grew(struct trace_file *file, size_t bytes)
{
	file->queue_bytes += bytes;
	if (may_take(file))
		pthread_cond_signal(&file->work);
}

/* Takes blocks for one bundle, or one block without compression, from the
 * queue, which is not empty. lock held. */
static struct trace_block *take_blocks(struct writer *writer)
{
	struct trace_file *file = writer->file;
	struct trace_block *first = file->head, *last;
	size_t bytes = 0;

	writer->compress = file->compressing;
	do {
		last = file->head;
		file->head = last->next;
		writer->run++;
		file->queue_bytes -= last->bytes;
		bytes += last->bytes + last->name_count * NAME_BYTES_ABOUT;
	} while (writer->compress && file->head && writer->run < PLACES_MAX &&
		 bytes + file->head->bytes +
				 file->head->name_count * NAME_BYTES_ABOUT <=
			 PENDING_BYTES);
	last->next = NULL;
	return first;
}

/* Waits for blocks and starts a run. Returns NULL once the file is closing and
 * the queue is empty. */
static struct trace_block *begin_run(struct writer *writer)
{
	struct trace_file *file = writer->file;
	struct trace_block *blocks = NULL;

	lock_acquire(&file->lock);
	while (!may_take(file) && !(file->closing && !file->head))
		lock_wait(&file->lock, &file->work);
	if (file->head) {
		blocks = take_blocks(writer);
		writer->first = file->taken;
		file->taken += writer->run;
		file->busy++;
		writer->has_turn = writer->first == file->written;
		if (may_take(file))
			pthread_cond_signal(&file->work);
	}
	lock_release(&file->lock);
	return blocks;
}

void trace_writer_await_turn(struct writer *writer)
{
	struct trace_file *file = writer->file;

	if (writer->has_turn)
		return;
	pulse_end();
	lock_acquire(&file->lock);
	while (file->written != writer->first)
		lock_wait(&file->lock, &writer->turn);
	lock_release(&file->lock);
	writer->has_turn = true;
	pulse_begin(writes);
}

static void write_run(struct writer *writer, struct trace_block *blocks)
{
	while (blocks) {
		struct trace_block *next = blocks->next;

		trace_bundle_write(writer, blocks);
		trace_block_give_back(writer->file, blocks);
		blocks = next;
	}
	trace_bundle_flush(writer);
	/* If nothing was appended, the turn was not awaited yet. */
	trace_writer_await_turn(writer);
}

static void *writer_main(void *context);

/* Returns 0 or -errno. The new thread inherits the signal mask. */
static int start_writer(struct trace_file *file)
{
	struct writer *writer = &file->writers[file->writers_running];
	int err = -pthread_create(&writer->thread, NULL, writer_main, writer);

	file->writers_running += !err;
	return err;
}

/* Compresses the trace from now on, with as many writers as memory and threads
 * allow. Without memory for @writer, the only one so far, the trace is never
 * compressed. */
static void start_compressing(struct writer *writer)
{
	struct trace_file *file = writer->file;

	if (trace_bundle_init(writer, true)) {
		file->when = COMPRESS_OFF;
		log_dbg("no memory to compress a trace");
		return;
	}
	lock_acquire(&file->lock);
	file->compressing = true;
	lock_release(&file->lock);
	while (file->writers_running < file->writer_count)
		if (trace_bundle_init(&file->writers[file->writers_running],
				      true) ||
		    start_writer(file))
			break;
}

static void *writer_main(void *context)
{
	struct writer *writer = context;
	struct trace_block *blocks;

	pthread_setname_np(pthread_self(), "perfrec-writer");
	while ((blocks = begin_run(writer))) {
		struct trace_file *file;

		/* relaxed: independent of other data */
		thread_nice_raise(atom_load_rlx(&writer->file->nice));
		pulse_begin(writes);
		write_run(writer, blocks);
		pulse_end();
		if (!writer->compress && trace_compress_is_due(writer->file))
			start_compressing(writer);
		/* All blocks of the run are in the file or dropped. */
		file = writer->file;
		lock_acquire(&file->lock);
		file->written += writer->run;
		writer->run = 0;
		file->busy--;
		for (unsigned int i = 0; i < file->writer_count; i++) {
			struct writer *other = &file->writers[i];

			if (other->run && other->first == file->written)
				pthread_cond_signal(&other->turn);
		}
		pthread_cond_broadcast(&file->progress);
		lock_release(&file->lock);
	}
	return NULL;
}

int trace_writers_start(struct trace_file *file)
{
	unsigned int count = file->compressing ? file->writer_count : 1;
	sigset_t all, before;
	int err = 0;

	/* Writers must not handle the signals of the collector. With SIGXFSZ
	 * blocked, a write beyond RLIMIT_FSIZE is an ordinary error. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!err && file->writers_running < count)
		err = start_writer(file);
	file->started = file->writers_running > 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

void trace_writers_stop(struct trace_file *file)
{
	lock_acquire(&file->lock);
	file->closing = true;
	pthread_cond_broadcast(&file->work);
	lock_release(&file->lock);
	if (!file->started)
		return;
	/* The first writer may start others, but not after it has ended. */
	pthread_join(file->writers[0].thread, NULL);
	for (unsigned int i = 1; i < file->writers_running; i++)
		pthread_join(file->writers[i].thread, NULL);
}
