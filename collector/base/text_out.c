/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/text_out.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/base/utf8.h"

void text_out_bytes(const char *text, size_t length, FILE *out)
{
	while (length) {
		size_t bytes = utf8_length(text, length);

		if (!bytes || utf8_steers(text, bytes))
			fputc('?', out);
		else
			fwrite(text, 1, bytes, out);
		bytes = bytes ? bytes : 1;
		text += bytes;
		length -= bytes;
	}
}

void text_out(const char *text, FILE *out)
{
	text_out_bytes(text, strlen(text), out);
}

void text_out_module(const char *path, FILE *out)
{
	if (path[0] == '[') {
		text_out(path, out);
		return;
	}
	fputc('[', out);
	text_out(path_name(path), out);
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

int text_out_finish(void)
{
	bool failed = ferror(stdout);
	int err;

	errno = 0;
	if (!fflush(stdout) && !failed)
		return 0;
	/* The cause of an earlier error is lost, so write once more. */
	if (!errno && (putchar('\n') != EOF && !fflush(stdout)))
		errno = EIO;
	err = errno ? -errno : -EIO;
	log_err("cannot write to stdout: %s", strerror(-err));
	return err;
}
