/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_compress - decides when to compress a trace, if the user left that to
 * perfrec. Compression doubles the CPU time of the collector, which delays the
 * program on a machine with few CPUs, and makes a trace ten times smaller. So a
 * short recording on a fast disk is not compressed, but these are:
 *
 * - A trace beyond COMPRESS_FROM_BYTES: nobody reads so much uncompressed, and
 *   long recordings fill disks.
 * - A trace with less room than that, by its limit or on the disk: compressed
 *   from its first block on, because its end would be missing. With a little
 *   more room: once a quarter of it is used.
 * - A trace on a slow disk. The disk is slow if the writer slept in writes for
 *   more than half of DISK_LOOK_NS while blocks ran out, so that rings were not
 *   read. Symbol tables and other threads on the writer's CPU also make blocks
 *   run out, but not in writes. So only time during which the kernel put the
 *   writer to sleep in a write counts.
 *
 * Compression never ends again.
 */
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>

#include "collector/base/clock.h"
#include "collector/trace/trace_file_inner.h"
#include "shared/compiler.h"

#define COMPRESS_FROM_BYTES (1ULL << 30)
#define COMPRESS_FROM_PART 4
#define DISK_LOOK_NS 500000000

static uint64_t usual_size(const struct trace_file *file)
{
	uint64_t room = file->keep ? trace_keep_bytes(file->keep)
				   : file->max_bytes ?: UINT64_MAX;
	struct statvfs disk;

	if (fstatvfs(file->fd, &disk) == 0 && disk.f_blocks)
		room = MIN(room, (uint64_t)disk.f_bavail * disk.f_frsize);
	if (room < COMPRESS_FROM_BYTES)
		return 0;
	return MIN(room / COMPRESS_FROM_PART, COMPRESS_FROM_BYTES);
}

void trace_compress_init(struct trace_file *file, uint64_t from)
{
	file->compress_from = from ?: usual_size(file);
	file->compressing =
		file->when == COMPRESS_ON ||
		(file->when == COMPRESS_AUTO && !file->compress_from);
	file->disk.since_ns = clock_monotonic_ns();
}

static long count_sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

void trace_compress_begin_write(struct disk_watch *disk)
{
	disk->sleeps = count_sleeps();
	disk->begin_ns = clock_monotonic_ns();
	disk->begin_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void trace_compress_end_write(struct disk_watch *disk, bool lags)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t cpu_ns =
		clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - disk->begin_cpu_ns;
	uint64_t took_ns = now_ns - disk->begin_ns;

	if (lags && count_sleeps() != disk->sleeps)
		disk->slept_ns += took_ns - MIN(cpu_ns, took_ns);
	if (now_ns - disk->since_ns < DISK_LOOK_NS)
		return;
	disk->is_slow = disk->slept_ns > (now_ns - disk->since_ns) / 2;
	disk->since_ns = now_ns;
	disk->slept_ns = 0;
}

bool trace_compress_is_due(struct trace_file *file)
{
	if (file->when != COMPRESS_AUTO || trace_file_stopped(file))
		return false;
	return file->disk.is_slow ||
	       trace_file_bytes(file) >= file->compress_from;
}
