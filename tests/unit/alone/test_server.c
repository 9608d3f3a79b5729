/* SPDX-License-Identifier: Apache-2.0
 *
 * The entire collector except its command line, against misbehaving programs:
 * socket, processes, drain and recording. This test plays the program and fills
 * its arena by hand. Afterwards the collector must serve a good program as
 * usual.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/closer.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/loop.h"
#include "collector/drain/drain.h"
#include "collector/drain/process_reap.h"
#include "collector/drain/worker.h"
#include "collector/files/recording_finish.h"
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
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/wire.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"
#include "tests/unit/slow_close.h"

#define SLOTS 4
#define CELLS RING_CELLS_MIN
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* --- the collector, on a thread of its own ------------------------------- */

static struct session_limits g_limits;
static struct collector g_collector;
static struct jobs_group g_endings;
static struct workers *g_workers;
static struct collect_options g_options;
static struct server *g_server;
static struct watch g_done;
static pthread_t g_loop;
static uint32_t g_stop; /* ends the loop, with a kick through done_fd */

static void done_ready(struct watch *watch)
{
	uint64_t count;

	(void)!read(watch->fd, &count, sizeof(count));
	/* order: acq: the test is done with the collector */
	if (atom_load_acq(&g_stop))
		g_collector.closing = true;
}

static void end_all(void)
{
	struct process *process;

	lock_acquire(&g_collector.lock);
	process = g_collector.processes;
	lock_release(&g_collector.lock);
	for (; process; process = process_next_all(process))
		process_end(process, PROCESS_RUNNING);
}

static void *loop_thread(void *context)
{
	(void)context;
	while (!g_collector.closing || g_collector.arenas) {
		if (g_collector.closing)
			end_all();
		loop_run_once(g_collector.loop, -1);
		server_reap(g_server);
		process_reap(&g_collector, session_unlist);
	}
	return NULL;
}

static void collector_start(void)
{
	uint32_t workers = 2;

	/* Left behind by a failed test. */
	scratch_must(system("rm -rf recording socket") == 0, "rm");
	g_stop = 0;
	g_options = (struct collect_options){
		.output = "recording",
		.socket = "socket",
		.control_fd = 0,
		.workers = workers,
	};
	g_limits = (struct session_limits){ 0 };
	g_collector = (struct collector){
		.options = &g_options,
		.finish_recording = recording_finish,
		.limits = &g_limits,
		.endings = &g_endings,
		.watches.most = 100,
	};
	jobs_group_init(&g_endings);
	lock_init(&g_collector.lock, LOCK_COLLECTOR);
	g_collector.loop = loop_new();
	g_done = (struct watch){ eventfd(0, EFD_CLOEXEC), done_ready };
	g_collector.done_fd = g_done.fd;
	scratch_must(!loop_add(g_collector.loop, &g_done), "loop");
	scratch_must(!clock_sync_new(&g_collector.clock), "clock");
	scratch_must(!symbol_cache_new(&g_collector.symbols), "symbols");
	scratch_must(!liveness_new(&g_collector.liveness), "liveness");
	scratch_must(!recording_new(&g_collector, "recording", true,
				    &g_collector.recording),
		     "recording");
	scratch_must(!drain_new(workers, g_done.fd, &g_collector.drain),
		     "drain");
	scratch_must(!workers_start(&g_collector, &g_workers), "workers");
	scratch_must(!server_new(&g_collector, &g_server), "server");
	scratch_must(!pthread_create(&g_loop, NULL, loop_thread, NULL), "loop");
}

static void collector_stop(void)
{
	uint64_t one = 1;

	/* order: rel: see done_ready() */
	atom_store_rel(&g_stop, 1);
	scratch_must(write(g_done.fd, &one, sizeof(one)) == sizeof(one),
		     "eventfd");
	pthread_join(g_loop, NULL);
	server_free(&g_server);
	workers_stop(&g_workers);
	drain_free(&g_collector.drain);
	jobs_wait(recording_setup(g_collector.recording)->jobs);
}

static void collector_free(void)
{
	recording_put(&g_collector.recording);
	jobs_group_wait(&g_endings);
	liveness_free(&g_collector.liveness);
	symbol_cache_put(&g_collector.symbols);
	clock_sync_free(&g_collector.clock);
	close(g_done.fd);
	close(g_collector.loop);
}

