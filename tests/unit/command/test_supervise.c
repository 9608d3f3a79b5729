/* SPDX-License-Identifier: Apache-2.0
 *
 * A program and its collector below perfrec record. This program plays both,
 * started as "collector" or "program". A scene selects the messages of the
 * collector, right or wrong; nothing is recorded.
 */
#include "collector/command/supervise.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "collector/base/log.h"
#include "collector/command/spawn.h"
#include "collector/options/record_wire.h"
#include "shared/wire.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define SOCKET "/run/perfrec/a.socket"

static char g_self[PATH_MAX];

/* --- the collector's part ------------------------------------------------ */

static void say_message(uint32_t version, struct control_message message)
{
	message.version = version;
	(void)!send(SPAWN_CONTROL_FD, &message, sizeof(message), MSG_NOSIGNAL);
}

static void say(uint32_t type)
{
	say_message(WIRE_VERSION, (struct control_message){ .type = type });
}

static void say_ready(void)
{
	struct control_message message = { .type = CONTROL_READY };

	strcpy(message.ready.socket_path, SOCKET);
	say_message(WIRE_VERSION, message);
}

static void say_done(int exit_code)
{
	say_message(WIRE_VERSION,
		    (struct control_message){ .type = CONTROL_DONE,
					      .done.exit_code = exit_code });
}

static void say_failed(const char *text)
{
	struct control_message message = { .type = CONTROL_FAILED };

	memset(message.failed.text, 'x', CONTROL_TEXT_MAX);
	if (text)
		strcpy(message.failed.text, text);
	say_message(WIRE_VERSION, message);
}

static bool hear(uint32_t type, const char *file)
{
	struct control_message message;
	ssize_t size = recv(SPAWN_CONTROL_FD, &message, sizeof(message), 0);

	if (size != sizeof(message) || message.type != type ||
	    message.version != WIRE_VERSION)
		return false;
	scratch_write(file, &message, sizeof(message));
	return true;
}

/* READY to WATCHED. */
static void let_program_go(void)
{
	say_ready();
	if (!hear(CONTROL_CHILD, "child"))
		_exit(1);
	/* Slower than the start of a program that would not wait for
	 * WATCHED. */
	scratch_run("true; sh -c true");
	scratch_write("watched", "", 0);
	say(CONTROL_WATCHED);
}

static void scene_record(int exit_code)
{
	let_program_go();
	if (!hear(CONTROL_FINISH, "finish"))
		return;
	if (access("descendant", F_OK) == 0)
		scratch_write("followed", "", 0);
	say_done(exit_code);
}

/* open() waits for the program, which reads until this process ends. perfrec's
 * messages are all read here; otherwise the program's read would fail. */
static void scene_lost(const char *how)
{
	let_program_go();
	scratch_must(open("gate", O_WRONLY | O_CLOEXEC) >= 0, "gate");
	if (!strcmp(how, "lost-by-type"))
		say(77);
	if (!strcmp(how, "lost-by-size"))
		(void)!send(SPAWN_CONTROL_FD, "x", 1, MSG_NOSIGNAL);
	if (!strcmp(how, "lost-by-failure"))
		say_failed("no room on the disk");
}

