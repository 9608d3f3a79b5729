/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/states/states_cache.h"

#include <errno.h>
#include <stdlib.h>

int states_cache_folder(char path[PATH_MAX])
{
	path[0] = '\0';
	return -ENOENT;
}

int states_cache_load(const char *build_id, struct states_cache_list *list)
{
	(void)build_id;
	*list = (struct states_cache_list){ 0 };
	return -ENOENT;
}

void states_cache_release(struct states_cache_list *list)
{
	free(list->functions);
	*list = (struct states_cache_list){ 0 };
}

int states_cache_store(const char *build_id,
		       struct states_cache_function *functions, size_t count)
{
	(void)build_id;
	(void)functions;
	(void)count;
	return -ENOENT;
}

int states_cache_forget(unsigned int *removed)
{
	*removed = 0;
	return -ENOENT;
}
