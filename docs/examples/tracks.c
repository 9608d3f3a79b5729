/* SPDX-License-Identifier: Apache-2.0
 *
 * tracks - trees of tracks: the three orders of child tracks, siblings with
 * one name, and tracks made at run time.
 */
#include <perfrec.h>

PERFREC_TRACK(g_ranked, "by rank", NULL, PERFREC_BY_RANK);
PERFREC_TRACK_WITH(g_second, "second", &g_ranked, 0, 2, "rank 2");
PERFREC_TRACK_WITH(g_first, "first", &g_ranked, 0, 1, "rank 1");
PERFREC_TRACK(g_named, "by name", NULL, PERFREC_LEXICOGRAPHIC);
PERFREC_TRACK(g_timed, "by time", NULL, PERFREC_CHRONOLOGICAL);
PERFREC_TRACK(g_twin_a, "twin", &g_timed, PERFREC_NO_MERGE);
PERFREC_TRACK(g_global, "of no process", NULL, PERFREC_GLOBAL);

static void slice(uint64_t track)
{
	PERFREC_ASYNC_END(track, PERFREC_ASYNC_BEGIN(track, 0, "slice"),
			  "slice");
}

int main(void)
{
	static const char *const name[] = { "zebra", "ant" };
	int i;

	PERFREC_SCOPE("main");
	slice(perfrec_track_number(&g_second));
	slice(perfrec_track_number(&g_first));
	for (i = 0; i < 2; i++)
		slice(PERFREC_TRACK_NEW(&g_named, name[i], 0, 0, NULL));
	slice(perfrec_track_number(&g_twin_a));
	slice(PERFREC_TRACK_NEW(&g_timed, "twin", PERFREC_NO_MERGE, 0, NULL));
	slice(perfrec_track_number(&g_global));
	slice(PERFREC_TRACK_NEW(PERFREC_THREAD_TRACK, "of this thread", 0, 0,
				NULL));
	return 0;
}
