/* SPDX-License-Identifier: Apache-2.0
 *
 * short_calls - what --min-duration leaves out of a trace, found by brute
 * force: of the text that replay_text.h makes of all calls, with times, takes
 * away each slice that is shorter and has nothing in it that stays. What stays
 * beside the longer ones: slices with names of their own ("<text"), slices
 * whose end says "note", and all that is no slice.
 */
#ifndef PERFREC_TESTS_UNIT_SHORT_CALLS_H
#define PERFREC_TESTS_UNIT_SHORT_CALLS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct short_event {
	const char *at; /* "3:@50(7", of @length bytes */
	size_t length;
	unsigned long track;
	uint64_t ns;
	char kind; /* "(", "<", "*" or ")" */
	bool noted; /* an end */
	bool stays;
	size_t begin; /* of an end: its begin */
};

/* Whether an event begins at @text: "@", or a number, ":" and that. */
static inline bool short_is_event(const char *text)
{
	const char *at = text;

	while (isdigit((unsigned char)*at))
		at++;
	return *text == '@' || (at > text && at[0] == ':' && at[1] == '@');
}

/* Reads the event at @text. Returns where the next one begins, or the end. */
static inline const char *short_read(const char *text,
				     struct short_event *event)
{
	const char *at = strchr(text, '@');
	char *said;

	*event = (struct short_event){ .at = text };
	event->track = at > text ? strtoul(text, NULL, 10) : 0;
	event->ns = strtoull(at + 1, &said, 10);
	event->kind = strchr("(<*", *said) ? *said : ')';
	event->noted = event->kind == ')' && !strncmp(said, "note", 4);
	for (at = said; *at && (*at != ' ' || !short_is_event(at + 1)); at++)
		;
	event->length = (size_t)(at - text);
	return *at ? at + 1 : at;
}

/* Says of each of the @count events of one track whether it stays. @open has
 * room for as many. */
static inline void short_judge(struct short_event *event, size_t count,
			       unsigned long track, uint64_t min_ns,
			       size_t *open)
{
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		struct short_event *begin;

		if (event[i].track != track)
			continue;
		event[i].stays = true;
		if (event[i].kind == '*' && depth)
			event[open[depth - 1]].stays = true;
		if (event[i].kind == '(' || event[i].kind == '<') {
			event[i].stays = event[i].kind == '<';
			open[depth++] = i;
		}
		if (event[i].kind != ')')
			continue;
		begin = &event[open[--depth]];
		begin->stays |=
			event[i].noted || event[i].ns - begin->ns >= min_ns;
		event[i].stays = begin->stays;
		if (depth && begin->stays)
			event[open[depth - 1]].stays = true;
	}
}

/*
 * What is left of @text without calls shorter than @min_ns; with 0, all of it.
 * One track after the other, as which is written first tells nothing. *@out is
 * how many slices were taken away. The caller frees the text.
 */
static inline char *short_left(const char *text, uint64_t min_ns, size_t *out)
{
	size_t most = strlen(text) / 2 + 1, count = 0, length = 0;
	struct short_event *event = calloc(most, sizeof(*event));
	size_t *open = calloc(most, sizeof(*open));
	char *left = malloc(strlen(text) + 2);
	unsigned long tracks = 0;

	if (!event || !open || !left)
		abort();
	while (*text) {
		text = short_read(text, &event[count]);
		if (event[count].track >= tracks)
			tracks = event[count].track + 1;
		count++;
	}
	*out = 0;
	for (unsigned long track = 0; track < tracks; track++) {
		short_judge(event, count, track, min_ns, open);
		for (size_t i = 0; i < count; i++) {
			if (event[i].track != track)
				continue;
			*out += !event[i].stays && event[i].kind != ')';
			if (!event[i].stays)
				continue;
			memcpy(left + length, event[i].at, event[i].length);
			length += event[i].length;
			left[length++] = ' ';
		}
	}
	left[length] = '\0';
	free(event);
	free(open);
	return left;
}

#endif
