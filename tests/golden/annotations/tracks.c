/* SPDX-License-Identifier: Apache-2.0
 *
 * tracks - a tree of them, in each order, static and made at run time; states.
 */
#include "preload/perfrec.h"

PERFREC_TRACK_WITH(root, "root", NULL, PERFREC_GLOBAL | PERFREC_BY_RANK, 0,
		   "what all lies below");
PERFREC_TRACK_WITH(second, "second", &root, PERFREC_LEXICOGRAPHIC, 2, "");
PERFREC_TRACK_WITH(first, "first", &root, PERFREC_CHRONOLOGICAL, -1, "");
PERFREC_TRACK(alone, "alone", &second, PERFREC_NO_MERGE);
PERFREC_TRACK(mine, "mine", NULL, PERFREC_OF_THREAD);
PERFREC_STATE_TRACK(power, "power", NULL, 0);

static void slice(struct perfrec_track *track, uint64_t handle)
{
	PERFREC_ASYNC_BEGIN(track, handle, "work");
	PERFREC_ASYNC_END(track, handle, "work");
}

int main(void)
{
	uint64_t made, below;

	slice(&root, 1);
	slice(&second, 2);
	slice(&first, 3);
	slice(&alone, 4);
	slice(&mine, 5);
	made = PERFREC_TRACK_NEW(&first, "made", 0, 7, "at run time");
	below = PERFREC_TRACK_NEW(made, "below", 0, 0, "");
	PERFREC_ASYNC_INSTANT(below, "here");
	PERFREC_STATE(&power, "on", "volts", 5);
	PERFREC_STATE(&power, "idle");
	PERFREC_STATE_END(&power);
	PERFREC_MARK("here it begins");
	return 0;
}
