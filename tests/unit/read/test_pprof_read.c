/* SPDX-License-Identifier: Apache-2.0
 *
 * `perfrec report` on profiles of out_pprof and on any others.
 */
#include "collector/read/pprof_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/output/out_pprof.h"
#include "collector/output/own_files.h"
#include "collector/show/pprof_rows.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static const struct out_value_type types[] = { { "alloc_space", "bytes" },
					       { "inuse_space", "bytes" } };

/* main calls walk, walk calls itself; put is inlined at its end. */
static void put_stacks(struct out_pprof *out)
{
	const struct out_line main_line[] = { { 1, 10 } };
	const struct out_line walk_line[] = { { 2, 20 } };
	const struct out_line put_lines[] = { { 3, 30 }, { 2, 25 } };
	const struct out_labels labels = {
		.process = "prog", .thread = "one", .pid = 7, .tid = 8
	};
	uint64_t deep[] = { 3, 2, 2, 1 }, flat[] = { 1 }, again[] = { 1 };

	out_pprof_mapping(out, &(struct out_mapping){ .id = 1,
						      .path = "/bin/prog",
						      .build_id = "" });
	out_pprof_function(out, &(struct out_function){ 1, "main", "m.c", 1 });
	out_pprof_function(out, &(struct out_function){ 2, "walk", "w.c", 2 });
	out_pprof_function(out, &(struct out_function){ 3, "put", "", 0 });
	out_pprof_location(
		out, &(struct out_location){ 1, 1, 0x1000, main_line, 1 });
	out_pprof_location(
		out, &(struct out_location){ 2, 1, 0x2000, walk_line, 1 });
	out_pprof_location(
		out, &(struct out_location){ 3, 1, 0x3000, put_lines, 2 });
	out_pprof_location(out,
			   &(struct out_location){ 4, 1, 0x4000, NULL, 0 });
	out_pprof_sample(out, deep, 4, (int64_t[]){ 100, 40 }, NULL);
	out_pprof_sample(out, flat, 1, (int64_t[]){ 7, -2 }, NULL);
	out_pprof_sample(out, again, 1, (int64_t[]){ 1, 0 }, &labels);
	out_pprof_sample(out, (uint64_t[]){ 4 }, 1, (int64_t[]){ 0, 3 }, NULL);
}

static void put_short_sample(struct out_pprof *out, uint32_t bits)
{
	const int64_t values[] = { 1, bits & 127 };
	uint64_t stack[9];

	for (size_t i = 0; i < ARRAY_SIZE(stack); i++)
		stack[i] = 1 + (bits >> (7 + 2 * i) & 3);
	out_pprof_sample(out, stack, ARRAY_SIZE(stack), values, NULL);
}

/* Adds @more short samples of many stacks. */
static void write_profile(uint32_t more)
{
	static const char *const comments[] = { "a comment" };
	const struct out_head head = { .types = types,
				       .count = 2,
				       .default_type = 1,
				       .period_type = { "space", "bytes" },
				       .period = 512 };
	const struct out_profile_end end = { 1, 2, comments, 1 };
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct out_pprof *out;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(out_pprof_new(fd, HEAP_PROFILE_NAME, &head, &out), 0);
	put_stacks(out);
	for (uint32_t i = 0; i < more; i++)
		put_short_sample(out, i * 2654435761u);
	ck_assert_int_eq(out_pprof_close(&out, 0, &end), 0);
	close(fd);
}

static struct pprof *read_profile(void)
{
	struct pprof *pprof;

	write_profile(0);
	ck_assert_int_eq(pprof_read(".", HEAP_PROFILE_NAME, &pprof), 0);
	return pprof;
}

static const struct pprof_row *row_named(const struct pprof_rows *rows,
					 const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (strcmp(rows->list[i].frames->name, name) == 0)
			return &rows->list[i];
	ck_abort_msg("no row '%s'", name);
}

TEST(what_was_written_is_read)
{
	struct pprof *pprof = read_profile();

	ck_assert_uint_eq(pprof->type_count, 2);
	ck_assert_uint_eq(pprof_find_type(pprof, "inuse_space"), 1);
	ck_assert_uint_eq(pprof_find_type(pprof, "cpu"), PPROF_NONE);
	ck_assert_str_eq(pprof->type[0].unit, "bytes");
	ck_assert_uint_eq(pprof->period, 512);
	ck_assert_str_eq(pprof->comments[pprof->comment_count - 1],
			 "a comment");
	ck_assert_uint_eq(pprof->sample_count, 4);
	pprof_free(&pprof);
	ck_assert_ptr_null(pprof);
}

/* A program with half a million stacks has as many short samples. */
TEST(a_profile_of_many_short_samples_is_read)
{
	struct pprof *pprof;

	write_profile(500000);
	ck_assert_int_eq(pprof_read(".", HEAP_PROFILE_NAME, &pprof), 0);
	ck_assert_uint_eq(pprof->sample_count, 500004);
	pprof_free(&pprof);
}

