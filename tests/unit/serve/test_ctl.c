/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of a running collector to `perfrec ctl` and to malformed requests.
 * The test runs the collector's loop and socket itself; sessions and programs
 * are simulated.
 */
#include "collector/serve/ctl_server.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/loop.h"
#include "collector/base/socket_path.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/options/ctl_wire.h"
#include "collector/record/arena_inner.h"
#include "collector/record/collector.h"
#include "collector/record/process_inner.h"
#include "collector/record/recording.h"
#include "collector/serve/session.h"
#include "shared/atomic.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"
#include "tests/unit/told.h"

#define SESSIONS 3
#define MANY 24000
#define ANSWER_MAX (1u << 20) /* bytes */

/* --- the collector ------------------------------------------------------- */

static struct {
	struct collect_options options;
	struct session_limits limits;
	struct collector collector;
	struct ctl_server *server;
	struct page_shm *page[SESSIONS];
	struct recording *recording[SESSIONS];
	struct arena arena[SESSIONS];
	struct process process[SESSIONS];
	struct process_entry entry[SESSIONS];
	struct process *many;
} g;

static void add_session(int i, pid_t pid, const char *name)
{
	char folder[32];

	snprintf(folder, sizeof(folder), "folder-%d", i);
	ck_assert_int_eq(
		recording_new(&g.collector, folder, true, &g.recording[i]), 0);
	g.entry[i] = (struct process_entry){ .pid = pid,
					     .start_ns = clock_boottime_ns() };
	snprintf(g.entry[i].name, sizeof(g.entry[i].name), "%s", name);
	g.process[i] =
		(struct process){ .watch.fd = -1,
				  .setup = { .collector = &g.collector,
					     .arena = &g.arena[i],
					     .arena_setup = &g.arena[i].setup,
					     .pid = pid,
					     .inner_pid = pid,
					     .entry = &g.entry[i] } };
	g.page[i] = told_new();
	g.arena[i] = (struct arena){ .setup = { .page = g.page[i],
						.bytes = 1 << 20,
						.pauses = &g.arena[i].pauses,
						.recording = g.recording[i] },
				     .held_fd = -1,
				     .processes = &g.process[i],
				     .next = g.collector.arenas };
	lock_init(&g.arena[i].lock, LOCK_ARENA);
	g.collector.arenas = &g.arena[i];
	ck_assert_int_eq(session_open(&g.collector, &g.arena[i], false), 0);
	session_begin(&g.collector, &g.arena[i]);
	session_release(&g.arena[i]);
}

static struct jobs_group g_endings;

static void set_up(void)
{
	scratch_enter();
	g.options = (struct collect_options){ .output = "out",
					      .max_bytes = 64 << 20 };
	g.limits = (struct session_limits){ 0 };
	g.collector = (struct collector){ .options = &g.options,
					  .limits = &g.limits,
					  .done_fd = -1 };
	jobs_group_init(&g_endings);
	g.collector.endings = &g_endings;
	lock_init(&g.collector.lock, LOCK_COLLECTOR);
	g.collector.loop = loop_new();
	ck_assert_int_ge(g.collector.loop, 0);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
	ck_assert_int_eq(ctl_server_new(&g.collector, "socket", &g.server), 0);
	add_session(0, 1000001, "one");
	add_session(1, 1000002, "two");
	add_session(2, 1000003, "two");
}

static void end_session(int i)
{
	struct arena **link = &g.collector.arenas;

	while (*link != &g.arena[i])
		link = &(*link)->next;
	*link = g.arena[i].next;
	session_unlist(&g.collector, &g.arena[i]);
}

static void tear_down(void)
{
	ctl_server_free(&g.server);
	for (int i = 0; i < SESSIONS; i++) {
		recording_put(&g.recording[i]);
		told_free(g.page[i]);
	}
	jobs_group_wait(&g_endings);
	free(g.many);
	g.many = NULL;
	symbol_cache_put(&g.collector.symbols);
	close(g.collector.loop);
	scratch_leave();
}

static uint32_t control(int i)
{
	return atom_load_acq(&g.page[i]->control);
}

static const char *categories(int i)
{
	const struct categories_shm *shared =
		(struct categories_shm *)((char *)g.page[i] + ARENA_CATEGORIES);

	return shared->text;
}

/* --- a client ------------------------------------------------------------ */

static int connect_client(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX,
				       .sun_path = "socket" SOCKET_PATH_CTL };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Like main: handles ready descriptors, then reaps. */
static void run_collector(void)
{
	loop_run_once(g.collector.loop, 0);
	ctl_server_reap(g.server);
}

