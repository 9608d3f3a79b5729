/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/ring/words.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "preload/core/gate.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "shared/compiler.h"

#define CELL sizeof(struct record)
#define PAGE HOOK_PAGE_BYTES
/* Offset of xmm0 in the area of xsave, and bytes for each register there. */
#define XSAVE_XMM 160
#define XSAVE_XMM_BYTES 16

struct text {
	uint8_t bytes[WORD_TEXT_MAX + 1];
	struct word_text head;
};

/* --- memory that may be unreadable ---------------------------------------- */

/* Copies up to @bytes, less than a page, at @from. Returns how many could be
 * read, or -errno. */
static long read_own_memory(void *to, uint64_t from, size_t bytes)
{
	const size_t first = MIN(PAGE - from % PAGE, bytes);
	const struct iovec local = { to, bytes };
	/* The kernel stops before the first unreadable element. */
	const struct iovec remote[2] = {
		{ (void *)(uintptr_t)from, first },
		{ (void *)(uintptr_t)(from + first), bytes - first },
	};

	return sys(SYS_process_vm_readv, g_shim.pid, &local, 1, remote,
		   first < bytes ? 2 : 1, 0);
}

static enum word_text_state failure_of(long got)
{
	return got >= 0 || got == -EFAULT ? WORD_TEXT_BAD : WORD_TEXT_UNREAD;
}

static void read_chars(uint64_t from, struct text *out)
{
	long got = read_own_memory(out->bytes, from, sizeof(out->bytes));
	size_t length = 0;

	while ((long)length < got && out->bytes[length])
		length++;
	if ((long)length < got) {
		out->head.length = length;
	} else if (got == (long)sizeof(out->bytes)) {
		out->head.state = WORD_TEXT_CUT;
		length = WORD_TEXT_MAX;
	} else {
		out->head.state = (uint8_t)failure_of(got);
		length = 0;
	}
	out->head.bytes = (uint16_t)length;
}

static void read_counted(uint64_t from, uint64_t length, struct text *out)
{
	const size_t bytes = (size_t)MIN(length, (uint64_t)WORD_TEXT_MAX);
	long got = bytes ? read_own_memory(out->bytes, from, bytes) : 0;

	out->head.length = length;
	if (got != (long)bytes) {
		out->head.state = (uint8_t)failure_of(got);
		return;
	}
	out->head.bytes = (uint16_t)bytes;
	if (length > bytes)
		out->head.state = WORD_TEXT_CUT;
}

static void read_std_string(uint64_t object, struct text *out)
{
	uint64_t parts[2] = { 0, 0 }; /* address, length */
	long got = read_own_memory(parts, object, sizeof(parts));

	if (got == (long)sizeof(parts))
		read_counted(parts[0], parts[1], out);
	else
		out->head.state = (uint8_t)failure_of(got);
}

/* @next: the word behind @value. */
static void read_word_text(enum thunk_text kind, uint64_t value, uint64_t next,
			   struct text *out)
{
	out->head = (struct word_text){ .state = WORD_TEXT_WHOLE };
	if (kind == THUNK_TEXT_VIEW)
		read_counted(next, value, out);
	else if (!value)
		out->head.state = WORD_TEXT_NULL;
	else if (kind == THUNK_TEXT_STRING)
		read_std_string(value, out);
	else
		read_chars(value, out);
}

/* --- registers ------------------------------------------------------------ */

/* The hook has pushed them below the return address of the function:
 * moved_begin and entry_general in hook_x86_64.S. */
enum saved_register {
	SAVED_RAX = -4,
	SAVED_RCX = -5,
	SAVED_RDX = -6,
	SAVED_RDI = -7,
	SAVED_R8 = -8,
	SAVED_R9 = -9,
	SAVED_RSI = -11,
};

static uint64_t saved_register(const struct words_call *call,
			       enum saved_register at)
{
	return ((const uint64_t *)call->sp)[at];
}

static uint64_t vector_register(const struct words_call *call, uint32_t number)
{
	uint64_t low;

	memcpy(&low, call->vectors + XSAVE_XMM + number * XSAVE_XMM_BYTES,
	       sizeof(low));
	return low;
}

/* Reads @count words above the return address, 0 where there is no stack: a
 * signature may be wrong. */
