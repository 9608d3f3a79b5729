/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures on a socket and in a file. The test runs the collector's loop;
 * without that the collector counts as busy.
 */
#include "collector/serve/metrics.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/loop.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/options/limits.h"
#include "collector/record/collector.h"
#include "collector/serve/session.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define ANSWER_MAX 65536
#define GET "GET /metrics HTTP/1.0\r\n\r\n"

static struct {
	struct collect_options options;
	struct session_limits limits;
	struct collector collector;
	struct metrics *metrics;
} g;

static void set_up(void)
{
	scratch_enter();
	g.limits = (struct session_limits){ .begun = 3 };
	g.collector = (struct collector){ .options = &g.options,
					  .limits = &g.limits,
					  .start_ns = clock_boottime_ns(),
					  .done_fd = -1 };
	lock_init(&g.collector.lock, LOCK_COLLECTOR);
	g.collector.loop = loop_new();
	ck_assert_int_ge(g.collector.loop, 0);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
}

static void tear_down(void)
{
	metrics_free(&g.metrics);
	symbol_cache_put(&g.collector.symbols);
	close(g.collector.loop);
	scratch_leave();
}

static void start(const char *path)
{
	ck_assert_int_eq(metrics_new(&g.collector, path, &g.metrics), 0);
}

/* --- a client ------------------------------------------------------------ */

static int connect_client(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX,
				       .sun_path = "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* With @runs, the collector runs meanwhile. */
static const char *hear(int fd, bool runs)
{
	static char answer[ANSWER_MAX];
	size_t bytes = 0;
	ssize_t got = -1;

	while (got != 0 && bytes < sizeof(answer) - 1) {
		if (runs)
			loop_run_once(g.collector.loop, 10);
		got = recv(fd, answer + bytes, sizeof(answer) - 1 - bytes,
			   runs ? MSG_DONTWAIT : 0);
		if (got < 0 && errno != EAGAIN)
			break;
		bytes += got > 0 ? (size_t)got : 0;
	}
	answer[bytes] = '\0';
	close(fd);
	return answer;
}

static const char *ask(const char *text)
{
	int fd = connect_client();

	say(fd, text);
	return hear(fd, true);
}

static void expect_begin(const char *answer, const char *begin)
{
	ck_assert_msg(!strncmp(answer, begin, strlen(begin)),
		      "the answer is '%.60s', not '%s'", answer, begin);
}

/* --- tests --------------------------------------------------------------- */

FIXTURE(set_up, tear_down);

TEST(figures_are_answered)
{
	const char *answer;

	start(METRICS_SOCKET "socket");
	answer = ask(GET);
	expect_begin(answer, "HTTP/1.0 200 OK\r\n");
	ck_assert_ptr_nonnull(strstr(answer, "\nperfrec_programs_total 3\n"));
	expect_begin(ask("HEAD /metrics HTTP/1.1\n\n"), "HTTP/1.0 200 OK\r\n");
	ck_assert_ptr_null(strstr(ask("HEAD /metrics HTTP/1.1\n\n"),
				  "perfrec_programs_total"));
}

TEST(nonsense_is_refused)
{
	char *much = malloc(8192);

	start(METRICS_SOCKET "socket");
	expect_begin(ask("\r\n\r\n"), "HTTP/1.0 400 ");
	expect_begin(ask("GET\r\n\r\n"), "HTTP/1.0 400 ");
	expect_begin(ask("GET /metrics\r\n\r\n"), "HTTP/1.0 400 ");
	expect_begin(ask("GET /metrics x y\r\n\r\n"), "HTTP/1.0 400 ");
	expect_begin(ask("GET /metric HTTP/1.0\r\n\r\n"), "HTTP/1.0 404 ");
	expect_begin(ask("PUT /metrics HTTP/1.0\r\n\r\n"), "HTTP/1.0 405 ");
	memset(much, 'x', 8191);
	much[8191] = '\0';
	expect_begin(ask(much), "HTTP/1.0 431 ");
	free(much);
}

TEST(collector_that_is_busy_is_said_to_be)
{
	int fd;

	start(METRICS_SOCKET "socket");
	fd = connect_client();
	say(fd, GET);
	expect_begin(hear(fd, false), "HTTP/1.0 503 ");
}

TEST(silent_clients_are_sent_away)
{
	int silent[40], fd;

	start(METRICS_SOCKET "socket");
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		silent[i] = connect_client();
	/* Each client reads EOF without closing its socket. */
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		ck_assert_str_eq(hear(silent[i], false), "");
	fd = connect_client();
	say(fd, GET);
	expect_begin(hear(fd, true), "HTTP/1.0 200 OK\r\n");
}

TEST(others_of_one_process_keep_nobody_out)
{
	int silent[40], fd, status;
	pid_t pid;

	start(METRICS_SOCKET "socket");
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		silent[i] = connect_client();
	pid = fork();
	if (pid == 0) {
		fd = connect_client();
		say(fd, "GET /metric HTTP/1.0\r\n\r\n");
		_exit(strncmp(hear(fd, false), "HTTP/1.0 404 ", 13) != 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* A client passes a descriptor whose close(2) may take long. */
TEST(descriptors_of_clients_are_not_kept)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET,
				  SCM_RIGHTS } };
	struct iovec data = { (char *)GET, strlen(GET) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control) };
	int pair[2], fd;
	char byte;

	start(METRICS_SOCKET "socket");
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	memcpy(CMSG_DATA(&control.header), &pair[1], sizeof(pair[1]));
	fd = connect_client();
	ck_assert_int_gt(sendmsg(fd, &message, MSG_NOSIGNAL), 0);
	close(pair[1]);
	ck_assert_str_eq(hear(fd, true), "");
	/* EOF: nobody holds the write end any more. */
	ck_assert_int_eq(read(pair[0], &byte, 1), 0);
	close(pair[0]);
}

