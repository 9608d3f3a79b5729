/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_plan.h"

#include <errno.h>
#include <stdlib.h>

const struct code_limits code_limits_usual = { 1ull << 30, 1ull << 30 };

int code_plan_begin(int fd, const struct code_limits *limits,
		    struct code_plan **out, const char **why)
{
	(void)fd, (void)limits;
	*out = NULL;
	*why = "not yet written";
	return -ENODATA;
}

int code_plan_step(struct code_plan *plan, uint64_t bytes)
{
	(void)plan, (void)bytes;
	return 0;
}

int code_plan_new(int fd, const struct code_limits *limits,
		  struct code_plan **out, const char **why)
{
	int err = code_plan_begin(fd, limits, out, why);

	while (!err && (err = code_plan_step(*out, UINT64_MAX)) == 1)
		err = 0;
	if (err)
		code_plan_free(out);
	return err;
}

void code_plan_free(struct code_plan **plan)
{
	if (!*plan)
		return;
	free((*plan)->functions);
	free((*plan)->sites);
	free((*plan)->site_functions);
	free((*plan)->function_sites);
	free(*plan);
	*plan = NULL;
}

bool code_plan_find(const struct code_plan *plan, uint64_t address,
		    uint32_t *out)
{
	size_t low = 0, high = plan->function_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (plan->functions[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == plan->function_count ||
	    plan->functions[low].address != address ||
	    plan->functions[low].slot)
		return false;
	*out = (uint32_t)low;
	return true;
}
