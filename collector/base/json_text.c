/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/json_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/put.h"
#include "collector/base/utf8.h"
#include "shared/compiler.h"

/* --- memory -------------------------------------------------------------- */

static _Thread_local bool t_lacked;

static void *allocate(size_t bytes)
{
	void *block = malloc(bytes);

	t_lacked |= !block;
	return block;
}

/* A constructor, because jansson has one allocator for all threads and must get
 * it before threads exist. */
__attribute__((constructor)) static void take_over_memory(void)
{
	json_set_alloc_funcs(allocate, free);
}

void json_text_watch(void)
{
	t_lacked = false;
}

bool json_text_lacked(void)
{
	return t_lacked;
}

/* --- texts --------------------------------------------------------------- */

json_t *json_text(const char *text)
{
	json_t *json = json_string(text);
	char *clean = json ? NULL : strdup(text);

	t_lacked |= !json && !clean;
	if (!clean)
		return json;
	utf8_copy(clean, clean, strlen(clean));
	json = json_string(clean);
	free(clean);
	return json;
}

json_t *json_number(uint64_t value)
{
	return json_integer((json_int_t)MIN(value, (uint64_t)INT64_MAX));
}

/* Returns the length of the character at @text if it steers a terminal, else 0.
 * jansson has already escaped ASCII control characters except DEL; line ends
 * and blanks lie between texts. */
static size_t steering_bytes(const char *text, size_t left)
{
	size_t length;

	if ((unsigned char)text[0] < 0x7f)
		return 0;
	length = utf8_length(text, left);
	return length && utf8_steers(text, length) ? length : 0;
}

/* Writes a piece of a dump, which consists of whole characters. Returns 0 or
 * -1. Unlocked, because there are many pieces and one thread. */
static int write_piece(const char *text, size_t size, void *to)
{
	FILE *out = to;
	size_t written = 0;

	for (size_t at = 0; at < size; at++) {
		size_t length = steering_bytes(text + at, size - at);

		if (!length)
			continue;
		fwrite_unlocked(text + written, 1, at - written, out);
		put_json_escape(utf8_point(text + at, length), out);
		written = at + length;
		at = written - 1;
	}
	fwrite_unlocked(text + written, 1, size - written, out);
	return ferror_unlocked(out) ? -1 : 0;
}

int json_text_write(const json_t *json, size_t flags, FILE *out)
{
	return json_dump_callback(json, write_piece, out, flags);
}

int json_text_write_fd(const json_t *json, int fd)
{
	FILE *file = fdopen(fd, "w");
	int err = 0;

	if (!file) {
		err = -errno;
		close(fd);
		return err;
	}
	errno = EIO;
	if (json_text_write(json, JSON_INDENT(1), file) < 0 ||
	    fputc('\n', file) == EOF)
		err = -errno;
	if (fclose(file) && !err)
		err = -errno;
	return err;
}

int json_text_print(json_t *json, FILE *out)
{
	int err = 0;

	if (!json)
		return -ENOMEM;
	if (json_text_write(json, JSON_INDENT(1), out) < 0 ||
	    fputc('\n', out) == EOF || fflush(out))
		err = -EIO;
	json_decref(json);
	return err;
}
