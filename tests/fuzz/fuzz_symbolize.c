/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_symbolize FILE... - has perfrec-symbolize read each file, and changed
 * copies of it (changed.h). The process may fail; that this one then knows so
 * and goes on is what is tested, and that it is over in time. FUZZ_KEEP names a
 * file for what crashed last.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/names/elf_read.h"
#include "collector/names/symbolize.h"
#include "collector/names/symbolize_wire.h"
#include "tests/find_symbolize.h"
#include "tests/fuzz/changed.h"

#define ADDRESS_COUNT 96
#define SECONDS 100 /* more than its limit of CPU time */

static unsigned int g_runs, g_failed, g_crashed;

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

int main(int argc, char **argv)
{
	char program[PATH_MAX + 32];
	const struct changed_plan plan = { .use = ask };

	find_symbolize(program);
	setenv("PERFREC_SYMBOLIZE", program, 0);
	changed_files(argc, argv, &plan);
	printf("fuzz_symbolize: %u runs, %u refused, %u of them crashed\n",
	       g_runs, g_failed, g_crashed);
	return 0;
}
