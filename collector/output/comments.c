/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/comments.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/base/size.h"

#define COUNT_BYTES 256 /* of a comment with a number */
/* Limit of a command's name; keeps its comment within 4,095 bytes. */
#define COMMAND_BYTES 4086

void comments_release(struct comments *comments)
{
	for (size_t i = 0; i < comments->count; i++)
		free(comments->text[i]);
	free(comments->text);
	*comments = (struct comments){ 0 };
}

void comments_add(struct comments *comments, const char *format, ...)
{
	char *text;
	va_list args;
	int length;

	if (grow_array(comments->text, comments->room, comments->count + 1)) {
		comments->failed = true;
		return;
	}
	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		comments->failed = true;
	else
		comments->text[comments->count++] = text;
}

void comments_add_count(struct comments *comments, const char *form,
			uint64_t number)
{
	char digits[SIZE_TEXT], text[COUNT_BYTES];

	if (!number)
		return;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	size_format_text(form, digits, text, sizeof(text));
	comments_add(comments, "%s", text);
}

void comments_add_command(struct comments *comments, char *const *command)
{
	if (command)
		comments_add(comments, "command: %.*s", COMMAND_BYTES,
			     command[0]);
}
