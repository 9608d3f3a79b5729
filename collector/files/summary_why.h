/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_why - why.json of a snapshot of the flight recorder: what has
 * triggered it, which stretch of time it is of, and what of that is missing.
 * docs/FLIGHT.md lists the members.
 */
#ifndef PERFREC_COLLECTOR_FILES_SUMMARY_WHY_H
#define PERFREC_COLLECTOR_FILES_SUMMARY_WHY_H

#include <stdbool.h>

#include "collector/record/flight_windows.h"
#include "collector/record/flight_write.h"

struct flight_draft;

/* A snapshot that is written except for this file. */
struct flight_taken {
	const struct flight_window *window;
	const struct flight_result *result;
	const char *of; /* the folder of the recording */
	bool drained; /* all records of the window were read */
};

#define FLIGHT_SENTENCE_BYTES 512

/* Sets @text to why there is @window, for people: "parse took 12.3 ms". Returns
 * @text. Any thread. */
const char *summary_why_say(const struct flight_window *window,
			    char text[FLIGHT_SENTENCE_BYTES]);
/* Writes the file into the folder of @draft. 0 or -errno. Any thread. */
int summary_why_write(const struct flight_taken *taken,
		      const struct flight_draft *draft);

#endif
