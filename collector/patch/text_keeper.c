/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/patch/text_keeper.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/patch/patch.h"

#define LIST_BYTES_MAX (64u << 20)

static void drop_text(struct text_keeper *keeper, size_t index)
{
	close(keeper->text[index].mem);
	close(keeper->text[index].list);
	keeper->text[index] = keeper->text[--keeper->count];
}

/* The memory of a process that has ended reads 0 bytes. */
static void drop_ended(struct text_keeper *keeper)
{
	uint8_t entry;

	for (size_t i = keeper->count; i-- > 0;)
		/* Any address does: of a process that is there, what is not
		 * mapped is an error. */
		if (pread(keeper->text[i].mem, &entry, 1, 4096) == 0)
			drop_text(keeper, i);
}

void text_keeper_add(struct text_keeper *keeper, int mem, int list)
{
	if (keeper->count == TEXT_KEEPER_MAX)
		drop_ended(keeper);
	if (keeper->count == TEXT_KEEPER_MAX) {
		close(mem);
		close(list);
		return;
	}
	keeper->text[keeper->count++] = (struct kept_text){ mem, list };
}

static void restore_text(const struct kept_text *text)
{
	struct stat status;
	uint8_t *entries;
	size_t bytes = 0;
	ssize_t got = 1;

	if (fstat(text->list, &status) < 0 || status.st_size <= 0 ||
	    status.st_size > LIST_BYTES_MAX)
		return;
	entries = malloc((size_t)status.st_size);
	while (entries && got > 0 && bytes < (size_t)status.st_size) {
		got = pread(text->list, entries + bytes,
			    (size_t)status.st_size - bytes, (off_t)bytes);
		bytes += got > 0 ? (size_t)got : 0;
	}
	if (entries)
		(void)patch_restore_from(text->mem, entries, bytes, NULL);
	free(entries);
}

void text_keeper_restore(struct text_keeper *keeper)
{
	for (size_t i = 0; i < keeper->count; i++)
		restore_text(&keeper->text[i]);
	text_keeper_release(keeper);
}

void text_keeper_release(struct text_keeper *keeper)
{
	while (keeper->count)
		drop_text(keeper, keeper->count - 1);
}
