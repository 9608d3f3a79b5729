/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that `perfrec record` finds and starts. Started as "collector" or
 * "parts", this program reports its arguments and environment to the tests.
 */
#include "collector/command/spawn.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "collector/base/log.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static char g_self[PATH_MAX];

/* --- reports when started by a test -------------------------------------- */

struct collector_report {
	uint64_t open; /* bit N: descriptor N is open */
	bool is_leader; /* has a session of its own */
	bool in_is_null, out_is_null;
	bool usr1_blocked, usr2_blocked;
	char argument[32];
};

static bool is_dev_null(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
	       status.st_rdev == makedev(1, 3);
}

static int report_as_collector(const char *argument)
{
	struct collector_report report = { .is_leader = getsid(0) == getpid() };
	sigset_t mask;

	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			report.open |= 1ULL << fd;
	report.in_is_null = is_dev_null(STDIN_FILENO);
	report.out_is_null = is_dev_null(STDOUT_FILENO);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	report.usr1_blocked = sigismember(&mask, SIGUSR1);
	report.usr2_blocked = sigismember(&mask, SIGUSR2);
	snprintf(report.argument, sizeof(report.argument), "%s", argument);
	return send(SPAWN_CONTROL_FD, &report, sizeof(report), 0) !=
	       sizeof(report);
}

static int report_parts(void)
{
	struct spawn_parts parts;
	int error = spawn_find_parts(&parts);

	if (error)
		printf("%d\n", error);
	else
		printf("%s\n%s\n", parts.collector, parts.shim);
	return 0;
}

/* --- files --------------------------------------------------------------- */

static void make_script(const char *path, const char *text)
{
	scratch_write(path, text, strlen(text));
}

static bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') &&
		    (at[length] == '\n' || !at[length]))
			return true;
	return false;
}

static void enter_scratch(void)
{
	scratch_enter();
	ck_assert_int_eq(mkdir("a", 0755) | mkdir("b", 0755), 0);
}

static void leave_scratch(void)
{
	setenv("PATH", "/usr/bin:/bin", 1);
	scratch_leave();
}

/* --- finding ------------------------------------------------------------- */

FIXTURE(enter_scratch, leave_scratch);

TEST(find_command_goes_along_path)
{
	char path[PATH_MAX];

	make_script("b/tool", "#!/bin/sh\n");
	make_script("tool", "#!/bin/sh\n");
	setenv("PATH", "a:b", 1);
	ck_assert_int_eq(spawn_find_command("tool", path), 0);
	ck_assert_str_eq(path, "b/tool");
	/* an empty entry means the working directory */
	setenv("PATH", "a::b", 1);
	ck_assert_int_eq(spawn_find_command("tool", path), 0);
	ck_assert_str_eq(path, "./tool");
	ck_assert_int_eq(spawn_find_command("toolbox", path), -ENOENT);
	ck_assert_int_eq(spawn_find_command("", path), -ENOENT);
}

TEST(find_command_passes_by_what_cannot_be_executed)
{
	char path[PATH_MAX];

	make_script("a/tool", "#!/bin/sh\n");
	ck_assert_int_eq(chmod("a/tool", 0644), 0);
	ck_assert_int_eq(mkdir("b/tool", 0755), 0);
	setenv("PATH", "a:b", 1);
	ck_assert_int_eq(spawn_find_command("tool", path), -EACCES);
	make_script("tool", "#!/bin/sh\n");
	setenv("PATH", "a:b:", 1);
	ck_assert_int_eq(spawn_find_command("tool", path), 0);
	ck_assert_str_eq(path, "./tool");
}

TEST(find_command_with_a_slash_is_a_path)
{
	char path[PATH_MAX], longest[PATH_MAX + 1];

	make_script("a/tool", "#!/bin/sh\n");
	setenv("PATH", "b", 1);
	ck_assert_int_eq(spawn_find_command("a/tool", path), 0);
	ck_assert_str_eq(path, "a/tool");
	ck_assert_int_eq(spawn_find_command("./tool", path), -ENOENT);
	ck_assert_int_eq(spawn_find_command("a/", path), -EACCES);
	memset(longest, 'x', PATH_MAX);
	longest[0] = '/';
	longest[PATH_MAX] = '\0';
	ck_assert_int_eq(spawn_find_command(longest, path), -ENAMETOOLONG);
}

