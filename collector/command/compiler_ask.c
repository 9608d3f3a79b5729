/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of the preprocessor answers all questions. Its macros identify the
 * compiler and, with <features.h>, the C library; -v prints the folders of
 * headers.
 *
 * A cached answer is valid for one day if the words and the files that they
 * name are the same: a wrapper may start another compiler tomorrow. If a folder
 * of the answer is missing, the compiler was removed and the answer is invalid.
 * After any error of the cache, perfrec asks the compiler.
 */
#include "collector/command/compiler_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/hash.h"
#include "collector/base/log.h"
#include "collector/command/spawn.h"
#include "shared/compiler.h"

#define DAY_SECONDS (24 * 60 * 60)
#define CACHED_BYTES_MAX (1 << 20)

static const char question[] = "#ifdef __has_include\n"
			       "#if __has_include(<features.h>)\n"
			       "#include <features.h>\n"
			       "#endif\n"
			       "#endif\n";

/* Variables that change the answer, so they are part of the key. */
static const char *const asked_variables[] = {
	"COMPILER_PATH",
	"GCC_EXEC_PREFIX",
};
/* Variables that must not change the answer: they name the user's folders, or
 * files that the compiler would write. */
static const char *const dropped_variables[] = {
	"CPATH",
	"C_INCLUDE_PATH",
	"CPLUS_INCLUDE_PATH",
	"OBJC_INCLUDE_PATH",
	"DEPENDENCIES_OUTPUT",
	"SUNPRO_DEPENDENCIES",
};

/* --- running the compiler ------------------------------------------------ */

static char *read_text(int fd, size_t *out_size)
{
	struct stat status;
	char *text;

	if (fstat(fd, &status) < 0 || status.st_size > CACHED_BYTES_MAX)
		return NULL;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return NULL;
	*out_size = (size_t)status.st_size;
	if (pread(fd, text, *out_size, 0) != status.st_size) {
		free(text);
		return NULL;
	}
	text[*out_size] = '\0';
	return text;
}

static bool run_question(char *const *argv, const int fds[3])
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return false;
	if (!child) {
		for (size_t i = 0; i < ARRAY_SIZE(dropped_variables); i++)
			unsetenv(dropped_variables[i]);
		setenv("LC_ALL", "C", 1);
		for (int i = 0; i < 3; i++)
			if (dup2(fds[i], i) < 0)
				_exit(127);
		execvp(argv[0], argv);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return status == 0;
}

/* Returns a memfd with @text above the standard streams, or -1. */
static int make_text_file(const char *text)
{
	int low = memfd_create("perfrec-cc", MFD_CLOEXEC);
	int fd = fcntl(low, F_DUPFD_CLOEXEC, 3);

	if (low >= 0)
		close(low);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd;
}

/* --- the answer --------------------------------------------------------------
 *
 * A text with one item a line: "clang" or "gcc", "glibc" or "other", "x86-64"
 * or "other", the version, and the folders.
 */

/* The folders are between two known lines, each after a blank. */
static void put_folders(FILE *out, char *listing)
{
	bool inside = false;
	char *line;

	while ((line = strsep(&listing, "\n"))) {
		if (strstr(line, "search starts here:"))
			inside = true;
		else if (strcmp(line, "End of search list.") == 0)
			return;
		else if (inside && line[0] == ' ') {
			char *real = realpath(line + 1, NULL);

			fprintf(out, "%s\n", line + 1);
			/* gcc compares displayed names of headers, which often
			 * have no links. */
			if (real && strcmp(real, line + 1) != 0)
				fprintf(out, "%s\n", real);
			free(real);
		}
	}
}

static int make_answer(const char *macros, char *listing, char **text)
{
	static const char gnuc[] = "#define __GNUC__ ";
	const char *version = strstr(macros, gnuc);
	size_t size;
	FILE *out;

	if (!version || strstr(macros, "#define __INTEL_COMPILER "))
		return -ENOTSUP;
	out = open_memstream(text, &size);
	if (!out)
		return -ENOMEM;
	fputs(strstr(macros, "#define __clang__ ") ? "clang\n" : "gcc\n", out);
	fputs(strstr(macros, "#define __GLIBC__ ") ? "glibc\n" : "other\n",
	      out);
	fputs(strstr(macros, "#define __x86_64__ ") &&
			      !strstr(macros, "#define __ILP32__ ")
		      ? "x86-64\n"
		      : "other\n",
	      out);
	fprintf(out, "%d\n", atoi(version + strlen(gnuc)));
	put_folders(out, listing);
	return fclose(out) ? -ENOMEM : 0;
}

