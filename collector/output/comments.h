/* SPDX-License-Identifier: Apache-2.0
 *
 * comments - the comments of a profile: sentences about the entire file, shown
 * by `pprof -comments` and `perfrec report`.
 */
#ifndef PERFREC_COLLECTOR_OUTPUT_COMMENTS_H
#define PERFREC_COLLECTOR_OUTPUT_COMMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: none. One thread at a time. */
struct comments {
	char **text;
	size_t count, room;
	bool failed; /* out of memory */
};

void comments_release(struct comments *comments);

void comments_add(struct comments *comments, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a comment about @number things unless @number is 0. @form as in
 * size_format_text(): "# {span was|spans were} lost". */
void comments_add_count(struct comments *comments, const char *form,
			uint64_t number);
/* Adds the recorded command. @command: its arguments; may be NULL. */
void comments_add_command(struct comments *comments, char *const *command);

#endif
