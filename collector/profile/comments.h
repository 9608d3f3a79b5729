/* SPDX-License-Identifier: Apache-2.0
 *
 * comments - the comments of a profile: sentences about the whole file, which
 * `pprof -comments` and `perfrec report` show.
 */
#ifndef PERFREC_COLLECTOR_PROFILE_COMMENTS_H
#define PERFREC_COLLECTOR_PROFILE_COMMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: none. One thread at a time. */
struct comments {
	char **text;
	size_t count, room;
	bool failed; /* there was no memory for one of them */
};

void comments_release(struct comments *comments);

/* Adds a comment. */
void comments_add(struct comments *comments, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a comment about @number things, if there are any. @form is as
 * size_format_text() takes it: "# {span was|spans were} lost". */
void comments_add_count(struct comments *comments, const char *form,
			uint64_t number);
/* Adds which command was recorded; @command is its arguments, NULL: none. */
void comments_add_command(struct comments *comments, char *const *command);

#endif
