/* SPDX-License-Identifier: Apache-2.0
 *
 * tracks - the tracks of one process that belong to no thread. The program
 * calls a track by a number or a name, the trace by a uuid; each track is
 * described in the trace once. A child process inherits the tracks of its
 * parent. See tracks.c.
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

#define TRACKS_MAX 65536 /* of a process; what comes after shares one */

struct tracks_counts {
	uint64_t overflowed; /* uses of tracks beyond TRACKS_MAX */
	uint64_t odd_tracks; /* told twice and differently, or in a circle;
			      * or used for what is of another kind */
	uint64_t unknown_tracks; /* used, and never told of */
};

/*
 * The tracks of the process whose own track has the uuid @process. @parent has
 * the tracks of the process that forked it, or is NULL; *@out takes a
 * reference. Descriptors go to @trace. @trace, @sites and @budget must outlive
 * it. The caller has one reference. Any thread. 0 or -ENOMEM.
 */
int tracks_new(uint64_t process, struct tracks *parent, struct sites *sites,
	       struct trace_file *trace, struct budget *budget,
	       struct tracks **out);
struct tracks *tracks_get(struct tracks *tracks);
/* Also for NULL. */
void tracks_put(struct tracks **tracks);

/* The program has made a track at run time, as @told says, on the thread whose
 * track has the uuid @thread. @name and @description are clean
 * (symbol_name_clean()). */
void tracks_define(struct tracks *tracks, uint64_t thread,
		   const struct note_track *told, const char *name,
		   const char *description);
/*
 * The uuid of the track on which an event of @site lies, on the thread whose
 * track is @thread. @number is a number that the program has given a track; or
 * TRACK_PROCESS, TRACK_GLOBAL or TRACK_THREAD, which mean the track of the
 * process, of no process or of the thread that is called as @site is. When this
 * returns, the track has been described; if nobody has told of it yet,
 * tracks_finish() describes it. 0 if the track is of another @kind, which is
 * counted.
 */
uint64_t tracks_find(struct tracks *tracks, uint64_t thread, uint64_t number,
		     const struct site *site, enum track_kind kind);
/* The uuid of another track that a viewer draws as one with the track @uuid.
 * @lane is its number, from 1 up. */
uint64_t tracks_lane(struct tracks *tracks, uint64_t uuid, uint32_t lane);
/* The uuid of the track of the counter @site; 0: there is no room for it. */
uint64_t tracks_counter(struct tracks *tracks, uint64_t thread,
			const struct site *site);
/* The uuid of the track on which marks of interesting intervals lie. */
uint64_t tracks_marks(struct tracks *tracks);

/* Describe the tracks that nobody has told of, as well as they are known. When
 * all threads of the process have ended. */
void tracks_finish(struct tracks *tracks);
struct tracks_counts tracks_counts(struct tracks *tracks);

#endif