/* Runs @argv with the question. Returns -EIO if it fails. */
static int ask_in_language(char *const *argv, char **text)
{
	const int fds[3] = { make_text_file(question), make_text_file(""),
			     make_text_file("") };
	int err = -EIO;

	if (fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0 &&
	    run_question(argv, fds)) {
		size_t size;
		char *macros = read_text(fds[1], &size);
		char *listing = read_text(fds[2], &size);

		err = macros && listing ? make_answer(macros, listing, text)
					: -ENOMEM;
		free(macros);
		free(listing);
	}
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return err;
}

/* Asks for C++, whose folders include those of C. If the compiler lacks C++,
 * asks for C. */
static int ask_compiler(const char *const *command, size_t count,
			const struct compile_line *line, char **text)
{
	static const char *const options[] = { "-E", "-v",  "-dM",
					       "-x", "c++", "-" };
	const char **argv = calloc(
		count + line->count + ARRAY_SIZE(options) + 1, sizeof(*argv));
	const char **to = argv;
	int err;

	if (!argv)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		*to++ = command[i];
	for (size_t i = 0; i < line->count; i++)
		if (line->words[i].kind == COMPILE_TARGET)
			*to++ = line->words[i].text;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		*to++ = options[i];
	err = ask_in_language((char *const *)argv, text);
	if (err == -EIO) {
		to[-2] = "c";
		err = ask_in_language((char *const *)argv, text);
	}
	free(argv);
	return err;
}

/* Splits @text, into which *@out then points. Returns false if it is no answer,
 * or one of its folders is missing. */
static bool parse_answer(char *text, struct compiler_answer *out)
{
	const char *compiler = strsep(&text, "\n");
	const char *libc = strsep(&text, "\n");
	const char *machine = strsep(&text, "\n");
	const char *version = strsep(&text, "\n");
	size_t room = 1, count = 0;
	char *folder;

	if (!version || !text || !atoi(version))
		return false;
	for (const char *c = text; *c; c++)
		room += *c == '\n';
	out->folders = calloc(room, sizeof(*out->folders));
	if (!out->folders)
		return false;
	while ((folder = strsep(&text, "\n")) && *folder) {
		out->folders[count++] = folder;
		if (access(folder, F_OK) < 0)
			return false;
	}
	out->target.clang = strcmp(compiler, "clang") == 0;
	out->target.x86_64 = strcmp(machine, "x86-64") == 0;
	out->target.version = atoi(version);
	out->glibc = strcmp(libc, "glibc") == 0;
	out->target.folders = out->folders;
	out->target.folder_count = count;
	return true;
}

/* --- the cache --------------------------------------------------------------
 *
 * One file for each question, named by its hash: the key, a NUL, the answer.
 */

static char *make_question_key(const char *const *command, size_t count,
			       const struct compile_line *line)
{
	bool has_path = false;
	char *text = NULL;
	size_t size;
	FILE *key = open_memstream(&text, &size);

	if (!key)
		return NULL;
	fputs(PERFREC_VERSION "\n", key);
	for (size_t i = 0; i < count; i++) {
		char path[PATH_MAX];
		struct stat status;

		if (!spawn_find_command(command[i], path) &&
		    stat(path, &status) >= 0) {
			fprintf(key, "%s %jx %jx %jd %jd.%09ld\n", path,
				(uintmax_t)status.st_dev,
				(uintmax_t)status.st_ino,
				(intmax_t)status.st_size,
				(intmax_t)status.st_mtim.tv_sec,
				status.st_mtim.tv_nsec);
		}
	}
	for (size_t i = 0; i < line->count; i++) {
		if (line->words[i].kind != COMPILE_TARGET)
			continue;
		fprintf(key, "%s\n", line->words[i].text);
		has_path |= strchr(line->words[i].text, '/') != NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(asked_variables); i++)
		fprintf(key, "%s\n", getenv(asked_variables[i]) ?: "");
	if (has_path) {
		char folder[PATH_MAX];

		fputs(getcwd(folder, sizeof(folder)) ?: "", key);
	}
	if (!fclose(key))
		return text;
	free(text);
	return NULL;
}

