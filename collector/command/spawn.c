/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions child_*() run in the child between fork and exec; all others run in
 * perfrec. perfrec has one thread, so the child may call any function.
 *
 * The gate is a socket pair that exec closes. The child waits for one byte and
 * then executes the program. If that fails, the child sends errno back; if it
 * succeeds, perfrec reads the end of file. If perfrec dies, the gate closes,
 * and the child ends without executing anything.
 */
#include "collector/command/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <paths.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/names/elf_read.h"
#include "shared/compiler.h"
#include "shared/environment.h"

/* Limit of nested "#!" in the kernel. */
#define INTERPRETERS_MAX 5
/* Bytes of a file that the kernel reads for "#!". */
#define HEAD_BYTES 256

static const char elf_magic[] = { 0x7f, 'E', 'L', 'F' };

static bool join_path(const char *dir, size_t length, const char *name,
		      char *path)
{
	int size = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, dir, name);

	return size > 0 && size < PATH_MAX;
}

static int check_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0 ||
	    faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return -errno;
	return S_ISREG(status.st_mode) ? 0 : -EACCES;
}

/* Searches PATH for @name. Like execvp(3), returns -EACCES if there are files
 * of that name but none is executable. */
static int search_path(const char *name, char *path)
{
	const char *dir = getenv("PATH");
	int result = -ENOENT;

	if (!dir)
		dir = _PATH_DEFPATH;
	for (;; dir++) {
		size_t length = strcspn(dir, ":");
		/* An empty entry is the working directory. */
		bool fits = length ? join_path(dir, length, name, path)
				   : join_path(".", 1, name, path);
		int err = fits ? check_executable(path) : -ENAMETOOLONG;

		if (!err)
			return 0;
		/* An unsearchable folder counts as empty. */
		if (err == -EACCES && access(path, F_OK) == 0)
			result = err;
		dir += length;
		if (!*dir)
			return result;
	}
}

int spawn_find_command(const char *name, char path[PATH_MAX])
{
	if (!name[0])
		return -ENOENT;
	if (!strchr(name, '/'))
		return search_path(name, path);
	if (strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(path, name);
	return check_executable(path);
}

/* Sets @path to the first existing file of @places, which are relative to the
 * folder of this executable. Returns 0 or -errno. */
static int find_part(const char *const *places, size_t count, char *path)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length < 0)
		return -errno;
	self[length] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; i < count; i++) {
		char *real = NULL;

		if (join_path(self, (size_t)(slash - self), places[i], path))
			real = realpath(path, NULL);
		if (!real)
			continue;
		strcpy(path, real);
		free(real);
		return 0;
	}
	return -ENOENT;
}

int spawn_find_parts(struct spawn_parts *out)
{
	static const char *const collectors[] = {
		"perfrec-collect",
		"../libexec/perfrec/perfrec-collect",
	};
	static const char *const shims[] = {
		"libperfrec_preload.so",
		"../lib/libperfrec_preload.so",
		"../lib/perfrec/libperfrec_preload.so",
	};

	if (find_part(collectors, ARRAY_SIZE(collectors), out->collector) &&
	    search_path("perfrec-collect", out->collector)) {
		if (access("/proc/self/exe", F_OK) < 0)
			log_err("cannot find perfrec-collect: there is no "
				"/proc; mount it");
		else
			log_err("cannot find perfrec-collect: it belongs "
				"beside perfrec; install perfrec again");
		return -ENOENT;
	}
	if (find_part(shims, ARRAY_SIZE(shims), out->shim)) {
		log_err("cannot find libperfrec_preload.so: it belongs in "
			"../lib beside perfrec; install perfrec again");
		return -ENOENT;
	}
	if (strpbrk(out->shim, " :")) {
		log_err("cannot preload '%s': no blank or colon may be in its "
			"path; install perfrec elsewhere",
			out->shim);
		return -EINVAL;
	}
	return 0;
}

/* Returns the word after "#!" in @head, terminated in place, or NULL. */
static char *interpreter_of(char *head)
{
	char *word;

	if (strncmp(head, "#!", 2) != 0)
		return NULL;
	word = head + 2 + strspn(head + 2, " \t");
	word[strcspn(word, " \t\n")] = '\0';
	return word[0] ? word : NULL;
}