TEST(find_program_looks_at_interpreters)
{
	static char word[] = "./script";
	char *argv[] = { word, NULL };
	struct spawn_program program;

	make_script("script", "#! ./shell\n");
	ck_assert_int_eq(spawn_find_program(argv, &program), -ENOENT);
	make_script("shell", "#!/nowhere/sh -e\n");
	ck_assert_int_eq(spawn_find_program(argv, &program), -ENOENT);
	make_script("shell", "#!/bin/sh\n");
	ck_assert_int_eq(spawn_find_program(argv, &program), 0);
	ck_assert_str_eq(program.path, "./script");
	ck_assert_ptr_eq(program.argv, argv);
	ck_assert_str_eq(program.asan, "");
	/* its own interpreter; the kernel reports the error */
	make_script("script", "#!./script\n");
	ck_assert_int_eq(spawn_find_program(argv, &program), 0);
}

TEST(way_out_says_what_the_errno_does_not)
{
	make_script("file", "");
	ck_assert_str_eq(spawn_way_out("tool", ENOENT),
			 " (it is in no folder of PATH)");
	ck_assert_str_eq(spawn_way_out("./tool", ENOENT), "");
	ck_assert_str_eq(spawn_way_out("a", EACCES), " (it is a folder)");
	ck_assert_str_eq(spawn_way_out("./file", EACCES),
			 " (chmod +x it, if it is a program)");
	ck_assert_str_eq(spawn_way_out("./gone", EACCES), "");
	ck_assert_str_eq(spawn_way_out("./file", ENOEXEC),
			 " (it is no program of this machine)");
	ck_assert_str_eq(spawn_way_out("./file", ENOMEM), "");
}

/* Returns its output. */
static const char *parts_found_by(const char *path)
{
	scratch_run("cp '%s' '%s' && '%s' parts >found 2>errors", g_self, path,
		    path);
	return scratch_read("found");
}

TEST(parts_are_found_where_they_are_installed)
{
	char collector[PATH_MAX + 64], shim[PATH_MAX + 64], want[3 * PATH_MAX];

	scratch_run("mkdir -p u/bin u/lib u/libexec/perfrec");
	make_script("u/libexec/perfrec/perfrec-collect", "");
	snprintf(collector, sizeof(collector),
		 "%s/u/libexec/perfrec/perfrec-collect", g_scratch);
	/* without a shim */
	snprintf(want, sizeof(want), "%d\n", -ENOENT);
	ck_assert_str_eq(parts_found_by("u/bin/self"), want);
	make_script("u/lib/libperfrec_preload.so", "");
	snprintf(shim, sizeof(shim), "%s/u/lib/libperfrec_preload.so",
		 g_scratch);
	snprintf(want, sizeof(want), "%s\n%s\n", collector, shim);
	ck_assert_str_eq(parts_found_by("u/bin/self"), want);
	/* files beside the program have priority */
	make_script("u/bin/perfrec-collect", "");
	snprintf(want, sizeof(want), "%s/u/bin/perfrec-collect\n%s\n",
		 g_scratch, shim);
	ck_assert_str_eq(parts_found_by("u/bin/self"), want);
}

TEST(parts_below_a_colon_cannot_be_preloaded)
{
	char want[32];

	scratch_run("mkdir -p x:y/bin x:y/lib");
	make_script("x:y/bin/perfrec-collect", "");
	make_script("x:y/lib/libperfrec_preload.so", "");
	snprintf(want, sizeof(want), "%d\n", -EINVAL);
	ck_assert_str_eq(parts_found_by("x:y/bin/self"), want);
}

/* --- the environment ----------------------------------------------------- */

TEST(environment_of_nonsense_is_refused)
{
	ck_assert_int_eq(spawn_check_environment(false), 0);
	setenv("PERFREC_SLOTS", "many", 1);
	ck_assert_int_eq(spawn_check_environment(false), -EINVAL);
	setenv("PERFREC_SLOTS", "0", 1);
	ck_assert_int_eq(spawn_check_environment(false), -EINVAL);
	setenv("PERFREC_SLOTS", "", 1);
	ck_assert_int_eq(spawn_check_environment(false), 0);
	setenv("PERFREC_RSEQ", "perhaps", 1);
	ck_assert_int_eq(spawn_check_environment(false), -EINVAL);
	setenv("PERFREC_RSEQ", "off", 1);
	ck_assert_int_eq(spawn_check_environment(false), 0);
}

TEST(environment_of_rings_does_not_count_if_an_option_says)
{
	setenv("PERFREC_RING_KB", "nonsense", 1);
	ck_assert_int_eq(spawn_check_environment(false), -EINVAL);
	ck_assert_int_eq(spawn_check_environment(true), 0);
}

/* --- starting the program ------------------------------------------------ */

/* Any library will do. */
#define SHIM "libc.so.6"
#define OTHER "libm.so.6"

static const struct spawn_recording g_recording = {
	.shim = SHIM,
	.socket = "/run/some.socket",
};

