/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_symbolize FILE... - has perfrec-symbolize read each file, and changed
 * copies of it: FUZZ_ROUNDS (20) of them, from FUZZ_SEED (1) on. The process
 * may fail; that this one then knows so and goes on is what is tested, and
 * that it is over in time. FUZZ_KEEP names a file for what crashed last.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/elf_read.h"
#include "collector/symbolize.h"
#include "collector/symbolize_wire.h"

#define FILE_BYTES_MAX (1 << 20)
#define ADDRESS_COUNT 96
#define SECONDS 100 /* more than its limit of CPU time */

static unsigned int g_runs, g_failed, g_crashed;

static unsigned long number_of(const char *variable, unsigned long usual)
{
	const char *value = getenv(variable);

	return value ? strtoul(value, NULL, 10) : usual;
}

static void check_frame(void *context, uint64_t vaddr,
			const struct symbolize_frame *frame)
{
	(void)context;
	(void)vaddr;
	if (strlen(frame->function) > SYMBOLIZE_TEXT_MAX ||
	    strlen(frame->file) > SYMBOLIZE_TEXT_MAX)
		abort();
}

static void keep(const unsigned char *bytes, size_t size)
{
	const char *name = getenv("FUZZ_KEEP");
	FILE *file = name ? fopen(name, "w") : NULL;

	if (file) {
		fwrite(bytes, 1, size, file);
		fclose(file);
	}
}

static void ask(const unsigned char *bytes, size_t size)
{
	char why[SYMBOLIZE_WHY_BYTES];
	uint64_t vaddr[ADDRESS_COUNT];
	struct elf_debug debug;
	const char *ignored;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct symbolize_request request = {
		.elf_fd = fd,
		.alt_fd = fd,
		.root_fd = -1,
		.vaddr = vaddr,
		.count = ADDRESS_COUNT,
		.seconds = SECONDS,
	};

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	for (uint64_t i = 0; i < ADDRESS_COUNT; i++)
		vaddr[i] = 0x1000 + 4 * i;
	g_runs++;
	elf_read_debug(fd, &debug, &ignored);
	if (symbolize_lines(&request, check_frame, NULL, why)) {
		g_failed++;
		if (strstr(why, "too long"))
			abort();
		if (strstr(why, "crashed") || !strncmp(why, "====", 4)) {
			g_crashed++;
			keep(bytes, size);
		}
	}
	close(fd);
}

/* Changes a few bytes, of which it has many to choose from: numbers that are
 * special more often than others. */
static void change(unsigned char *bytes, size_t size, unsigned int *seed)
{
	static const unsigned char special[] = { 0, 1, 0x7f, 0x80, 0xff };
	int count = 1 + rand_r(seed) % 8;

	while (count--) {
		size_t at = (size_t)rand_r(seed) % size;
		unsigned int kind = (unsigned int)rand_r(seed) % 8;

		bytes[at] = kind < sizeof(special)
				    ? special[kind]
				    : (unsigned char)rand_r(seed);
	}
}

static void fuzz(const char *path)
{
	static unsigned char bytes[FILE_BYTES_MAX], changed[FILE_BYTES_MAX];
	unsigned int seed = (unsigned int)number_of("FUZZ_SEED", 1);
	FILE *file = fopen(path, "r");
	size_t size;

	if (!file) {
		perror(path);
		exit(1);
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	ask(bytes, size);
	for (unsigned long i = number_of("FUZZ_ROUNDS", 20); size && i; i--) {
		memcpy(changed, bytes, size);
		change(changed, size, &seed);
		ask(changed, size);
	}
}

/* Where it is built, two folders up. */
static void find_program(void)
{
	char path[PATH_MAX + 32];
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

	if (length < 0)
		abort();
	path[length] = '\0';
	strcpy(strrchr(path, '/'), "/../../perfrec-symbolize");
	setenv("PERFREC_SYMBOLIZE", path, 0);
}

int main(int argc, char **argv)
{
	find_program();
	for (int i = 1; i < argc; i++)
		fuzz(argv[i]);
	printf("fuzz_symbolize: %u runs, %u refused, %u of them crashed\n",
	       g_runs, g_failed, g_crashed);
	return 0;
}