/* An unrecordable program is started anyway: its children may be recorded. */
static void inspect_elf(int fd, const char *path, struct spawn_program *program)
{
	struct elf_headers headers;
	const char *why;

	if (!elf_read_headers(fd, &headers, &why)) {
		snprintf(program->asan, sizeof(program->asan), "%s",
			 headers.asan);
		free(headers.segments);
	}
	if (elf_is_static(fd))
		log_warn("'%s' is linked statically: perfrec's library cannot "
			 "be loaded into it, so none of it is recorded (link "
			 "it without -static and -static-pie)",
			 path);
	else if (elf_is_of_other_libc(fd))
		log_warn("'%s' is of another C library than glibc: perfrec's "
			 "library does not know that, so none of it is "
			 "recorded (build it with glibc)",
			 path);
}

/* An executable but unreadable program could run, but the kernel hides its
 * memory and files from all users except root. */
static int refuse_unreadable(const char *path)
{
	int err = -errno;

	log_err("cannot record '%s': it cannot be read: %m (chmod +r it, or "
		"record as root)",
		path);
	return err;
}

static int inspect_program(const char *path, struct spawn_program *program)
{
	char head[HEAD_BYTES + 1], script[HEAD_BYTES + 1];
	char *interpreter;
	ssize_t size;
	int fd, err;

	for (int i = 0; i < INTERPRETERS_MAX; i++) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return refuse_unreadable(path);
		size = read(fd, head, HEAD_BYTES);
		head[MAX(size, 0)] = '\0';
		if (size >= (ssize_t)sizeof(elf_magic) &&
		    memcmp(head, elf_magic, sizeof(elf_magic)) == 0)
			inspect_elf(fd, path, program);
		close(fd);
		interpreter = interpreter_of(head);
		if (!interpreter)
			return 0;
		err = check_executable(interpreter);
		if (err) {
			log_err("cannot run '%s': its interpreter '%s': %s",
				program->argv[0], interpreter, strerror(-err));
			return err;
		}
		path = strcpy(script, interpreter);
	}
	return 0;
}

const char *spawn_way_out(const char *name, int err)
{
	struct stat stat_;

	switch (err) {
	case ENOENT:
		return strchr(name, '/') || !*name
			       ? ""
			       : " (it is in no folder of PATH)";
	case EACCES:
		if (stat(name, &stat_))
			return "";
		if (S_ISDIR(stat_.st_mode))
			return " (it is a folder)";
		return " (chmod +x it, if it is a program)";
	case ENOEXEC:
		return " (it is no program of this machine)";
	default:
		return "";
	}
}

int spawn_find_program(char **argv, struct spawn_program *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	out->argv = argv;
	err = spawn_find_command(argv[0], out->path);
	if (err) {
		log_err("cannot run '%s': %s%s", argv[0], strerror(-err),
			spawn_way_out(argv[0], -err));
		return err;
	}
	return inspect_program(out->path, out);
}

int spawn_collector(const char *path, char *const *argv, int control_fd,
		    const struct spawn_signals *signals, pid_t *out)
{
	const short flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int err;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, control_fd, SPAWN_CONTROL_FD);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, _PATH_DEVNULL,
					 O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, _PATH_DEVNULL,
					 O_WRONLY, 0);
	/* perfrec must not keep a user's pipe open. */
	posix_spawn_file_actions_addclosefrom_np(&files, SPAWN_CONTROL_FD + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, flags);
	posix_spawnattr_setsigmask(&attributes, &signals->mask);
	err = posix_spawn(out, path, &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	if (err)
		log_err("cannot run '%s': %s", path, strerror(err));
	return -err;
}

static bool ATTR_PRINTF(2, 3)
	child_setenv(const char *name, const char *format, ...)
{
	va_list args;
	char *value;
	int err;

	va_start(args, format);
	err = vasprintf(&value, format, args);
	va_end(args);
	if (err < 0)
		return false;
	err = setenv(name, value, 1);
	free(value);
	return !err;
}

static int wrong_variable(const char *name, const char *text, const char *want)
{
	log_err("the variable %s is '%.63s': give %s, or unset it", name, text,
		want);
	return -EINVAL;
}