static void read_stack_words(const struct words_call *call, uint32_t count,
			     uint64_t *out)
{
	const uint64_t from = call->sp + 8, bytes = count * sizeof(*out);

	/* The return address may be the last word that can be read. */
	if (call->sp / PAGE == (from + bytes - 1) / PAGE)
		memcpy(out, (const void *)from, bytes);
	else if (read_own_memory(out, from, bytes) != (long)bytes)
		memset(out, 0, bytes);
}

static uint32_t collect_entry_words(const struct words_call *call,
				    uint64_t out[THUNK_WORDS_MAX])
{
	static const int8_t registers[THUNK_WORDS_REGISTERS] = {
		SAVED_RDI, SAVED_RSI, SAVED_RDX, SAVED_RCX, SAVED_R8, SAVED_R9,
	};
	uint32_t count = MIN(thunk_words_count(call->words->texts),
			     THUNK_WORDS_MAX),
		 at;

	for (at = 0; at < MIN(count, THUNK_WORDS_REGISTERS); at++)
		out[at] = saved_register(call, registers[at]);
	for (; at < MIN(count, THUNK_WORDS_ALL); at++)
		out[at] = vector_register(call, at - THUNK_WORDS_REGISTERS);
	if (at < count)
		read_stack_words(call, count - at, out + at);
	return count;
}

/* --- the run -------------------------------------------------------------- */

static void add_word_text(struct words_run *run, enum thunk_text kind,
			  uint32_t word, uint64_t value, uint64_t next)
{
	struct record *to = &run->cells[run->run.count];
	struct text text;
	size_t cells;

	memset(text.bytes, 0, sizeof(text.bytes));
	read_word_text(kind, value, next, &text);
	text.head.word = (uint8_t)word;
	memcpy(to, &text.head, CELL);
	cells = (text.head.bytes + CELL - 1) / CELL;
	memcpy(to + 1, text.bytes, cells * CELL);
	run->run.count += 1 + cells;
}

/* Texts of an entry with the @count words. */
static void add_entry_texts(struct words_run *run, uint64_t texts,
			    const uint64_t *words, uint32_t count)
{
	uint32_t added = 0;

	for (uint32_t i = 0; i < count && added < THUNK_TEXTS_MAX; i++) {
		enum thunk_text kind = thunk_words_text(texts, i);

		if (kind == THUNK_TEXT_NONE ||
		    (kind == THUNK_TEXT_VIEW && i + 1 == count))
			continue;
		add_word_text(run, kind, i, words[i],
			      kind == THUNK_TEXT_VIEW ? words[i + 1] : 0);
		added++;
	}
}

static void add_result_text(struct words_run *run,
			    const struct words_call *call, uint64_t value)
{
	enum thunk_text kind = thunk_words_result(call->words->texts);

	if (kind != THUNK_TEXT_NONE)
		add_word_text(run, kind, 0, value,
			      saved_register(call, SAVED_RDX));
}

bool words_collect(const struct words_call *call, uint64_t word,
		   struct words_run *out)
{
	/* One load: the collector may write it. */
	const uint64_t head =
		call->is_exit ? call->words->exit : call->words->entry;
	uint64_t words[THUNK_WORDS_MAX] = { 0 };
	uint32_t count = THUNK_WORDS_EXIT;

	if (record_kind(head) != RECORD_EXT || record_ext(head) != EXT_WORDS ||
	    g_shim.no_syscalls)
		return false;
	if (call->is_exit) {
		words[0] = saved_register(call, SAVED_RAX);
		words[1] = vector_register(call, 0);
	} else {
		count = collect_entry_words(call, words) & ~1u;
	}
	out->run =
		(struct put_run){ .cells = out->cells, .count = 1 + count / 2 };
	memcpy(out->cells + 1, words, count / 2 * CELL);
	if (call->is_exit)
		add_result_text(out, call, words[0]);
	else
		add_entry_texts(out, call->words->texts, words, count);
	out->cells[0] =
		(struct record){ record_ext_word(EXT_WORDS,
						 (uint32_t)out->run.count - 1,
						 record_ext_value(head), 0),
				 0 };
	out->run.stamp = out->run.count;
	out->cells[out->run.count++] = (struct record){ word, 0 };
	return out->run.count <= record_run_max((uint32_t)t_thread.mask + 1);
}
