/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/states/controller.h"

#include <stdlib.h>

struct controller {
	double budget;
};

struct controller *controller_new(double budget)
{
	struct controller *controller = calloc(1, sizeof(*controller));

	if (controller)
		controller->budget = budget;
	return controller;
}

void controller_free(struct controller *controller)
{
	free(controller);
}

void controller_set_budget(struct controller *controller, double budget)
{
	controller->budget = budget;
}

size_t controller_tick(struct controller *controller,
		       const struct controller_time *time,
		       const struct controller_function *functions,
		       size_t count, struct controller_change *changes,
		       size_t room)
{
	(void)controller;
	(void)time;
	(void)functions;
	(void)count;
	(void)changes;
	(void)room;
	return 0;
}

void controller_know(struct controller *controller, uint32_t number,
		     const struct controller_known *known)
{
	(void)controller;
	(void)number;
	(void)known;
}

bool controller_known(const struct controller *controller, uint32_t number,
		      struct controller_known *known)
{
	(void)controller;
	(void)number;
	(void)known;
	return false;
}

void controller_forget(struct controller *controller, uint32_t number)
{
	(void)controller;
	(void)number;
}

void controller_reached(const struct controller *controller,
			struct controller_reached *reached)
{
	(void)controller;
	*reached = (struct controller_reached){ 0 };
}
