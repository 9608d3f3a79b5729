/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_pack - threads that compress the bundles of a cut. Bundles come out in
 * their order of going in. One thread puts and takes.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_PACK_H
#define PERFREC_COLLECTOR_CUT_CUT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUT_COMPRESSION_LEVEL 1 /* as for recordings */

struct bytes;
struct cut_pack;

/* Starts a thread for each CPU, at most four, with the nice value and the
 * signal mask of the caller. Bundles have at most @most bytes. Returns 0 or
 * -errno. The caller ends *@out with cut_pack_free(). */
int cut_pack_new(size_t most, struct cut_pack **out);
/* Ends the threads, drops the remaining bundles, and clears *@pack, which may
 * be NULL. */
void cut_pack_free(struct cut_pack **pack);

struct cut_packed {
	const uint8_t *at; /* a zlib stream */
	size_t bytes; /* 0: compression failed */
};

/* Takes the oldest bundle out if it is done. Waits for it if all slots are in
 * use, or if @all. Its bytes are valid until the next call. Returns false if
 * there is no bundle to take. */
bool cut_pack_take(struct cut_pack *pack, bool all, struct cut_packed *out);
/* Puts @bundle in and empties it. cut_pack_take() must have returned false, so
 * that there is room. */
void cut_pack_put(struct cut_pack *pack, struct bytes *bundle);

#endif
