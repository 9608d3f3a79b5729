/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_code - plans the sites of an ELF file. A plan may be refused; an
 * accepted one must be consistent.
 */
#include <string.h>

#include "collector/code/code_plan.h"
#include "collector/names/elf_assembly.h"
#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"

static void must(bool holds)
{
	fuzz_must(holds, "the plan contradicts itself");
}

static void check_site(const struct code_plan *plan, size_t number)
{
	const struct code_site *site = &plan->sites[number];

	must(site->form < CODE_FORMS && site->count &&
	     site->length <= CODE_SITE_BYTES);
	must(!number || site[-1].address + site[-1].length <= site->address);
	for (uint32_t i = 0; i < site->count; i++)
		must(plan->site_functions[site->first + i] <
		     plan->function_count);
}

static void check_function(const struct code_plan *plan, size_t number)
{
	const struct code_function *function = &plan->functions[number];

	must(function->refused < CODE_REFUSALS);
	must(!number || function[-1].address <= function->address);
	for (uint32_t i = 0; i < function->count; i++)
		must(plan->function_sites[function->first + i] <
		     plan->site_count);
	if (!function->slot && !function->refused)
		must(!number || function[-1].address < function->address);
}

static void check_plan(const struct code_plan *plan)
{
	must(code_moves_hold(&plan->moves));
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct code_site *site = &plan->sites[i];
		uint32_t of;

		check_site(plan, i);
		of = plan->site_functions[site->first];
		must(site->form != CODE_MOVED ||
		     code_moves_find(&plan->moves,
				     plan->functions[of].address));
	}
	for (size_t i = 0; i < plan->function_count; i++)
		check_function(plan, i);
}

static bool any_call(void *context, const char *name)
{
	(void)context;
	return name[0];
}

static void plan_input(int fd, bool moves)
{
	const struct code_limits limits = { 1u << 20, 64u << 20 };
	const struct code_input input = { .fd = fd,
					  .moves = moves,
					  .calls = moves ? any_call : NULL };
	struct code_plan *plan = NULL;
	const char *why;
	int err = code_plan_begin(&input, &limits, &plan, &why);

	while (!err && (err = code_plan_step(plan, 256)) == 1)
		err = 0;
	if (!err)
		check_plan(plan);
	code_plan_free(&plan);
}

/* As perfrec-reader does for perfrec annotate --asm. */
static void disassemble_input(const uint8_t *data, size_t size)
{
	struct elf_assembly assembly;
	size_t at = 0;

	if (elf_assembly_make(data, size, UINT64_MAX - size / 2, &assembly))
		return;
	for (size_t i = 0; i < assembly.count; i++) {
		must(assembly.list[i].at == at);
		must(strlen(assembly.strings + assembly.list[i].text) <
		     ELF_ASSEMBLY_TEXT);
		at += assembly.list[i].bytes;
	}
	must(at == size);
	free(assembly.list);
	free(assembly.strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);

	plan_input(fd, false);
	plan_input(fd, true);
	close(fd);
	disassemble_input(data, MIN(size, (size_t)ELF_ASSEMBLY_BYTES_MAX));
	return 0;
}
