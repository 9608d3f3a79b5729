/* SPDX-License-Identifier: Apache-2.0
 *
 * copies - has perfrec.h, is linked with libcopy.so, which has it as well, and
 * loads ./plugin.so, a third one, ten times; uses no hooks.
 */
#include "perfrec.h"

#include <dlfcn.h>
#include <stdio.h>

int copy(int n);

int main(void)
{
	int i;

	PERFREC_SCOPE("in the program");
	if (copy(1) != 2)
		return 1;
	for (i = 0; i < 10; i++) {
		void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
		int (*call)(int);

		if (!plugin) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&call = dlsym(plugin, "copy");
		if (!call || call(i) != i + 1)
			return 1;
		dlclose(plugin);
	}
	return 0;
}
