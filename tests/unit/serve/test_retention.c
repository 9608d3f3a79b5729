/* SPDX-License-Identifier: Apache-2.0
 *
 * --keep-recordings: removed folders, and folders that must stay.
 */
#include "collector/serve/retention.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/options/keep_limits.h"
#include "collector/output/folder_lock.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define HOUR 3600
#define KIB 1024

static int g_told;

static void take_removed(void *context, dev_t dev, ino_t ino)
{
	(void)context;
	(void)dev;
	ck_assert_uint_ne(ino, 0);
	g_told++;
}

static void put_file(const char *dir, const char *name, const char *text,
		     size_t bytes)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	for (size_t i = strlen(text); i < bytes; i++)
		fputc(' ', file);
	fclose(file);
}

static void put_summary(const char *name, const char *folder)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "{\n \"perfrec\": 1,\n \"folder\": \"%s\",\n \"x\": 1\n}\n",
		 folder);
	put_file(name, "summary.json", text, 0);
}

static void put_recording(const char *name, unsigned int hours, size_t kib)
{
	const struct timespec ended[2] = {
		{ time(NULL) - (time_t)hours * HOUR, 0 },
		{ time(NULL) - (time_t)hours * HOUR, 0 },
	};
	char path[256];

	ck_assert_int_eq(mkdir(name, 0700), 0);
	put_file(name, "wall.pb.gz", "", kib * KIB);
	put_summary(name, name);
	snprintf(path, sizeof(path), "%s/summary.json", name);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, ended, 0), 0);
}

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

static void look(const char *limits_text, unsigned int removed,
		 unsigned int stuck)
{
	const struct retention_owner owner = { take_removed, NULL };
	struct retention *retention;
	struct keep_limits limits = { 0 };
	struct retention_counts counts;

	ck_assert(keep_limits_parse(limits_text, &limits));
	ck_assert_int_eq(retention_new(".", &limits, &owner, &retention), 0);
	g_told = 0;
	retention_look(retention);
	do {
		usleep(1000);
		counts = retention_counts(retention);
	} while (counts.removed < removed || counts.stuck < stuck);
	ck_assert_uint_eq(counts.removed, removed);
	ck_assert_uint_eq(counts.stuck, stuck);
	/* The second look uses the list of the first. */
	retention_look(retention);
	retention_free(&retention);
	ck_assert_int_eq(g_told, (int)removed);
}

static void expect(const char *const *names, bool there)
{
	for (; *names; names++)
		ck_assert_msg(is_there(*names) == there, "%s: %s", *names,
			      there ? "gone" : "still there");
}
#define THERE(...) expect((const char *const[]){ __VA_ARGS__, NULL }, true)
#define GONE(...) expect((const char *const[]){ __VA_ARGS__, NULL }, false)

static void setup(void)
{
	ck_assert_int_eq(system("rm -rf ./*"), 0);
	put_recording("a-1", 50, 64);
	put_recording("a-2", 40, 64);
	put_recording("a-3.1", 30, 64);
	put_recording("a-b-4", 20, 64);
	put_recording("a-b-5", 10, 64);
}

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, NULL);

TEST(a_number_of_all)
{
	look("2", 3, 0);
	THERE("a-b-4", "a-b-5");
	GONE("a-1", "a-2", "a-3.1");
}

TEST(a_number_of_each)
{
	look("each:2", 1, 0);
	THERE("a-2", "a-3.1", "a-b-4", "a-b-5");
	GONE("a-1");
}

TEST(a_size)
{
	look("200K", 3, 0);
	THERE("a-b-4", "a-b-5");
	GONE("a-1", "a-2", "a-3.1");
}

TEST(an_age)
{
	look("35h", 2, 0);
	THERE("a-3.1", "a-b-4", "a-b-5");
	GONE("a-1", "a-2");
}

TEST(several_limits)
{
	look("each:35h,each:1,1w", 3, 0);
	THERE("a-3.1", "a-b-5");
	GONE("a-1", "a-2", "a-b-4");
}