static void say(int fd, const void *bytes, size_t count)
{
	size_t sent = 0;

	while (sent < count) {
		ssize_t done = send(fd, (const char *)bytes + sent,
				    count - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (done < 0 && errno != EAGAIN)
			return; /* the collector stopped reading */
		sent += done > 0 ? (size_t)done : 0;
		run_collector();
	}
}

/* Reads until the collector hangs up. The caller frees the text. */
static char *hear_all(int fd, size_t *count)
{
	size_t room = ANSWER_MAX;
	char *text = malloc(room + 1);
	ssize_t got = 1;

	*count = 0;
	while (got) {
		run_collector();
		got = recv(fd, text + *count, room - *count, MSG_DONTWAIT);
		if (got < 0 && errno != EAGAIN)
			break; /* it left some of our bytes unread */
		*count += got > 0 ? (size_t)got : 0;
	}
	text[*count] = '\0';
	return text;
}

/* Closes @fd. */
static json_t *hear(int fd)
{
	size_t count;
	char *text = hear_all(fd, &count);
	json_t *json = json_loadb(text, count, 0, NULL);

	ck_assert_msg(json, "no JSON: '%.200s'", text);
	free(text);
	close(fd);
	return json;
}

static json_t *ask_bytes(const void *bytes, size_t count)
{
	int fd = connect_client();

	say(fd, bytes, count);
	return hear(fd);
}

static json_t *ask(const char *line)
{
	return ask_bytes(line, strlen(line));
}

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	ck_assert_msg(text, "no text '%s'", key);
	return text;
}

static void expect_error(json_t *answer, const char *text)
{
	ck_assert_str_eq(text_at(answer, "error"), text);
	json_decref(answer);
}

static const json_t *program_at(const json_t *answer, size_t i)
{
	const json_t *program =
		json_array_get(json_object_get(answer, "programs"), i);

	ck_assert_ptr_nonnull(program);
	return program;
}

static size_t program_count(const json_t *answer)
{
	ck_assert_ptr_null(json_object_get(answer, "error"));
	return json_array_size(json_object_get(answer, "programs"));
}

static json_int_t pid_at(const json_t *answer, size_t i)
{
	return json_integer_value(
		json_object_get(program_at(answer, i), "pid"));
}

/* Follows each provocation. */
static void expect_served(void)
{
	json_t *answer = ask("list\n");

	ck_assert_uint_eq(program_count(answer), SESSIONS);
	json_decref(answer);
	run_collector();
	ck_assert(!ctl_server_has_connections(g.server));
}

/* --- requests ------------------------------------------------------------ */

FIXTURE(set_up, tear_down);

TEST(list_tells_all_programs)
{
	json_t *answer = ask("list\n");
	const json_t *collector = json_object_get(answer, "collector");
	const json_t *program;
	char want[PATH_MAX + 16];

	snprintf(want, sizeof(want), "%s/out", g_scratch);
	ck_assert_str_eq(text_at(collector, "output"), want);
	ck_assert_int_eq(json_integer_value(json_object_get(collector, "pid")),
			 getpid());
	ck_assert(json_is_true(json_object_get(collector, "daemon")));
	ck_assert(json_is_false(json_object_get(collector, "paused")));
	ck_assert_uint_eq(program_count(answer), SESSIONS);
	program = program_at(answer, SESSIONS - 1);
	ck_assert_int_eq(pid_at(answer, SESSIONS - 1), 1000001);
	ck_assert_str_eq(text_at(program, "program"), "one");
	ck_assert_str_eq(text_at(program, "state"), "recording");
	snprintf(want, sizeof(want), "%s/folder-0", g_scratch);
	ck_assert_str_eq(text_at(program, "folder"), want);
	json_decref(answer);
}

TEST(target_is_a_pid_a_name_or_a_folder)
{
	static const char *const lines[] = { "list 1000001\n", "list one\n",
					     "list folder-0\n" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		json_t *answer = ask(lines[i]);

		ck_assert_uint_eq(program_count(answer), 1);
		ck_assert_int_eq(pid_at(answer, 0), 1000001);
		json_decref(answer);
	}
	expect_error(ask("list three\n"),
		     "no program 'three' is being recorded (see perfrec ctl "
		     "list)");
	expect_error(ask("list 1000009\n"),
		     "no program '1000009' is being recorded (see perfrec ctl "
		     "list)");
	expect_error(ask("list two\n"), "'two' is more than one: 1000003, "
					"1000002 (give the pid of one)");
}

