/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/code/code_found.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/grow.h"

int code_found_use(struct code_found *found, const struct code_use *use)
{
	if (grow_array_from(found->budget, found->uses, found->use_room,
			    found->use_count + 1))
		return -ENOMEM;
	found->uses[found->use_count++] = *use;
	return 0;
}

int code_found_blame(struct code_found *found, const struct code_blame *blame)
{
	if (grow_array_from(found->budget, found->blames, found->blame_room,
			    found->blame_count + 1))
		return -ENOMEM;
	found->blames[found->blame_count++] = *blame;
	return 0;
}

void code_found_release(struct code_found *found)
{
	free(found->uses);
	free(found->blames);
}
