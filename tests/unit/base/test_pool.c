/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/pool.h"

#include <errno.h>

#include "collector/base/budget.h"
#include "shared/hash.h"
#include "tests/suite.h"

#define MANY 10000

struct number {
	uint64_t key;

	uint64_t value;
};

struct word {
	const char *text;
	uint64_t value;
};

static struct budget g_budget;
static struct pool g_pool;

static uint64_t hash_word(const void *item)
{
	const struct word *word = item;

	return hash_text(HASH_START, word->text);
}

static uint64_t hash_alike(const void *item)
{
	(void)item;
	return 7;
}

static bool is_same_word(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	return !strcmp(x->text, y->text);
}

static const struct pool_key word_key = { hash_word, is_same_word };
static const struct pool_key alike_key = { hash_alike, is_same_word };

static void set_up(void)
{
	g_budget.left = 1 << 20;
	pool_init(&g_pool, &g_budget, sizeof(struct number),
		  offsetof(struct number, value));
}

static void tear_down(void)
{
	pool_release(&g_pool);
	ck_assert_uint_eq(g_budget.left, 1 << 20);
}

static int intern(uint64_t key, uint64_t value, uint32_t *number)
{
	const struct number item = { key, value };

	return pool_intern(&g_pool, &item, number);
}

static const struct number *number_at(uint32_t number)
{
	return (const struct number *)g_pool.items + number;
}

FIXTURE(set_up, tear_down);

TEST(pool_numbers_items_in_the_order_they_came)
{
	uint32_t number;

	for (uint64_t i = 0; i < MANY; i++) {
		ck_assert_int_eq(intern(i << 40, i, &number), 1);
		ck_assert_uint_eq(number, i);
	}
	for (uint64_t i = 0; i < MANY; i++) {
		ck_assert_int_eq(intern(i << 40, 99, &number), 0);
		ck_assert_uint_eq(number, i);
		ck_assert_uint_eq(number_at(number)->value, i);
	}
	ck_assert_uint_eq(g_pool.count, MANY);
}

TEST(pool_finds_only_what_was_interned)
{
	struct number item = { .key = 5 };
	uint32_t number;

	ck_assert(!pool_find(&g_pool, &item, &number));
	intern(4, 0, &number);
	ck_assert(!pool_find(&g_pool, &item, &number));
	intern(5, 0, &number);
	ck_assert(pool_find(&g_pool, &item, &number));
	ck_assert_uint_eq(number, 1);
}

TEST(pool_beyond_its_budget_keeps_what_it_has)
{
	uint64_t key = 0;
	uint32_t number;
	int err;

	while ((err = intern(key, key, &number)) == 1)
		key++;
	ck_assert_int_eq(err, -ENOMEM);
	ck_assert_uint_gt(key, 1000);
	ck_assert_uint_eq(g_pool.count, key);
	for (uint64_t i = 0; i < key; i++)
		ck_assert_int_eq(intern(i, 0, &number), 0);
}

static void check_words(const struct pool_key *key)
{
	char text[2][16];
	struct pool words;
	struct word word;
	uint32_t number;

	pool_init_key(&words, NULL, sizeof(struct word), key);
	word = (struct word){ "one", 1 };
	ck_assert_int_eq(pool_intern(&words, &word, &number), 1);
	word = (struct word){ "two", 2 };
	ck_assert_int_eq(pool_intern(&words, &word, &number), 1);
	snprintf(text[0], sizeof(text[0]), "%s", "one");
	snprintf(text[1], sizeof(text[1]), "%s", "three");
	word = (struct word){ text[0], 3 };
	ck_assert_int_eq(pool_intern(&words, &word, &number), 0);
	ck_assert_uint_eq(number, 0);
	ck_assert_uint_eq(((struct word *)words.items)[0].value, 1);
	word.text = text[1];
	ck_assert(!pool_find(&words, &word, &number));
	pool_release(&words);
}

TEST(pool_with_a_key_of_texts_tells_texts_apart)
{
	check_words(&word_key);
}

TEST(pool_with_equal_hashes_tells_items_apart)
{
	check_words(&alike_key);
}

TEST(pool_all_zero_may_be_released)
{
	struct pool nothing = { 0 };

	pool_release(&nothing);
}
