/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_writers - the threads that take blocks from their queues and append
 * them. See the top of trace_file.c.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "collector/base/pulse.h"
#include "collector/base/thread_nice.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/atomic.h"

struct writer *trace_writer_of(struct trace_file *file, uint32_t sequence)
{
	return &file->writers[sequence % file->writer_count];
}

void trace_writer_report(struct writer *writer)
{
	struct trace_file *file = writer->file;

	lock_acquire(&file->lock);
	writer->written = writer->taken;
	pthread_cond_broadcast(&file->progress);
	lock_release(&file->lock);
}

void trace_writer_wait_for_globals(struct writer *writer)
{
	struct trace_file *file = writer->file;
	struct writer *globals = trace_writer_of(file, 1);

	if (writer == globals)
		return;
	lock_acquire(&file->lock);
	while (globals->written < writer->after)
		lock_wait(&file->lock, &file->progress);
	lock_release(&file->lock);
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

static void *writer_main(void *context)
{
	struct writer *writer = context;
	struct trace_block *block;

	pthread_setname_np(pthread_self(), "perfrec-writer");
	while ((block = take_block(writer))) {
		/* relaxed: it stands for nothing else */
		thread_nice_raise(atom_load_rlx(&writer->file->nice));
		pulse_begin("writes a trace and the names in it");
		trace_bundle_write(writer, block);
		pulse_end();
		writer->taken++;
		/* Pending grows only as long as more blocks wait. */
		if (trace_block_give_back(writer, block))
			trace_bundle_flush(writer);
		if (!writer->pending_bytes)
			trace_writer_report(writer);
	}
	return NULL;
}

int trace_writers_start(struct trace_file *file)
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

void trace_writers_stop(struct trace_file *file)
{
	lock_acquire(&file->lock);
	file->closing = true;
	for (unsigned int i = 0; i < file->writers_running; i++)
		pthread_cond_signal(&file->writers[i].wake);
	lock_release(&file->lock);
	for (unsigned int i = 0; i < file->writers_running; i++)
		pthread_join(file->writers[i].thread, NULL);
}
