/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/samples/wait_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/utf8.h"
#include "shared/compiler.h"

static void clean_wait_text(char *text)
{
	size_t left = strlen(text), length;

	utf8_copy(text, text, left);
	for (; left; text += length, left -= length) {
		length = MAX(utf8_length(text, left), 1u);
		if (utf8_steers(text, length))
			memset(text, '?', length);
	}
}

void wait_text_object(char out[WAIT_TEXT_BYTES], const char *kind,
		      const char *name)
{
	/* For "[KIND NAME]" and a NUL. */
	const size_t room = WAIT_TEXT_BYTES - MIN(strlen(kind), 32u) - 4;
	const char *more = "";
	size_t length = strlen(name);

	if (length > room) {
		more = "...";
		name += length - (room - strlen(more));
	}
	snprintf(out, WAIT_TEXT_BYTES, "[%.32s%s%s%s]", kind, *name ? " " : "",
		 more, name);
	clean_wait_text(out);
}

void wait_text_format(char out[WAIT_TEXT_BYTES], const char *kind,
		      const char *format, ...)
{
	char name[WAIT_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	wait_text_object(out, kind, name);
}

void wait_text_add(char object[WAIT_TEXT_BYTES], const char *word,
		   const char *peer)
{
	char name[2 * WAIT_TEXT_BYTES], kind[33];
	size_t length = strcspn(object, " ]");

	/* Without "[" and "]". */
	snprintf(kind, sizeof(kind), "%.*s", (int)MAX(length, 1u) - 1,
		 object + 1);
	snprintf(name, sizeof(name), "%.*s %s %.64s",
		 (int)(strlen(object) - MIN(strlen(object), length + 2)),
		 object + MIN(strlen(object), length + 1), word, peer);
	wait_text_object(object, kind, name);
}