TEST(the_newest_stays)
{
	look("1K", 4, 0);
	THERE("a-b-5");
}

TEST(what_is_in_use_stays)
{
	int fd = open("a-1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	folder_lock_hold(fd);
	look("3", 1, 1);
	THERE("a-1", "a-1/summary.json", "a-1/wall.pb.gz");
	GONE("a-2");
	close(fd);
	look("3", 1, 0);
	GONE("a-1");
}

TEST(what_is_not_ours_stays)
{
	put_recording("outside", 90, 64); /* not a daemon's name */
	ck_assert_int_eq(symlink("outside", "a-6"), 0);
	put_recording("a-7", 90, 64);
	put_file("a-7", "note.txt", "the slow one", 0);
	put_recording("a-8", 90, 64);
	put_file("a-8", "summary.json", "{ \"version\": 1 }", 0);
	ck_assert_int_eq(mkdir("a-9", 0700), 0); /* unfinished */
	put_file("a-9", "trace.pftrace", "", 0);
	put_recording("a-10", 90, 64);
	ck_assert_int_eq(unlink("a-10/wall.pb.gz"), 0);
	ck_assert_int_eq(symlink("../outside/wall.pb.gz", "a-10/wall.pb.gz"),
			 0);
	put_recording("a-11", 90, 64);
	ck_assert_int_eq(mkdir("a-11/snapshots", 0700), 0);
	put_file("a-11/snapshots", "mine", "", 0);
	/* A person renamed it. */
	put_recording("a-12", 90, 64);
	put_summary("a-12", "a-1");
	put_recording("a-13", 90, 64);
	put_summary("a-13", "a-131");
	/* Written by perfrec record, or a summary by perfrec report. */
	put_recording("a-14", 90, 64);
	put_file("a-14", "summary.json", "{ \"perfrec\": 1 }", 0);
	put_recording("a-15", 90, 64);
	put_file("a-15", "summary.json",
		 "{ \"perfrec\": 1, \"command\": [ \"\\n \\\"folder\\\": "
		 "\\\"a-15\\\"\" ] }",
		 0);
	look("1", 4, 0);
	THERE("a-12/wall.pb.gz", "a-13/wall.pb.gz", "a-14/wall.pb.gz",
	      "a-15/wall.pb.gz");
	THERE("outside/wall.pb.gz", "a-6", "a-7/wall.pb.gz", "a-7/note.txt",
	      "a-8/wall.pb.gz", "a-9/trace.pftrace", "a-10/wall.pb.gz",
	      "a-10/summary.json", "a-11/summary.json", "a-b-5");
}

TEST(lists_of_limits)
{
	static const char *const wrong[] = {
		"",
		"0",
		"10x",
		"-1",
		"each",
		"each:",
		"1,",
		",1",
		"0G",
		"1.5G",
		"all:3",
		"each:each:1",
		"3 G",
		"0d",
		"14d10",
		"d",
		"14days",
		"K",
		"99999999999999999999999",
		"9999999999999999w",
		"20G;14d",
	};
	struct keep_limits limits = { 0 };

	ck_assert(!keep_limits_given(&limits));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		ck_assert_msg(!keep_limits_parse(wrong[i], &limits), "%s",
			      wrong[i]);
	limits = (struct keep_limits){ 0 };
	ck_assert(keep_limits_parse("20G,14d,100,each:2w,each:3", &limits));
	ck_assert(keep_limits_parse("30m", &limits));
	ck_assert(keep_limits_given(&limits));
	ck_assert_uint_eq(limits.all.bytes, 30 << 20);
	ck_assert_uint_eq(limits.all.age_ns, 14 * 24 * HOUR * 1000000000ull);
	ck_assert_uint_eq(limits.all.count, 100);
	ck_assert_uint_eq(limits.each.bytes, 0);
	ck_assert_uint_eq(limits.each.age_ns, 14 * 24 * HOUR * 1000000000ull);
	ck_assert_uint_eq(limits.each.count, 3);
}
