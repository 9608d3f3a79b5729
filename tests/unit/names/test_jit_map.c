/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_map and jit_files: names in perf maps and jitdumps, and malformed files.
 */
#include "collector/names/jit_map.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "collector/names/jit_files.h"
#include "collector/names/symbols.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static struct jit_map *g_map;
static struct symbol_cache *g_cache;
static struct jit_files *g_files;
static int g_root;

static void setup(void)
{
	ck_assert_int_eq(jit_map_new(&g_map), 0);
}

static void teardown(void)
{
	jit_map_free(&g_map);
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

static void read_text(const char *text)
{
	int fd = file_of(text, strlen(text));

	ck_assert_int_eq(jit_map_read_text(g_map, fd), 0);
	ck_assert_int_eq(jit_map_settle(g_map), 0);
	close(fd);
}

/* NULL: no name. */
static void check(uint64_t address, const char *name)
{
	const char *found = jit_map_find(g_map, address);

	if (name)
		ck_assert_pstr_eq(found, name);
	else
		ck_assert_ptr_null(found);
}

/* --- perf maps ------------------------------------------------------------ */

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, teardown);

TEST(jit_map_text_is_start_size_and_name)
{
	read_text("7f00 10 JS:*spin /a b.js:2:14\n"
		  "0x00007f20 0x8 int J.fib(int)\n"
		  "30 1 one\n");
	check(0x7eff, NULL);
	check(0x7f00, "JS:*spin /a b.js:2:14");
	check(0x7f0f, "JS:*spin /a b.js:2:14");
	check(0x7f10, NULL);
	check(0x7f27, "int J.fib(int)");
	check(0x7f28, NULL);
	check(0x2f, NULL);
	check(0x30, "one");
	check(0x31, NULL);
}

TEST(jit_map_of_nothing_knows_nothing)
{
	check(0, NULL);
	read_text("");
	check(0, NULL);
	check(UINT64_MAX, NULL);
}

TEST(jit_map_later_ranges_win)
{
	read_text("100 100 old\n"
		  "140 20 inner\n"
		  "180 100 over\n"
		  "140 10 newest\n"
		  "80 400 all\n"
		  "200 10 last\n");
	check(0x80, "all");
	check(0x145, "all");
	check(0x205, "last");
	check(0x210, "all");
	check(0x480, NULL);
}

TEST(jit_map_overlaps_are_as_by_painting)
{
	static char text[1 << 16];
	static int painted[300];
	size_t used = 0;

	memset(painted, -1, sizeof(painted));
	srand(7);
	for (int i = 0; i < 200; i++) {
		int start = rand() % 250, size = rand() % 50;

		used += (size_t)sprintf(text + used, "%x %x n%d\n", start, size,
					i);
		for (int k = start; k < start + size; k++)
			painted[k] = i;
	}
	read_text(text);
	for (int k = 0; k < 300; k++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", painted[k]);
		check((uint64_t)k, painted[k] < 0 ? NULL : name);
	}
}

TEST(jit_map_bad_lines_are_left_out)
{
	read_text("\n"
		  "hello\n"
		  "10\n"
		  "10 10\n"
		  "10 10 \n"
		  "10 0 empty\n"
		  "-10 10 minus\n"
		  "10 -10 minus\n"
		  "ffffffffffffffff 2 wraps\n"
		  "10000000000000000 2 17 digits\n"
		  "0x 10 no digits\n"
		  "20 10 good\n"
		  "20 10 not whole");
	check(0x10, NULL);
	check(0, NULL);
	check(UINT64_MAX, NULL);
	check(0x20, "good");
}

TEST(jit_map_long_lines_are_cut)
{
	static char text[300000];
	const char *found;

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "10 10 ", 6);
	memcpy(text + 200000, "\n20 10 next\n", 12);
	text[200012] = '\0';
	read_text(text);
	found = jit_map_find(g_map, 0x10);
	ck_assert_ptr_nonnull(found);
	ck_assert_uint_le(strlen(found), 4096);
	check(0x20, "next");
}

