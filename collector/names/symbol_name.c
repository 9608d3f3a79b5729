/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/symbol_name.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collector/base/utf8.h"
#include "collector/names/elf_functions.h"

/*
 * libiberty refuses mangled names of more than 1,024 bytes unless its limit
 * on recursion is lifted; names of templates are often longer. Without the
 * limit the stack grows with the length, so there has to be another one.
 */
#define MANGLED_BYTES_SAFE 1024
#define MANGLED_BYTES_MAX 4096

struct sink {
	char *out;
	size_t used;
	bool is_full;
	jmp_buf full;
};

/*
 * A name of 500 bytes can stand for gigabytes, since each part may refer to
 * an earlier one twice. The demangler cannot be told to stop, so this jumps
 * out of it; in callback form it holds next to nothing on the heap.
 */
static void sink_write(const char *text, size_t length, void *context)
{
	struct sink *sink = context;
	size_t room = SYMBOL_NAME_BYTES - 1 - sink->used;

	if (length > room) {
		length = room;
		sink->is_full = true;
	}
	memcpy(sink->out + sink->used, text, length);
	sink->used += length;
	if (sink->is_full)
		longjmp(sink->full, 1);
}

static bool is_mangled_name(const char *raw)
{
	return raw[0] == '_' && raw[1] && strchr("ZRG", raw[1]);
}

/* Marks a name that did not fit, without leaving half a character. */
static size_t mark_cut_name(char *out)
{
	size_t end = SYMBOL_NAME_BYTES - 4;

	while (end && ((unsigned char)out[end] & 0xc0) == 0x80)
		end--;
	memcpy(out + end, "...", 4);
	return end + 3;
}

/* Fills @sink; false when @raw is no mangled name after all. */
static bool expand_mangled(const char *raw, int limit, struct sink *sink)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(sink->full))
		return true;
	/* Rust first: its older scheme looks like C++ with a hash at the end */
	if (rust_demangle_callback(raw, options, sink_write, sink))
		return true;
	sink->used = 0;
	return cplus_demangle_v3_callback(raw, options | limit, sink_write,
					  sink);
}

/* Returns the length of what it wrote to @out, 0 for no mangled name. */
static size_t demangle(const char *raw, char *out)
{
	struct sink sink = { .out = out };
	size_t length = strnlen(raw, MANGLED_BYTES_MAX + 1);
	int limit = length > MANGLED_BYTES_SAFE ? DMGL_NO_RECURSE_LIMIT : 0;

	if (!is_mangled_name(raw) || length > MANGLED_BYTES_MAX ||
	    !expand_mangled(raw, limit, &sink))
		return 0;
	if (sink.is_full)
		return mark_cut_name(out);
	out[sink.used] = '\0';
	return strlen(out);
}

/* Whether a terminal takes the character at @text for a command: U+0080 to
 * U+009F are as good as ESC [. */
static bool is_control(const char *text)
{
	unsigned char first = (unsigned char)text[0];

	return first < 0x20 || first == 0x7f ||
	       (first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

size_t symbol_name_clean(char *text)
{
	size_t left = strlen(text), replaced = 0;

	while (left) {
		size_t length = utf8_plain_bytes(text, left);
		bool plain = length;

		if (!plain)
			length = utf8_length(text, left);
		if (!plain && (!length || is_control(text))) {
			*text = '?';
			replaced++;
			length = 1;
		}
		text += length;
		left -= length;
	}
	return replaced;
}

static size_t copy_clean(const char *raw, char *out)
{
	size_t length = strnlen(raw, SYMBOL_NAME_BYTES);
	char *version;

	if (length == SYMBOL_NAME_BYTES) {
		memcpy(out, raw, SYMBOL_NAME_BYTES - 1);
		return mark_cut_name(out);
	}
	memcpy(out, raw, length + 1);
	version = length ? strchr(out + 1, '@') : NULL;
	if (version) {
		*version = '\0';
		length = (size_t)(version - out);
	}
	return length;
}

static size_t make_plain(const char *raw, char out[SYMBOL_NAME_BYTES])
{
	size_t length = demangle(raw, out);

	if (!length)
		length = copy_clean(raw, out);
	if (!length) {
		memcpy(out, "?", 2);
		return 1;
	}
	symbol_name_clean(out);
	return length;
}

size_t symbol_name_make(const char *raw, char out[SYMBOL_NAME_BYTES])
{
	static const char mark[] = ELF_STUB_MARK;
	const size_t mark_bytes = sizeof(mark) - 1;
	size_t raw_bytes = strnlen(raw, SYMBOL_NAME_BYTES), length;
	char function[SYMBOL_NAME_BYTES];

	if (raw_bytes <= mark_bytes || raw_bytes == SYMBOL_NAME_BYTES ||
	    strcmp(raw + raw_bytes - mark_bytes, mark))
		return make_plain(raw, out);
	memcpy(function, raw, raw_bytes - mark_bytes);
	function[raw_bytes - mark_bytes] = '\0';
	length = make_plain(function, out);
	if (length + sizeof(mark) > SYMBOL_NAME_BYTES)
		return length;
	memcpy(out + length, mark, sizeof(mark));
	return length + mark_bytes;
}
