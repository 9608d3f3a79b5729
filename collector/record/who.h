/* SPDX-License-Identifier: Apache-2.0
 *
 * who - the resource attributes of a recorded program: service.name, host.name,
 * container.id and others, by OpenTelemetry's names. drain/process_who.c reads
 * them; writers get them by who_json().
 */
#ifndef PERFREC_COLLECTOR_RECORD_WHO_H
#define PERFREC_COLLECTOR_RECORD_WHO_H

struct comments;
struct json_t;
struct recording;
struct who; /* attributes.h */

/*
 * Returns the attributes of @recording as a new JSON object of strings, which
 * the caller owns. With several programs, the first that names its service
 * wins; if none does, the first of all. service.name is always set. Takes the
 * recording's lock, and may block on the file of the program: for threads that
 * may wait, such as the jobs thread.
 */
struct json_t *who_json(struct recording *recording);

/* Adds the command of @recording to @comments, and the service if a program
 * names one. Any thread; takes the recording's lock. */
void who_comment(struct recording *recording, struct comments *comments);

/* Passes *@who to @recording, and sets it to NULL. Any thread; takes the
 * recording's lock. */
void who_tell(struct recording *recording, struct who **who);

#endif
