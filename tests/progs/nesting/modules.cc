/* SPDX-License-Identifier: Apache-2.0
 *
 * modules - a program and two plugins that only themselves can see; each
 * throws through the others. See nesting.h.
 *
 *   modules PLUGIN PLUGIN
 *
 * With -DNESTING_LIBRARY this is the plugin.
 */
#include <dlfcn.h>
#include <exception>
#include <stdexcept>

#include "tests/progs/nesting/nesting.h"

typedef const struct frame *caller;
/* Goes on to the @depth-th and throws there. */
typedef void pass_on(caller up, int depth);

struct noisy {
	caller up;
	explicit QUIET noisy(caller from) : up(from)
	{
	}
	NOINLINE ~noisy()
	{
		CALLED("noisy::~noisy");
	}
};

#if defined(NESTING_LIBRARY)

extern "C" void plugin_start(void (*log)(const struct frame *));
extern "C" void plugin_pass(caller up, int depth, pass_on *next);

extern "C" QUIET void plugin_start(void (*log)(const struct frame *))
{
	log_call = log;
}

extern "C" void plugin_pass(caller up, int depth, pass_on *next)
{
	CALLED("plugin_pass");
	noisy thing(&me);

	if (!depth)
		throw std::runtime_error("plugin");
	try {
		next(&me, depth - 1);
	} catch (const std::exception &) {
		noisy other(&me);

		if (depth % 3)
			throw;
	}
}

#else

typedef void plugin_start(void (*log)(const struct frame *));
typedef void plugin_pass(caller up, int depth, pass_on *next);

static plugin_pass *g_pass[2];

static void pass(caller up, int depth)
{
	CALLED("pass");
	noisy thing(&me);

	if (!depth)
		throw std::runtime_error("program");
	g_pass[depth % 2](&me, depth - 1, pass);
}

QUIET static void load(const char *path, int i)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(2);
	}
	((plugin_start *)dlsym(handle, "plugin_start"))(log_call);
	g_pass[i] = (plugin_pass *)dlsym(handle, "plugin_pass");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	load(argv[1], 0);
	load(argv[2], 1);
	STARTED("main");
	for (int depth = 0; depth < 20; depth++) {
		try {
			pass(&me, depth);
		} catch (...) {
			noisy thing(&me);
		}
	}
	return 0;
}

#endif
