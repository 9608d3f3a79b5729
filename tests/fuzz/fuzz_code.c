/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_code - plans the sites of an ELF file. A plan may be refused; one that
 * is made must hold together.
 */
#include "collector/code/code_plan.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct code_limits limits = { 1u << 20, 64u << 20 };
	int fd = fuzz_file(data, size);
	struct code_plan *plan = NULL;
	const char *why;

	if (!code_plan_begin(&(struct code_input){ .fd = fd }, &limits, &plan,
			     &why)) {
		int err;

		do
			err = code_plan_step(plan, 256);
		while (err == 1);
		for (size_t i = 0; !err && i < plan->site_count; i++)
			check_site(plan, i);
		for (size_t i = 0; !err && i < plan->function_count; i++)
			check_function(plan, i);
	}
	code_plan_free(&plan);
	close(fd);
	return 0;
}