TEST(a_function_counts_once_for_each_sample)
{
	struct pprof *pprof = read_profile();
	const struct pprof_row *row;
	struct pprof_rows rows;

	ck_assert_int_eq(pprof_rows_by_function(pprof, &rows), 0);
	ck_assert_int_eq(rows.sum[0], 108);
	row = row_named(&rows, "main");
	ck_assert_int_eq(row->self[0], 8);
	ck_assert_int_eq(row->self[1], -2);
	ck_assert_int_eq(row->total[0], 108);
	row = row_named(&rows, "walk");
	ck_assert_int_eq(row->self[0], 0);
	ck_assert_int_eq(row->total[0], 100);
	ck_assert_uint_eq(row->frames->line, 20);
	ck_assert_int_eq(row_named(&rows, "put")->self[1], 40);
	/* A location without lines counts for its module. */
	ck_assert_int_eq(row_named(&rows, "prog")->self[1], 3);
	pprof_rows_sort(&rows, &(struct pprof_key){ 0, true }, 1);
	ck_assert_str_eq(rows.list[0].frames->name, "main");
	ck_assert_str_eq(rows.list[1].frames->name, "put");
	pprof_rows_free(&rows);
	pprof_free(&pprof);
}

TEST(stacks_without_their_labels_are_merged)
{
	struct pprof *pprof = read_profile();
	struct pprof_rows rows;

	ck_assert_int_eq(pprof_rows_by_stack(pprof, &rows), 0);
	ck_assert_uint_eq(rows.count, 3);
	pprof_rows_sort(&rows, &(struct pprof_key){ 0, false }, 1);
	ck_assert_uint_eq(rows.list[0].depth, 5);
	ck_assert_str_eq(rows.list[0].frames[0].name, "put");
	ck_assert_str_eq(rows.list[0].frames[4].name, "main");
	ck_assert_int_eq(rows.list[1].self[0], 8);
	pprof_rows_free(&rows);
	pprof_free(&pprof);
}

/* --- other files --------------------------------------------------------- */

/* gzread() reads plain files as well. */
static size_t unpacked(uint8_t *bytes, size_t room)
{
	gzFile file = gzopen(HEAP_PROFILE_NAME, "rb");
	int size;

	ck_assert_ptr_nonnull(file);
	size = gzread(file, bytes, (unsigned int)room);
	ck_assert_int_gt(size, 0);
	gzclose(file);
	return (size_t)size;
}

static int read_bytes(const uint8_t *bytes, size_t size, struct pprof **out)
{
	unlink("other.pb.gz");
	scratch_write("other.pb.gz", bytes, size);
	return pprof_read(".", "other.pb.gz", out);
}

/* A file is refused, or all of it is usable. */
static void use(const uint8_t *bytes, size_t size)
{
	struct pprof *pprof = NULL;
	struct pprof_rows rows;
	int error = read_bytes(bytes, size, &pprof);

	ck_assert(error == 0 || error == -EBADMSG || error == -EFBIG);
	if (error) {
		ck_assert_ptr_null(pprof);
		return;
	}
	ck_assert_int_eq(pprof_rows_by_function(pprof, &rows), 0);
	pprof_rows_sort(&rows, &(struct pprof_key){ 0, true }, 1);
	pprof_rows_free(&rows);
	ck_assert_int_eq(pprof_rows_by_stack(pprof, &rows), 0);
	pprof_rows_sort(&rows, NULL, 0);
	pprof_rows_free(&rows);
	pprof_free(&pprof);
}

static void hush(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(fd, STDERR_FILENO);
	close(fd);
}

TEST(any_byte_may_be_wrong)
{
	uint8_t bytes[4096];
	size_t size;

	write_profile(0);
	size = unpacked(bytes, sizeof(bytes));
	hush();
	for (size_t i = 0; i < size; i++) {
		const uint8_t right = bytes[i];
		static const uint8_t wrong[] = { 0, 1, 5, 0x7f, 0x80, 0xff };

		for (size_t k = 0; k < ARRAY_SIZE(wrong); k++) {
			bytes[i] = wrong[k];
			use(bytes, size);
		}
		bytes[i] = right;
		use(bytes, i);
	}
}

TEST(a_file_that_is_cut_is_refused)
{
	struct pprof *pprof = NULL;
	struct stat status;

	write_profile(0);
	hush();
	ck_assert_int_eq(stat(HEAP_PROFILE_NAME, &status), 0);
	ck_assert_int_eq(truncate(HEAP_PROFILE_NAME, status.st_size - 9), 0);
	ck_assert_int_eq(pprof_read(".", HEAP_PROFILE_NAME, &pprof), -EBADMSG);
	ck_assert_int_eq(pprof_read(".", "none.pb.gz", &pprof), -ENOENT);
	ck_assert_ptr_null(pprof);
}

