/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile call frame information: one common entry (CIE) and one entry of a
 * function (FDE), made byte by byte.
 */
#include "collector/names/unwind_cfi.h"

#include <dwarf.h>

#include "tests/suite.h"

#define AT 0x1000 /* virtual address of the first byte */
#define START 0x5000 /* of the function */
#define LENGTH 0x20

#define CFA DW_CFA_def_cfa, 7, 8 /* place of the frame */
#define STEP DW_CFA_advance_loc | 1

static struct {
	uint8_t bytes[1024];
	size_t size;
	uint64_t fde;
} g;

static bool read_bytes(void *unused, uint64_t vaddr, void *out, size_t bytes)
{
	(void)unused;
	if (vaddr < AT || vaddr - AT > g.size ||
	    bytes > g.size - (size_t)(vaddr - AT))
		return false;
	memcpy(out, g.bytes + (vaddr - AT), bytes);
	return true;
}

static const struct cfi_reader g_reader = { read_bytes, NULL };

static void put(const void *from, size_t size)
{
	ck_assert_uint_le(g.size + size, sizeof(g.bytes));
	if (size) /* @from may be NULL */
		memcpy(g.bytes + g.size, from, size);
	g.size += size;
}

static void put_u8(uint8_t value)
{
	put(&value, sizeof(value));
}

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put_number(uint64_t value, size_t size)
{
	put(&value, size);
}

/* Starts an entry; returns the position of its length. */
static size_t begin_entry(void)
{
	put_u32(0);
	return g.size - 4;
}

static void end_entry(size_t begin)
{
	uint32_t length = (uint32_t)(g.size - begin - 4);

	memcpy(g.bytes + begin, &length, sizeof(length));
}

struct entries {
	const char *augmentation; /* "": none */
	uint8_t version, encoding, back_register;
	const uint8_t *common, *own; /* programs */
	size_t common_size, own_size;
};

static void put_common(const struct entries *entries)
{
	size_t begin = begin_entry();

	put_u32(0);
	put_u8(entries->version);
	put(entries->augmentation, strlen(entries->augmentation) + 1);
	put_u8(1);
	put_u8(0x78); /* -8 */
	put_u8(entries->back_register);
	for (const char *letter = entries->augmentation; *letter; letter++) {
		if (*letter == 'z')
			put_u8((uint8_t)strlen(letter + 1));
		if (*letter == 'R')
			put_u8(entries->encoding);
		if (*letter == 'L')
			put_u8(DW_EH_PE_pcrel | DW_EH_PE_sdata4);
		if (*letter == 'P') {
			put_u8(entries->encoding);
			put_number(0, 8);
		}
	}
	put(entries->common, entries->common_size);
	end_entry(begin);
}

static void make(const struct entries *entries)
{
	bool half = entries->encoding == DW_EH_PE_sdata4 ||
		    entries->encoding == DW_EH_PE_udata4;
	size_t begin;

	g.size = 0;
	put_common(entries);
	g.fde = AT + g.size;
	begin = begin_entry();
	put_u32((uint32_t)g.size);
	put_number(START, half ? 4 : 8);
	put_number(LENGTH, half ? 4 : 8);
	if (entries->augmentation[0] == 'z')
		put_u8(0);
	put(entries->own, entries->own_size);
	end_entry(begin);
}

static enum cfi_verdict verdict_on(const uint8_t *common, size_t common_size,
				   const uint8_t *own, size_t own_size)
{
	const struct entries entries = {
		.augmentation = "",
		.version = 1,
		.back_register = 16,
		.common = common,
		.common_size = common_size,
		.own = own,
		.own_size = own_size,
	};
	struct cfi_range range;
	enum cfi_verdict verdict;

	make(&entries);
	verdict = unwind_cfi_check(&g_reader, g.fde, &range);
	if (verdict != CFI_BAD) {
		ck_assert_uint_eq(range.start, START);
		ck_assert_uint_eq(range.end, START + LENGTH);
	}
	return verdict;
}

struct bytes {
	uint8_t byte[24];
	size_t size;
};

#define BYTES(...)                                                  \
	{                                                           \
		{ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }) \
	}

