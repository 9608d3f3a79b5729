/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/trace_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/grow.h"
#include "collector/base/utf8.h"
#include "collector/names/text_store.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

/* Sites have the largest iids, of 29 bits; no program has so many. */
#define IID_MAX (1u << 24)
/* All texts of a trace. */
#define TEXT_BYTES_MAX (512ull << 20)

int trace_texts_init(struct trace_texts *texts, struct budget *budget)
{
	pool_init(&texts->pool, budget, sizeof(const char *),
		  sizeof(const char *));
	texts->refused = 0;
	return text_store_new(TEXT_BYTES_MAX, &texts->store);
}

void trace_texts_release(struct trace_texts *texts)
{
	pool_release(&texts->pool);
	text_store_free(&texts->store);
}

uint32_t trace_texts_number(struct trace_texts *texts, const uint8_t *bytes,
			    size_t count)
{
	char text[OUT_TEXT_BYTES + 1];
	const char *kept;
	uint32_t number;

	count = strnlen((const char *)bytes, MIN(count, sizeof(text) - 1));
	if (!count)
		return 0;
	utf8_copy(text, (const char *)bytes, count);
	text[count] = '\0';
	kept = text_store_text(texts->store, text);
	if (!kept || pool_intern(&texts->pool, &kept, &number) < 0) {
		texts->refused++;
		return 0;
	}
	return number + 1;
}

const char *trace_texts_get(const struct trace_texts *texts, uint32_t number)
{
	const char **kept = texts->pool.items;

	return number && number <= texts->pool.count ? kept[number - 1] : "";
}

int trace_iids_set(struct trace_iids *iids, struct budget *budget, uint64_t iid,
		   uint32_t number)
{
	uint32_t before = iids->room;

	if (iid > IID_MAX ||
	    grow_array_from(budget, iids->number, iids->room, iid + 1))
		return -ENOMEM;
	if (iids->room > before)
		memset(iids->number + before, 0,
		       (iids->room - before) * sizeof(*iids->number));
	iids->number[iid] = number;
	return 0;
}

void trace_iids_clear(struct trace_iids *iids, struct budget *budget)
{
	budget_give(budget, iids->room * sizeof(*iids->number));
	free(iids->number);
	*iids = (struct trace_iids){ 0 };
}