/* --- a program ----------------------------------------------------------- */

struct program {
	struct wire_hello hello;
	int memfd;
	int socket;
	struct page_shm *page;
	struct wire_reply reply;
	int liveness; /* -1: not received */
};

static struct slot_shm *slot_of(struct program *program, int i)
{
	return (struct slot_shm *)((char *)program->page + ARENA_SLOTS) + i;
}

static struct record *ring_of(struct program *program, int i)
{
	return (struct record *)((char *)program->page + arena_rings(SLOTS) +
				 i * arena_slot_bytes(CELLS,
						      function_numbers(CELLS)));
}

/* Forked children use this: they must not allocate, as check does, because a
 * sanitizer's allocator may hold a lock there forever. */
#define PROGRAM_MUST(condition) scratch_must(condition, #condition)

/* Up to the connection. */
static void program_prepare(struct program *program)
{
	struct sockaddr_un address = { AF_UNIX, "socket" };

	*program = (struct program){ .liveness = -1 };
	program->hello = (struct wire_hello){
		.magic = WIRE_HELLO_MAGIC,
		.version = WIRE_VERSION,
		.pid = getpid(),
		.slot_count = SLOTS,
		.ring_cells = CELLS,
		.functions = function_numbers(CELLS),
		.arena_bytes =
			arena_bytes(SLOTS, CELLS, function_numbers(CELLS)),
		.tsc_allowed = 1,
	};
	program->memfd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	PROGRAM_MUST(ftruncate(program->memfd,
			       (off_t)program->hello.arena_bytes) == 0);
	program->page =
		mmap(NULL, program->hello.arena_bytes, PROT_READ | PROT_WRITE,
		     MAP_SHARED, program->memfd, 0);
	PROGRAM_MUST(program->page != MAP_FAILED);
	program->page->magic = ARENA_MAGIC;
	program->page->version = WIRE_VERSION;
	program->page->slot_count = SLOTS;
	program->page->ring_cells = CELLS;
	program->page->filter_entries = FILTER_ENTRIES;
	program->page->rings_offset = arena_rings(SLOTS);
	program->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	PROGRAM_MUST(connect(program->socket, (struct sockaddr *)&address,
			     sizeof(address)) == 0);
}

static void program_release(struct program *program)
{
	munmap(program->page, program->hello.arena_bytes);
	close(program->memfd);
	close(program->socket);
	if (program->liveness >= 0)
		close(program->liveness);
}

static bool try_send(struct program *program, const void *bytes, size_t length,
		     int fd_count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .bytes = "" };
	struct iovec data = { (void *)bytes, length };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	int fds[2] = { program->memfd, program->memfd };

	if (fd_count) {
		size_t size = (size_t)fd_count * sizeof(int);

		control.header = (struct cmsghdr){ CMSG_LEN(size), SOL_SOCKET,
						   SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), fds, size);
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(size);
	}
	return sendmsg(program->socket, &message, MSG_NOSIGNAL) ==
	       (ssize_t)length;
}

static void send_bytes(struct program *program, const void *bytes,
		       size_t length, int fd_count)
{
	PROGRAM_MUST(try_send(program, bytes, length, fd_count));
}

/* -1: the connection closed without a reply. */
static int receive_reply(struct program *program)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = "" };
	struct iovec data = { &program->reply, sizeof(program->reply) };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t bytes = recvmsg(program->socket, &message, MSG_CMSG_CLOEXEC);

	if (bytes <= 0)
		return -1;
	PROGRAM_MUST(bytes == sizeof(program->reply));
	PROGRAM_MUST(program->reply.magic == WIRE_REPLY_MAGIC);
	if (message.msg_controllen >= sizeof(control.header))
		memcpy(&program->liveness, CMSG_DATA(&control.header),
		       sizeof(int));
	return (int)program->reply.status;
}

static int say_hello(struct program *program, int seals)
{
	PROGRAM_MUST(fcntl(program->memfd, F_ADD_SEALS, seals) == 0);
	send_bytes(program, &program->hello, sizeof(program->hello), 1);
	return receive_reply(program);
}

static void program_start(struct program *program)
{
	program_prepare(program);
	PROGRAM_MUST(say_hello(program, SEALS) == WIRE_ACCEPTED);
}

