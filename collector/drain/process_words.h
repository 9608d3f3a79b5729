/* SPDX-License-Identifier: Apache-2.0
 *
 * process_words - reads resource attributes of a service from the environment
 * and the container of a process.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_PROCESS_WORDS_H
#define PERFREC_COLLECTOR_DRAIN_PROCESS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct who;

/* Sets the attributes of the variables in @text: @count bytes, each variable
 * ends with NUL. Returns the number of skipped parts of
 * OTEL_RESOURCE_ATTRIBUTES: malformed, too long or too many. Changes @text. Any
 * thread. */
size_t process_words_environment(char *text, size_t count, struct who *who);

/* Sets container.id from @text, the contents of /proc/PID/cgroup, or with
 * @mounts of /proc/PID/mountinfo. Returns false if no line has an id. Any
 * thread. */
bool process_words_container(const char *text, bool mounts, struct who *who);

#endif
