/* SPDX-License-Identifier: Apache-2.0
 *
 * cut_pack - threads that compress the bundles of a cut, which come out in the
 * order in which they went in. One thread puts and takes.
 */
#ifndef PERFREC_COLLECTOR_CUT_CUT_PACK_H
#define PERFREC_COLLECTOR_CUT_CUT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUT_COMPRESSION_LEVEL 1 /* as of a recording */

struct bytes;
struct cut_pack;

/* Starts a thread for each CPU, but not more than four, with the nice value and
 * the signal mask of the caller. Bundles have at most @most bytes. 0: the
 * caller ends *@out by cut_pack_free(); or -errno. */
int cut_pack_new(size_t most, struct cut_pack **out);
/* Ends the threads. What was not taken is lost. @pack may be NULL; it is set to
 * NULL. */
void cut_pack_free(struct cut_pack **pack);

struct cut_packed {
	const uint8_t *at; /* a zlib stream */
	size_t bytes; /* 0: it could not be made */
};

/* Takes the oldest bundle out, if it is done; waits for it if there is no room
 * for one more, or if @all. Its bytes are valid until the next call. Returns
 * whether there was one. */
bool cut_pack_take(struct cut_pack *pack, bool all, struct cut_packed *out);
/* Puts @bundle in, which becomes empty. There is room: cut_pack_take() has
 * returned false. */
void cut_pack_put(struct cut_pack *pack, struct bytes *bundle);

#endif