static void claim(struct program *program, int i, pid_t pid, pid_t tid)
{
	struct slot_shm *slot = slot_of(program, i);

	slot->pid = pid;
	slot->tid = tid;
	slot->claims++;
	slot->claim_clock = clock_ticks();
	strcpy(slot->name, "tested");
	/* order: rel, STATE: as the shim does */
	atom_store_rel(&slot->state, SLOT_LIVE);
}

static void put(struct program *program, int i, enum record_kind kind,
		uint64_t payload)
{
	struct slot_shm *slot = slot_of(program, i);
	uint64_t head = slot->head;

	ring_of(program, i)[head % CELLS] =
		(struct record){ record_word(kind, payload, 0x900),
				 clock_ticks() };
	/* order: rel, HEAD: as the shim does */
	atom_store_rel(&slot->head, head + 1);
}

static void put_spans(struct program *program, int i, int spans)
{
	while (spans--) {
		put(program, i, RECORD_BEGIN, 0x1000);
		put(program, i, RECORD_END, 0x1000);
	}
}

static void wait_until(const uint32_t *word, uint32_t value)
{
	while (atom_load_acq(word) != value)
		poll(NULL, 0, 1);
}

static void leave(struct program *program, int i)
{
	struct slot_shm *slot = slot_of(program, i);

	/* order: rel, STATE: as the shim does */
	atom_store_rel(&slot->state, SLOT_DEAD);
	wait_until(&slot->state, SLOT_FREE);
}

/* In its own process: the latest hello of a pid is its current image. */
static void in_child(void (*run)(struct program *program))
{
	struct program program;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		program_start(&program);
		run(&program);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void run_good(struct program *program)
{
	claim(program, 0, getpid(), getpid());
	put_spans(program, 0, 100);
	leave(program, 0);
}

static void setup(void)
{
	collector_start();
}

/* A good program must still be served. */
static void teardown_with(uint64_t spans, uint64_t broken)
{
	const struct totals *totals =
		&recording_sums(g_collector.recording)->totals;

	in_child(run_good);
	collector_stop();
	ck_assert_uint_eq(totals->spans, spans + 100);
	ck_assert_uint_eq(totals->broken_rings, broken);
	collector_free();
}

/* --- tests --------------------------------------------------------------- */

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, NULL);

TEST(server_good_program_is_recorded)
{
	struct program program;
	const struct liveness_shm *liveness;

	program_start(&program);
	ck_assert_uint_eq(atom_load_acq(&program.page->control), CONTROL_ON);
	ck_assert_int_ge(program.liveness, 0);
	liveness = mmap(NULL, LIVENESS_BYTES, PROT_READ, MAP_SHARED,
			program.liveness, 0);
	ck_assert_ptr_ne(liveness, MAP_FAILED);
	ck_assert_uint_eq(liveness->owner & LIVENESS_OWNER_DIED, 0);
	ck_assert_ptr_eq(mmap(NULL, LIVENESS_BYTES, PROT_WRITE, MAP_SHARED,
			      program.liveness, 0),
			 MAP_FAILED);
	claim(&program, 0, getpid(), getpid());
	put_spans(&program, 0, 1000);
	leave(&program, 0);
	ck_assert_uint_eq(slot_of(&program, 0)->tail, 2000);
	teardown_with(1000, 0);
	ck_assert_uint_eq(liveness->closed, 1);
	program_release(&program);
}

TEST(server_slot_used_again_goes_on_where_it_was)
{
	struct program program;

	program_start(&program);
	for (int i = 0; i < 20; i++) {
		claim(&program, 0, getpid(), getpid());
		put_spans(&program, 0, 1000);
		leave(&program, 0);
	}
	teardown_with(20000, 0);
	program_release(&program);
}

TEST(server_bad_hello_is_refused)
{
	struct program program;
	struct bad {
		size_t length;
		int fd_count;
		int status;
	};
	const struct bad bad[] = {
		{ sizeof(struct wire_hello), 0, WIRE_REFUSED_ARENA },
		{ sizeof(struct wire_hello), 2, WIRE_REFUSED_ARENA },
		{ sizeof(struct wire_hello) - 1, 1, WIRE_REFUSED_ARENA },
		{ 4, 1, WIRE_REFUSED_ARENA },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		program_prepare(&program);
		fcntl(program.memfd, F_ADD_SEALS, SEALS);
		send_bytes(&program, &program.hello, bad[i].length,
			   bad[i].fd_count);
		ck_assert_int_eq(receive_reply(&program), bad[i].status);
		ck_assert_int_eq(program.liveness, -1);
		program_release(&program);
	}
	teardown_with(0, 0);
}

