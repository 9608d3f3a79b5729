/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/utf8.h"
#include "shared/compiler.h"
#include "shared/hash.h"

struct text {
	const char *at;
};

static uint64_t hash_one(const void *item)
{
	const struct text *text = item;

	return hash_fold(hash_words(HASH_START, text->at, strlen(text->at)));
}

static bool is_same_text(const void *a, const void *b)
{
	const struct text *x = a, *y = b;

	return !strcmp(x->at, y->at);
}

static const struct pool_key text_key = { hash_one, is_same_text };

char *texts_clean(const char *text, size_t count, size_t most)
{
	size_t kept = MIN(count, most);
	char *clean;

	/* No character is cut in two. */
	while (kept < count && kept && (text[kept] & 0xc0) == 0x80)
		kept--;
	clean = malloc(kept + 1);
	if (!clean)
		return NULL;
	utf8_copy(clean, text, kept);
	clean[kept] = 0;
	return clean;
}

void texts_init(struct texts *texts)
{
	*texts = (struct texts){ 0 };
	pool_init_key(&texts->known, NULL, sizeof(struct text), &text_key);
	texts_number(texts, "");
}

void texts_release(struct texts *texts)
{
	const struct text *known = texts->known.items;

	for (uint32_t i = 0; i < texts->count; i++) {
		if (known[i].at != texts->list[i])
			free((char *)(uintptr_t)known[i].at);
		free(texts->list[i]);
	}
	free(texts->list);
	pool_release(&texts->known);
}

/* Adds @text. Its key is the text that is packed, or a copy where that differs.
 */
static int add_text(struct texts *texts, const char *text)
{
	struct text one = { NULL };
	uint32_t number;
	char *clean;

	if (grow_array(texts->list, texts->room, texts->count + 1))
		return -ENOMEM;
	clean = texts_clean(text, strlen(text), TEXT_BYTES_MAX);
	one.at = clean && strcmp(clean, text) ? strdup(text) : clean;
	if (!one.at || pool_intern(&texts->known, &one, &number) < 0) {
		if (one.at != clean)
			free((char *)(uintptr_t)one.at);
		free(clean);
		return -ENOMEM;
	}
	texts->list[texts->count++] = clean;
	return 0;
}

uint32_t texts_number(struct texts *texts, const char *text)
{
	const struct text one = { text };
	uint32_t number;

	if (pool_find(&texts->known, &one, &number))
		return number;
	if (!add_text(texts, text))
		return texts->count - 1;
	texts->err = -ENOMEM;
	return 0;
}
