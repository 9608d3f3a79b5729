/* SPDX-License-Identifier: Apache-2.0
 *
 * tracks - the tracks of one process that belong to no thread: what they are
 * called in the program (a number, or a name), what they are in the trace (a
 * uuid), and that each is described there once. See tracks.c.
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
 * Of the process whose track is @process. @parent (NULL: none) has those of
 * the process that forked it. Descriptors go to @trace, which like @sites and
 * @budget must outlive it. 0 or -ENOMEM.
 */
int tracks_new(uint64_t process, struct tracks *parent, struct sites *sites,
	       struct trace_file *trace, struct budget *budget,
	       struct tracks **out);
struct tracks *tracks_get(struct tracks *tracks);
/* Also for NULL. */
void tracks_put(struct tracks **tracks);

/* The program has made a track at run time, on the thread with track @thread;
 * texts are clean. */
void tracks_define(struct tracks *tracks, uint64_t thread,
		   const struct note_track *told, const char *name,
		   const char *description);
/*
 * The uuid of track @number for an event of @site on that thread: a number of
 * the program's, or TRACK_PROCESS, TRACK_GLOBAL, TRACK_THREAD: the one there
 * that is called as the site. It is described by the time this returns, or,
 * if nobody has told of it yet, in tracks_finish(). 0 if it is one of another
 * @kind, which is counted.
 */
uint64_t tracks_find(struct tracks *tracks, uint64_t thread, uint64_t number,
		     const struct site *site, enum track_kind kind);
/* Another one beside track @uuid that looks as one with it; @lane from 1. */
uint64_t tracks_lane(struct tracks *tracks, uint64_t uuid, uint32_t lane);
/* The track of a counter. */
uint64_t tracks_counter(struct tracks *tracks, uint64_t thread,
			const struct site *site);
/* Where marks of interesting intervals lie. */
uint64_t tracks_marks(struct tracks *tracks);

/* Describes what is left, as well as it is known. */
void tracks_finish(struct tracks *tracks);
struct tracks_counts tracks_counts(struct tracks *tracks);

#endif
