/* SPDX-License-Identifier: Apache-2.0
 *
 * test_lying - an impostor answers the hello with replies that no collector
 * sends. The program runs as always (host_victim exits with 0) and keeps none
 * of the received descriptors.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/futex.h"
#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

static struct mini_collector g_mini;

static pid_t start(const char *test_case)
{
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/host_victim"),
			 (char *)test_case, NULL };

	setenv("PERFREC_RING_KB", "64", 1);
	setenv("PERFREC_SLOTS", "16", 1);
	mini_collector_start(&g_mini);
	return mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			  argv);
}

static void expect_success(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "it ended with status %x", status);
}

static struct wire_reply accepting(void)
{
	return (struct wire_reply){ .magic = WIRE_REPLY_MAGIC,
				    .version = WIRE_VERSION,
				    .on_full = WIRE_ON_FULL_BLOCK,
				    .block_ns = WIRE_BLOCK_NS_MAX };
}

static bool has_recorded(void)
{
	/* order: acq, HEAD: as a reader */
	return atom_load_acq(&mini_slot(&g_mini, 0)->head) > 0;
}

/* --- the liveness page --------------------------------------------------- */

static int new_page(off_t bytes, int seals)
{
	int fd = memfd_create("lie", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_eq(ftruncate(fd, bytes), 0);
	if (seals)
		ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

enum page_lie {
	PAGE_NOT_SEALED,
	PAGE_SEALED_OTHERWISE,
	PAGE_SHORT,
	PAGE_LONG,
	PAGE_NO_MEMORY_FILE,
	PAGE_LIES
};

static int lying_page(enum page_lie lie)
{
	switch (lie) {
	case PAGE_NOT_SEALED:
		return new_page(LIVENESS_BYTES, 0);
	case PAGE_SEALED_OTHERWISE:
		return new_page(LIVENESS_BYTES, F_SEAL_GROW);
	case PAGE_SHORT:
		return new_page(3, F_SEAL_SHRINK);
	case PAGE_LONG:
		return new_page(LIVENESS_BYTES * 2, F_SEAL_SHRINK);
	default:
		return open("/dev/zero", O_RDONLY | O_CLOEXEC);
	}
}

static void stop_collector(void)
{
	mini_collector_stop(&g_mini);
}

FIXTURE(NULL, stop_collector);

/* A page that may be truncated under the program is never used. */
TEST(liveness_page_that_may_vanish_is_refused, EACH(0, PAGE_LIES))
{
	struct wire_reply reply = accepting();
	pid_t pid = start("plain");
	int page = lying_page((enum page_lie)_i);
	int peer = mini_collector_hear(&g_mini, CONTROL_ON);

	mini_collector_answer(peer, &reply, &page, 1);
	expect_success(pid);
	ck_assert_msg(!has_recorded(), "the program records");
	/* order: sc, FLAGS: as every flag */
	ck_assert(atom_load_sc(&g_mini.page->flags) & PAGE_GAVE_UP);
	close(page);
	close(peer);
}

/* --- descriptors --------------------------------------------------------- */

/* host_victim expects that its first open() returns 3. */
TEST(descriptors_beyond_the_first_are_closed, EACH(0, 4))
{
	static const size_t counts[] = { 2, 3, 4, MINI_FDS_MAX };
	struct wire_reply reply = accepting();
	pid_t pid = start("descriptors");
	int peer = mini_collector_hear(&g_mini, CONTROL_ON);
	int fds[MINI_FDS_MAX];

	for (size_t i = 0; i < MINI_FDS_MAX; i++)
		fds[i] = g_mini.liveness_fd;
	mini_collector_answer(peer, &reply, fds, counts[_i]);
	expect_success(pid);
	ck_assert(has_recorded());
	close(peer);
}

/* Same for a refusal and for nonsense. */
TEST(descriptors_of_a_refusal_are_closed, EACH(0, 2))
{
	struct wire_reply reply = accepting();
	pid_t pid = start("descriptors");
	int peer = mini_collector_hear(&g_mini, CONTROL_ON);
	int fds[2] = { g_mini.liveness_fd, g_mini.liveness_fd };

	reply.status = _i ? 77 : WIRE_REFUSED_LIMIT;
	mini_collector_answer(peer, &reply, fds, 2);
	expect_success(pid);
	ck_assert(!has_recorded());
	close(peer);
}

/* A socket with unread bytes; closing it takes 30 s. */
static int lingering_socket(int listener, int *other)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	struct linger linger = { 1, 30 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[4096] = "";

	ck_assert_int_eq(
		getsockname(listener, (struct sockaddr *)&address, &size), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, size), 0);
	*other = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	ck_assert_int_eq(
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)),
		0);
	return fd;
}