static void expect_own(const struct bytes *own, size_t count,
		       enum cfi_verdict verdict)
{
	static const uint8_t cfa[] = { CFA };

	for (size_t i = 0; i < count; i++)
		ck_assert_msg(verdict_on(cfa, sizeof(cfa), own[i].byte,
					 own[i].size) == verdict,
			      "row %d", (int)i);
}

/* --- programs ------------------------------------------------------------ */

TEST(cfi_what_compilers_write_is_good)
{
	static const struct bytes rows[] = {
		BYTES(STEP, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2),
		BYTES(DW_CFA_advance_loc1, 1, DW_CFA_advance_loc2, 1, 0,
		      DW_CFA_advance_loc4, 1, 0, 0, 0),
		BYTES(DW_CFA_offset_extended, 16, 1, DW_CFA_val_offset, 3, 1),
		BYTES(DW_CFA_offset_extended_sf, 3, 0x7f, DW_CFA_val_offset_sf,
		      3, 0x7f),
		BYTES(DW_CFA_restore_extended, 16, DW_CFA_restore | 3,
		      DW_CFA_undefined, 3, DW_CFA_same_value, 3),
		BYTES(DW_CFA_register, 3, 12, DW_CFA_def_cfa_register, 6),
		BYTES(DW_CFA_def_cfa_sf, 6, 0x7e, DW_CFA_def_cfa_offset_sf,
		      0x7e, DW_CFA_GNU_args_size, 8, DW_CFA_nop),
		BYTES(DW_CFA_remember_state, STEP, DW_CFA_def_cfa, 6, 16,
		      DW_CFA_restore_state),
		BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80, 0),
	};

	expect_own(rows, ARRAY_SIZE(rows), CFI_GOOD);
}

TEST(cfi_what_libunwind_would_stumble_over_is_bad)
{
	static const struct bytes rows[] = {
		/* invalid registers */
		BYTES(DW_CFA_offset | 17, 1),
		BYTES(DW_CFA_restore | 17),
		BYTES(DW_CFA_offset_extended, 17, 1),
		BYTES(DW_CFA_register, 3, 17),
		BYTES(DW_CFA_def_cfa, 0xff, 1, 8),
		/* states without a remember, or too many */
		BYTES(DW_CFA_restore_state),
		BYTES(DW_CFA_remember_state, DW_CFA_restore_state,
		      DW_CFA_restore_state),
		BYTES(10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
		      10, 10, 10), /* DW_CFA_remember_state */
		/* unknown, or truncated */
		BYTES(0x3f),
		BYTES(DW_CFA_set_loc, 0, 0, 0, 0, 0, 0, 0, 0),
		BYTES(DW_CFA_advance_loc4, 0, 0, 0),
		BYTES(DW_CFA_def_cfa, 7),
		BYTES(DW_CFA_def_cfa_offset, 0x80),
		/* excessive padding of a number */
		BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		      0x80, 0x80, 0x80, 0x80, 0),
	};

	expect_own(rows, ARRAY_SIZE(rows), CFI_BAD);
}

/* Code relies on it from the first step on. */
TEST(cfi_frame_must_be_known_before_the_first_step)
{
	static const uint8_t late[] = { STEP, CFA };
	static const uint8_t remembered[] = { DW_CFA_remember_state, CFA };
	static const uint8_t never[] = { DW_CFA_nop };
	static const uint8_t expression[] = { DW_CFA_def_cfa_expression, 2,
					      DW_OP_breg0 + 7, 8, STEP };

	ck_assert_int_eq(verdict_on(NULL, 0, late, sizeof(late)), CFI_BAD);
	ck_assert_int_eq(verdict_on(NULL, 0, remembered, sizeof(remembered)),
			 CFI_BAD);
	ck_assert_int_eq(verdict_on(NULL, 0, never, sizeof(never)), CFI_BAD);
	ck_assert_int_eq(verdict_on(NULL, 0, expression, sizeof(expression)),
			 CFI_GOOD);
}

/* --- expressions --------------------------------------------------------- */

#define EXPRESSION(size) DW_CFA_expression, 3, size