static void write_at(int fd, const char *text, off_t offset)
{
	ck_assert_int_eq(pwrite(fd, text, strlen(text), offset),
			 (ssize_t)strlen(text));
}

TEST(jit_map_holes_are_not_read)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, 10ll << 30), 0);
	write_at(fd, "10 10 first\n", 0);
	write_at(fd, "\n30 10 second\n", 5ll << 30);
	ck_assert_int_eq(jit_map_read_text(g_map, fd), 0);
	ck_assert_int_eq(jit_map_settle(g_map), 0);
	check(0x10, "first");
	check(0x30, "second");
	ck_assert_uint_le(jit_map_bytes_read(g_map), 1u << 20);
	ck_assert(!jit_map_is_cut(g_map));
	close(fd);
}

TEST(jit_map_of_a_long_file_is_its_begin)
{
	static char lines[1 << 20];
	int fd = memfd_create("test", MFD_CLOEXEC);

	memset(lines, '\n', sizeof(lines));
	for (off_t i = 0; i < 130; i++)
		ck_assert_int_eq(pwrite(fd, lines, sizeof(lines), i << 20),
				 (ssize_t)sizeof(lines));
	write_at(fd, "10 10 first\n", 127 << 20);
	write_at(fd, "20 10 second\n", 129 << 20);
	ck_assert_int_eq(jit_map_read_text(g_map, fd), 0);
	ck_assert_int_eq(jit_map_settle(g_map), 0);
	check(0x10, "first");
	check(0x20, NULL);
	ck_assert_uint_le(jit_map_bytes_read(g_map), 129u << 20);
	ck_assert(jit_map_is_cut(g_map));
	close(fd);
}

TEST(jit_map_of_a_million_nested_ranges_is_settled)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	FILE *file = fdopen(fd, "w");

	for (int i = 0; i < 1100000; i++)
		fprintf(file, "%x %x n%d\n", i, 4000000 - 2 * i, i);
	ck_assert_int_eq(fflush(file), 0);
	ck_assert_int_eq(jit_map_read_text(g_map, fd), 0);
	ck_assert_int_eq(jit_map_settle(g_map), 0);
	check(500000, "n500000");
	ck_assert(jit_map_is_cut(g_map));
	ck_assert_uint_le(jit_map_bytes(g_map), 200u << 20);
	fclose(file);
}

/* --- jitdump -------------------------------------------------------------- */

static const uint32_t g_dump[] = {
	/* header */
	0x4a695444,
	1,
	40,
	62,
	0,
	9,
	0,
	0,
	0,
	0,
	/* debug information, which is skipped */
	2,
	24,
	0,
	0,
	1,
	2,
	/* code at 0x1000, 0x10 bytes, "foo", and the code */
	0,
	56 + 8,
	0,
	0,
	9,
	9,
	0x1000,
	0,
	0x1000,
	0,
	0x10,
	0,
	1,
	0,
	0x006f6f66,
	0xc3,
	/* moved to 0x2000 */
	1,
	64,
	0,
	0,
	9,
	9,
	0x2000,
	0,
	0x1000,
	0,
	0x2000,
	0,
	0x10,
	0,
	1,
	0,
	/* moved from an address without code */
	1,
	64,
	0,
	0,
	9,
	9,
	0x5000,
	0,
	0x4000,
	0,
	0x5000,
	0,
	0x10,
	0,
	2,
	0,
	/* other code at the old address */
	0,
	56 + 4,
	0,
	0,
	9,
	9,
	0x1008,
	0,
	0x1008,
	0,
	8,
	0,
	3,
	0,
	0x00726162,
	/* close; the rest is ignored */
	3,
	16,
	0,
	0,
	0,
	60,
	0,
	0,
	9,
	9,
	0x7000,
	0,
	0x7000,
	0,
	8,
	0,
	3,
	0,
	0x00726162,
};

TEST(jit_map_dump_has_loads_and_moves)
{
	int fd = file_of(g_dump, sizeof(g_dump));

	ck_assert_int_eq(jit_map_read_dump(g_map, fd), 0);
	ck_assert_int_eq(jit_map_settle(g_map), 0);
	check(0x1000, "foo");
	check(0x1008, "bar");
	check(0x100f, "bar");
	check(0x1010, NULL);
	check(0x2000, "foo");
	check(0x200f, "foo");
	check(0x5000, NULL);
	check(0x7000, NULL);
	close(fd);
}

