/* SPDX-License-Identifier: Apache-2.0
 *
 * debugger - gdb's interface for generated code: a list of ELF files in memory,
 * and a function where gdb has a breakpoint. gdb looks for both names in each
 * library, so they need not be exported, and a program's own list stays as it is.
 */
#include "preload/load/debugger.h"

#include <stddef.h>
#include <stdint.h>

#include "preload/load/thunk_map.h"

enum { DEBUGGER_ADDS = 1, DEBUGGER_REMOVES = 2 };

struct debugger_file {
	struct debugger_file *next, *previous;
	const void *start;
	uint64_t bytes;
};

static struct {
	uint32_t version, action;
	struct debugger_file *file, *first;
} g_debugger __asm__("__jit_debug_descriptor")
	__attribute__((used)) = { .version = 1 };

static void debugger_notice(void) __asm__("__jit_debug_register_code");

static __attribute__((noinline, used)) void debugger_notice(void)
{
	__asm__ volatile("" ::: "memory");
}

static void tell_debugger(uint32_t action, struct debugger_file *file)
{
	g_debugger.action = action;
	g_debugger.file = file;
	debugger_notice();
}

static void add_file(struct debugger_file *file)
{
	file->previous = NULL;
	file->next = g_debugger.first;
	if (file->next)
		file->next->previous = file;
	g_debugger.first = file;
	tell_debugger(DEBUGGER_ADDS, file);
}

static void remove_first_file(void)
{
	struct debugger_file *file = g_debugger.first;

	g_debugger.first = file->next;
	if (file->next)
		file->next->previous = NULL;
	tell_debugger(DEBUGGER_REMOVES, file);
}

void debugger_show_thunks(void)
{
	static struct debugger_file files[THUNK_MAPS];

	while (g_debugger.first)
		remove_first_file();
	for (unsigned int i = 0; i < THUNK_MAPS; i++) {
		files[i].start = thunk_map_file(i, &files[i].bytes);
		if (files[i].start)
			add_file(&files[i]);
	}
}