static bool is_there(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && status.st_size > 0;
}

TEST(file_is_written_and_removed)
{
	start("file");
	while (!is_there("file"))
		loop_run_once(g.collector.loop, 10);
	metrics_free(&g.metrics);
	ck_assert_int_eq(access("file", F_OK), -1);
	ck_assert_int_eq(access("file.new", F_OK), -1);
}

TEST(what_is_no_file_is_refused)
{
	ck_assert_int_eq(mkdir("folder", 0700), 0);
	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	ck_assert_int_eq(symlink("nothing", "link"), 0);
	ck_assert_int_lt(metrics_new(&g.collector, "folder", &g.metrics), 0);
	ck_assert_int_lt(metrics_new(&g.collector, "pipe", &g.metrics), 0);
	ck_assert_int_lt(metrics_new(&g.collector, "link", &g.metrics), 0);
	ck_assert_int_lt(metrics_new(&g.collector, "none/file", &g.metrics), 0);
	ck_assert_ptr_null(g.metrics);
	ck_assert_int_eq(access("pipe", F_OK), 0);
}

TEST(path_of_a_socket_is_not_too_long)
{
	char path[1024] = METRICS_SOCKET;

	memset(path + strlen(path), 'x', sizeof(path) - strlen(path) - 1);
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(metrics_new(&g.collector, path, &g.metrics),
			 -ENAMETOOLONG);
	ck_assert_ptr_null(g.metrics);
}

static void make_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

TEST(what_others_wrote_is_kept)
{
	char text[16] = "";
	FILE *file;

	make_file("mine", "mine");
	ck_assert_int_eq(metrics_new(&g.collector, "mine", &g.metrics),
			 -EEXIST);
	ck_assert_ptr_null(g.metrics);
	file = fopen("mine", "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fread(text, 1, sizeof(text), file), 4);
	ck_assert_str_eq(text, "mine");
	fclose(file);
	make_file("other.new", "mine");
	ck_assert_int_eq(metrics_new(&g.collector, "other", &g.metrics),
			 -EEXIST);
	ck_assert_int_eq(access("other.new", F_OK), 0);
}

TEST(figures_of_an_older_collector_are_replaced)
{
	start("file");
	while (!is_there("file"))
		loop_run_once(g.collector.loop, 10);
	ck_assert_int_eq(link("file", "kept"), 0);
	metrics_free(&g.metrics);
	ck_assert_int_eq(rename("kept", "file"), 0);
	make_file("file.new", "# HELP perfrec_up");
	start("file");
	while (access("file.new", F_OK) == 0)
		loop_run_once(g.collector.loop, 10);
	metrics_free(&g.metrics);
	ck_assert_int_eq(access("file", F_OK), -1);
	make_file("empty", "");
	start("empty");
}