TEST(pause_of_one_pauses_no_other)
{
	json_t *answer = ask("pause one\n");

	ck_assert_str_eq(text_at(program_at(answer, 0), "state"), "paused");
	json_decref(answer);
	ck_assert_uint_eq(control(0), CONTROL_PAUSED);
	ck_assert_uint_eq(control(1), CONTROL_ON);
	ck_assert(!g.collector.paused);
	answer = ask("resume one\n");
	ck_assert_str_eq(text_at(program_at(answer, 0), "state"), "recording");
	json_decref(answer);
	ck_assert_uint_eq(control(0), CONTROL_ON);
}

TEST(pause_of_all_is_for_those_that_come_too)
{
	json_decref(ask("pause\n"));
	for (int i = 0; i < SESSIONS; i++)
		ck_assert_uint_eq(control(i), CONTROL_PAUSED);
	ck_assert(g.collector.paused);
	json_decref(ask("resume\n"));
	for (int i = 0; i < SESSIONS; i++)
		ck_assert_uint_eq(control(i), CONTROL_ON);
	ck_assert(!g.collector.paused);
}

TEST(categories_are_told_to_programs)
{
	json_decref(ask("categories one\tnet,disk*\n"));
	ck_assert_str_eq(categories(0), "net,disk*");
	ck_assert_str_eq(categories(1), "");
	ck_assert_str_eq(g.collector.categories, "");
	json_decref(ask("categories\tgpu\n"));
	ck_assert_str_eq(categories(0), "gpu");
	ck_assert_str_eq(categories(2), "gpu");
	ck_assert_str_eq(g.collector.categories, "gpu");
	json_decref(ask("categories\t\n")); /* all again */
	ck_assert_str_eq(categories(1), "");
	ck_assert_str_eq(g.collector.categories, "");
}

TEST(categories_of_nonsense_are_refused)
{
	char line[CATEGORIES_BYTES + 32] = "categories\t";

	expect_error(ask("categories\n"), "this is no list of categories");
	expect_error(ask("categories one\n"), "this is no list of categories");
	expect_error(ask("categories\ta\tb\n"),
		     "this is no list of categories");
	expect_error(ask("categories\ta\001b\n"),
		     "this is no list of categories");
	memset(line + strlen(line), 'x', CATEGORIES_BYTES);
	strcat(line, "\n");
	expect_error(ask(line), "this is no list of categories");
	ck_assert_str_eq(categories(0), "");
	ck_assert_str_eq(g.collector.categories, "");
}

TEST(flush_of_no_time_is_refused)
{
	expect_error(ask("flush\tsoon\n"), "this is no time");
	expect_error(ask("flush one\t\n"), "this is no time");
	expect_error(ask("flush one\t-1\n"), "this is no time");
	expect_error(ask("flush one\t 1\n"), "this is no time");
	expect_error(ask("flush one\t1 \n"), "this is no time");
	expect_error(ask("flush one\t1\t2\n"), "this is no time");
	/* The limit is a day. */
	expect_error(ask("flush\t86400001\n"), "this is no time");
	expect_error(ask("flush\t18446744073709551617\n"), "this is no time");
	expect_served();
}