TEST(server_too_long_hello_is_refused)
{
	char bytes[4096] = { 0 };
	struct program program;

	program_prepare(&program);
	memcpy(bytes, &program.hello, sizeof(program.hello));
	send_bytes(&program, bytes, sizeof(bytes), 1);
	ck_assert_int_eq(receive_reply(&program), WIRE_REFUSED_ARENA);
	program_release(&program);
	teardown_with(0, 0);
}

TEST(server_other_version_is_refused_as_such)
{
	struct program program;

	program_prepare(&program);
	program.hello.version++;
	ck_assert_int_eq(say_hello(&program, SEALS), WIRE_REFUSED_VERSION);
	ck_assert_uint_eq(program.reply.version, WIRE_VERSION);
	program_release(&program);
	teardown_with(0, 0);
}

TEST(server_wrong_seals_are_refused)
{
	const int seals[] = { 0, F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_GROW,
			      F_SEAL_GROW | F_SEAL_SEAL,
			      SEALS | F_SEAL_FUTURE_WRITE };
	struct program program;

	for (size_t i = 0; i < ARRAY_SIZE(seals); i++) {
		program_prepare(&program);
		ck_assert_int_ne(say_hello(&program, seals[i]), WIRE_ACCEPTED);
		program_release(&program);
	}
	teardown_with(0, 0);
}

TEST(server_wrong_sizes_are_refused)
{
	const struct {
		uint32_t slots, cells;
		uint64_t bytes;
	} wrong[] = {
		{ 0, CELLS, arena_bytes(0, CELLS, function_numbers(CELLS)) },
		{ SLOT_COUNT_MAX + 1, CELLS,
		  arena_bytes(SLOT_COUNT_MAX + 1, CELLS,
			      function_numbers(CELLS)) },
		{ UINT32_MAX, CELLS,
		  arena_bytes(SLOTS, CELLS, function_numbers(CELLS)) },
		{ SLOTS, CELLS + 1,
		  arena_bytes(SLOTS, CELLS + 1, function_numbers(CELLS + 1)) },
		{ SLOTS, CELLS / 2,
		  arena_bytes(SLOTS, CELLS / 2, function_numbers(CELLS / 2)) },
		{ SLOTS, 1u << 31,
		  arena_bytes(SLOTS, 1u << 31, function_numbers(1u << 31)) },
		{ SLOTS, 2 * CELLS,
		  arena_bytes(SLOTS, 2 * CELLS, function_numbers(2 * CELLS)) },
		{ SLOTS, CELLS,
		  arena_bytes(SLOTS, CELLS, function_numbers(CELLS)) + 4096 },
		{ SLOTS, CELLS, 0 },
	};
	struct program program;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		program_prepare(&program);
		program.hello.slot_count = wrong[i].slots;
		program.hello.ring_cells = wrong[i].cells;
		program.hello.arena_bytes = wrong[i].bytes;
		ck_assert_int_eq(say_hello(&program, SEALS),
				 WIRE_REFUSED_ARENA);
		program.hello.arena_bytes =
			arena_bytes(SLOTS, CELLS, function_numbers(CELLS));
		program_release(&program);
	}
	teardown_with(0, 0);
}

TEST(server_page_unlike_hello_is_refused)
{
	struct program program;

	program_prepare(&program);
	program.page->rings_offset = 0;
	ck_assert_int_eq(say_hello(&program, SEALS), WIRE_REFUSED_ARENA);
	program_release(&program);
	program_prepare(&program);
	program.page->magic = 0;
	ck_assert_int_eq(say_hello(&program, SEALS), WIRE_REFUSED_ARENA);
	program_release(&program);
	teardown_with(0, 0);
}

