/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/text_out.h"

#include <stdbool.h>
#include <string.h>

void text_out_bytes(const char *text, size_t length, FILE *out)
{
	for (; length; length--, text++) {
		unsigned char c = (unsigned char)*text;
		/* U+0080 to U+009F steer terminals too. */
		bool c1 = c == 0xc2 && length > 1 &&
			  ((unsigned char)text[1] & 0xe0) == 0x80;

		fputc(c < 0x20 || c == 0x7f || c1 ? '?' : c, out);
		if (c1) {
			text++;
			length--;
		}
	}
}

void text_out(const char *text, FILE *out)
{
	text_out_bytes(text, strlen(text), out);
}

void text_out_module(const char *path, FILE *out)
{
	const char *slash = strrchr(path, '/');

	if (path[0] == '[') {
		text_out(path, out);
		return;
	}
	fputc('[', out);
	text_out(slash ? slash + 1 : path, out);
	fputc(']', out);
}

void text_out_quoted(const char *word, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	if (word[0] && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (;;) {
		size_t length = strcspn(word, "'");

		text_out_bytes(word, length, out);
		word += length;
		if (!*word++)
			break;
		fputs("'\\''", out);
	}
	fputc('\'', out);
}