TEST(stop_is_answered_when_the_session_is_over)
{
	int fd = connect_client();
	json_t *answer;
	char byte;

	say(fd, "stop one\n", 9);
	run_collector();
	ck_assert_uint_eq(control(0), CONTROL_OFF);
	ck_assert(process_is_ending(&g.process[0]));
	ck_assert_uint_eq(control(1), CONTROL_ON);
	ck_assert_int_eq(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	ck_assert_int_eq(errno, EAGAIN);
	answer = ask("list one\n");
	ck_assert_str_eq(text_at(program_at(answer, 0), "state"), "ending");
	json_decref(answer);
	end_session(0);
	answer = hear(fd);
	ck_assert_int_eq(pid_at(answer, 0), 1000001);
	json_decref(answer);
	ck_assert(!g.collector.closing);
}

TEST(stop_of_all_is_answered_at_our_end)
{
	int fd = connect_client();
	json_t *answer;
	char text[4096];
	ssize_t got;

	say(fd, "stop\n", 5);
	run_collector();
	ck_assert(g.collector.closing);
	ck_assert_int_eq(recv(fd, text, 1, MSG_DONTWAIT), -1);
	ctl_server_free(&g.server);
	got = recv(fd, text, sizeof(text), 0);
	ck_assert_int_gt(got, 0);
	answer = json_loadb(text, (size_t)got, 0, NULL);
	ck_assert_uint_eq(program_count(answer), SESSIONS);
	json_decref(answer);
	ck_assert_int_eq(recv(fd, text, 1, 0), 0);
	close(fd);
}

/* --- malformed requests -------------------------------------------------- */

TEST(request_of_nonsense_is_refused)
{
	static const char *const lines[] = { "\n",	"frob\n",  "LIST\n",
					     "list1\n", " list\n", "\tlist\n",
					     "pausee\n" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		expect_error(ask(lines[i]), "unknown request");
	expect_error(ask_bytes("frob\0list\n", 10), "unknown request");
	expect_error(ask_bytes("\377\376\200\n", 4), "unknown request");
	for (int i = 0; i < SESSIONS; i++)
		ck_assert_uint_eq(control(i), CONTROL_ON);
	expect_served();
}

TEST(target_of_nonsense_is_said_as_text)
{
	/* The answer is JSON for any target. */
	json_t *answer = ask_bytes("list \"\\\377\001\n", 10);

	ck_assert_ptr_nonnull(
		strstr(text_at(answer, "error"), "is being recorded"));
	json_decref(answer);
	expect_error(ask("list  one\n"), "no program ' one' is being recorded "
					 "(see perfrec ctl list)");
	expect_served();
}

TEST(request_may_come_in_pieces)
{
	int fd = connect_client();
	json_t *answer;

	for (const char *at = "list one\n"; *at; at++) {
		say(fd, at, 1);
		run_collector();
	}
	answer = hear(fd);
	ck_assert_uint_eq(program_count(answer), 1);
	json_decref(answer);
	answer = ask("list one\npause\nstop\n");
	ck_assert_uint_eq(program_count(answer), 1);
	json_decref(answer);
	ck_assert_uint_eq(control(0), CONTROL_ON);
	ck_assert(!g.collector.closing);
	expect_served();
}

TEST(request_as_long_as_may_be_is_read)
{
	char line[CTL_REQUEST_MAX];
	json_t *answer;

	memset(line, 'x', sizeof(line));
	memcpy(line, "list ", 5);
	line[sizeof(line) - 1] = '\n';
	answer = ask_bytes(line, sizeof(line));
	/* the error repeats the target, cut to its limit */
	ck_assert_int_eq(
		strncmp(text_at(answer, "error"), "no program 'xxx", 15), 0);
	ck_assert_uint_lt(strlen(text_at(answer, "error")), 1024);
	json_decref(answer);
	expect_served();
}

TEST(request_that_is_too_long_is_refused)
{
	static char line[20 * CTL_REQUEST_MAX];

	memset(line, 'x', sizeof(line));
	memcpy(line, "list ", 5);
	expect_error(ask_bytes(line, CTL_REQUEST_MAX),
		     "the request is too long");
	line[sizeof(line) - 1] = '\n';
	expect_error(ask_bytes(line, sizeof(line)), "the request is too long");
	expect_served();
}

TEST(client_that_hangs_up_is_forgotten)
{
	int fd = connect_client();

	run_collector();
	ck_assert(ctl_server_has_connections(g.server));
	close(fd);
	run_collector();
	ck_assert(!ctl_server_has_connections(g.server));
	/* in the middle of a request */
	fd = connect_client();
	say(fd, "lis", 3);
	run_collector();
	close(fd);
	run_collector();
	ck_assert(!ctl_server_has_connections(g.server));
	/* before its answer */
	fd = connect_client();
	ck_assert_int_eq(send(fd, "list\n", 5, 0), 5);
	close(fd);
	for (int i = 0; i < 4; i++)
		run_collector();
	ck_assert(!ctl_server_has_connections(g.server));
	expect_served();
}

TEST(client_that_hangs_up_while_it_waits_is_forgotten_later)
{
	int fd = connect_client();

	say(fd, "stop one\n", 9);
	close(fd);
	for (int i = 0; i < 4; i++)
		run_collector();
	ck_assert(ctl_server_has_connections(g.server));
	end_session(0);
	run_collector();
	ck_assert(!ctl_server_has_connections(g.server));
	ck_assert_uint_eq(control(0), CONTROL_OFF);
}

TEST(clients_beyond_sixteen_replace_a_silent_one)
{
	int fd[17];
	char byte;

	for (size_t i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = connect_client();
		run_collector();
	}
	ck_assert_int_eq(recv(fd[0], &byte, 1, 0), 0);
	close(fd[0]);
	for (int i = 1; i < 17; i++) {
		json_t *answer;

		ck_assert_int_eq(recv(fd[i], &byte, 1, MSG_DONTWAIT), -1);
		say(fd[i], "list\n", 5);
		answer = hear(fd[i]);
		ck_assert_uint_eq(program_count(answer), SESSIONS);
		json_decref(answer);
	}
	expect_served();
}

/* Half of the clients have hung up; that changes nothing. */
TEST(requests_that_wait_keep_nobody_out)
{
	json_t *answer;
	int fd[40];

	for (size_t i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = connect_client();
		say(fd[i], "stop one\n", 9);
		run_collector();
		if (i % 2)
			close(fd[i]);
	}
	expect_error(hear(fd[38]), "too many requests wait already");
	answer = ask("list\n");
	ck_assert_uint_eq(program_count(answer), SESSIONS);
	json_decref(answer);
	end_session(0);
	answer = hear(fd[0]);
	ck_assert_int_eq(pid_at(answer, 0), 1000001);
	json_decref(answer);
	for (size_t i = 2; i < 38; i += 2)
		close(fd[i]);
}

TEST(answer_that_is_taken_slowly_comes_whole)
{
	int fd = connect_client();
	json_t *answer, *pids;
	size_t count;
	char *text;

	/* far more than a socket's buffer */
	g.many = calloc(MANY, sizeof(*g.many));
	for (int i = 0; i < MANY; i++) {
		g.many[i] = g.process[2];
		g.many[i].setup.pid = 2000000000 + i; /* ten digits */
		g.many[i].next = i + 1 < MANY ? &g.many[i + 1] : NULL;
	}
	g.process[2].next = g.many;
	say(fd, "list 1000003\n", 13);
	for (int i = 0; i < 10; i++)
		run_collector(); /* must not block on a slow reader */
	ck_assert(ctl_server_has_connections(g.server));
	text = hear_all(fd, &count);
	ck_assert_uint_gt(count, MANY * 11);
	answer = json_loadb(text, count, 0, NULL);
	ck_assert_ptr_nonnull(answer);
	pids = json_object_get(program_at(answer, 0), "pids");
	ck_assert_uint_eq(json_array_size(pids), MANY + 1);
	json_decref(answer);
	free(text);
	close(fd);
	g.process[2].next = NULL;
	expect_served();
}

TEST(names_of_programs_are_said_as_text)
{
	json_t *answer;

	strcpy(g.entry[0].name, "\"a\\\377\n");
	answer = ask("list 1000001\n");
	ck_assert_uint_eq(program_count(answer), 1);
	ck_assert_ptr_nonnull(
		strstr(text_at(program_at(answer, 0), "program"), "\"a\\"));
	json_decref(answer);
}

/* --- the socket and its link --------------------------------------------- */

TEST(link_leads_to_the_socket)
{
	char to[PATH_MAX] = "";

	ck_assert_int_eq(mkdir("dir", 0755), 0);
	ctl_server_link(g.server, "dir");
	ck_assert_int_gt(readlink("dir/" SOCKET_PATH_LINK, to, sizeof(to) - 1),
			 0);
	ck_assert_str_eq(to, "socket" SOCKET_PATH_CTL);
	ctl_server_close(g.server);
	ck_assert_int_eq(access("socket" SOCKET_PATH_CTL, F_OK), -1);
	ck_assert_int_eq(readlink("dir/" SOCKET_PATH_LINK, to, sizeof(to)), -1);
}

TEST(link_of_a_collector_that_was_killed_is_replaced)
{
	char to[PATH_MAX] = "";

	ck_assert_int_eq(mkdir("dir", 0755), 0);
	ck_assert_int_eq(
		symlink("/gone/a" SOCKET_PATH_CTL, "dir/" SOCKET_PATH_LINK), 0);
	ctl_server_link(g.server, "dir");
	ck_assert_int_gt(readlink("dir/" SOCKET_PATH_LINK, to, sizeof(to) - 1),
			 0);
	ck_assert_str_eq(to, "socket" SOCKET_PATH_CTL);
}

TEST(link_takes_the_place_of_nothing_else)
{
	char to[PATH_MAX] = "";

	ck_assert_int_eq(mkdir("dir", 0755) | mkdir("dir2", 0755), 0);
	scratch_write("dir/" SOCKET_PATH_LINK, "mine", 4);
	ctl_server_link(g.server, "dir");
	ck_assert_int_eq(readlink("dir/" SOCKET_PATH_LINK, to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINVAL); /* not a link */
	ck_assert_int_eq(symlink("elsewhere", "dir2/" SOCKET_PATH_LINK), 0);
	ctl_server_link(g.server, "dir2");
	ctl_server_close(g.server);
	ck_assert_int_gt(readlink("dir2/" SOCKET_PATH_LINK, to, sizeof(to) - 1),
			 0);
	ck_assert_str_eq(to, "elsewhere");
}
