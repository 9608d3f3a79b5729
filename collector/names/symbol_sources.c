/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/symbol_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/names/elf_functions.h"
#include "collector/names/symbol_name.h"
#include "collector/names/symbolize_wire.h"
#include "collector/names/text_store.h"

/* Limit per file: absurd debug information must not fill the shared store. */
#define SOURCES_BYTES_MAX (64ull << 20)

struct answer {
	struct symbol_sources *sources;
	const struct symbol_sources_asker *asker;
	const uint64_t *vaddr;
	struct known_source *known;
	size_t at; /* address of frames */
	size_t frame_count;
	struct source_frame frames[SYMBOLIZE_FRAMES_MAX];
};

void symbol_sources_release(struct symbol_sources *sources)
{
	free(sources->list);
	*sources = (struct symbol_sources){ 0 };
}

static int compare_known(const void *left, const void *right)
{
	const struct known_source *a = left, *b = right;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int compare_vaddr(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

const struct source *symbol_sources_find(const struct symbol_sources *sources,
					 uint64_t vaddr)
{
	struct known_source key = { .vaddr = vaddr };
	const struct known_source *known;

	if (!sources->count)
		return NULL;
	known = bsearch(&key, sources->list, sources->count, sizeof(key),
			compare_known);
	return known ? &known->source : NULL;
}

ssize_t symbol_sources_unknown(const struct symbol_sources *sources,
			       const uint64_t *vaddr, size_t count,
			       uint64_t **out)
{
	uint64_t *list = calloc(count + 1, sizeof(*list));
	size_t found = 0, kept = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!symbol_sources_find(sources, vaddr[i]))
			list[found++] = vaddr[i];
	qsort(list, found, sizeof(*list), compare_vaddr);
	for (size_t i = 0; i < found; i++)
		if (!kept || list[kept - 1] != list[i])
			list[kept++] = list[i];
	*out = list;
	return (ssize_t)kept;
}

/* The address has no frames if the text store is full. */
static void finish_address(struct answer *answer)
{
	struct known_source *known = &answer->known[answer->at];
	struct source_frame *frames = answer->frames;
	size_t count = answer->frame_count;
	const char *name =
		answer->asker->name_at(answer->asker->context, known->vaddr);

	if (name)
		frames[count - 1].function = name;
	known->source.frames = text_store_copy(answer->asker->texts, frames,
					       count * sizeof(*frames));
	known->source.count = known->source.frames ? count : 0;
	answer->frame_count = 0;
}

static const char *keep_clean_text(struct text_store *texts, const char *raw)
{
	char text[SYMBOLIZE_TEXT_MAX + 1];
	const char *kept;

	snprintf(text, sizeof(text), "%s", raw);
	symbol_name_clean(text);
	kept = text_store_text(texts, text);
	return kept ? kept : "";
}

/* *@alias has the file, or is NULL. Returns NULL if there is no room. */
static const char *keep_function(struct text_store *texts, const char *raw,
				 const char **alias)
{
	const char *mark = strchr(raw, ELF_FILE_MARK);
	char plain[SYMBOLIZE_TEXT_MAX + 1], name[SYMBOL_NAME_BYTES];

	*alias = NULL;
	if (mark) {
		symbol_name_make(raw, name);
		*alias = text_store_text(texts, name);
		memcpy(plain, raw, (size_t)(mark - raw));
		plain[mark - raw] = '\0';
		raw = plain;
	}
	symbol_name_make(raw, name);
	return text_store_text(texts, name);
}

static void add_source_frame(void *context, uint64_t vaddr,
			     const struct symbolize_frame *frame)
{
	struct answer *answer = context;
	struct text_store *texts = answer->asker->texts;
	const char *function, *alias;
	uint64_t before;

	if (answer->vaddr[answer->at] != vaddr) {
		if (answer->frame_count)
			finish_address(answer);
		while (answer->vaddr[answer->at] != vaddr)
			answer->at++;
	}
	if (answer->sources->bytes > SOURCES_BYTES_MAX) {
		answer->frame_count = 0;
		return;
	}
	before = text_store_bytes(texts);
	function = keep_function(texts, frame->function, &alias);
	answer->frames[answer->frame_count++] = (struct source_frame){
		.function = function ? function : "?",
		.plain = alias ? function : NULL,
		.alias = alias,
		.file = keep_clean_text(texts, frame->file),
		.line = frame->line,
		.start_line = frame->start_line,
	};
	answer->sources->bytes += text_store_bytes(texts) - before;
}

static int ask_into(struct answer *answer,
		    const struct symbolize_request *request,
		    char why[SYMBOLIZE_WHY_BYTES])
{
	struct symbol_sources *sources = answer->sources;
	struct known_source *grown;
	int err;

	for (size_t i = 0; i < request->count; i++)
		answer->known[i].vaddr = request->vaddr[i];
	err = symbolize_lines(request, add_source_frame, answer, why);
	if (answer->frame_count)
		finish_address(answer);
	grown = reallocarray(sources->list, sources->count + request->count,
			     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memcpy(grown + sources->count, answer->known,
	       request->count * sizeof(*grown));
	sources->list = grown;
	sources->count += request->count;
	qsort(grown, sources->count, sizeof(*grown), compare_known);
	if (err || sources->bytes <= SOURCES_BYTES_MAX)
		return err;
	snprintf(why, SYMBOLIZE_WHY_BYTES,
		 "its debug information has too many names");
	return -EFBIG;
}

int symbol_sources_ask(struct symbol_sources *sources,
		       const struct symbol_sources_asker *asker,
		       const struct symbolize_request *request,
		       char why[SYMBOLIZE_WHY_BYTES])
{
	struct answer *answer = calloc(1, sizeof(*answer));
	struct known_source *known = calloc(request->count, sizeof(*known));
	int err = -ENOMEM;

	snprintf(why, SYMBOLIZE_WHY_BYTES, "not enough memory");
	if (answer && known) {
		answer->sources = sources;
		answer->asker = asker;
		answer->vaddr = request->vaddr;
		answer->known = known;
		err = ask_into(answer, request, why);
	}
	free(known);
	free(answer);
	return err;
}
