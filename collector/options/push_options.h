/* SPDX-License-Identifier: Apache-2.0
 *
 * push_options - --push and its other options, for perfrec record and
 * perfrec-collect. For a process of one thread, at its start.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_PUSH_OPTIONS_H
#define PERFREC_COLLECTOR_OPTIONS_PUSH_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct opts_value;

struct push_options {
	const char **urls; /* checked, without any credentials */
	size_t url_count; /* 0: nothing is pushed */
	uint64_t interval_ns, spool_bytes;
	const char *auth; /* a file; NULL: none */
	const char *first; /* the option beside --push; NULL: none */
	uint32_t otlp_version; /* 0: not said */
	bool quiet; /* nothing is said if all was sent */
};

/* Names of the variables that can hold credentials of perfrec-push, ended by
 * NULL. */
extern const char *const push_options_secrets[];

/* Returns true if @value belongs to one of these options. */
bool push_options_has(const struct opts_value *value);
/* Stores @value of one of the options of push_options_has(). Copies URLs of the
 * environment and never frees them. OPTS_GO_ON, or OPTS_WRONG after one line in
 * the log, which leaves passwords out. */
int push_options_take(struct push_options *options,
		      const struct opts_value *value);
/* After all options, before anything is recorded: rejects contradictions, and
 * lets perfrec-push check the rest. OPTS_GO_ON; or OPTS_WRONG, or OPTS_FAILED
 * without perfrec-push, after one line in the log. */
int push_options_check(const struct push_options *options);

/* Finds perfrec-push. 0; or -errno after one line in the log. */
int push_options_find(char path[PATH_MAX]);
/* Makes the command line of perfrec-push at @path. If @spool is NULL,
 * perfrec-push checks the settings and ends. Every user can read a command
 * line, so it contains no secret. The words are those of @options and static
 * ones; the caller frees the array. NULL: no memory. */
char **push_options_command(const struct push_options *options,
			    const char *path, const char *spool);

#endif
