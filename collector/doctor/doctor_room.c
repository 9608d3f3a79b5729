/* SPDX-License-Identifier: Apache-2.0
 *
 * The room for a recording: space on the disk, memory, CPUs, limits.
 */
#include "collector/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/size.h"

/* Bytes of a call in the trace, about (docs/BENCHMARKS.md). */
#define SPAN_BYTES 22
#define TRIAL_BYTES (16 << 20)
#define TRIAL_PIECE (1 << 20)
/* A smaller disk is full after a recording of some minutes. */
#define LITTLE_ROOM (2ULL << 30)
/* Below this the disk delays a program that calls functions all the time: about
 * the rate of 10^7 calls a second. */
#define SLOW_BYTES_S (220ULL * 1000 * 1000)
/* The collector's buffers and tables for a program of usual size. */
#define LITTLE_MEMORY (128ULL << 20)
/* The address space that a recorded program reserves, rings and thunks. */
#define LITTLE_SPACE (1ULL << 30)

/* Sets @to to @dir, or to the folder that @dir would be made in. */
static void existing_folder(const char *dir, char to[PATH_MAX])
{
	struct stat status;

	snprintf(to, PATH_MAX, "%s", dir);
	if (stat(to, &status) < 0) {
		char *parent = dirname(to);

		memmove(to, parent, strlen(parent) + 1);
	}
}

/* Writes TRIAL_BYTES to a file without a name in @dir, to the disk. Returns the
 * bytes a second, or 0 with errno set. */
static uint64_t try_disk(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char *piece = calloc(1, TRIAL_PIECE);
	uint64_t begin = clock_monotonic_ns(), took;
	bool good = fd >= 0 && piece;
	int err;

	for (size_t done = 0; good && done < TRIAL_BYTES; done += TRIAL_PIECE)
		good = write(fd, piece, TRIAL_PIECE) == TRIAL_PIECE;
	good = good && fdatasync(fd) == 0;
	err = errno;
	took = clock_monotonic_ns() - begin;
	if (fd >= 0)
		close(fd);
	free(piece);
	errno = err;
	return good ? (uint64_t)TRIAL_BYTES * 1000000000 / (took ? took : 1)
		    : 0;
}

static void judge_speed(struct doctor_finding *finding, uint64_t speed)
{
	char rate[SIZE_TEXT];

	if (speed >= SLOW_BYTES_S)
		return;
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->effect,
		   "it takes %s a second: a program with more than %" PRIu64
		   " million calls a second waits for it",
		   size_format_bytes(speed, rate),
		   speed / SPAN_BYTES / 1000000);
	doctor_say(finding->change,
		   "record to another disk (-o), within a budget (--overhead "
		   "5%%), or compressed (--compress)");
}

static void look_at_disk(const char *dir, struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "disk");
	char folder[PATH_MAX], free_text[SIZE_TEXT];
	struct statvfs status;
	uint64_t room, speed;

	existing_folder(dir, folder);
	if (statvfs(folder, &status) < 0 || access(folder, W_OK) < 0) {
		doctor_judge(finding, DOCTOR_BAD);
		doctor_say(finding->found, "'%.150s' cannot be written: %s",
			   folder, strerror(errno));
		doctor_say(finding->change, "choose another folder: -o DIR");
		return;
	}
	room = (uint64_t)status.f_bavail * status.f_frsize;
	doctor_say(finding->found,
		   "%s free in '%.150s', for about %" PRIu64 " million calls",
		   size_format_bytes(room, free_text), folder,
		   room / SPAN_BYTES / 1000000);
	speed = room > 4 * (uint64_t)TRIAL_BYTES ? try_disk(folder)
						 : SLOW_BYTES_S;
	/* A file system without unnamed files has no result. */
	if (speed)
		judge_speed(finding, speed);
	if (room >= LITTLE_ROOM)
		return;
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->effect, "long recordings do not fit");
	doctor_say(finding->change,
		   "record to another disk (-o), or set a limit (--max-size)");
}

/* Returns the number in the file @path; UINT64_MAX: no number, or no limit. */
static uint64_t read_limit(const char *path)
{
	uint64_t limit = UINT64_MAX;
	FILE *file = fopen(path, "re");

	if (!file)
		return limit;
	if (fscanf(file, "%" SCNu64, &limit) != 1)
		limit = UINT64_MAX;
	fclose(file);
	return limit;
}

/* The memory limit of our control group, of version 2. */
static uint64_t group_limit(void)
{
	char line[PATH_MAX] = "", path[2 * PATH_MAX];
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool found = false;

	if (!file)
		return UINT64_MAX;
	while (!found && fgets(line, sizeof(line), file))
		found = strncmp(line, "0::", 3) == 0;
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	if (!found)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", line + 3);
	return read_limit(path);
}

static void look_at_memory(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "memory");
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t memory = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t group = group_limit();
	char text[SIZE_TEXT];

	if (group < memory)
		doctor_say(finding->found, "%s in this control group",
			   size_format_bytes(group, text));
	else
		doctor_say(finding->found, "%s",
			   size_format_bytes(memory, text));
	if ((group < memory ? group : memory) >= LITTLE_MEMORY)
		return;
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->effect,
		   "the rings of many threads may be more than that");
	doctor_say(finding->change, "record with --ring-size 64K");
}

static void look_at_cpus(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "cpus");
	cpu_set_t set;
	int count =
		sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	doctor_say(finding->found, "%d for this process, %ld in all", count,
		   sysconf(_SC_NPROCESSORS_ONLN));
	if (count > 1)
		return;
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->effect,
		   "the program and its collector take turns on one CPU: wall "
		   "times are longer");
	doctor_say(finding->change,
		   "give it two CPUs (taskset, docker --cpus)");
}

static void look_at_limits(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "limits");
	struct rlimit space = { .rlim_cur = RLIM_INFINITY }, files = { 0 };

	getrlimit(RLIMIT_AS, &space);
	getrlimit(RLIMIT_NOFILE, &files);
	doctor_say(finding->found, "%ju open files, %s address space",
		   (uintmax_t)files.rlim_cur,
		   space.rlim_cur == RLIM_INFINITY ? "any" : "limited");
	if (space.rlim_cur < LITTLE_SPACE) {
		doctor_judge(finding, DOCTOR_LESS);
		doctor_say(finding->effect,
			   "few threads can be recorded at a time");
		doctor_say(finding->change,
			   "ulimit -v unlimited, or --ring-size "
			   "64K");
	} else if (files.rlim_cur < 256) {
		doctor_judge(finding, DOCTOR_LESS);
		doctor_say(finding->effect,
			   "a program with many libraries may lack names");
		doctor_say(finding->change, "ulimit -n 1024");
	}
}

void doctor_look_at_room(const char *dir, struct doctor_findings *findings)
{
	look_at_cpus(findings);
	look_at_memory(findings);
	look_at_limits(findings);
	look_at_disk(dir, findings);
}
