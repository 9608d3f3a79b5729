/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/symbol_name.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/utf8.h"
#include "collector/names/elf_functions.h"
#include "shared/hash.h"

/* libiberty rejects mangled names above 1,024 bytes unless its recursion limit
 * is off; template names are often longer. Then the stack grows with the
 * length, so another limit is needed. */
#define MANGLED_BYTES_SAFE 1024
#define MANGLED_BYTES_MAX 4096
/* Shown bytes of longer mangled names, which nobody can read. */
#define MANGLED_BYTES_SHOWN 256
/* Demangler output for one shortened name. */
#define FOLDED_BYTES_MAX (256u << 10)
/* Bytes read of a symbol. */
#define RAW_BYTES_MAX (16u << 10)

/* Keeps cut names distinct. */
#define HASH_FORMAT " #%08x"
#define HASH_BYTES 10 /* without the NUL */
#define TEXT_BYTES (SYMBOL_NAME_BYTES - 1 - HASH_BYTES)

/* See name_coroutine(). */
static const char g_frame[] = ".Frame.";

struct sink {
	char *out;
	size_t used, room;
	bool is_folding; /* template arguments become "..." */
	size_t left; /* while folding */
	size_t angles, parens; /* open ones; parens: inside the first angle */
	char before;
	bool is_full;
	jmp_buf full;
};

static void put_plain(struct sink *sink, const char *text, size_t length)
{
	size_t room = sink->room - sink->used;

	if (length > room) {
		length = room;
		sink->is_full = true;
	}
	memcpy(sink->out + sink->used, text, length);
	sink->used += length;
	if (sink->is_full)
		longjmp(sink->full, 1);
}

/* Checks for "operator<" and "operator<<" before the '<' just written. */
static bool is_operator_name(const struct sink *sink)
{
	static const char word[] = "operator";
	const size_t bytes = sizeof(word) - 1;
	size_t end = sink->used;

	while (end && sink->out[end - 1] == '<')
		end--;
	return end >= bytes && sink->used - end <= 2 &&
	       !memcmp(sink->out + end - bytes, word, bytes);
}

/* Angles inside parentheses may be operators, and types are complete there. */
static void fold_character(struct sink *sink, char c)
{
	if (!sink->angles) {
		put_plain(sink, &c, 1);
		if (c == '<' && !is_operator_name(sink)) {
			put_plain(sink, "...", 3);
			sink->angles = 1;
		}
	} else if (c == '(') {
		sink->parens++;
	} else if (c == ')') {
		sink->parens -= sink->parens > 0;
	} else if (c == '<' && !sink->parens) {
		sink->angles++;
	} else if (c == '>' && !sink->parens && sink->before != '-' &&
		   !--sink->angles) {
		put_plain(sink, &c, 1);
	}
	sink->before = c;
}

/* A name of 500 bytes can expand to gigabytes, since parts may refer to earlier
 * parts twice. The demangler cannot stop, so this jumps out; in callback form
 * it has almost no heap memory. */
static void sink_write(const char *text, size_t length, void *context)
{
	struct sink *sink = context;

	if (!sink->is_folding) {
		put_plain(sink, text, length);
		return;
	}
	if (length > sink->left) {
		sink->is_full = true;
		longjmp(sink->full, 1);
	}
	sink->left -= length;
	for (size_t i = 0; i < length; i++)
		fold_character(sink, text[i]);
}

static bool is_mangled_name(const char *raw)
{
	return raw[0] == '_' && raw[1] && strchr("ZRG", raw[1]);
}

/* Appends @cut and the hash of @raw, at a character boundary. Returns the
 * length. */
static size_t end_by_hash(char *out, size_t used, const char *cut,
			  const char *raw, size_t bytes)
{
	uint32_t hash = (uint32_t)hash_bytes(HASH_START, raw, bytes);

	if (used > TEXT_BYTES - strlen(cut))
		used = TEXT_BYTES - strlen(cut);
	while (used && ((unsigned char)out[used] & 0xc0) == 0x80)
		used--;
	return used + (size_t)snprintf(out + used, SYMBOL_NAME_BYTES - used,
				       "%s" HASH_FORMAT, cut, hash);
}

static bool expand_mangled(const char *raw, int limit, struct sink *sink)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	const size_t left = sink->left;

	if (setjmp(sink->full))
		return true;
	/* Rust first: its older scheme looks like C++ with a hash at the end */
	if (rust_demangle_callback(raw, options, sink_write, sink))
		return true;
	sink->used = 0;
	sink->left = left;
	sink->angles = sink->parens = 0;
	return cplus_demangle_v3_callback(raw, options | limit, sink_write,
					  sink);
}