TEST(cfi_expressions_that_end_are_good)
{
	static const struct bytes rows[] = {
		BYTES(EXPRESSION(2), DW_OP_breg0 + 16, 0),
		BYTES(EXPRESSION(3), DW_OP_plus_uconst, 8, DW_OP_deref),
		BYTES(DW_CFA_val_expression, 3, 3, DW_OP_lit31, DW_OP_plus,
		      DW_OP_nop),
		BYTES(EXPRESSION(6), DW_OP_const1u, 1, DW_OP_const1s, 1,
		      DW_OP_and, DW_OP_or),
		BYTES(EXPRESSION(6), DW_OP_const2s, 1, 0, DW_OP_dup, DW_OP_swap,
		      DW_OP_drop),
		BYTES(EXPRESSION(7), DW_OP_const4u, 1, 0, 0, 0, DW_OP_over,
		      DW_OP_ge),
		BYTES(EXPRESSION(9), DW_OP_const8s, 1, 0, 0, 0, 0, 0, 0, 0),
		BYTES(EXPRESSION(6), DW_OP_constu, 0x80, 1, DW_OP_consts, 0x7f,
		      DW_OP_shra),
	};

	expect_own(rows, ARRAY_SIZE(rows), CFI_GOOD);
}

TEST(cfi_expressions_that_may_not_end_or_fit_are_bad)
{
	static const struct bytes rows[] = {
		/* branches and calls, and a division, perhaps by 0 */
		BYTES(EXPRESSION(3), DW_OP_skip, 0xfd, 0xff),
		BYTES(EXPRESSION(4), DW_OP_lit0, DW_OP_bra, 0xfc, 0xff),
		BYTES(EXPRESSION(3), DW_OP_call2, 0, 0),
		BYTES(EXPRESSION(3), DW_OP_lit0, DW_OP_dup, DW_OP_div),
		/* an empty stack */
		BYTES(DW_CFA_def_cfa_expression, 0),
		BYTES(DW_CFA_def_cfa_expression, 1, DW_OP_plus),
		BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_plus, DW_OP_lit0,
		      DW_OP_lit0),
		BYTES(EXPRESSION(1), DW_OP_drop),
		/* truncated */
		BYTES(EXPRESSION(5), DW_OP_lit0),
		BYTES(EXPRESSION(2), DW_OP_const2u, 0),
		BYTES(EXPRESSION(2), DW_OP_breg0 + 3, 0x80),
	};
	uint8_t deep[3 + 40] = { EXPRESSION(40) };
	uint8_t large[4 + 300] = { DW_CFA_expression, 3, 0xac, 0x02 };
	static const uint8_t cfa[] = { CFA };

	expect_own(rows, ARRAY_SIZE(rows), CFI_BAD);
	memset(deep + 3, DW_OP_lit0, 40);
	ck_assert_int_eq(verdict_on(cfa, sizeof(cfa), deep, sizeof(deep)),
			 CFI_BAD);
	memset(large + 4, DW_OP_nop, 300);
	ck_assert_int_eq(verdict_on(cfa, sizeof(cfa), large, sizeof(large)),
			 CFI_BAD);
}

/* --- entries ------------------------------------------------------------- */

static enum cfi_verdict verdict_on_entries(const char *augmentation,
					   uint8_t version, uint8_t encoding,
					   uint8_t back_register)
{
	static const uint8_t cfa[] = { CFA };
	const struct entries entries = {
		.augmentation = augmentation,
		.version = version,
		.encoding = encoding,
		.back_register = back_register,
		.common = cfa,
		.common_size = sizeof(cfa),
	};
	struct cfi_range range;

	make(&entries);
	return unwind_cfi_check(&g_reader, g.fde, &range);
}