TEST(server_plain_file_is_refused)
{
	struct program program;

	program_prepare(&program);
	close(program.memfd);
	program.memfd = open("plain", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(
		ftruncate(program.memfd, (off_t)program.hello.arena_bytes), 0);
	send_bytes(&program, &program.hello, sizeof(program.hello), 1);
	ck_assert_int_eq(receive_reply(&program), WIRE_REFUSED_ARENA);
	program_release(&program);
	teardown_with(0, 0);
}

TEST(server_silent_connections_do_not_stop_others)
{
	struct sockaddr_un address = { AF_UNIX, "socket" };
	int fds[600];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		ck_assert_int_eq(connect(fds[i], (struct sockaddr *)&address,
					 sizeof(address)),
				 0);
	}
	in_child(run_good);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	teardown_with(100, 0);
}

#define CONNECTIONS 256 /* limit */

static pid_t begin_silent(void)
{
	struct sockaddr_un address = { AF_UNIX, "socket" };
	int done[2], fd;
	pid_t pid;
	char byte;

	PROGRAM_MUST(pipe2(done, O_CLOEXEC) == 0);
	pid = fork();
	PROGRAM_MUST(pid >= 0);
	if (!pid) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		PROGRAM_MUST(connect(fd, (struct sockaddr *)&address,
				     sizeof(address)) == 0);
		PROGRAM_MUST(write(done[1], "", 1) == 1);
		for (;;)
			pause();
	}
	close(done[1]);
	PROGRAM_MUST(read(done[0], &byte, 1) == 1);
	close(done[0]);
	return pid;
}

/* Idle connections use up all places; the new one must not make room. */
TEST(server_newest_connection_does_not_make_room)
{
	pid_t silent[CONNECTIONS + 8];
	struct program program;

	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		if (i == CONNECTIONS)
			program_prepare(&program);
		silent[i] = begin_silent();
	}
	ck_assert_int_eq(say_hello(&program, SEALS), WIRE_ACCEPTED);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		kill(silent[i], SIGKILL);
		waitpid(silent[i], NULL, 0);
	}
	teardown_with(0, 0);
	program_release(&program);
}

static void *close_fd(void *fd)
{
	close((int)(intptr_t)fd);
	return NULL;
}

/* If the collector was faster, this closes the last reference and blocks. */
static void close_elsewhere(int fd)
{
	pthread_t thread;

	PROGRAM_MUST(pthread_create(&thread, NULL, close_fd,
				    (void *)(intptr_t)fd) == 0);
	pthread_detach(thread);
}

/* The socket has no other owner. The collector receives only the first
 * message. */
static void send_lingering(struct program *program, int before)
{
	int peer, memfd = program->memfd;

	program->memfd = slow_close_socket(&peer);
	while (before-- > 0)
		send_bytes(program, "x", 1, 0);
	/* Fails if the collector was faster. */
	(void)try_send(program, "x", 1, 1);
	close_elsewhere(program->memfd);
	program->memfd = memfd;
	(void)receive_reply(program);
	/* The peer closes at the end of this process. */
}

TEST(server_lingering_descriptors_stop_nobody, EACH(0, 2))
{
	struct program program[8];

	for (size_t i = 0; i < ARRAY_SIZE(program); i++) {
		program_prepare(&program[i]);
		send_lingering(&program[i], _i);
	}
	teardown_with(0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(program); i++)
		program_release(&program[i]);
}

