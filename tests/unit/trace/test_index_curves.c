/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/base/budget.h"
#include "collector/trace/index_curves.h"
#include "tests/curve_check.h"
#include "tests/suite.h"

struct rig {
	struct budget budget;
	struct index_curves curves;
	struct curve_check check;
	struct bytes items;
	uint64_t bytes;
};

static void rig_begin(struct rig *rig, uint64_t budget)
{
	*rig = (struct rig){ .budget.left = budget };
	index_curves_init(&rig->curves, &rig->budget, false);
}

static void look(struct rig *rig)
{
	struct index_get items = { rig->items.at,
				   rig->items.at + rig->items.count, false };
	struct index_get payload;
	uint32_t kind;

	rig->bytes += rig->items.count;
	while (rig->items.count && (kind = index_get_item(&items, &payload)))
		curve_check_item(&rig->check, kind, payload);
	bytes_clear(&rig->items);
}

static void take(struct rig *rig, uint64_t uuid, bool real, uint64_t bits,
		 uint64_t ns)
{
	const struct index_count count = { uuid, real, bits };

	curve_check_value(&rig->check, uuid, real, bits, ns);
	index_curves_take(&rig->curves, ns, &count, &rig->items);
	look(rig);
}

static void rig_end(struct rig *rig)
{
	uint64_t all = rig->budget.left;

	index_curves_end(&rig->curves, &rig->items);
	look(rig);
	index_curves_release(&rig->curves);
	ck_assert_uint_ge(rig->budget.left, all);
	curve_check_release(&rig->check);
	bytes_release(&rig->items);
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t any_value(bool real)
{
	static const double hard[] = { NAN, INFINITY, -INFINITY, 0.0, -0.0 };

	if (!real)
		return random() % 50 ? (uint64_t)(random() % 1000 - 500)
				     : (uint64_t)random() << 33;
	return bits_of(random() % 20 ? (double)random() / 1000 - 1e6
				     : hard[random() % 5]);
}

/* Counters of all kinds and rates; some times go backwards. */
TEST(index_curves_have_what_was_set, EACH(0, 12))
{
	struct rig rig;
	uint64_t ns = 1000000000;

	srandom((unsigned int)_i);
	rig_begin(&rig, 1 << 30);
	for (int i = 0; i < 60000; i++) {
		uint64_t uuid = 1 + (uint64_t)random() % 8;

		uuid = random() % 4 ? 1 : uuid;
		ns += (uint64_t)random() % (1ULL << (random() % (10 + _i)));
		if (random() % 100 == 0)
			index_curves_spare(&rig.curves, 100000);
		take(&rig, uuid, uuid % 2, any_value(uuid % 2),
		     uuid == 3 ? ns - (uint64_t)random() % 100000000 : ns);
	}
	index_curves_end(&rig.curves, &rig.items);
	look(&rig);
	ck_assert(rig.check.ended);
	ck_assert_uint_gt(rig.check.upper, 2);
	rig_end(&rig);
}

TEST(index_curves_are_small, EACH(0, 9))
{
	const uint64_t values = 1 << 20, counters = 1ULL << _i;
	struct rig rig;

	rig_begin(&rig, 1 << 30);
	for (uint64_t i = 0; i < values; i++) {
		bool real = i % counters % 2;
		const struct index_count count = { i % counters + 1, real,
						   any_value(real) };

		index_curves_take(&rig.curves, i * 50, &count, &rig.items);
		rig.bytes += rig.items.count;
		bytes_clear(&rig.items);
	}
	index_curves_end(&rig.curves, &rig.items);
	rig.bytes += rig.items.count;
	/* A packet has 28 bytes. */
	ck_assert_uint_lt((rig.bytes - 50 * counters) * 100, values * 28);
	index_curves_release(&rig.curves);
	bytes_release(&rig.items);
}

TEST(index_curves_of_few_values_have_each)
{
	struct rig rig;

	rig_begin(&rig, 1 << 30);
	for (uint64_t i = 0; i < 1000; i++) {
		index_curves_spare(&rig.curves, 20000);
		take(&rig, 7, false, i % 10, i * 1000003);
	}
	/* 32 values per block. */
	ck_assert_uint_ge(rig.check.blocks - rig.check.upper, 31);
	rig_end(&rig);
}

/* Short memory gives wider buckets, or no curves and a lost flag. */
TEST(index_curves_need_little_memory, EACH(0, 16))
{
	struct rig rig;
	bool lost;

	rig_begin(&rig, 3000 + (uint64_t)_i * 1000);
	for (uint64_t i = 0; i < 20000; i++)
		take(&rig, i % 4 + 1, i % 2, any_value(i % 2), i * 1001);
	lost = rig.curves.lost;
	index_curves_end(&rig.curves, &rig.items);
	look(&rig);
	ck_assert(rig.check.ended != lost);
	rig_end(&rig);
}
