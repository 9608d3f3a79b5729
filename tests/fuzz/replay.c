/* SPDX-License-Identifier: Apache-2.0
 *
 * replay - the main function of a target without libFuzzer. It runs all named
 * files and the files of all named folders, and prints their number. On a crash
 * it names the input.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"

static char g_path[PATH_MAX]; /* current input */
static unsigned int g_inputs;

static void name_input(int number)
{
	(void)!write(STDERR_FILENO, g_path, strlen(g_path));
	(void)!write(STDERR_FILENO, ": crashed\n", 10);
	raise(number);
}

static void watch_crashes(void)
{
	static const int numbers[] = {
		SIGABRT,
/* A sanitizer has handlers of its own. */
#ifndef __SANITIZE_ADDRESS__
		SIGSEGV, SIGBUS, SIGFPE, SIGILL,
#endif
	};
	struct sigaction action = { .sa_handler = name_input,
				    .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

static void replay_file(int fd, size_t size)
{
	/* Exactly as large as the input, to detect reads beyond it. */
	uint8_t *data = malloc(size + !size);

	fuzz_must(data && read(fd, data, size) == (ssize_t)size, g_path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	g_inputs++;
}

static void replay(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	struct dirent *entry;
	DIR *folder;

	snprintf(g_path, sizeof(g_path), "%s", path);
	fuzz_must(fd >= 0 && !fstat(fd, &status), g_path);
	if (S_ISREG(status.st_mode)) {
		replay_file(fd, (size_t)status.st_size);
		close(fd);
		return;
	}
	folder = fdopendir(fd);
	fuzz_must(folder, g_path);
	while ((entry = readdir(folder))) {
		char below[PATH_MAX];

		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.')
			replay(below);
	}
	closedir(folder);
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	watch_crashes();
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("ok     %s: %u inputs\n", name ? name + 1 : argv[0], g_inputs);
	return g_inputs ? 0 : 1;
}
