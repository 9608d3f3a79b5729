/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate_inner - the functions of struct perfrec_shim_1 outside of
 * annotate.c. perfrec.h describes their arguments. Callable wherever a hook may
 * run.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_ANNOTATE_INNER_H
#define PERFREC_PRELOAD_ANNOTATE_ANNOTATE_INNER_H

#include "preload/perfrec.h"

/* --- annotate_events.c --------------------------------------------------- */

void note_instant(struct perfrec_site *site, struct perfrec_arg *args,
		  size_t count);
void note_mark(struct perfrec_site *site, struct perfrec_arg *args,
	       size_t count);
void note_count(struct perfrec_counter *counter, struct perfrec_arg value,
		const int64_t *at);
uint64_t note_async_begin(struct perfrec_site *site, uint64_t track,
			  uint64_t handle, struct perfrec_arg *args,
			  size_t count);
void note_async_end(struct perfrec_site *site, uint64_t track, uint64_t handle,
		    struct perfrec_arg *args, size_t count);
void note_async_enter(struct perfrec_site *site, uint64_t track,
		      uint64_t handle, struct perfrec_arg *args, size_t count);
void note_async_leave(struct perfrec_site *site, uint64_t track,
		      uint64_t handle, struct perfrec_arg *args, size_t count);
void note_async_instant(struct perfrec_site *site, uint64_t track,
			uint64_t unused, struct perfrec_arg *args,
			size_t count);
void note_state(struct perfrec_site *site, uint64_t track, uint64_t over,
		struct perfrec_arg *args, size_t count);
uint64_t note_track_number(struct perfrec_track *track);
uint64_t note_track_new(uint64_t parent, const char *name, uint32_t flags,
			int32_t rank, const char *description);

/* --- annotate_control.c -------------------------------------------------- */

int note_is_recording(void);
void note_pause(int paused);
int note_flush(void);
void note_name_thread(const char *name);
uint64_t note_local_id(uint64_t id);
void note_trace_id(const uint8_t *trace_id, const uint8_t *span_id);
void note_traceparent(const char *text);

#endif