static struct spawn_signals no_signals(void)
{
	struct spawn_signals signals = { .child = { .sa_handler = SIG_DFL } };

	sigemptyset(&signals.mask);
	return signals;
}

static int wait_for_exit(pid_t pid)
{
	int wait_status = 0;

	ck_assert_int_eq(waitpid(pid, &wait_status, 0), pid);
	ck_assert(WIFEXITED(wait_status));
	return WEXITSTATUS(wait_status);
}

static int run_program(char **argv, const struct spawn_recording *recording,
		       const struct spawn_signals *signals, const char *asan)
{
	struct spawn_program program;
	struct spawn_child child;

	ck_assert_int_eq(spawn_find_program(argv, &program), 0);
	snprintf(program.asan, sizeof(program.asan), "%s", asan);
	ck_assert_int_eq(spawn_fork(&program, recording, signals, &child), 0);
	ck_assert_int_eq(spawn_exec(&child), 0);
	return wait_for_exit(child.pid);
}

static const char *environment_of_program(
	const struct spawn_recording *recording, const char *asan)
{
	static char word[] = "./show";
	char *argv[] = { word, NULL };
	const struct spawn_signals signals = no_signals();

	make_script("show", "#!/bin/sh\nexec env >out\n");
	ck_assert_int_eq(run_program(argv, recording, &signals, asan), 0);
	return scratch_read("out");
}

TEST(program_gets_its_environment)
{
	const char *text;

	unsetenv("LD_PRELOAD");
	unsetenv("ASAN_OPTIONS");
	setenv("PERFREC_DISABLE", "1", 1);
	text = environment_of_program(&g_recording, "");
	ck_assert(has_line(text, "LD_PRELOAD=" SHIM));
	ck_assert(has_line(text, "PERFREC_SOCKET=/run/some.socket"));
	ck_assert(has_line(text, "ASAN_OPTIONS=verify_asan_link_order=0"));
	ck_assert(has_line(text, "PERFREC_DEADLINE_MS=5000"));
	ck_assert(has_line(text, "PERFREC_QUIET=1"));
	ck_assert_ptr_null(strstr(text, "PERFREC_RING_KB"));
	ck_assert_ptr_null(strstr(text, "PERFREC_DISABLE"));
	/* perfrec's own environment is unchanged */
	ck_assert_ptr_null(getenv("LD_PRELOAD"));
	ck_assert_ptr_null(getenv("PERFREC_SOCKET"));
	ck_assert_str_eq(getenv("PERFREC_DISABLE"), "1");
}

TEST(program_keeps_what_the_user_has_set)
{
	struct spawn_recording recording = g_recording;
	const char *text;

	setenv("LD_PRELOAD", "libdl.so.2", 1);
	setenv("ASAN_OPTIONS", "exitcode=3", 1);
	setenv("PERFREC_DEADLINE_MS", "77", 1);
	setenv("PERFREC_QUIET", "0", 1);
	setenv("PERFREC_RING_KB", "64", 1);
	recording.ring_kb = 128;
	text = environment_of_program(&recording, OTHER);
	/* ASan must be first */
	ck_assert(has_line(text, "LD_PRELOAD=" OTHER ":" SHIM ":libdl.so.2"));
	ck_assert(has_line(text,
			   "ASAN_OPTIONS=exitcode=3:verify_asan_link_order=0"));
	ck_assert(has_line(text, "PERFREC_DEADLINE_MS=77"));
	ck_assert(has_line(text, "PERFREC_QUIET=0"));
	ck_assert(has_line(text, "PERFREC_RING_KB=128"));
}