/* Two local sockets whose close blocks, and their peers. */
struct waiting {
	int listener, fd[2], other[2];
};

static void begin_waiting(struct waiting *waiting)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	waiting->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(waiting->listener, (struct sockaddr *)&address,
			      sizeof(address)),
			 0);
	ck_assert_int_eq(listen(waiting->listener, 2), 0);
	for (int i = 0; i < 2; i++)
		waiting->fd[i] =
			lingering_socket(waiting->listener, &waiting->other[i]);
}

/* The last owner then closes without a wait. */
static void end_waiting(struct waiting *waiting)
{
	for (int i = 0; i < 2; i++)
		close(waiting->other[i]);
	close(waiting->listener);
}

TEST(close_of_what_came_waits_for_nobody, EACH(0, 2))
{
	struct wire_reply reply = accepting();
	struct waiting waiting;
	int peer;
	pid_t pid;

	begin_waiting(&waiting);
	pid = start("descriptors");
	peer = mini_collector_hear(&g_mini, CONTROL_ON);
	mini_collector_answer(peer, &reply, waiting.fd, 1 + (size_t)_i);
	/* The copies in flight are the last owners. */
	for (int i = 0; i <= _i; i++)
		close(waiting.fd[i]);
	expect_success(pid);
	end_waiting(&waiting);
	if (!_i)
		close(waiting.fd[1]);
	close(peer);
}

/* Same with messages that the program never needs to receive. */
TEST(close_of_what_was_not_received_waits_for_nobody)
{
	struct wire_reply reply = accepting();
	struct waiting waiting;
	int peer, status;
	pid_t pid;

	begin_waiting(&waiting);
	pid = start("descriptors");
	peer = mini_collector_hear(&g_mini, CONTROL_ON);
	/* Holds the program until everything was sent. */
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	mini_collector_answer(peer, &reply, &g_mini.liveness_fd, 1);
	for (int i = 0; i < 2; i++) {
		mini_collector_answer(peer, &reply, &waiting.fd[i], 1);
		close(waiting.fd[i]);
	}
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	expect_success(pid);
	ck_assert(has_recorded());
	end_waiting(&waiting);
	close(peer);
}

/* --- settings ------------------------------------------------------------ */

static const struct wire_reply g_settings[] = {
	{ .clock = WIRE_CLOCK_BOOTTIME + 1 },
	{ .on_full = WIRE_ON_FULL_DROP + 1 },
	{ .depth = WIRE_DEPTH_MAX + 1 },
	{ .alloc = WIRE_ALLOC_SAMPLED + 1 },
	{ .alloc_period = WIRE_ALLOC_PERIOD_MAX + 1ULL },
	{ .cpu_hz = WIRE_CPU_HZ_MAX + 1 },
	{ .stack_bytes = WIRE_STACK_BYTES_MAX + 1 },
	{ .block_ns = WIRE_BLOCK_NS_MAX + 1 },
	{ .asks = WIRE_ASKS_ALL + 1 },
	{ .clock = UINT32_MAX,
	  .on_full = UINT32_MAX,
	  .depth = UINT32_MAX,
	  .alloc = UINT32_MAX,
	  .alloc_period = UINT64_MAX,
	  .cpu_hz = UINT32_MAX,
	  .stack_bytes = UINT32_MAX },
};

