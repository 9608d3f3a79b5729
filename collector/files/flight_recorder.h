/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_recorder - decides when a recording with --flight needs a snapshot,
 * and writes it.
 *
 * flight_recorder_next() and _note() are for the main thread, _write() for one
 * thread at a time, and _finish() for the thread that finishes the recording,
 * after all others.
 */
#ifndef PERFREC_COLLECTOR_FILES_FLIGHT_RECORDER_H
#define PERFREC_COLLECTOR_FILES_FLIGHT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/record/flight_folder.h"
#include "collector/record/flight_windows.h"

struct jobs;
struct recording;

/* A window that is being written, or was. */
struct flight_written {
	struct flight_window window;
	bool drained; /* the caller has waited until it was */
	int err; /* 0: the snapshot is on the disk */
	char name[FLIGHT_NAME_BYTES]; /* of its folder, if so */
};

/* Reads the triggers of @recording so far. Returns true if a snapshot is due at
 * @now_ns; the caller then drains the rings up to there, and calls
 * flight_recorder_next() with the same time. */
bool flight_recorder_is_due(struct recording *recording, uint64_t now_ns);
/* Reads the triggers since then, which may extend the snapshot that was due.
 * Returns true if it is still due, and sets @out to it; the caller has it
 * written. */
bool flight_recorder_next(struct recording *recording, uint64_t now_ns,
			  struct flight_written *out);
/* The rings were read up to @ns; and up to when they were, at least. */
void flight_recorder_was_read(struct recording *recording, uint64_t ns);
uint64_t flight_recorder_read_ns(struct recording *recording);
/* The thread for writing; NULL: it could not be started. Main thread, after
 * flight_recorder_next(). */
struct jobs *flight_recorder_jobs(struct recording *recording);
/* Writes the snapshot of @now->window, sets the rest of *@now, and logs the
 * result. Waits for the disk. */
void flight_recorder_write(struct recording *recording,
			   struct flight_written *now);
/* Remembers @now, for flight_recorder_find(). */
void flight_recorder_note(struct recording *recording,
			  const struct flight_written *now);
/* Sets the result of the newest window that contains @ns. Returns false if none
 * was written or failed. Main thread. */
bool flight_recorder_find(struct recording *recording, uint64_t ns,
			  struct flight_written *out);

/* Writes the remaining snapshots, and ends the thread. Works without any
 * trigger as well.
 */
void flight_recorder_finish(struct recording *recording);

struct flight_recorder_sums {
	struct flight_folder_sums folder;
	uint64_t triggers; /* that came */
	uint64_t lost; /* triggers without a snapshot */
	uint64_t unwritten; /* snapshots that could not be written */
	uint64_t memory_bytes; /* what the trace takes that is kept */
	uint64_t kept_ns; /* how long a stretch of time that is. Both are 0
			   * when the trace was closed */
};
/* All zero without --flight. After flight_recorder_finish(), or on the main
 * thread while nothing is written. */
struct flight_recorder_sums flight_recorder_sums(struct recording *recording);
/* The same on the main thread at any time: a snapshot counts from its
 * flight_recorder_note() on. */
struct flight_recorder_sums flight_recorder_seen(struct recording *recording);
/* Returns the name of snapshot number @at on the disk. */
const char *flight_recorder_name(struct recording *recording, uint32_t at);
/* Frees all. */
void flight_recorder_forget(struct recording *recording);

#endif