int spawn_check_environment(bool ring_is_given)
{
	static const char *const switches[] = { ENV_RSEQ, ENV_INHERIT };
	int err = 0;
	bool on;

	for (size_t i = 0; i < ENV_NUMBERS; i++) {
		const struct env_range *range = &env_ranges[i];
		const char *text = getenv(range->name);
		char want[64];
		uint32_t number;

		if ((i == ENV_RING_KB && ring_is_given) ||
		    env_number_parse(range, text, &number))
			continue;
		snprintf(want, sizeof(want),
			 "a number from %" PRIu32 " to %" PRIu32, range->low,
			 range->high);
		err = wrong_variable(range->name, text, want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		if (!env_switch_parse(getenv(switches[i]), &on))
			err = wrong_variable(switches[i], getenv(switches[i]),
					     "on or off");
	return err;
}

/* A busy machine may need longer than WIRE_DEADLINE_MS to answer. */
#define RECORD_DEADLINE_MS 5000

/* The C library loads LD_PRELOAD libraries in order, and ASan must be first. If
 * only descendants need ASan, it is not in LD_PRELOAD, and ASAN_OPTIONS
 * disables its check of the order. */
static bool child_environment(const struct spawn_program *program,
			      const struct spawn_recording *recording)
{
	const char *preload = getenv("LD_PRELOAD");
	const char *options = getenv("ASAN_OPTIONS");
	const char *asan = program->asan;
	bool done;

	done = child_setenv("LD_PRELOAD", "%s%s%s%s%s", asan, *asan ? ":" : "",
			    recording->shim, preload ? ":" : "",
			    preload ? preload : "") &&
	       child_setenv("ASAN_OPTIONS", "%s%sverify_asan_link_order=0",
			    options ? options : "", options ? ":" : "") &&
	       child_setenv("PERFREC_SOCKET", "%s", recording->socket);
	/* A user who requests a recording accepts a longer wait. */
	if (env_is_unset(getenv("PERFREC_DEADLINE_MS")))
		done = done && child_setenv("PERFREC_DEADLINE_MS", "%d",
					    RECORD_DEADLINE_MS);
	/* The summary reports unrecorded processes once. */
	if (env_is_unset(getenv("PERFREC_QUIET")))
		done = done && child_setenv("PERFREC_QUIET", "1");
	if (recording->ring_kb)
		done = done && child_setenv("PERFREC_RING_KB", "%" PRIu64,
					    recording->ring_kb);
	return !unsetenv("PERFREC_DISABLE") && done;
}

/* A file without ELF header and "#!" is a shell script (execvp(3)). */
static bool child_is_script(const char *path)
{
	char head[sizeof(elf_magic)] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, head, sizeof(head));

	close(fd);
	return size >= 0 && memcmp(head, elf_magic, sizeof(head)) != 0;
}

/* Only returns after a failure, with errno set. */
static void child_exec(const struct spawn_program *program,
		       const struct spawn_recording *recording,
		       const struct spawn_signals *signals)
{
	if (!child_environment(program, recording)) {
		errno = ENOMEM;
		return;
	}
	sigaction(SIGCHLD, &signals->child, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
	execv(program->path, program->argv);
	if (errno == ENOEXEC && child_is_script(program->path)) {
		char shell[] = _PATH_BSHELL, path[PATH_MAX];
		size_t count = 0;
		char **argv;

		while (program->argv[count])
			count++;
		argv = calloc(count + 2, sizeof(*argv));
		if (!argv)
			return;
		argv[0] = shell;
		argv[1] = strcpy(path, program->path);
		memcpy(argv + 2, program->argv + 1,
		       (count - 1) * sizeof(*argv));
		execv(shell, argv);
	}
}

int spawn_fork(const struct spawn_program *program,
	       const struct spawn_recording *recording,
	       const struct spawn_signals *signals, struct spawn_child *out)
{
	int gate[2];
	char go;
	pid_t pid;
	int err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(gate[0]);
		if (read(gate[1], &go, 1) == 1) {
			child_exec(program, recording, signals);
			(void)!write(gate[1], &errno, sizeof(errno));
		}
		_exit(127);
	}
	err = pid < 0 ? -errno : 0;
	close(gate[1]);
	if (err) {
		close(gate[0]);
		return err;
	}
	*out = (struct spawn_child){ .pid = pid, .gate = gate[0] };
	return 0;
}

int spawn_exec(struct spawn_child *child)
{
	int failure = 0;

	if (write(child->gate, "", 1) < 0 ||
	    read(child->gate, &failure, sizeof(failure)) < 0)
		failure = errno;
	close(child->gate);
	return -failure;
}
