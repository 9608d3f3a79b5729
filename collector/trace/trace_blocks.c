/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_blocks - the blocks that producers fill: a pool, and extra blocks when
 * it is empty. See the top of trace_file.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "collector/names/modules.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* About 5 MiB. With more blocks the memory in use would only depend on the
 * speed of the disk. */
#define POOL_BLOCKS_MIN 24
/* About 27 MiB. Samples and values create no blocks beyond this. */
#define EXTRA_BLOCKS_MAX 128
/* A trace lags while the pool has fewer free blocks. */
#define POOL_BLOCKS_LEAST 4

int trace_blocks_make(struct trace_file *file, unsigned int producers)
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

bool trace_file_lags(struct trace_file *file)
{
	/* relaxed: a hint; extra blocks cover the rest */
	return atom_load_rlx(&file->free_count) < POOL_BLOCKS_LEAST;
}

bool trace_file_admits(struct trace_file *file)
{
	/* relaxed: a hint; a few blocks more do no harm */
	if (atom_load_rlx(&file->extra_count) < EXTRA_BLOCKS_MAX)
		return true;
	trace_file_leave_out(file);
	return false;
}

void trace_file_leave_out(struct trace_file *file)
{
	/* relaxed: a figure for a person */
	atom_add_rlx(&file->left_out, 1);
}

uint64_t trace_file_left_out(struct trace_file *file)
{
	/* relaxed: a figure for a person */
	return atom_load_rlx(&file->left_out);
}

static struct trace_block *take_from_pool(struct trace_file *file)
{
	struct trace_block *block;

	lock_acquire(&file->lock);
	block = file->free;
	if (block) {
		file->free = block->next;
		/* relaxed: as in trace_block_give_back() */
		atom_store_rlx(&file->free_count, file->free_count - 1);
	}
	lock_release(&file->lock);
	return block;
}

/* Returns a new block outside of the pool. A lack of memory is temporary, so
 * there is no better way than to try again. */
static struct trace_block *make_extra_block(struct trace_file *file)
{
	const struct timespec pause = { 0, 1000000 };
	struct trace_block *block = NULL;

	while (!block) {
		block = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block != MAP_FAILED) {
			lock_acquire(&file->lock);
			/* relaxed: as in trace_block_give_back() */
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
	block->bytes = block->own_bytes = 0;
	block->compact = block->packets = false;
	block->ended = block->late = false;
	block->opened = 0;
	block->first_ns = block->last_ns = 0;
	block->index = NULL;
	block->index_bytes = 0;
	return block;
}

void trace_block_give_back(struct trace_file *file, struct trace_block *block)
{
	if (block->modules)
		modules_put(&block->modules);
	free(block->index);
	if (block < file->blocks || block >= file->blocks + file->block_count) {
		/* It was made while the pool was empty. */
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
	lock_release(&file->lock);
}