TEST(settings_out_of_bounds_are_refused,
     EACH(0, sizeof(g_settings) / sizeof(g_settings[0])))
{
	struct wire_reply reply = g_settings[_i];
	pid_t pid = start("descriptors");
	int peer = mini_collector_hear(&g_mini, CONTROL_ON);

	reply.magic = WIRE_REPLY_MAGIC;
	reply.version = WIRE_VERSION;
	mini_collector_answer(peer, &reply, &g_mini.liveness_fd, 1);
	expect_success(pid);
	ck_assert(!has_recorded());
	close(peer);
}

/* --- HOLD ---------------------------------------------------------------- */

static void answer_held(int peer)
{
	struct wire_reply reply = accepting();

	reply.on_full = WIRE_ON_FULL_DROP;
	mini_collector_answer(peer, &reply, &g_mini.liveness_fd, 1);
	close(peer);
}

static uint32_t page_flags(void)
{
	/* order: sc, FLAGS: as every flag */
	return atom_load_sc(&g_mini.page->flags);
}

#define PROGRAMS 4
#define PROGRAMS_S 20 /* each waited for 5 s more */

TEST(hold_ends_with_the_deadline, TIMEOUT(PROGRAMS_S))
{
	setenv("PERFREC_DEADLINE_MS", "1500", 1);
	for (int i = 0; i < PROGRAMS; i++) {
		pid_t pid;

		/* The fixture stops the last one. */
		if (i)
			mini_collector_stop(&g_mini);
		pid = start("plain");
		answer_held(mini_collector_hear(&g_mini, CONTROL_HOLD));
		expect_success(pid);
		ck_assert(has_recorded());
		ck_assert(page_flags() & PAGE_UNHELD);
	}
}

TEST(hold_that_ends_in_time_is_no_early_start)
{
	pid_t pid = start("plain");
	int peer = mini_collector_hear(&g_mini, CONTROL_HOLD);

	answer_held(peer);
	/* order: rel, CONTROL: as a collector */
	atom_store_rel(&g_mini.page->control, CONTROL_ON);
	expect_success(pid);
	ck_assert(has_recorded());
	ck_assert(!(page_flags() & PAGE_UNHELD));
}

#define NS_PER_S 1000000000LL

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Before its deadline, a program does not run while its text is written: 1.5 s
 * here, from the moment it stops waiting. */
TEST(hold_outlasts_a_write_into_the_text)
{
	int64_t before = 0;
	bool recorded;
	pid_t pid;

	setenv("PERFREC_DEADLINE_MS", "5000", 1);
	pid = start("plain");
	answer_held(mini_collector_hear(&g_mini, CONTROL_HOLD));
	/* order: sc, UNHELD: as a collector */
	atom_store_sc(&g_mini.page->writing_text, 1);
	while (!(page_flags() & PAGE_UNHELD)) {
		before = now_ns();
		usleep(1000);
	}
	usleep(100000);
	recorded = has_recorded();
	/* Otherwise the test woke up too late to see it. */
	if (now_ns() - before < NS_PER_S)
		ck_assert(!recorded);
	/* order: sc, UNHELD: as a collector */
	atom_store_sc(&g_mini.page->writing_text, 0);
	expect_success(pid);
	ck_assert(has_recorded());
}

/* Returns its write end. */
static int open_input(void)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	return ends[1];
}

static void publish_filter(uint64_t function)
{
	uint64_t *table = (uint64_t *)((char *)g_mini.page + ARENA_FILTER);
	uint32_t shift = 64 - 4;

	table[filter_index(function, shift)] = function;
	g_mini.page->filter_shift = shift;
	/* order: rel, CONTROL: the filter table is whole */
	atom_store_rel(&g_mini.page->control, CONTROL_ON);
}

static uint64_t excluded_hooks(void)
{
	/* relaxed: a count */
	return atom_load_rlx(&mini_slot(&g_mini, 0)->excluded_hooks);
}

