/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_names: names by address from files in the form of /proc/kallsyms, also
 * odd ones; and from that of this machine, if it has addresses.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/names/kernel_names.h"
#include "tests/suite.h"

static struct kernel_names *g_names;

static int make_file(const char *text, size_t bytes)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, bytes), (ssize_t)bytes);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int read_text(const char *text, size_t bytes)
{
	int fd = make_file(text, bytes);
	int err = kernel_names_read(fd, &g_names);

	close(fd);
	return err;
}

static void read_names(const char *text)
{
	ck_assert_int_eq(read_text(text, strlen(text)), 0);
}

static void free_names(void)
{
	kernel_names_free(&g_names);
}

FIXTURE(NULL, free_names);

/* Asserts that the function at @address is @name of @module. */
static void expect_at(uint64_t address, const char *name, const char *module)
{
	uint32_t number = kernel_names_find(g_names, address);

	ck_assert_str_eq(kernel_names_name(g_names, number), name);
	ck_assert_str_eq(kernel_names_module(g_names, number), module);
}

#define KERNEL "[kernel.kallsyms]"

static const char g_usual[] = "0000000000000000 A per_cpu_start\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T startup\n"
			      "ffffffff81000100 t do_one\n"
			      "ffffffff81000180 t do_one.cold\n"
			      "ffffffff81000200 W weak\n"
			      "ffffffff81000300 D data\n"
			      "ffffffff81000400 T last\n"
			      "ffffffffc0001000 t ext_read\t[ext4]\n"
			      "ffffffffc0001080 t ext_write\t[ext4]\n"
			      "ffffffffc0003000 t other\t[odd]\n";

TEST(kernel_names_have_the_function_around_an_address)
{
	read_names(g_usual);
	expect_at(0xffffffff81000000, "startup", KERNEL);
	expect_at(0xffffffff810000ff, "startup", KERNEL);
	expect_at(0xffffffff81000100, "do_one", KERNEL);
	expect_at(0xffffffff810001ff, "do_one.cold", KERNEL);
	expect_at(0xffffffff81000200, "weak", KERNEL);
	expect_at(0xffffffffc0001000, "ext_read", "[ext4]");
	expect_at(0xffffffffc0001090, "ext_write", "[ext4]");
	expect_at(0xffffffffc0003010, "other", "[odd]");
}

TEST(kernel_names_are_unknown_rather_than_wrong)
{
	read_names(g_usual);
	/* Before all, in data, in user space. */
	expect_at(0, "[unknown]", KERNEL);
	expect_at(0x400000, "[unknown]", KERNEL);
	expect_at(0xffffffff80ffffff, "[unknown]", KERNEL);
	expect_at(0xffffffff81000310, "[unknown]", KERNEL);
	/* Another module may have come to the page behind the last function. */
	expect_at(0xffffffff81000fff, "last", KERNEL);
	expect_at(0xffffffff81001000, "[unknown]", KERNEL);
	expect_at(0xffffffffc0001fff, "ext_write", "[ext4]");
	expect_at(0xffffffffc0002000, "[unknown]", KERNEL);
	expect_at(0xffffffffc0004000, "[unknown]", KERNEL);
	expect_at(UINT64_MAX, "[unknown]", KERNEL);
	ck_assert_str_eq(kernel_names_name(g_names, 1000), "[unknown]");
	ck_assert_str_eq(kernel_names_module(g_names, 1000), KERNEL);
}

TEST(kernel_names_bear_any_order)
{
	read_names("ffffffff81000200 T b\n"
		   "ffffffff81000100 T a\n"
		   "ffffffff81000300 T c\n");
	expect_at(0xffffffff81000150, "a", KERNEL);
	expect_at(0xffffffff81000250, "b", KERNEL);
	expect_at(0xffffffff81000350, "c", KERNEL);
}

TEST(kernel_names_are_printable)
{
	read_names("ffffffff81000100 T a\x1b[2J\xff\n");
	expect_at(0xffffffff81000100, "a?[2J?", KERNEL);
}

/* As with kernel.kptr_restrict. */
TEST(kernel_names_without_addresses_are_none)
{
	ck_assert_int_eq(read_text("0000000000000000 T a\n"
				   "0000000000000000 t b\t[ext4]\n",
				   49),
			 -EPERM);
}

/* Before Linux 6.15, x86-64 has variables of each CPU in front, from 0 on. */
static const struct {
	const char *text;
	bool shown;
} g_shown[] = {
	{ g_usual, true },
	{ "ffffffff81000000 T _stext\n", true },
	{ "0000000000000000 A fixed_percpu_data\n"
	  "0000000000000000 A __per_cpu_start\n"
	  "0000000000001000 A cpu_debug_store\n",
	  true },
	{ "0000000000000000 A fixed_percpu_data\n"
	  "0000000000000000 T abcdef\n",
	  false },
	{ "0000000000000000 T 12\n\n", false },
	{ "", false },
};

TEST(kernel_names_are_shown_by_any_address, EACH(0, ARRAY_SIZE(g_shown)))
{
	int fd = make_file(g_shown[_i].text, strlen(g_shown[_i].text));

	ck_assert_int_eq(kernel_names_has_addresses(fd), g_shown[_i].shown);
	close(fd);
}

static const char *const g_odd[] = { "",	 "\n",	      "x",
				     "zz T a\n", "12\n",      "12 T\n",
				     "12 T \n",	 "12  a b\n", "12 TT a\n" };

TEST(kernel_names_refuse_another_form, EACH(0, ARRAY_SIZE(g_odd)))
{
	ck_assert_int_eq(read_text(g_odd[_i], strlen(g_odd[_i])), -EBADMSG);
}

TEST(kernel_names_of_a_file_cut_anywhere_are_those_before)
{
	for (size_t bytes = 34; bytes < sizeof(g_usual); bytes++) {
		int err = read_text(g_usual, bytes);

		if (bytes < 58) {
			ck_assert_int_eq(err, -EPERM);
			continue;
		}
		ck_assert_int_eq(err, 0);
		ck_assert_uint_ne(
			kernel_names_find(g_names, 0xffffffff81000000), 0);
		kernel_names_free(&g_names);
	}
}

TEST(kernel_names_of_this_machine)
{
	const struct kernel_names *names = kernel_names_shared();

	ck_assert_ptr_eq(names, kernel_names_shared());
	if (kernel_names_are_shown())
		ck_assert_ptr_nonnull(names);
	else
		ck_assert_ptr_null(names);
}
