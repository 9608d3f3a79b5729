/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_unwind - takes the input for an ELF file and unwinds made-up stacks
 * through its code, as if this program contained it.
 */
#include "collector/base/budget.h"
#include "collector/base/log.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/profile/stack_cache.h"
#include "collector/profile/unwind.h"
#include "collector/profile/unwind_file.h"
#include "shared/record_ext.h"
#include "tests/fuzz/fuzz.h"
#include "tests/random.h"

#define STACK_WORDS 512
#define STACKS 64

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
		/* Half of the stacks belong to blocked threads. */
		.unknown_reg = next_random(&g_random) % 2
				       ? ~(1ULL << RECORD_REG_IP |
					   1ULL << RECORD_REG_SP)
				       : 0,
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
	struct budget budget = { .left = 1 << 20 };
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
	symbol_cache_put(&symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct code code = { .bytes = size };
	void *at = size ? mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			       fd, 0)
			: MAP_FAILED;

	close(fd);
	if (at == MAP_FAILED)
		return 0;
	log_init("fuzz_unwind", LOG_ERR);
	g_random = 1; /* the same stacks for each input */
	code.start = (uintptr_t)at;
	unwind_all(&code);
	munmap(at, size);
	return 0;
}