/* A line of the program's /proc/self/status. */
static uint64_t signals_of_program(const char *name,
				   const struct spawn_signals *signals)
{
	static char grep[] = "grep", status[] = "/proc/self/status";
	char pattern[32], *argv[] = { grep, pattern, status, NULL };
	int fd = open("out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	uint64_t set = 0;

	snprintf(pattern, sizeof(pattern), "^%s:", name);
	dup2(fd, STDOUT_FILENO);
	ck_assert_int_eq(run_program(argv, &g_recording, signals, ""), 0);
	dup2(before, STDOUT_FILENO);
	close(before);
	close(fd);
	ck_assert_int_eq(
		sscanf(strchr(scratch_read("out"), ':'), ": %" SCNx64, &set),
		1);
	return set;
}

static bool has_signal(uint64_t set, int signal)
{
	return set >> (signal - 1) & 1;
}

TEST(program_gets_the_signals_that_perfrec_got)
{
	struct spawn_signals signals = no_signals();
	struct sigaction own = { .sa_handler = SIG_IGN };
	uint64_t set;

	/* perfrec itself has other signals */
	sigaddset(&signals.mask, SIGUSR2);
	sigprocmask(SIG_SETMASK, &signals.mask, NULL);
	sigemptyset(&signals.mask);
	sigaddset(&signals.mask, SIGUSR1);
	set = signals_of_program("SigBlk", &signals);
	ck_assert(has_signal(set, SIGUSR1));
	ck_assert(!has_signal(set, SIGUSR2));
	set = signals_of_program("SigIgn", &signals);
	ck_assert(!has_signal(set, SIGCHLD));
	signals.child = own;
	set = signals_of_program("SigIgn", &signals);
	ck_assert(has_signal(set, SIGCHLD));
}

TEST(program_waits_until_it_is_let_go)
{
	static char word[] = "./mark";
	char *argv[] = { word, NULL };
	const struct spawn_signals signals = no_signals();
	struct spawn_program program;
	struct spawn_child child;

	make_script("mark", "#!/bin/sh\n: >marked\n");
	ck_assert_int_eq(spawn_find_program(argv, &program), 0);
	ck_assert_int_eq(spawn_fork(&program, &g_recording, &signals, &child),
			 0);
	/* perfrec has died */
	close(child.gate);
	ck_assert_int_eq(wait_for_exit(child.pid), 127);
	ck_assert_int_eq(access("marked", F_OK), -1);
	/* perfrec lives */
	ck_assert_int_eq(run_program(argv, &g_recording, &signals, ""), 0);
	ck_assert_int_eq(access("marked", F_OK), 0);
}

TEST(program_that_cannot_be_executed_is_told)
{
	static char word[] = "./broken";
	char *argv[] = { word, NULL };
	const struct spawn_signals signals = no_signals();
	struct spawn_program program = { .argv = argv, .path = "./broken" };
	struct spawn_child child;

	scratch_write("broken", "\177ELF and nothing else", 21);
	ck_assert_int_eq(spawn_fork(&program, &g_recording, &signals, &child),
			 0);
	ck_assert_int_eq(spawn_exec(&child), -ENOEXEC);
	ck_assert_int_eq(wait_for_exit(child.pid), 127);
}

TEST(program_without_a_first_line_is_a_shell_script)
{
	static char word[] = "./script", one[] = "one", two[] = "two words";
	char *argv[] = { word, one, two, NULL };
	const struct spawn_signals signals = no_signals();

	make_script("script", "printf '%s\\n' \"$0\" \"$1\" \"$2\" >out\n"
			      "exit $#\n");
	ck_assert_int_eq(run_program(argv, &g_recording, &signals, ""), 2);
	ck_assert_str_eq(scratch_read("out"), "./script\none\ntwo words\n");
}

/* --- starting the collector ---------------------------------------------- */

TEST(collector_has_only_what_it_needs)
{
	static char word[] = "spawned", argument[] = "an argument";
	char *argv[] = { word, argument, NULL };
	struct spawn_signals signals = no_signals();
	struct collector_report report;
	int pair[2], more, error;
	pid_t pid;

	sigaddset(&signals.mask, SIGUSR1);
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	/* user's descriptors without O_CLOEXEC */
	more = fcntl(STDERR_FILENO, F_DUPFD, 20);
	ck_assert_int_ge(more, 20);
	error = spawn_collector(g_self, argv, pair[1], &signals, &pid);
	ck_assert_int_eq(error, 0);
	close(pair[1]);
	ck_assert_int_eq(recv(pair[0], &report, sizeof(report), 0),
			 sizeof(report));
	ck_assert_int_eq(wait_for_exit(pid), 0);
	ck_assert_uint_eq(report.open, 0xf);
	ck_assert(report.is_leader);
	ck_assert(report.in_is_null);
	ck_assert(report.out_is_null);
	ck_assert(report.usr1_blocked);
	ck_assert(!report.usr2_blocked);
	ck_assert_str_eq(report.argument, argument);
	close(pair[0]);
	close(more);
}

TEST(collector_that_is_not_there_is_an_error)
{
	static char word[] = "spawned";
	char *argv[] = { word, NULL };
	const struct spawn_signals signals = no_signals();
	pid_t pid;

	ck_assert_int_eq(spawn_collector("/nowhere/collect", argv,
					 STDERR_FILENO, &signals, &pid),
			 -ENOENT);
}

static int play_another(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[0], "spawned"))
		return report_as_collector(argv[1]);
	if (argc > 1 && !strcmp(argv[1], "parts"))
		return report_parts();
	return -1;
}

ROLE(play_another);

static void begin_suite(void)
{
	if (!realpath("/proc/self/exe", g_self))
		abort();
	log_init("spawn", LOG_ERR);
}

SUITE(begin_suite, NULL);
