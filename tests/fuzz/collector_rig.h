/* SPDX-License-Identifier: Apache-2.0
 *
 * collector_rig - a collector in this process, for targets that write to its
 * sockets: a drain worker, the jobs thread, and the main thread's loop, which
 * the target runs itself. It records into a private folder and removes that at
 * the end.
 */
#ifndef PERFREC_TESTS_FUZZ_COLLECTOR_RIG_H
#define PERFREC_TESTS_FUZZ_COLLECTOR_RIG_H

#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/loop.h"
#include "collector/base/socket_path.h"
#include "collector/drain/drain.h"
#include "collector/drain/process_reap.h"
#include "collector/drain/worker.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/record/liveness.h"
#include "collector/record/process.h"
#include "collector/record/recording.h"
#include "collector/replay/clock_sync.h"
#include "collector/serve/server.h"
#include "collector/serve/session.h"
#include "shared/compiler.h"
#include "shared/wire.h"
#include "tests/fuzz/fuzz.h"

#define RIG_PATH_BYTES 64
#define RIG_SLOTS 1
#define RIG_CELLS RING_CELLS_MIN

static struct {
	struct session_limits limits;
	struct collect_options options;
	struct collector collector;
	struct jobs_group endings;
	struct workers *workers;
	struct server *server;
	struct watch done;
	bool is_started;
	char folder[RIG_PATH_BYTES - 16], output[RIG_PATH_BYTES],
		socket[RIG_PATH_BYTES], control[RIG_PATH_BYTES];
} g_rig;

static void rig_done_ready(struct watch *watch)
{
	uint64_t count;

	(void)!read(watch->fd, &count, sizeof(count));
}

static void rig_remove(const char *path)
{
	char command[RIG_PATH_BYTES + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	fuzz_must(system(command) == 0, path);
}

/* Replaces the current recording, if any. */
static void rig_new_recording(void)
{
	struct collector *collector = &g_rig.collector;

	recording_put(&collector->recording);
	jobs_group_wait(&g_rig.endings);
	rig_remove(g_rig.output);
	fuzz_must(!recording_new(collector, g_rig.output, true,
				 &collector->recording),
		  "recording");
}

static void rig_remove_folder(void)
{
	rig_remove(g_rig.folder);
}

static void rig_make_folder(void)
{
	strcpy(g_rig.folder, "/tmp/perfrec-fuzz.XXXXXX");
	fuzz_must(mkdtemp(g_rig.folder), g_rig.folder);
	atexit(rig_remove_folder);
	snprintf(g_rig.output, RIG_PATH_BYTES, "%s/recording", g_rig.folder);
	snprintf(g_rig.socket, RIG_PATH_BYTES, "%s/socket", g_rig.folder);
	snprintf(g_rig.control, RIG_PATH_BYTES, "%s/socket" SOCKET_PATH_CTL,
		 g_rig.folder);
}

static void rig_start(void)
{
	struct collector *collector = &g_rig.collector;

	if (g_rig.is_started)
		return;
	g_rig.is_started = true;
	rig_make_folder();
	g_rig.options = (struct collect_options){ .output = g_rig.output,
						  .socket = g_rig.socket,
						  .workers = 1 };
	collector->options = &g_rig.options;
	collector->limits = &g_rig.limits;
	collector->watches.most = 100;
	collector->endings = &g_rig.endings;
	jobs_group_init(&g_rig.endings);
	lock_init(&collector->lock, LOCK_COLLECTOR);
	collector->loop = loop_new();
	g_rig.done = (struct watch){ eventfd(0, EFD_CLOEXEC), rig_done_ready };
	collector->done_fd = g_rig.done.fd;
	fuzz_must(!loop_add(collector->loop, &g_rig.done) &&
			  !clock_sync_new(&collector->clock) &&
			  !symbol_cache_new(&collector->symbols) &&
			  !liveness_new(&collector->liveness) &&
			  !jobs_new("ticks", NULL, &collector->jobs),
		  "collector");
	rig_new_recording();
	fuzz_must(!drain_new(1, collector->done_fd, &collector->drain) &&
			  !workers_start(collector, &g_rig.workers) &&
			  !server_new(collector, &g_rig.server),
		  "server");
}

static void rig_run(void)
{
	loop_run_once(g_rig.collector.loop, 0);
	server_reap(g_rig.server);
	process_reap(&g_rig.collector, session_unlist);
}

/* Runs until all messages have been handled. */
static void rig_hear(void)
{
	do
		rig_run();
	while (server_has_connections(g_rig.server));
}

static void rig_end_processes(void)
{
	struct process *process;

	lock_acquire(&g_rig.collector.lock);
	process = g_rig.collector.processes;
	lock_release(&g_rig.collector.lock);
	for (; process; process = process_next_all(process))
		process_end(process, PROCESS_RUNNING);
	drain_kick(g_rig.collector.drain);
}

/* Ends all programs and resets the collector. */
static void rig_end_sessions(void)
{
	g_rig.collector.closing = true;
	while (g_rig.collector.arenas) {
		rig_end_processes();
		rig_run();
	}
	g_rig.collector.closing = false;
	g_rig.collector.paused = false;
	g_rig.collector.categories[0] = '\0';
	g_rig.limits = (struct session_limits){ 0 };
}

static int rig_connect(const char *path, int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	fuzz_must(fd >= 0 && !connect(fd, (struct sockaddr *)&address,
				      sizeof(address)),
		  path);
	return fd;
}

/* Returns the descriptor of a valid arena, which the caller closes. */
static int rig_arena(void)
{
	const struct page_shm page = {
		.magic = ARENA_MAGIC,
		.version = WIRE_VERSION,
		.slot_count = RIG_SLOTS,
		.ring_cells = RIG_CELLS,
		.filter_entries = FILTER_ENTRIES,
		.rings_offset = arena_rings(RIG_SLOTS),
	};
	int fd = memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	fuzz_must(
		fd >= 0 &&
			!ftruncate(fd, (off_t)arena_bytes(
					       RIG_SLOTS, RIG_CELLS,
					       function_numbers(RIG_CELLS))) &&
			pwrite(fd, &page, sizeof(page), 0) == sizeof(page),
		"arena");
	return fd;
}

static void rig_seal(int fd)
{
	fuzz_must(!fcntl(fd, F_ADD_SEALS,
			 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
		  "seals");
}

/* Sends @bytes and @fd_count copies of @fd. */
static void rig_send(int socket, const void *bytes, size_t length, int fd,
		     size_t fd_count)
{
	enum { FDS = 8 };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(FDS * sizeof(int))];
	} control = { .bytes = "" };
	struct iovec data = { (void *)bytes, length };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	size_t size = MIN(fd_count, (size_t)FDS) * sizeof(int);

	if (size) {
		control.header = (struct cmsghdr){ CMSG_LEN(size), SOL_SOCKET,
						   SCM_RIGHTS };
		for (size_t i = 0; i < size; i += sizeof(int))
			memcpy(CMSG_DATA(&control.header) + i, &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(size);
	}
	fuzz_must(sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)length,
		  "send");
}

#endif
