/* SPDX-License-Identifier: Apache-2.0
 *
 * site_preload - writes to $SITES_OUT.PID, when the program ends, the return
 * address and the function of each call of a hook, each pair once:
 *
 *	enter|exit MODULE RETURN-ADDRESS MODULE FUNCTION
 *
 * with addresses as in the files of the modules. So a run shows the
 * instructions that call hooks, and their functions. Any threads. A child of
 * fork() writes its own pairs and those of its parent.
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/compiler.h"

#define PAIRS (1u << 20)

struct pair {
	uint64_t returns; /* 0: free; bit 63: an exit */
	uint64_t function;
};

static struct pair g_pairs[PAIRS];
static uint64_t g_lost;

static void add_pair(uint64_t function, uint64_t returns)
{
	uint64_t at = (function * 31 + returns) * 0x9e3779b97f4a7c15ULL >> 40;

	for (uint64_t i = 0; i < 64; i++) {
		struct pair *pair = &g_pairs[(at + i) % PAIRS];
		/* relaxed: read when all have ended */
		uint64_t known = atom_load_rlx(&pair->returns);

		if (!known &&
		    atom_cas_sc(&pair->function, (uint64_t)0, function)) {
			atom_store_rlx(&pair->returns, returns);
			return;
		}
		known = atom_load_rlx(&pair->returns);
		if (known == returns &&
		    atom_load_rlx(&pair->function) == function)
			return;
	}
	atom_add_rlx(&g_lost, 1);
}

ATTR_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
ATTR_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)call_site;
	add_pair((uint64_t)(uintptr_t)function,
		 (uint64_t)(uintptr_t)__builtin_return_address(0));
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)call_site;
	add_pair((uint64_t)(uintptr_t)function,
		 (uint64_t)(uintptr_t)__builtin_return_address(0) | 1ull << 63);
}

struct place {
	uint64_t address;
	const char *module;
	uint64_t vaddr;
};

static int find_place(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct place *place = context;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t vaddr = place->address - info->dlpi_addr;

		if (header->p_type != PT_LOAD ||
		    vaddr - header->p_vaddr >= header->p_memsz)
			continue;
		place->vaddr = vaddr;
		place->module = *info->dlpi_name ? info->dlpi_name : "main";
		return 1;
	}
	return 0;
}

static void print_place(FILE *file, uint64_t address)
{
	struct place place = { address, "none", address };

	dl_iterate_phdr(find_place, &place);
	fprintf(file, " %s %lx", place.module, (unsigned long)place.vaddr);
}

__attribute__((destructor)) static void write_pairs(void)
{
	const char *out = getenv("SITES_OUT");
	char path[4096];
	FILE *file;

	if (!out)
		return;
	snprintf(path, sizeof(path), "%s.%d", out, (int)getpid());
	file = fopen(path, "we");
	if (!file)
		return;
	for (size_t i = 0; i < PAIRS; i++) {
		const struct pair *pair = &g_pairs[i];

		if (!pair->returns)
			continue;
		fputs(pair->returns >> 63 ? "exit" : "enter", file);
		print_place(file, pair->returns & ~(1ull << 63));
		print_place(file, pair->function);
		fputc('\n', file);
	}
	if (g_lost)
		fprintf(file, "lost %lu\n", (unsigned long)g_lost);
	fclose(file);
}