static char state_of(pid_t pid)
{
	char path[32], text[256] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	scratch_must(file && fgets(text, sizeof(text), file), path);
	fclose(file);
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

/* SENDING and a signal, which arrive together: perfrec is stopped meanwhile. */
static void scene_sending(void)
{
	sigset_t set;
	int signal;

	/* For a perfrec that does not pass the signal on. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	let_program_go();
	if (!hear(CONTROL_FINISH, "finish"))
		return;
	kill(getppid(), SIGSTOP);
	while (state_of(getppid()) != 'T')
		sched_yield();
	say(CONTROL_SENDING);
	kill(getppid(), SIGINT);
	kill(getppid(), SIGCONT);
	sigwait(&set, &signal);
	say_done(0);
}

static int collect(const char *scene)
{
	if (!strcmp(scene, "record"))
		scene_record(0);
	else if (!strcmp(scene, "unwritten"))
		scene_record(1);
	else if (!strcmp(scene, "sending"))
		scene_sending();
	else if (!strncmp(scene, "lost", 4))
		scene_lost(scene);
	else if (!strcmp(scene, "refuse"))
		say_failed("the folder is full");
	else if (!strcmp(scene, "refuse-endlessly"))
		say_failed(NULL);
	else if (!strcmp(scene, "version"))
		say_message(WIRE_VERSION + 1,
			    (struct control_message){ .type = CONTROL_READY });
	else if (!strcmp(scene, "unknown"))
		say(77);
	else if (!strcmp(scene, "silent"))
		hear(CONTROL_FINISH, "finish"); /* until perfrec ends */
	/* "die": sends nothing */
	return 0;
}

/* --- the program's part -------------------------------------------------- */

static void note_start(void)
{
	char text[PATH_MAX + 32];
	const char *socket = getenv("PERFREC_SOCKET");

	snprintf(text, sizeof(text), "%d %s %s", getpid(),
		 socket ? socket : "no socket",
		 access("watched", F_OK) ? "early" : "watched");
	scratch_write("program", text, strlen(text));
}

/* Leaves a child behind until perfrec has reaped the program. */
static void leave_descendant(void)
{
	pid_t program = getpid();

	if (fork())
		return;
	while (kill(program, 0) == 0)
		usleep(1000);
	scratch_write("descendant", "", 0);
	_exit(0);
}

static int wait_for_usr1(void)
{
	sigset_t set;
	int signal = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &signal);
	return signal == SIGUSR1 ? 42 : 1;
}

static int wait_for_collector(void)
{
	int gate = open("gate", O_RDONLY | O_CLOEXEC);
	char byte;

	return gate >= 0 && read(gate, &byte, 1) == 0 ? 42 : 1;
}

static int run(const char *what)
{
	note_start();
	if (!strcmp(what, "exit"))
		return 7;
	if (!strcmp(what, "wait"))
		return wait_for_usr1();
	if (!strcmp(what, "wait-for-collector"))
		return wait_for_collector();
	if (!strcmp(what, "leave"))
		leave_descendant();
	if (!strcmp(what, "crash"))
		raise(SIGTERM);
	return 0;
}

/* --- the supervisor ------------------------------------------------------ */

static char g_collector[] = "collector", g_program[] = "program";

static struct rig {
	struct spawn_parts parts;
	struct spawn_program program;
	sigset_t mask;
	char scene[32], what[32];
	char *collector_argv[3], *program_argv[3];
	struct supervise_plan plan;
	struct supervise *supervise;
} r;

static void plan(const char *scene, const char *what)
{
	snprintf(r.scene, sizeof(r.scene), "%s", scene);
	snprintf(r.what, sizeof(r.what), "%s", what);
	r.collector_argv[0] = g_collector;
	r.collector_argv[1] = r.scene;
	r.program_argv[0] = g_program;
	r.program_argv[1] = r.what;
	strcpy(r.parts.collector, g_self);
	/* must exist, but any library will do */
	strcpy(r.parts.shim, "libc.so.6");
	strcpy(r.program.path, g_self);
	r.program.argv = r.program_argv;
	sigprocmask(SIG_BLOCK, NULL, &r.mask);
	r.plan = (struct supervise_plan){
		.parts = &r.parts,
		.program = &r.program,
		.collector_argv = r.collector_argv,
		.mask = &r.mask,
	};
}

static int start(const char *scene, const char *what)
{
	plan(scene, what);
	return supervise_start(&r.plan, &r.supervise);
}