TEST(jit_map_dump_that_is_cut_or_lies_is_survived, EACH(0, 2))
{
	uint32_t lying[ARRAY_SIZE(g_dump)];
	int fd;

	for (size_t size = 0; size < sizeof(g_dump); size += 3) {
		fd = file_of(g_dump, size);
		ck_assert_int_eq(jit_map_read_dump(g_map, fd),
				 size < 40 ? -EBADMSG : 0);
		close(fd);
	}
	for (size_t i = 0; i < ARRAY_SIZE(g_dump); i++) {
		memcpy(lying, g_dump, sizeof(lying));
		lying[i] = _i ? UINT32_MAX : 0;
		fd = file_of(lying, sizeof(lying));
		jit_map_read_dump(g_map, fd);
		ck_assert_int_eq(jit_map_settle(g_map), 0);
		jit_map_find(g_map, 0x1008);
		close(fd);
	}
}

/* --- files ---------------------------------------------------------------- */

static void setup_files(void)
{
	ck_assert_int_eq(symbol_cache_new(&g_cache), 0);
	g_files = jit_files_new(g_cache, 77, geteuid());
	scratch_run("rm -rf root; mkdir -p root/tmp");
	g_root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_ptr_nonnull(g_files);
}

static void teardown_files(void)
{
	jit_files_free(&g_files);
	close(g_root);
	symbol_cache_put(&g_cache);
}

/* Recent changes show only after a pause. */
static const char *find(uint64_t address)
{
	/* files are checked every millisecond */
	const struct timespec pause = { 0, 2000000 };

	nanosleep(&pause, NULL);
	return jit_files_find(g_files, -1, g_root, address);
}

FIXTURE(setup_files, teardown_files);

TEST(jit_files_map_is_read_as_it_grows)
{
	ck_assert_ptr_null(find(0x10));
	scratch_run("echo '10 10 one' >root/tmp/perf-77.map");
	ck_assert_pstr_eq(find(0x10), "one");
	ck_assert_ptr_null(find(0x20));
	scratch_run("printf '20 10 t\\377o\\n' >>root/tmp/perf-77.map");
	ck_assert_pstr_eq(find(0x20), "t?o");
	scratch_run("rm root/tmp/perf-77.map");
	ck_assert_pstr_eq(find(0x10), "one");
}

TEST(jit_files_of_others_and_what_is_no_file_are_not_read, EACH(0, 5))
{
	static const char *const made[] = {
		"mkfifo root/tmp/perf-77.map", /* opening would block */
		"mkdir root/tmp/perf-77.map",
		"echo '10 10 one' >root/tmp/real; "
		"ln -s real root/tmp/perf-77.map",
		"echo '10 10 one' >root/tmp/perf-77.map; "
		"chown 12345 root/tmp/perf-77.map",
		"echo '10 10 one' >outside; rmdir root/tmp; "
		"ln -s $PWD root/tmp; mv outside perf-77.map",
	};

	if (_i == 3 && geteuid())
		return; /* only root can chown files to others */
	scratch_run("%s", made[_i]);
	ck_assert_ptr_null(find(0x10));
}

TEST(jit_files_dump_is_known_by_its_name)
{
	int fd;

	ck_assert(jit_files_is_dump("/home/x/jit-12.dump"));
	ck_assert(jit_files_is_dump("jit-1.dump"));
	ck_assert(!jit_files_is_dump("/x/jit-.dump"));
	ck_assert(!jit_files_is_dump("/x/jit-1a.dump"));
	ck_assert(!jit_files_is_dump("/jit-1.dump/lib.so"));
	scratch_write("jit-77.dump", g_dump, sizeof(g_dump));
	fd = open("jit-77.dump", O_PATH | O_CLOEXEC);
	jit_files_set_dump(g_files, fd);
	close(fd);
	ck_assert_pstr_eq(find(0x2004), "foo");
}