TEST(server_lingering_descriptor_of_other_user_stops_nobody)
{
	struct program program;
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		teardown_with(0, 0);
		return; /* needs another user */
	}
	ck_assert_int_eq(chmod("socket", 0666), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	pid = fork();
	if (pid == 0) {
		PROGRAM_MUST(setuid(65534) == 0);
		program_prepare(&program);
		send_lingering(&program, 0);
		pause();
	}
	teardown_with(0, 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

TEST(server_receives_nothing_while_closers_are_full)
{
	struct program program;

	slow_close_fill();
	program_prepare(&program);
	ck_assert_int_eq(say_hello(&program, SEALS), WIRE_REFUSED_ARENA);
	program_release(&program);
	slow_close_release();
	while (closer_is_full())
		usleep(1000);
	program_start(&program);
	program_release(&program);
	teardown_with(0, 0);
}

TEST(server_other_user_is_refused)
{
	struct program program;
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		teardown_with(0, 0);
		return; /* needs another user */
	}
	ck_assert_int_eq(chmod("socket", 0666), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	pid = fork();
	if (pid == 0) {
		PROGRAM_MUST(setuid(65534) == 0);
		program_prepare(&program);
		_exit(say_hello(&program, SEALS) == WIRE_ACCEPTED);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	teardown_with(0, 0);
}

/* Slots with values that the shim never writes. */
typedef void spoil(struct program *program);

static void head_beyond_ring(struct program *program)
{
	atom_store_rel(&slot_of(program, 0)->head,
		       slot_of(program, 0)->head + CELLS + 1);
}

static void head_backward(struct program *program)
{
	while (atom_load_acq(&slot_of(program, 0)->tail) < 200)
		poll(NULL, 0, 1);
	atom_store_rel(&slot_of(program, 0)->head, 7);
}

static void cells_never_written(struct program *program)
{
	atom_store_rel(&slot_of(program, 0)->head,
		       slot_of(program, 0)->head + 10);
}

static void cells_of_unknown_kind(struct program *program)
{
	put(program, 0, 15, 0x1000);
}

static void pid_of_another(struct program *program)
{
	claim(program, 1, 0, 1);
}

static spoil *const g_spoils[] = {
	head_beyond_ring,      head_backward,  cells_never_written,
	cells_of_unknown_kind, pid_of_another,
};

static spoil *g_spoil;

static void run_spoiled(struct program *program)
{
	claim(program, 0, getpid(), getpid());
	put_spans(program, 0, 100);
	while (atom_load_acq(&slot_of(program, 0)->tail) < 200)
		poll(NULL, 0, 1);
	g_spoil(program);
	wait_until(&program->page->control, CONTROL_OFF);
}

TEST(server_broken_ring_ends_its_recording_only, EACH(0, ARRAY_SIZE(g_spoils)))
{
	g_spoil = g_spoils[_i];
	in_child(run_spoiled);
	teardown_with(100, 1);
}

/* Changes the shared words that the collector does not trust. */
static void run_scribbling(struct program *program)
{
	struct slot_shm *slot = slot_of(program, 0);
	uint64_t x = 88172645463325252ULL;

	claim(program, 0, getpid(), getpid());
	for (int i = 0; i < 2000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		slot->tail = x;
		slot->read = x;
		slot->room = (uint32_t)x;
		slot->dropped_spans = x;
		slot->name_changes = (uint32_t)x;
		memcpy(slot->name, &x, sizeof(x));
		memset(slot->name + 8, (int)x, 8);
		slot->claim_clock = x;
		program->page->doorbell[i % DOORBELLS].asleep = (uint32_t)x;
		program->page->doorbell[i % DOORBELLS].rings = (uint32_t)x;
		program->page->slot_count = (uint32_t)x;
		program->page->ring_cells = (uint32_t)x;
		program->page->rings_offset = x;
		program->page->unslotted_spans = x;
		program->page->vfork_spans = x;
		program->page->muted_spans = x;
		program->page->edge_spans = x;
		put_spans(program, 0, 1);
		if (i % 100 == 0)
			poll(NULL, 0, 1);
	}
	slot->dropped_spans = 0;
	leave(program, 0);
}

TEST(server_scribbled_words_change_no_counts)
{
	in_child(run_scribbling);
	teardown_with(2000, 0);
}

static void run_until_killed(struct program *program)
{
	claim(program, 0, getpid(), getpid());
	put(program, 0, RECORD_BEGIN, 0x2000);
	put_spans(program, 0, 500);
	kill(getpid(), SIGKILL);
}

TEST(server_killed_program_keeps_what_it_recorded)
{
	struct program program;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		program_start(&program);
		run_until_killed(&program);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	teardown_with(501, 0);
}

static void run_forking(struct program *program)
{
	pid_t pid;

	claim(program, 0, getpid(), getpid());
	put(program, 0, RECORD_FORKING, 0);
	for (int i = 1; i < SLOTS; i++) {
		pid = fork();
		if (pid == 0) {
			claim(program, i, getpid(), getpid());
			put(program, i, RECORD_FORK, (uint64_t)getppid());
			put_spans(program, i, 50);
			_exit(0);
		}
		PROGRAM_MUST(waitpid(pid, NULL, 0) == pid);
	}
	put_spans(program, 0, 50);
	leave(program, 0);
}

TEST(server_forked_children_are_processes)
{
	in_child(run_forking);
	teardown_with(50 * SLOTS, 0);
	ck_assert_ptr_null(g_collector.recording);
}
