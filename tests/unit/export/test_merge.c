/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/export/merge.h"
#include "tests/suite.h"

#define S UINT64_C(1000000000)
#define BOOT_A "a"
#define BOOT_B "b"

static struct merge_file file_of(const char *name, int64_t rank,
				 const char *host, const char *boot,
				 uint64_t boottime_ns, uint64_t realtime_ns)
{
	struct merge_file file = {
		.name = name,
		.rank = rank,
		.origin = { boottime_ns, realtime_ns, "", "" },
	};

	strcpy(file.origin.host, host);
	strcpy(file.origin.boot, boot);
	return file;
}

static struct merge plan(struct merge_file *files, size_t count)
{
	struct merge merge = { .files = files, .count = count };

	merge_plan(&merge);
	return merge;
}

/* The wall clock was set before the second trace of boot A. */
TEST(merge_aligns_traces_of_a_boot_by_its_clock_alone)
{
	struct merge_file files[] = {
		file_of("b0", -1, "b", BOOT_B, 5 * S, 1000 * S),
		file_of("a0", -1, "a", BOOT_A, 500 * S, 1001 * S),
		file_of("a1", -1, "a", BOOT_A, 600 * S, 1109 * S),
		file_of("b1", -1, "b", BOOT_B, 50 * S, 1045 * S),
	};
	struct merge merge = plan(files, ARRAY_SIZE(files));

	ck_assert_uint_eq(merge.boots, 2);
	/* Booted first, so no event precedes its zero. */
	ck_assert_uint_eq(merge.reference, 1);
	ck_assert_uint_eq(files[1].offset_ns, 0);
	ck_assert_uint_eq(files[2].offset_ns, 0);
	ck_assert_uint_eq(files[0].offset_ns, 995 * S - 501 * S);
	ck_assert_uint_eq(files[3].offset_ns, 995 * S - 501 * S);
}

TEST(merge_takes_traces_of_unknown_boots_for_different_ones)
{
	struct merge_file files[] = {
		file_of("x", -1, "", "", 10 * S, 100 * S),
		file_of("y", -1, "", "", 10 * S, 101 * S),
		/* A wall clock that was never set. */
		file_of("z", -1, "", "", 10 * S, 1),
	};
	struct merge merge = plan(files, ARRAY_SIZE(files));

	ck_assert_uint_eq(merge.boots, 3);
	ck_assert_uint_eq(merge.reference, 2);
	ck_assert_uint_eq(files[0].offset_ns, 100 * S - 1);
	ck_assert_uint_eq(files[1].offset_ns, 101 * S - 1);
}

TEST(merge_names_members_safely_and_differently)
{
	static const char *const names[][2] = {
		{ "run", "run.pftrace" },
		{ "a/b/run/", "run-2.pftrace" },
		{ "c/run.pftrace", "run-3.pftrace" },
		{ "run-2", "run-2-2.pftrace" },
		{ "/", "trace.pftrace" },
		{ "..", "trace-2.pftrace" },
		{ ".hidden", "hidden.pftrace" },
		{ ".pftrace", "pftrace.pftrace" },
		{ "a\nb\\ c\xc3\xbc", "a_b__c__.pftrace" },
	};
	struct merge_file files[ARRAY_SIZE(names) + 2];
	char many[3000];

	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		files[i] = file_of(i < ARRAY_SIZE(names) ? names[i][0] : many,
				   -1, "h", BOOT_A, S, S);
	plan(files, ARRAY_SIZE(files));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_str_eq(files[i].member, names[i][1]);
	ck_assert_uint_eq(strlen(files[ARRAY_SIZE(names)].member), 88);
	ck_assert_uint_eq(strlen(files[ARRAY_SIZE(names) + 1].member), 90);
}

static void expect_machines(struct merge_file *files, size_t count,
			    const char *const *machines)
{
	plan(files, count);
	for (size_t i = 0; i < count; i++)
		ck_assert_str_eq(files[i].machine, machines[i]);
}

TEST(merge_names_machines_by_what_tells_them_apart)
{
	struct merge_file hosts[] = {
		file_of("r0", 0, "n1", BOOT_A, S, S),
		file_of("r1", 1, "n2", BOOT_B, S, S),
	};
	struct merge_file ranks[] = {
		file_of("r0", 0, "n1", BOOT_A, S, S),
		file_of("r1", 1, "n1", BOOT_A, S, S),
		file_of("r2", -1, "n2", BOOT_B, S, S),
	};
	struct merge_file traces[] = {
		file_of("r0", 0, "n1", BOOT_A, S, S),
		file_of("again", 0, "n1", BOOT_A, S, S),
		file_of("n1", -1, "", "", S, S),
		file_of("x/n1", -1, "n1", BOOT_A, S, S),
	};

	expect_machines(hosts, ARRAY_SIZE(hosts),
			(const char *const[]){ "n1", "n2" });
	expect_machines(
		ranks, ARRAY_SIZE(ranks),
		(const char *const[]){ "n1 rank 0", "n1 rank 1", "n2" });
	expect_machines(traces, ARRAY_SIZE(traces),
			(const char *const[]){ "n1 rank 0 r0",
					       "n1 rank 0 again", "n1",
					       "n1 n1-2" });
}

/* Sizes beyond 11 octal digits are binary, as in GNU tar. */
TEST(archive_says_large_sizes_in_binary)
{
	uint8_t header[512];
	FILE *out = tmpfile();

	ck_assert_ptr_nonnull(out);
	archive_begin("large", UINT64_C(0x1234567890), 0, out);
	archive_begin("small", UINT64_C(077777777777), 1, out);
	rewind(out);
	ck_assert_uint_eq(fread(header, sizeof(header), 1, out), 1);
	ck_assert_mem_eq(header + 124, "\x80\0\0\0\0\0\0\x12\x34\x56\x78\x90",
			 12);
	ck_assert_uint_eq(fread(header, sizeof(header), 1, out), 1);
	ck_assert_mem_eq(header + 124, "77777777777", 12);
	ck_assert_mem_eq(header + 136, "00000000001", 12);
	fclose(out);
}
