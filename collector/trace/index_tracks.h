/* SPDX-License-Identifier: Apache-2.0
 *
 * index_tracks - what the packets of a stretch of the trace leave behind, as
 * far as they are no thread's own: slices that are open, last values and
 * states, and who is on which CPU. The index tells it with each extent
 * (INDEX_REST and so on in index/index_items.h), so that a reader who passes
 * over the extent knows as much as one who has read it.
 *
 * Memory is bounded: when there is too much to be kept, the index says so, and
 * readers read the trace. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_TRACE_INDEX_TRACKS_H
#define PERFREC_COLLECTOR_TRACE_INDEX_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_file;
struct index_get;
struct index_tracks;

/* 0: the caller ends *@out by index_tracks_free(); or -ENOMEM. */
int index_tracks_new(struct index_tracks **out);
/* Frees *@tracks, which may be NULL, and clears it. */
void index_tracks_free(struct index_tracks **tracks);

/* The fields of a TrackDescriptor. */
void index_tracks_describe(struct index_tracks *tracks,
			   struct index_get descriptor);
/* Whether the event, the fields of a TrackEvent, is on a track of waits. */
bool index_tracks_is_wait(struct index_tracks *tracks, struct index_get event);
/* An event at @ns, which names its track: the fields of the TrackEvent, and the
 * @bytes at @packet, which is all of the packet. */
void index_tracks_event(struct index_tracks *tracks, uint64_t ns,
			struct index_get event, const void *packet,
			size_t bytes);
/* Something at @ns that leaves nothing behind, such as a sample. */
void index_tracks_sample(struct index_tracks *tracks, uint64_t ns);
/* An FtraceEventBundle on @sequence. */
void index_tracks_switches(struct index_tracks *tracks, uint32_t sequence,
			   struct index_get bundle);

/* No packets follow: tells what is left of the curves of counters. */
void index_tracks_end(struct index_tracks *tracks, struct index_file *file);

/* An extent ends: tells what was left behind. As index_file_set_more() has it;
 * @context is the struct index_tracks. */
void index_tracks_put(void *context, struct index_file *file);

#endif
