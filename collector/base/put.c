/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/put.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "collector/base/utf8.h"

#define DIGITS 20 /* of 2^64 */

void put_bytes(const char *bytes, size_t count, FILE *out)
{
	fwrite_unlocked(bytes, 1, count, out);
}

void put_text(const char *text, FILE *out)
{
	put_bytes(text, strlen(text), out);
}

void put_char(char c, FILE *out)
{
	putc_unlocked(c, out);
}

void put_count(uint64_t number, FILE *out)
{
	char digits[DIGITS];
	size_t at = DIGITS;

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put_bytes(digits + at, DIGITS - at, out);
}

void put_int(int64_t number, FILE *out)
{
	if (number < 0)
		put_char('-', out);
	put_count(number < 0 ? -(uint64_t)number : (uint64_t)number, out);
}

void put_thousandth(uint64_t number, FILE *out)
{
	unsigned int rest = (unsigned int)(number % 1000);
	char digits[4] = { '.', (char)('0' + rest / 100),
			   (char)('0' + rest / 10 % 10),
			   (char)('0' + rest % 10) };
	size_t count = 4;

	put_count(number / 1000, out);
	while (count > 1 && digits[count - 1] == '0')
		count--;
	if (count > 1)
		put_bytes(digits, count, out);
}

/* --- text of unknown origin --- */

/* The number of the character of @bytes bytes at @text, which is valid. */
static uint32_t code_of(const unsigned char *text, size_t bytes)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = text[0] & masks[bytes];

	for (size_t i = 1; i < bytes; i++)
		code = code << 6 | (text[i] & 0x3f);
	return code;
}

/* Whether a terminal takes it for a command, an editor for a line end, or
 * either for a change of direction. */
static bool is_unseen(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
	       code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

size_t put_next(const char *text, size_t left, bool *seen)
{
	size_t bytes = utf8_length(text, left);

	*seen = bytes &&
		!is_unseen(code_of((const unsigned char *)text, bytes));
	return bytes ? bytes : 1;
}

/* What stands for @c in @instead; 0: nothing. */
static char find_instead(const char *instead, char c)
{
	for (; instead && *instead; instead += 2)
		if (*instead == c)
			return instead[1];
	return 0;
}

void put_line(const char *text, size_t count, const char *instead, FILE *out)
{
	while (count) {
		bool seen;
		size_t bytes = put_next(text, count, &seen);
		char other = find_instead(instead, *text);

		if (!seen)
			put_char('?', out);
		else if (other)
			put_char(other, out);
		else
			put_bytes(text, bytes, out);
		text += bytes;
		count -= bytes;
	}
}

/* --- JSON --- */

static void put_json_character(const char *text, size_t bytes, FILE *out)
{
	uint32_t code = code_of((const unsigned char *)text, bytes);

	if (code == '"' || code == '\\')
		put_char('\\', out);
	if (code == '\n')
		put_text("\\n", out);
	else if (code == '\t')
		put_text("\\t", out);
	else if (is_unseen(code))
		fprintf(out, "\\u%04x", (unsigned int)code);
	else
		put_bytes(text, bytes, out);
}

/* How many of the @count bytes at @text need no thought. */
static size_t plain_bytes(const char *text, size_t count)
{
	size_t i = 0;

	while (i < count && text[i] >= 0x20 && text[i] < 0x7f &&
	       text[i] != '"' && text[i] != '\\')
		i++;
	return i;
}

void put_json(const char *text, size_t count, FILE *out)
{
	put_char('"', out);
	while (count) {
		size_t bytes = plain_bytes(text, count);

		if (bytes) {
			put_bytes(text, bytes, out);
		} else {
			bytes = utf8_length(text, count);
			if (bytes)
				put_json_character(text, bytes, out);
			else
				put_char('?', out);
			bytes += !bytes;
		}
		text += bytes;
		count -= bytes;
	}
	put_char('"', out);
}

void put_json_text(const char *text, FILE *out)
{
	put_json(text, strlen(text), out);
}

void put_json_real(double real, FILE *out)
{
	if (isfinite(real))
		fprintf(out, "%.17g", real);
	else
		put_text("null", out);
}