TEST(cfi_entries_of_all_known_forms_are_good)
{
	ck_assert_int_eq(verdict_on_entries("", 1, 0, 16), CFI_GOOD);
	ck_assert_int_eq(verdict_on_entries("", 3, 0, 16), CFI_GOOD);
	ck_assert_int_eq(verdict_on_entries("zR", 1, DW_EH_PE_udata4, 16),
			 CFI_GOOD);
	ck_assert_int_eq(verdict_on_entries("zR", 1, DW_EH_PE_sdata4, 16),
			 CFI_GOOD);
	ck_assert_int_eq(verdict_on_entries("zPLR", 1, DW_EH_PE_udata8, 16),
			 CFI_GOOD);
	ck_assert_int_eq(verdict_on_entries("zRS", 1, DW_EH_PE_udata4, 16),
			 CFI_SIGNAL);
}

TEST(cfi_entries_of_other_forms_are_bad)
{
	ck_assert_int_eq(verdict_on_entries("", 2, 0, 16), CFI_BAD);
	ck_assert_int_eq(verdict_on_entries("", 1, 0, 15), CFI_BAD);
	ck_assert_int_eq(verdict_on_entries("eh", 1, 0, 16), CFI_BAD);
	ck_assert_int_eq(verdict_on_entries("S", 1, 0, 16), CFI_BAD);
	ck_assert_int_eq(verdict_on_entries("zRRRRR", 1, 0, 16), CFI_BAD);
	ck_assert_int_eq(verdict_on_entries("zR", 1, DW_EH_PE_udata2, 16),
			 CFI_BAD);
	ck_assert_int_eq(verdict_on_entries("zR", 1, DW_EH_PE_textrel, 16),
			 CFI_BAD);
	ck_assert_int_eq(verdict_on_entries("zPR", 1, 0x70, 16), CFI_BAD);
	ck_assert_int_eq(verdict_on_entries("zPR", 1, 0x0d, 16), CFI_BAD);
}

TEST(cfi_cut_or_crooked_entries_are_bad)
{
	struct cfi_range range;
	size_t size;
	uint32_t word;

	ck_assert_int_eq(verdict_on_entries("zPLR", 1, DW_EH_PE_udata8, 16),
			 CFI_GOOD);
	size = g.size;
	for (g.size = 0; g.size < size; g.size++) {
		ck_assert_int_eq(unwind_cfi_check(&g_reader, g.fde, &range),
				 CFI_BAD);
		(void)unwind_cfi_range(&g_reader, g.fde, &range);
	}
	for (int shift = 0; shift < 32; shift++) {
		word = 1u << shift;
		memcpy(g.bytes + (g.fde - AT) + 4, &word, sizeof(word));
		/* The valid offset may be a power of 2. */
		if (g.fde + 4 - word != AT)
			ck_assert_int_eq(
				unwind_cfi_check(&g_reader, g.fde, &range),
				CFI_BAD);
	}
	/* 64-bit DWARF, and the end of a section */
	word = 0xffffffff;
	memcpy(g.bytes + (g.fde - AT), &word, sizeof(word));
	ck_assert(!unwind_cfi_range(&g_reader, g.fde, &range));
	word = 0;
	memcpy(g.bytes + (g.fde - AT), &word, sizeof(word));
	ck_assert(!unwind_cfi_range(&g_reader, g.fde, &range));
}

TEST(cfi_table_is_one_that_linkers_make)
{
	static const uint8_t good[] = { 1, 0x1b, 0x03, 0x3b, 0, 0,
					0, 0,	 2,    0,    0, 0 };
	struct cfi_table table;

	g.size = 0;
	put(good, sizeof(good));
	ck_assert(unwind_cfi_table(&g_reader, AT, &table));
	ck_assert_uint_eq(table.count, 2);
	ck_assert_uint_eq(table.vaddr, AT + sizeof(good));
	g.size--;
	ck_assert(!unwind_cfi_table(&g_reader, AT, &table));
	g.size++;
	g.bytes[1] = DW_EH_PE_omit;
	ck_assert(unwind_cfi_table(&g_reader, AT, &table));
	ck_assert_uint_eq(table.vaddr, AT + 8);
	for (size_t i = 0; i < 4; i++) {
		g.bytes[i] ^= 0x0f;
		ck_assert_msg(i == 1 ||
				      !unwind_cfi_table(&g_reader, AT, &table),
			      "byte %d", (int)i);
		g.bytes[i] ^= 0x0f;
	}
}
