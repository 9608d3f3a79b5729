/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/libc.h"

#include <sys/auxv.h>

#include "preload/core/elf_tables.h"
#include "preload/core/linker.h"

struct libc g_libc;

/* Replaces functions that the C library lacks. If it is not glibc, all are
 * missing and the environment stays unknown: nothing is recorded, and
 * interposed functions only pass calls on. */
static int missing_function(void)
{
	return -1;
}

static void *find_function(const struct elf_tables *tables, const char *name)
{
	void *function = elf_tables_find(tables, name);

	return function ? function : (void *)missing_function;
}

/* Returns the address of the C library's variable @name. The C library uses an
 * executable's copy of it, but not a program's own variable of that name. So
 * its own reference decides. */
static void *find_variable(const struct elf_tables *tables, const char *name)
{
	void *const *slot = elf_tables_slot(tables, name);

	return slot ? *slot : elf_tables_find(tables, name);
}

static int *missing_errno(void)
{
	static int number;

	return &number;
}

void libc_find(void)
{
	const struct link_map *map = linker_libc();
	struct elf_tables tables = { .base = 0 };

	if (map)
		elf_tables_of(&tables, map);
#define FIND(name, symbol, result, parameters) \
	g_libc.name = (result(*) parameters)find_function(&tables, symbol);
	LIBC_FUNCTIONS(FIND)
#undef FIND
#if defined(__aarch64__)
	if (map)
		elf_tables_set_cpu(g_libc.getauxval(AT_HWCAP),
				   g_libc.getauxval(AT_HWCAP2));
#endif
	if (map) {
		g_libc.environ = find_variable(&tables, "__environ");
		g_libc.single_threaded =
			find_variable(&tables, "__libc_single_threaded");
	} else {
		g_libc.errno_location = missing_errno;
	}
	if (linker_tables(&tables)) {
		g_libc.rseq_offset = elf_tables_find(&tables, "__rseq_offset");
		g_libc.rseq_size = elf_tables_find(&tables, "__rseq_size");
		g_libc.stack_end = elf_tables_find(&tables, "__libc_stack_end");
	}
	/* If false, libc() looks again: more modules may be visible later. */
	g_libc.known = map || linker_has_relocated();
}

char **libc_start_environ(void)
{
	char **environment = libc_environ();
	char **start;

	if (environment || !libc()->environ || !libc()->stack_end ||
	    !linker_is_done())
		return environment;
	/* argc, the arguments, NULL, the environment. */
	start = *libc()->stack_end;
	return start + *(long *)start + 2;
}