static void block(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static struct control_message read_message(const char *path)
{
	struct control_message message;
	FILE *file = fopen(path, "re");

	ck_assert_msg(file, "%s: %s", path, strerror(errno));
	ck_assert_uint_eq(fread(&message, sizeof(message), 1, file), 1);
	fclose(file);
	return message;
}

static void enter_scratch(void)
{
	int log;

	scratch_enter();
	log = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	dup2(log, STDERR_FILENO);
	close(log);
}

static void expect_no_child(void)
{
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

/* --- tests --------------------------------------------------------------- */

FIXTURE(enter_scratch, scratch_leave);

TEST(recording_goes_from_ready_to_done)
{
	struct control_message child, finish;
	enum supervise_end end = SUPERVISE_LOST;
	char want[128];
	int wait_status;

	ck_assert_int_eq(start("record", "exit"), 0);
	wait_status = supervise_wait(&r.supervise, &end);
	ck_assert_ptr_null(r.supervise);
	ck_assert_int_eq(end, SUPERVISE_WHOLE);
	ck_assert(WIFEXITED(wait_status));
	ck_assert_int_eq(WEXITSTATUS(wait_status), 7);
	child = read_message("child");
	snprintf(want, sizeof(want), "%d %s watched", (int)child.child.pid,
		 SOCKET);
	ck_assert_str_eq(scratch_read("program"), want);
	finish = read_message("finish");
	ck_assert_int_eq(finish.finish.wait_status, wait_status);
	ck_assert_uint_gt(finish.finish.start_ns, 0);
	ck_assert_uint_gt(finish.finish.end_ns, finish.finish.start_ns);
	ck_assert_uint_gt(finish.finish.user_ns + finish.finish.sys_ns, 0);
	ck_assert_str_eq(scratch_read("log"), "");
}

TEST(files_that_were_not_written_are_told)
{
	enum supervise_end end = SUPERVISE_LOST;

	ck_assert_int_eq(start("unwritten", "exit"), 0);
	ck_assert_int_eq(WEXITSTATUS(supervise_wait(&r.supervise, &end)), 7);
	ck_assert_int_eq(end, SUPERVISE_UNWRITTEN);
}

TEST(signals_are_passed_on_to_the_program)
{
	enum supervise_end end = SUPERVISE_LOST;

	/* the program starts with it pending, however early it comes */
	block(SIGUSR1);
	ck_assert_int_eq(start("record", "wait"), 0);
	ck_assert_int_eq(kill(getpid(), SIGUSR1), 0);
	ck_assert_int_eq(WEXITSTATUS(supervise_wait(&r.supervise, &end)), 42);
	ck_assert_int_eq(end, SUPERVISE_WHOLE);
}

TEST(program_that_a_signal_ended_is_told_so)
{
	enum supervise_end end = SUPERVISE_LOST;
	int wait_status;

	ck_assert_int_eq(start("record", "crash"), 0);
	wait_status = supervise_wait(&r.supervise, &end);
	ck_assert_int_eq(end, SUPERVISE_WHOLE);
	ck_assert(WIFSIGNALED(wait_status));
	ck_assert_int_eq(WTERMSIG(wait_status), SIGTERM);
	ck_assert_int_eq(read_message("finish").finish.wait_status,
			 wait_status);
}

/* The collector says that only sending is left, and then the signal comes. The
 * signal ends the sending, and not the wait for the collector. */
TEST(signal_behind_a_message_is_read_behind_it)
{
	enum supervise_end end = SUPERVISE_LOST;

	ck_assert_int_eq(start("sending", "exit"), 0);
	ck_assert_int_eq(WEXITSTATUS(supervise_wait(&r.supervise, &end)), 7);
	ck_assert_int_eq(end, SUPERVISE_WHOLE);
}

struct failure {
	const char *scene, *line;
};

#define LINE(text) "supervise: error: " text

static const struct failure g_losses[] = {
	{ "lost", LINE("perfrec-collect has ended unexpectedly") },
	{ "lost-by-type", LINE("perfrec-collect sent something unknown") },
	{ "lost-by-size", LINE("perfrec-collect is of another version: install "
			       "perfrec and perfrec-collect from one build") },
	{ "lost-by-failure", LINE("no room on the disk") },
};

TEST(program_goes_on_without_its_collector, EACH(0, ARRAY_SIZE(g_losses)))
{
	enum supervise_end end = SUPERVISE_WHOLE;

	ck_assert_int_eq(mkfifo("gate", 0600), 0);
	ck_assert_int_eq(start(g_losses[_i].scene, "wait-for-collector"), 0);
	ck_assert_int_eq(WEXITSTATUS(supervise_wait(&r.supervise, &end)), 42);
	ck_assert_int_eq(end, SUPERVISE_LOST);
	/* The rest depends on whether the program still ran. */
	ck_assert_int_eq(strncmp(scratch_read("log"), g_losses[_i].line,
				 strlen(g_losses[_i].line)),
			 0);
}

static const struct failure g_refusals[] = {
	{ "refuse", LINE("the folder is full\n") },
	{ "die", LINE("perfrec-collect has ended unexpectedly\n") },
	{ "version", LINE("perfrec-collect is of another version: install "
			  "perfrec and perfrec-collect from one build\n") },
	{ "unknown", LINE("perfrec-collect sent something unknown\n") },
};

TEST(program_is_not_started_without_a_collector,
     EACH(0, ARRAY_SIZE(g_refusals)))
{
	ck_assert_int_eq(start(g_refusals[_i].scene, "exit"), -ECONNREFUSED);
	expect_no_child();
	ck_assert_int_eq(access("program", F_OK), -1);
	ck_assert_str_eq(scratch_read("log"), g_refusals[_i].line);
}

TEST(text_without_an_end_is_cut)
{
	const char *text;

	ck_assert_int_eq(start("refuse-endlessly", "exit"), -ECONNREFUSED);
	text = scratch_read("log") + strlen(LINE(""));
	ck_assert_uint_eq(strspn(text, "x"), CONTROL_TEXT_MAX - 1);
	ck_assert_str_eq(text + CONTROL_TEXT_MAX - 1, "\n");
}

TEST(program_that_cannot_be_run_ends_its_collector)
{
	plan("record", "exit");
	strcpy(r.program.path, "/nowhere/program");
	ck_assert_int_eq(supervise_start(&r.plan, &r.supervise), -ENOENT);
	expect_no_child();
	ck_assert_str_eq(scratch_read("log"),
			 LINE("cannot run 'program': No such file or "
			      "directory (it is in no folder of PATH)\n"));
}

TEST(collector_that_cannot_be_run_is_an_error)
{
	plan("record", "exit");
	strcpy(r.parts.collector, "/nowhere/collector");
	ck_assert_int_eq(supervise_start(&r.plan, &r.supervise), -ENOENT);
	expect_no_child();
	ck_assert_int_eq(access("program", F_OK), -1);
}

TEST(signal_before_the_start_ends_it)
{
	/* pending, and noticed after the start of the collector */
	block(SIGTERM);
	kill(getpid(), SIGTERM);
	ck_assert_int_eq(start("silent", "exit"), SIGTERM);
	expect_no_child();
	ck_assert_int_eq(access("program", F_OK), -1);
}

TEST(descendants_are_followed)
{
	enum supervise_end end = SUPERVISE_LOST;

	plan("record", "leave");
	r.plan.follow = true;
	ck_assert_int_eq(supervise_start(&r.plan, &r.supervise), 0);
	ck_assert_int_eq(supervise_wait(&r.supervise, &end), 0);
	ck_assert_int_eq(end, SUPERVISE_WHOLE);
	ck_assert_int_eq(access("followed", F_OK), 0);
}

TEST(exit_is_as_the_program_ended)
{
	static const int ends[] = { 0, 3 << 8, SIGTERM, SIGKILL };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int wait_status = -1;
		pid_t pid = fork();

		if (pid == 0)
			supervise_exit(ends[i]);
		ck_assert_int_eq(waitpid(pid, &wait_status, 0), pid);
		ck_assert_int_eq(wait_status, ends[i]);
	}
}

static int play_another(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[0], g_collector))
		return collect(argv[1]);
	if (argc > 1 && !strcmp(argv[0], g_program))
		return run(argv[1]);
	return -1;
}

ROLE(play_another);

static void begin_suite(void)
{
	if (!realpath("/proc/self/exe", g_self))
		abort();
	log_init("supervise", LOG_ERR);
}

SUITE(begin_suite, NULL);
