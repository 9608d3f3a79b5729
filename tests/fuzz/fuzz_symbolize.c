/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_symbolize - lets perfrec-symbolize read the input. That process may
 * fail, because libdw is not ours. This one must notice, go on, and finish in
 * time.
 */
#include <string.h>

#include "collector/names/call_layout.h"
#include "collector/names/elf_read.h"
#include "collector/names/symbolize.h"
#include "collector/names/symbolize_wire.h"
#include "tests/find_symbolize.h"
#include "tests/fuzz/fuzz.h"

#define ADDRESS_COUNT 96
#define SECONDS 100 /* more than its limit of CPU time */

static void check_frame(void *context, uint64_t vaddr,
			const struct symbolize_frame *frame)
{
	(void)context;
	(void)vaddr;
	if (strlen(frame->function) > SYMBOLIZE_TEXT_MAX ||
	    strlen(frame->file) > SYMBOLIZE_TEXT_MAX)
		abort();
}

static void check_call(void *context, uint64_t vaddr,
		       struct call_layout *layout)
{
	struct thunk_words words;

	(void)context;
	(void)vaddr;
	if (!layout)
		return;
	if (layout->count > CALL_VALUES_MAX)
		abort();
	call_layout_settle(layout, true, 1, &words);
	if (thunk_words_count(words.texts) != layout->words ||
	    layout->words > THUNK_WORDS_MAX || layout->words % 2)
		abort();
}

static void set_program(void)
{
	static char program[PATH_MAX + 32];

	if (program[0])
		return;
	find_symbolize(program);
	setenv("PERFREC_SYMBOLIZE", program, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[SYMBOLIZE_WHY_BYTES];
	uint64_t vaddr[ADDRESS_COUNT];
	struct elf_debug debug;
	const char *ignored;
	int fd = fuzz_file(data, size);
	struct symbolize_request request = {
		.elf_fd = fd,
		.alt_fd = fd,
		.root_fd = -1,
		.vaddr = vaddr,
		.count = ADDRESS_COUNT,
		.seconds = SECONDS,
	};

	set_program();
	for (uint64_t i = 0; i < ADDRESS_COUNT; i++)
		vaddr[i] = 0x1000 + 4 * i;
	elf_read_debug(fd, &debug, &ignored);
	if (symbolize_lines(&request, check_frame, NULL, why))
		fuzz_must(!strstr(why, "too long"), why);
	if (symbolize_calls(&request, check_call, NULL, why))
		fuzz_must(!strstr(why, "too long"), why);
	close(fd);
	return 0;
}
