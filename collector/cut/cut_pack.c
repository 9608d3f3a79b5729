/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_pack - a ring of slots. The thread of a slot is fixed, so that each
 * thread has one compressor.
 */
#include "collector/cut/cut_pack.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "shared/compiler.h"

#define THREADS_MOST 4
#define SLOTS_A_THREAD 3

struct slot {
	struct job job;
	struct cut_pack *pack;
	struct libdeflate_compressor *compressor;
	struct bytes bundle;
	uint8_t *packed;
	size_t bytes;
	bool done;
};

struct cut_pack {
	struct lock lock;
	pthread_cond_t change;
	unsigned int threads, slots;
	struct jobs *jobs[THREADS_MOST];
	struct libdeflate_compressor *compressors[THREADS_MOST];
	size_t packed_room;
	uint64_t put, taken; /* numbers of bundles; of the owner */
	struct slot slot[THREADS_MOST * SLOTS_A_THREAD];
};

static struct slot *slot_of(struct cut_pack *pack, uint64_t number)
{
	return &pack->slot[number % pack->slots];
}

static void pack_slot(struct job *job)
{
	struct slot *slot = (struct slot *)job;
	struct cut_pack *pack = slot->pack;

	slot->bytes = libdeflate_zlib_compress(
		slot->compressor, slot->bundle.at, slot->bundle.count,
		slot->packed, pack->packed_room);
	lock_acquire(&pack->lock);
	slot->done = true;
	pthread_cond_signal(&pack->change);
	lock_release(&pack->lock);
}

static int start_packer(struct cut_pack *pack, unsigned int at, size_t most)
{
	struct libdeflate_compressor *compressor =
		libdeflate_alloc_compressor(CUT_COMPRESSION_LEVEL);

	if (!compressor)
		return -ENOMEM;
	pack->compressors[at] = compressor;
	pack->packed_room = libdeflate_zlib_compress_bound(compressor, most);
	for (unsigned int i = at; i < pack->slots; i += pack->threads) {
		struct slot *slot = &pack->slot[i];

		slot->job.run = pack_slot;
		slot->pack = pack;
		slot->compressor = compressor;
		slot->packed = malloc(pack->packed_room);
		if (!slot->packed)
			return -ENOMEM;
	}
	return jobs_new("perfrec-pack", NULL, &pack->jobs[at]);
}

int cut_pack_new(size_t most, struct cut_pack **out)
{
	struct cut_pack *pack = calloc(1, sizeof(*pack));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int err = 0;

	if (!pack)
		return -ENOMEM;
	lock_init(&pack->lock, LOCK_CUT_PACK);
	pthread_cond_init(&pack->change, NULL);
	pack->threads = (unsigned int)MIN(MAX(cpus, 1), THREADS_MOST);
	pack->slots = pack->threads * SLOTS_A_THREAD;
	for (unsigned int i = 0; i < pack->threads && !err; i++)
		err = start_packer(pack, i, most);
	if (err)
		cut_pack_free(&pack);
	*out = pack;
	return err;
}

void cut_pack_free(struct cut_pack **pack)
{
	struct cut_pack *old = *pack;

	*pack = NULL;
	if (!old)
		return;
	for (unsigned int i = 0; i < old->threads; i++)
		jobs_free(&old->jobs[i]);
	for (unsigned int i = 0; i < old->slots; i++) {
		bytes_release(&old->slot[i].bundle);
		free(old->slot[i].packed);
	}
	for (unsigned int i = 0; i < old->threads; i++)
		if (old->compressors[i])
			libdeflate_free_compressor(old->compressors[i]);
	pthread_cond_destroy(&old->change);
	lock_destroy(&old->lock);
	free(old);
}

bool cut_pack_take(struct cut_pack *pack, bool all, struct cut_packed *out)
{
	bool waits = all || pack->put - pack->taken == pack->slots, done;
	struct slot *slot = slot_of(pack, pack->taken);

	if (pack->put == pack->taken)
		return false;
	lock_acquire(&pack->lock);
	while (waits && !slot->done)
		lock_wait(&pack->lock, &pack->change);
	done = slot->done;
	lock_release(&pack->lock);
	if (!done)
		return false;
	*out = (struct cut_packed){ slot->packed, slot->bytes };
	pack->taken++;
	return true;
}

void cut_pack_put(struct cut_pack *pack, struct bytes *bundle)
{
	uint64_t number = pack->put++;
	struct slot *slot = slot_of(pack, number);
	struct bytes empty = slot->bundle;

	bytes_clear(&empty);
	slot->bundle = *bundle;
	slot->done = false;
	*bundle = empty;
	jobs_post(pack->jobs[number % pack->threads], &slot->job);
}