static bool find_cache(char path[PATH_MAX])
{
	const char *base = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	const char *below = "";
	int size;

	if (!base || base[0] != '/') {
		base = home;
		below = "/.cache";
	}
	if (!base || base[0] != '/')
		return false;
	size = snprintf(path, PATH_MAX, "%s%s", base, below);
	if (size < 0 || size >= PATH_MAX - 64)
		return false;
	mkdir(path, 0700);
	strcpy(path + size, "/perfrec");
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool cache_path(const char *key, char path[PATH_MAX])
{
	if (!key || !find_cache(path))
		return false;
	sprintf(path + strlen(path), "/cc-%016" PRIx64,
		hash_text(HASH_START, key));
	return true;
}

static char *cache_read(const char *path, const char *key)
{
	const size_t length = strlen(key) + 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;
	char *text = NULL;
	size_t size;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_uid == geteuid() &&
	    time(NULL) - status.st_mtime < DAY_SECONDS)
		text = read_text(fd, &size);
	close(fd);
	if (text && size > length && memcmp(text, key, length) == 0) {
		memmove(text, text + length, size + 1 - length);
		return text;
	}
	free(text);
	return NULL;
}

/* Replaces the file atomically. Ignores errors: the next question then takes
 * longer. */
static void cache_write(const char *path, const char *key, const char *answer)
{
	char draft[PATH_MAX];
	FILE *file;
	int fd;

	if (snprintf(draft, sizeof(draft), "%s.XXXXXX", path) >= PATH_MAX)
		return;
	fd = mkostemp(draft, O_CLOEXEC);
	if (fd < 0)
		return;
	file = fdopen(fd, "w");
	if (!file) {
		close(fd);
		unlink(draft);
		return;
	}
	fwrite(key, strlen(key) + 1, 1, file);
	fputs(answer, file);
	if (fclose(file) || rename(draft, path) < 0)
		unlink(draft);
}

/* --- the question -------------------------------------------------------- */

static bool answer_from_cache(const char *path, const char *key,
			      struct compiler_answer *out)
{
	*out = (struct compiler_answer){ .text = cache_read(path, key) };
	if (out->text && parse_answer(out->text, out))
		return true;
	compiler_answer_release(out);
	return false;
}

static int say_no_answer(int err, const char *command)
{
	if (err == -ENOTSUP)
		log_err("'%s' is neither gcc nor clang: it has no hooks to "
			"offer",
			command);
	else if (err == -EIO)
		log_warn("'%s' does not say which compiler it is: no hooks",
			 command);
	else
		log_err("out of memory");
	return err;
}

/* gnatmake has no preprocessor. It always starts a gcc of unknown version for
 * this machine. */
static int answer_for_gnatmake(struct compiler_answer *out)
{
#if defined(__x86_64__)
	static const char answer[] = "gcc\nglibc\nx86-64\n12\n";
#else
	static const char answer[] = "gcc\nglibc\nother\n12\n";
#endif

	*out = (struct compiler_answer){ .text = strdup(answer) };
	if (out->text && parse_answer(out->text, out))
		return 0;
	compiler_answer_release(out);
	return say_no_answer(-ENOMEM, "gnatmake");
}

int compiler_ask(const char *const *command, size_t count,
		 const struct compile_line *line, struct compiler_answer *out)
{
	char path[PATH_MAX], *key, *text = NULL;
	bool keep;
	int err;

	if (line->gnatmake)
		return answer_for_gnatmake(out);
	key = make_question_key(command, count, line);
	keep = cache_path(key, path);
	if (keep && answer_from_cache(path, key, out)) {
		free(key);
		return 0;
	}
	err = ask_compiler(command, count, line, &text);
	if (!err && keep)
		cache_write(path, key, text);
	free(key);
	if (err)
		return say_no_answer(err, command[count - 1]);
	*out = (struct compiler_answer){ .text = text };
	if (parse_answer(text, out))
		return 0;
	compiler_answer_release(out);
	return say_no_answer(-ENOMEM, command[count - 1]);
}

void compiler_answer_release(struct compiler_answer *answer)
{
	free(answer->text);
	free(answer->folders);
	*answer = (struct compiler_answer){ 0 };
}
