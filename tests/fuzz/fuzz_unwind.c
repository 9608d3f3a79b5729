/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_unwind FILE... - unwinds made-up stacks through the code of each ELF
 * file, as if it were part of this program.
 * fuzz_unwind -n ROUNDS [-s SEED] FILE - the same ROUNDS times, with bytes of
 * its unwind tables changed at random.
 *
 * Exit status 0 whatever they contain; a crash is a finding, and a hang.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/log.h"
#include "collector/names/modules.h"
#include "collector/stacks/stack_cache.h"
#include "collector/names/symbols.h"
#include "collector/stacks/unwind.h"
#include "collector/stacks/unwind_file.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"
#include "tests/random.h"

#define STACK_WORDS 512
#define STACKS 64
#define CHANGES 4
#define TABLE_BYTES 4096 /* changed from .eh_frame_hdr on */

static uint64_t g_random = 1;

struct code {
	uint64_t start, bytes;
};

static uint64_t any_word(const struct code *code, uint64_t sp)
{
	switch (next_random(&g_random) % 4) {
	case 0:
		return code->start + next_random(&g_random) % code->bytes;
	case 1:
		return sp + next_random(&g_random) % (STACK_WORDS * 8) / 8 * 8;
	case 2:
		return next_random(&g_random) % 4;
	default:
		return next_random(&g_random);
	}
}

static void unwind_one(struct unwind *unwind, struct stack_cache *cache,
		       const struct code *code)
{
	static struct unwind_result result;
	uint64_t stack[STACK_WORDS], reg[RECORD_REGS];
	uint64_t sp = 0x7ffc00000000 + next_random(&g_random) % 65536 * 8,
		 edition;
	const struct unwind_stack one = {
		.reg = reg,
		.stack = (const uint8_t *)stack,
		.stack_bytes = (uint32_t)(next_random(&g_random) %
					  (sizeof(stack) + 1)),
	};
	uint32_t number;

	for (size_t i = 0; i < STACK_WORDS; i++)
		stack[i] = any_word(code, sp);
	for (size_t i = 0; i < RECORD_REGS; i++)
		reg[i] = any_word(code, sp);
	reg[RECORD_REG_SP] = sp;
	reg[RECORD_REG_IP] = code->start + next_random(&g_random) % code->bytes;
	edition = unwind_edition(unwind, 0);
	unwind_run(unwind, &one, &result);
	if (!stack_cache_find(cache, edition, &one, &number))
		stack_cache_add(cache, &one, &result, 1);
}

static void unwind_all(const struct code *code)
{
	struct budget budget = { 1 << 20 };
	struct symbol_cache *symbols = NULL;
	struct modules *modules = NULL;
	struct unwind_files *files = NULL;
	struct unwind *unwind = NULL;
	struct stack_cache cache;

	if (symbol_cache_new(&symbols) ||
	    modules_new(getpid(), getpid(), NULL, symbols, &modules) ||
	    unwind_files_new(&files) || unwind_new(modules, files, &unwind))
		abort();
	stack_cache_init(&cache, &budget);
	for (int i = 0; i < STACKS; i++)
		unwind_one(unwind, &cache, code);
	stack_cache_release(&cache);
	unwind_free(&unwind);
	unwind_files_free(&files);
	modules_put(&modules);
	symbol_cache_free(&symbols);
}

static int run_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	struct code code;
	void *at;

	if (fd < 0 || fstat(fd, &status)) {
		perror(path);
		return 1;
	}
	code.bytes = (uint64_t)status.st_size;
	at = code.bytes ? mmap(NULL, code.bytes, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE, fd, 0)
			: MAP_FAILED;
	close(fd);
	if (at == MAP_FAILED)
		return 0;
	code.start = (uintptr_t)at;
	unwind_all(&code);
	munmap(at, code.bytes);
	return 0;
}

/* Where .eh_frame_hdr begins in the @bytes of @file, or 0. */
static size_t find_table(const uint8_t *file, size_t bytes)
{
	Elf64_Ehdr elf;
	Elf64_Phdr header;

	if (bytes < sizeof(elf))
		return 0;
	memcpy(&elf, file, sizeof(elf));
	for (size_t i = 0; i < elf.e_phnum; i++) {
		size_t at = elf.e_phoff + i * sizeof(header);

		if (at + sizeof(header) > bytes)
			break;
		memcpy(&header, file + at, sizeof(header));
		if (header.p_type == PT_GNU_EH_FRAME)
			return header.p_offset;
	}
	return 0;
}

static int run_changed(const char *path, unsigned long rounds)
{
	static uint8_t file[1 << 20], changed[1 << 20];
	char name[] = "/tmp/fuzz_unwind.XXXXXX";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, file, sizeof(file));
	size_t table = bytes > 0 ? find_table(file, (size_t)bytes) : 0, span;
	int status = 0;

	if (!table) {
		fprintf(stderr, "%s: no unwind tables\n", path);
		return 1;
	}
	close(fd);
	span = MIN((size_t)bytes - table, (size_t)TABLE_BYTES);
	for (; rounds && !status; rounds--) {
		memcpy(changed, file, (size_t)bytes);
		for (uint64_t i = next_random(&g_random) % CHANGES + 1; i; i--)
			changed[table + next_random(&g_random) % span] =
				(uint8_t)next_random(&g_random);
		strcpy(strrchr(name, '.') + 1, "XXXXXX");
		fd = mkstemp(name);
		if (fd < 0 || write(fd, changed, (size_t)bytes) != bytes)
			abort();
		close(fd);
		status = run_file(name);
		unlink(name);
	}
	return status;
}

int main(int argc, char **argv)
{
	unsigned long rounds = 0;
	int option, status = 0;

	log_init("fuzz_unwind", LOG_ERR);
	while ((option = getopt(argc, argv, "n:s:")) != -1) {
		if (option == 'n')
			rounds = strtoul(optarg, NULL, 10);
		else if (option == 's')
			g_random = strtoul(optarg, NULL, 10) | 1;
		else
			return 2;
	}
	for (; optind < argc && !status; optind++)
		status = rounds ? run_changed(argv[optind], rounds)
				: run_file(argv[optind]);
	return status;
}
