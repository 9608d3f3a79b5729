/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/text_store.h"

#include <errno.h>

#include "tests/suite.h"
#include "tests/unit/no_memory.h"

#define TEXT_BYTES (64u << 10)
#define BYTES_MAX (16u << 20)

static struct text_store *g_store;

static void setup(void)
{
	ck_assert_int_eq(text_store_new(BYTES_MAX, &g_store), 0);
}

static void teardown(void)
{
	text_store_free(&g_store);
	ck_assert_ptr_null(g_store);
}

FIXTURE(setup, teardown);

TEST(text_store_keeps_equal_texts_once)
{
	char text[] = "leaf";
	const char *kept = text_store_text(g_store, text);

	ck_assert_ptr_ne(kept, text);
	ck_assert_str_eq(kept, "leaf");
	ck_assert_ptr_eq(text_store_text(g_store, "leaf"), kept);
	ck_assert_ptr_eq(text_store_told(g_store, "leaf"), kept);
	ck_assert_ptr_ne(text_store_text(g_store, "leaves"), kept);
}

/* A program's names could use up the room of all functions. */
TEST(text_store_told_texts_leave_half_of_the_room)
{
	char *text = malloc(TEXT_BYTES);
	const char *first;
	uint64_t number;

	memset(text, 'x', TEXT_BYTES);
	text[TEXT_BYTES - 1] = '\0';
	for (number = 0; number < 1000; number++) {
		text[0] = (char)('0' + number % 64);
		text[1] = (char)('0' + number / 64);
		if (!text_store_told(g_store, text))
			break;
	}
	ck_assert_uint_le(text_store_bytes(g_store), BYTES_MAX / 2);
	ck_assert_uint_gt(text_store_bytes(g_store),
			  BYTES_MAX / 2 - 2 * TEXT_BYTES);
	ck_assert_ptr_null(text_store_told(g_store, text));
	text[0] = text[1] = '0';
	first = text_store_told(g_store, text);
	ck_assert_ptr_nonnull(first);
	ck_assert_str_eq(text_store_text(g_store, "function"), "function");
	free(text);
}

TEST(text_store_finds_each_of_many)
{
	const char *kept[3000];
	char text[32];

	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		kept[i] = text_store_text(g_store, text);
		ck_assert_ptr_nonnull(kept[i]);
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		ck_assert_str_eq(kept[i], text);
		ck_assert_ptr_eq(text_store_text(g_store, text), kept[i]);
	}
}

/* The summary claimed that names took all of their 256 MiB. */
TEST(text_store_without_memory_is_not_full)
{
	static char text[BYTES_MAX];
	const char *kept;
	int err;

	memset(text, 'x', sizeof(text) - 1);
	errno = 0;
	ck_assert_ptr_null(text_store_text(g_store, text));
	ck_assert_int_eq(errno, ENOSPC);
	g_blocks = 0;
	kept = text_store_text(g_store, "leaf");
	err = errno;
	g_blocks = SIZE_MAX;
	ck_assert(HAS_ASAN || HAS_TSAN || (!kept && err == ENOMEM));
	ck_assert_ptr_nonnull(text_store_text(g_store, "leaf"));
}