TEST(filter_that_comes_late_is_used, EACH(0, 2))
{
	char *argv[] = {
		(char *)mini_build_path("tests/shim/victims/held_victim"), NULL
	};
	int input = open_input();
	pid_t pid;

	setenv("PERFREC_DEADLINE_MS", "1500", 1);
	setenv("PERFREC_RING_KB", "64", 1);
	setenv("PERFREC_RSEQ", _i ? "off" : "on", 1);
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	answer_held(mini_collector_hear(&g_mini, CONTROL_HOLD));
	while (!has_recorded())
		usleep(1000);
	ck_assert_uint_eq(excluded_hooks(), 0);
	publish_filter(0x1000);
	while (!excluded_hooks())
		usleep(1000);
	close(input);
	expect_success(pid);
}

/* --- a live collector that reads nothing --------------------------------- */

static FILE *catch_stderr(int *old)
{
	FILE *said = tmpfile();

	ck_assert_ptr_nonnull(said);
	*old = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	ck_assert_int_eq(dup2(fileno(said), STDERR_FILENO), STDERR_FILENO);
	return said;
}

static void expect_said(FILE *said, const char *line)
{
	char text[256] = "", more[256];

	rewind(said);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), said));
	ck_assert_str_eq(text, line);
	ck_assert_msg(!fgets(more, sizeof(more), said), "and: %s", more);
	fclose(said);
}

/* Returns the number of drops. */
static uint64_t wait_for_drops(uint64_t before)
{
	const struct slot_shm *slot = mini_slot(&g_mini, 0);
	uint64_t drops;

	do {
		usleep(1000);
		/* relaxed: a count */
		drops = atom_load_rlx(&slot->dropped_spans);
	} while (drops <= before);
	return drops;
}

static uint64_t waited(void)
{
	/* relaxed: a count */
	return atom_load_rlx(&mini_slot(&g_mini, 0)->wait_ticks);
}

static void read_all(void)
{
	struct slot_shm *slot = mini_slot(&g_mini, 0);

	/* relaxed: only counted */
	atom_store_rlx(&slot->read, atom_load_acq(&slot->head));
	/* order: sc, ROOM: as a collector */
	atom_store_sc(&slot->tail, atom_load_acq(&slot->head));
	/* relaxed: the wake orders it */
	atom_add_rlx(&slot->room, 1);
	syscall(SYS_futex, &slot->room, FUTEX_OP_WAKE, 1);
}

/* The parked thread waits as usual; the heartbeat does not count. */
TEST(block_ends_where_nothing_is_read, EACH(0, 2))
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK,
				       .block_ns = NS_PER_S / 2 };
	char *argv[] = {
		(char *)mini_build_path("tests/shim/victims/held_victim"), NULL
	};
	int input = open_input(), old;
	uint64_t drops, ticks;
	FILE *said;
	pid_t pid;

	setenv("PERFREC_RING_KB", "64", 1);
	setenv("PERFREC_RSEQ", _i ? "off" : "on", 1);
	unsetenv("PERFREC_QUIET");
	mini_collector_start(&g_mini);
	said = catch_stderr(&old);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	ck_assert_int_eq(dup2(old, STDERR_FILENO), STDERR_FILENO);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	drops = wait_for_drops(0);
	ticks = waited();
	ck_assert_uint_gt(ticks, 0);
	ck_assert(page_flags() & PAGE_BLOCK_OVER);
	drops = wait_for_drops(drops + 10000);
	ck_assert_uint_eq(waited(), ticks);
	read_all();
	while (waited() == ticks)
		usleep(1000);
	wait_for_drops(drops);
	close(input);
	expect_success(pid);
	expect_said(said,
		    "perfrec: the collector has read nothing for 500 ms: full "
		    "rings drop records until it reads again\n");
}

