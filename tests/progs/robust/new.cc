/* SPDX-License-Identifier: Apache-2.0
 *
 * new - operator new and delete; throws, if THROW is defined.
 */
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <stdexcept>
static long news;
void *operator new(size_t size)
{
	static auto next = (void *(*)(size_t))dlsym(RTLD_NEXT, "_Znwm");
	news++;
	return next ? next(size) : malloc(size);
}
void operator delete(void *block) noexcept
{
	static auto next = (void (*)(void *))dlsym(RTLD_NEXT, "_ZdlPv");
	next ? next(block) : free(block);
}
void operator delete(void *block, size_t) noexcept
{
	operator delete(block);
}
extern "C" void *__cxa_begin_catch(void *exception) noexcept
{
	static auto next = (void *(*)(void *))dlsym(RTLD_NEXT,
						    "__cxa_begin_catch");
	return next(exception);
}
int main()
{
	static char buffer[64];
	int caught = 0;
	setvbuf(stdout, buffer, _IOLBF, sizeof(buffer));
	for (int i = 0; i < 10; i++) {
		int *volatile p = new int(i);
		delete p;
#ifdef THROW
		try {
			throw i;
		} catch (int i) {
			caught++;
		}
#endif
	}
	printf("%ld %d\n", news, caught);
}
