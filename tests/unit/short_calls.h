/* SPDX-License-Identifier: Apache-2.0
 *
 * short_calls - a brute-force model of --min-duration. It takes the text that
 * replay_text.h prints of all calls, with times, and removes each shorter slice
 * that encloses nothing permanent. These stay: longer slices, slices with their
 * own names ("<text"), slices whose end says "note", and all events that are
 * not slices.
 */
#ifndef PERFREC_TESTS_UNIT_SHORT_CALLS_H
#define PERFREC_TESTS_UNIT_SHORT_CALLS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct short_event {
	const char *at; /* e.g. "3:@50(7", of @length bytes */
	size_t length;
	unsigned long track;
	uint64_t ns;
	char kind;
	bool noted;
	bool stays;
	size_t begin; /* index of the matching begin */
};

/* Returns true if an event starts at @text: "@", or a number and ":@". */
static inline bool short_is_event(const char *text)
{
	const char *at = text;

	while (isdigit((unsigned char)*at))
		at++;
	return *text == '@' || (at > text && at[0] == ':' && at[1] == '@');
}

/* Reads the event at @text. Returns the start of the next event. */
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

/* Sets stays of the @count events of one track. @open has room for @count. */
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

/* Returns @text without calls shorter than @min_ns, track by track, as the
 * order between tracks carries no meaning. *@out is the number of removed
 * slices. The caller frees the text. */
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