/* Two million empty samples of two bytes compress to a small file. */
TEST(what_asks_for_too_much_is_refused)
{
	static uint8_t samples[1u << 20];
	struct pprof *pprof = NULL;
	gzFile file = gzopen("bomb.pb.gz", "wb1");

	for (size_t i = 0; i < sizeof(samples); i += 2)
		samples[i] = 2 << 3 | 2;
	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < 4; i++)
		ck_assert_int_gt(gzwrite(file, samples, sizeof(samples)), 0);
	ck_assert_int_eq(gzclose(file), Z_OK);
	hush();
	ck_assert_int_eq(pprof_read(".", "bomb.pb.gz", &pprof), -EFBIG);
	ck_assert_ptr_null(pprof);
}

/* @mode: "wb9" compresses, "wbT" does not. */
static void write_padded(const char *name, const char *mode,
			 const uint8_t *field, size_t size, size_t count)
{
	uint8_t bytes[4096];
	size_t first;
	gzFile file;

	write_profile(0);
	first = unpacked(bytes, sizeof(bytes));
	file = gzopen(name, mode);
	ck_assert_ptr_nonnull(file);
	ck_assert_int_gt(gzwrite(file, bytes, (unsigned int)first), 0);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_gt(gzwrite(file, field, (unsigned int)size), 0);
	ck_assert_int_eq(gzclose(file), Z_OK);
}

/* Only the compressed file is refused: its size on disk sets the limit. */
static void check_padded(const uint8_t *field, size_t size, size_t count)
{
	struct pprof *pprof = NULL;

	write_padded("packed.pb.gz", "wb9", field, size, count);
	write_padded("plain.pb.gz", "wbT", field, size, count);
	hush();
	ck_assert_int_eq(pprof_read(".", "packed.pb.gz", &pprof), -EFBIG);
	ck_assert_ptr_null(pprof);
	ck_assert_int_eq(pprof_read(".", "plain.pb.gz", &pprof), 0);
	ck_assert_uint_eq(pprof->sample_count, 4);
	pprof_free(&pprof);
}

/* Three million strings of ten bytes: 36 MB need over 190 MB. */
TEST(memory_is_bounded_by_the_size_on_disk)
{
	static const uint8_t text[] = { 6 << 3 | 2, 10,	 'a', 'a', 'a', 'a',
					'a',	    'a', 'a', 'a', 'a', 'a' };

	check_padded(text, sizeof(text), 3000000);
}

/* 48 MB of unknown fields, which need no extra memory. */
TEST(what_is_unpacked_is_bounded_by_the_size_on_disk)
{
	static uint8_t field[1u << 20] = { 15 << 3 | 2, 0xfc, 0xff, 0x3f };

	check_padded(field, sizeof(field), 48);
}

/* 500 samples of a recursion 4,000 deep: gzip shrinks it 800 times. */
TEST(what_is_small_because_it_recurs_is_read)
{
	static uint8_t sample[4096] = { 2 << 3 | 2, 0xa7, 0x1f,
					1 << 3 | 2, 0xa0, 0x1f };
	const size_t depth = 4000, head = 6;
	struct pprof *pprof = NULL;

	memset(sample + head, 1, depth);
	memcpy(sample + head + depth, (uint8_t[]){ 2 << 3 | 2, 2, 1, 1 }, 4);
	write_padded("deep.pb.gz", "wb9", sample, head + depth + 4, 500);
	ck_assert_int_eq(pprof_read(".", "deep.pb.gz", &pprof), 0);
	ck_assert_uint_eq(pprof->sample_count, 504);
	pprof_free(&pprof);
}

/* protobuf-c has enough memory for 200,000 samples, their copy has not. */
TEST(what_is_beyond_the_limit_is_no_want_of_memory)
{
	static const uint8_t sample[] = { 2 << 3 | 2, 4, 2 << 3 | 2, 2, 1, 1 };
	struct pprof *pprof = NULL;

	write_padded("many.pb.gz", "wb9", sample, sizeof(sample), 200000);
	hush();
	ck_assert_int_eq(pprof_read(".", "many.pb.gz", &pprof), -EFBIG);
}

TEST(what_finds_no_memory_is_not_called_damaged, UNLESS(HAS_ASAN))
{
	static uint8_t sample[(2u << 20) + 10] = {
		0x12, 0x85, 0x80, 0x80, 0x01, 0x0a, 0x80, 0x80, 0x80, 0x01
	};
	struct rlimit limit = { 0, RLIM_INFINITY };
	struct pprof *pprof = NULL;
	unsigned long pages;
	FILE *statm = fopen("/proc/self/statm", "r");

	memset(sample + 10, 1, sizeof(sample) - 10);
	write_padded("stack.pb.gz", "wb9", sample, sizeof(sample), 1);
	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	hush();
	limit.rlim_cur = pages * 4096 + (10u << 20);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert_int_eq(pprof_read(".", "stack.pb.gz", &pprof), -ENOMEM);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

SUITE(scratch_enter, scratch_leave);
