/* SPDX-License-Identifier: Apache-2.0
 *
 * tracks - the tracks of one process that belong to no thread. The program
 * identifies a track by a number or a name, the trace by a uuid. Each track is
 * described in the trace once. A child process inherits the tracks of its
 * parent.
 */
#ifndef PERFREC_COLLECTOR_RECORD_TRACKS_H
#define PERFREC_COLLECTOR_RECORD_TRACKS_H

#include <stdint.h>

#include "shared/record_ext.h"
#include "shared/site_shm.h"

struct budget;
struct site;
struct sites;
struct trace_file;
struct tracks; /* reference counted; any thread */

#define TRACKS_MAX 65536 /* per process; all further ones share one */

struct tracks_counts {
	uint64_t overflowed; /* uses of tracks beyond TRACKS_MAX */
	/* Defined twice and differently, or in a circle; or used for events of
	 * another kind. */
	uint64_t odd_tracks;
	uint64_t unknown_tracks; /* used, but never defined */
};

/*
 * Makes the tracks of the process whose own track has the uuid @process.
 * @parent has the tracks of the process that forked it, or is NULL; *@out takes
 * a reference. Descriptors go to @trace. @trace, @sites and @budget must
 * outlive it. The caller gets one reference. Any thread. Returns 0 or -ENOMEM.
 */
int tracks_new(uint64_t process, struct tracks *parent, struct sites *sites,
	       struct trace_file *trace, struct budget *budget,
	       struct tracks **out);
struct tracks *tracks_get(struct tracks *tracks);
/* Accepts NULL. */
void tracks_put(struct tracks **tracks);

/* Defines a track that the program made at run time, from @told, on the thread
 * whose track has the uuid @thread. @name and @description are clean
 * (symbol_name_clean()). */
void tracks_define(struct tracks *tracks, uint64_t thread,
		   const struct note_track *told, const char *name,
		   const char *description);
/*
 * Returns the uuid of the track for an event of @site, on the thread whose
 * track is @thread. @number is a track number of the program; or TRACK_PROCESS,
 * TRACK_GLOBAL or TRACK_THREAD: the track named like @site of the process, of
 * no process or of the thread. The track is described by then, or, if the
 * program has not defined it yet, by tracks_finish(). Returns 0, and counts it,
 * if the track has another @kind.
 */
uint64_t tracks_find(struct tracks *tracks, uint64_t thread, uint64_t number,
		     const struct site *site, enum track_kind kind);
/* Returns the uuid of lane @lane (from 1 up) of track @uuid: viewers draw both
 * as one track. */
uint64_t tracks_lane(struct tracks *tracks, uint64_t uuid, uint32_t lane);
/* Returns the uuid of the track of the counter @site, or 0 without room. */
uint64_t tracks_counter(struct tracks *tracks, uint64_t thread,
			const struct site *site);
/* Returns the uuid of the track for marks of interesting intervals. */
uint64_t tracks_marks(struct tracks *tracks);

/* Describes the tracks that the program never defined. After all threads of the
 * process have ended. */
void tracks_finish(struct tracks *tracks);
struct tracks_counts tracks_counts(struct tracks *tracks);

#endif
