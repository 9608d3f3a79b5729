/* SPDX-License-Identifier: Apache-2.0
 *
 * index_tracks - the lasting state of a part of the trace outside of threads:
 * open slices, last values and states, and the running thread of each CPU. The
 * index stores it with each extent (INDEX_REST and so on in
 * trace/index_items.h), so a reader may skip the extent without losing state.
 *
 * Memory is bounded. If some state does not fit, the index is marked and
 * readers read the trace. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_TRACE_INDEX_TRACKS_H
#define PERFREC_COLLECTOR_TRACE_INDEX_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_file;
struct wire;
struct index_tracks;

/* Returns 0, and the caller frees *@out with index_tracks_free(); or
 * -ENOMEM. */
int index_tracks_new(struct index_tracks **out);
/* Frees *@tracks, which may be NULL, and clears it. */
void index_tracks_free(struct index_tracks **tracks);

void index_tracks_describe(struct index_tracks *tracks, struct wire descriptor);
/* Returns true if the event, the fields of a TrackEvent, is on a track of
 * waits. */
bool index_tracks_is_wait(struct index_tracks *tracks, struct wire event);
/* Takes an event at @ns that names its track: the fields of the TrackEvent, and
 * its whole packet, the @bytes at @packet. */
void index_tracks_event(struct index_tracks *tracks, uint64_t ns,
			struct wire event, const void *packet, size_t bytes);
/* Takes the time of a packet without lasting state, such as a sample. */
void index_tracks_sample(struct index_tracks *tracks, uint64_t ns);
void index_tracks_switches(struct index_tracks *tracks, uint32_t sequence,
			   struct wire bundle);

/* Writes the rest of the curves of counters, after the last packet. */
void index_tracks_end(struct index_tracks *tracks, struct index_file *file);

/* Writes the lasting state at the end of an extent, as index_file_set_more()
 * requires; @context is the struct index_tracks. */
void index_tracks_put(void *context, struct index_file *file);

#endif