/* gcc names the running part of a coroutine
 * NAME(PARAMETERS::RAMP.Frame*).actor, where RAMP is the coroutine's mangled
 * name. Rewrites it to RAMP.actor; likewise ".destroy". */
static void name_coroutine(char *raw)
{
	char *frame = strstr(raw, g_frame), *number = raw, *ramp;

	if (!frame)
		return;
	while ((number = strpbrk(number, "0123456789")) && number < frame) {
		size_t length = strtoul(number, &ramp, 10);
		const char *type_end = frame + sizeof(g_frame) - 2;

		if (!strncmp(ramp, "_Z", 2) &&
		    length == (size_t)(type_end - ramp)) {
			memmove(raw, ramp, (size_t)(frame - ramp));
			raw += frame - ramp;
			memmove(raw, type_end, strlen(type_end) + 1);
			return;
		}
		number = ramp;
	}
}

static size_t demangle(const char *raw, size_t bytes, char *out)
{
	struct sink sink = { .out = out, .room = SYMBOL_NAME_BYTES - 1 };
	int limit = bytes > MANGLED_BYTES_SAFE ? DMGL_NO_RECURSE_LIMIT : 0;
	char text[MANGLED_BYTES_MAX + 1];

	if (!is_mangled_name(raw) || bytes > MANGLED_BYTES_MAX)
		return 0;
	memcpy(text, raw, bytes);
	text[bytes] = '\0';
	name_coroutine(text);
	if (!expand_mangled(text, limit, &sink))
		return 0;
	if (sink.is_full) {
		sink = (struct sink){ .out = out,
				      .room = TEXT_BYTES,
				      .is_folding = true,
				      .left = FOLDED_BYTES_MAX };
		expand_mangled(text, limit, &sink);
		return end_by_hash(out, sink.used, sink.is_full ? "..." : "",
				   raw, bytes);
	}
	out[sink.used] = '\0';
	return strlen(out);
}

size_t symbol_name_clean(char *text)
{
	size_t left = strlen(text), replaced = 0;

	while (left) {
		const unsigned char *bytes = (const unsigned char *)text;
		size_t length = utf8_plain_bytes(text, left);
		bool plain = length;

		if (!plain)
			length = utf8_length(text, left);
		/* Terminals treat U+0080 to U+009F like ESC [. */
		if (!plain && (!length || bytes[0] < 0x20 || bytes[0] == 0x7f ||
			       (bytes[0] == 0xc2 && bytes[1] < 0xa0))) {
			*text = '?';
			replaced++;
			length = 1;
		}
		text += length;
		left -= length;
	}
	return replaced;
}

static size_t copy_plain_name(const char *raw, size_t bytes, char *out)
{
	size_t most = is_mangled_name(raw) && bytes > MANGLED_BYTES_MAX
			      ? MANGLED_BYTES_SHOWN
			      : SYMBOL_NAME_BYTES - 1;
	char *version;

	memcpy(out, raw, bytes < most ? bytes : most);
	if (bytes > most)
		return end_by_hash(out, most, "...", raw, bytes);
	out[bytes] = '\0';
	version = bytes ? strchr(out + 1, '@') : NULL;
	if (version)
		*version = '\0';
	return version ? (size_t)(version - out) : bytes;
}

static size_t make_plain(const char *raw, size_t bytes,
			 char out[SYMBOL_NAME_BYTES])
{
	size_t length = demangle(raw, bytes, out);

	if (!length)
		length = copy_plain_name(raw, bytes, out);
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
	size_t bytes = strnlen(raw, RAW_BYTES_MAX), length;
	const char *mark_at = memchr(raw, ELF_FILE_MARK, bytes);
	size_t file_bytes;

	if (mark_at) {
		length = make_plain(raw, (size_t)(mark_at - raw), out);
		file_bytes = strnlen(mark_at + 1, SYMBOL_NAME_BYTES);
		if (length + file_bytes + sizeof(" ()") > SYMBOL_NAME_BYTES)
			return length;
		snprintf(out + length, SYMBOL_NAME_BYTES - length, " (%s)",
			 mark_at + 1);
		symbol_name_clean(out + length);
		return length + file_bytes + sizeof(" ()") - 1;
	}
	if (bytes <= mark_bytes || raw[bytes] ||
	    strcmp(raw + bytes - mark_bytes, mark) != 0)
		return make_plain(raw, bytes, out);
	length = make_plain(raw, bytes - mark_bytes, out);
	if (length + sizeof(mark) > SYMBOL_NAME_BYTES)
		return length;
	memcpy(out + length, mark, sizeof(mark));
	return length + mark_bytes;
}