/* A changing but impossible tail is no progress. */
TEST(block_ends_where_what_was_read_is_nonsense)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK,
				       .block_ns = NS_PER_S };
	char *argv[] = {
		(char *)mini_build_path("tests/shim/victims/held_victim"), NULL
	};
	int input = open_input();
	pid_t pid;

	setenv("PERFREC_RING_KB", "64", 1);
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	for (uint64_t lie = 0; !(page_flags() & PAGE_BLOCK_OVER); lie++) {
		/* relaxed: nothing is read through it */
		atom_store_rlx(&mini_slot(&g_mini, 0)->tail,
			       UINT64_MAX / 2 + lie);
		atom_store_rlx(&mini_slot(&g_mini, 0)->read,
			       UINT64_MAX / 2 + lie);
		usleep(1000);
	}
	close(input);
	expect_success(pid);
}

/* --- random words -------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
	static const uint64_t odd[] = { 0, 1, 2, 3, UINT32_MAX, UINT64_MAX };
	uint64_t number;

	/* xorshift64 (Marsaglia, 2003) */
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	number = *state >> 8;
	return number % 3 ? number : odd[number % 18 / 3];
}

static void scribble(uint64_t *state)
{
	struct page_shm *page = g_mini.page;
	char *arena = (char *)page;
	struct slot_shm *slot = mini_slot(&g_mini, (uint32_t)(draw(state) % 4));
	uint64_t which = draw(state) % 12, value = draw(state);
	uint64_t *filter = (uint64_t *)(arena + ARENA_FILTER);
	uint16_t *numbers = (uint16_t *)(arena + ARENA_FILTER_NUMBERS);
	uint32_t *words[] = { &page->control,
			      &page->filter_shift,
			      &page->patched,
			      &page->writing_text,
			      &slot->room,
			      &page->doorbell[0].asleep,
			      &g_mini.liveness->heartbeat };

	/* relaxed, all: it is nonsense */
	if (which < sizeof(words) / sizeof(words[0]))
		atom_store_rlx(words[which], (uint32_t)value);
	else if (which == 7)
		atom_store_rlx(&page->map_tail, value);
	else if (which == 8)
		atom_store_rlx(&slot->tail, value);
	else if (which == 9)
		atom_store_rlx(&slot->read, value);
	else if (which == 10)
		atom_store_rlx((uint32_t *)(arena + ARENA_CATEGORIES) +
				       draw(state) % (CATEGORIES_BYTES / 4),
			       (uint32_t)value);
	else
		atom_store_rlx(&filter[draw(state) % 64], value);
	/* relaxed: as above */
	atom_store_rlx(&numbers[draw(state) % 64], (uint16_t)value);
}

static const char *const g_scribbled[] = {
	"threads", "fork", "seccomp_filter", "mlockall", "errno", "plain",
};
#define SCRIBBLED (int)(sizeof(g_scribbled) / sizeof(g_scribbled[0]))

/* Each program runs in block mode and in drop mode. */
TEST(words_may_be_anything, EACH(0, 2 * SCRIBBLED))
{
	struct wire_reply reply = accepting();
	uint64_t state = 0x9e3779b97f4a7c15ULL + (uint64_t)_i;
	pid_t pid = start(g_scribbled[_i % SCRIBBLED]), ended;
	int peer = mini_collector_hear(&g_mini, CONTROL_ON), status;

	reply.on_full = _i < SCRIBBLED ? WIRE_ON_FULL_BLOCK : WIRE_ON_FULL_DROP;
	reply.block_ns = NS_PER_S / 10;
	mini_collector_answer(peer, &reply, &g_mini.liveness_fd, 1);
	while (!(ended = waitpid(pid, &status, WNOHANG)))
		scribble(&state);
	ck_assert_int_eq(ended, pid);
	ck_assert_msg(status == 0, "%s ended with status %x",
		      g_scribbled[_i % SCRIBBLED], status);
	close(peer);
}

static void begin_suite(void)
{
	setenv("PERFREC_QUIET", "1", 1);
}

SUITE(begin_suite, NULL);
