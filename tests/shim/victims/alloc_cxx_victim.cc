/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc_cxx_victim LOG - logs each form of operator new and delete, and an
 * exception out of operator new.
 */
#include <cstring>
#include <new>
#include <sys/syscall.h>

#include "tests/shim/victims/alloc_log.h"

static struct log_thread *g_log;

static void *logged(void *block, size_t size)
{
	if (!block)
		_exit(4);
	log_add(g_log, LOG_ALLOC, block, size, NULL);
	memset(block, 0x5a, size);
	return block;
}

static void *freeing(void *block)
{
	log_add(g_log, LOG_FREE, block, 0, NULL);
	return block;
}

static void plain(size_t n)
{
	operator delete(freeing(logged(operator new(n), n)));
	operator delete(freeing(logged(operator new(n), n)), n);
	operator delete[](freeing(logged(operator new[](n), n)));
	operator delete[](freeing(logged(operator new[](n), n)), n);
	operator delete(freeing(logged(operator new(n, std::nothrow), n)),
			std::nothrow);
	operator delete[](freeing(logged(operator new[](n, std::nothrow), n)),
			  std::nothrow);
}

static void aligned(size_t n, std::align_val_t al)
{
	operator delete(freeing(logged(operator new(n, al), n)), al);
	operator delete(freeing(logged(operator new(n, al), n)), n, al);
	operator delete[](freeing(logged(operator new[](n, al), n)), al);
	operator delete[](freeing(logged(operator new[](n, al), n)), n, al);
	operator delete(freeing(logged(operator new(n, al, std::nothrow), n)),
			al, std::nothrow);
	operator delete[](freeing(logged(operator new[](n, al, std::nothrow),
					 n)),
			  al, std::nothrow);
}

static int fail()
{
	volatile size_t huge = (size_t)-1 / 2;
	int caught = 0;

	if (operator new(huge, std::nothrow))
		return 0;
	for (int i = 0; i < 3; i++)
		try {
			operator delete(operator new(huge));
		} catch (const std::bad_alloc &) {
			caught++;
		}
	return caught;
}

int main(int argc, char **argv)
{
	struct alloc_log *log = log_map(argv[argc - 1]);

	g_log = &log->thread[0];
	g_log->tid = (uint64_t)syscall(SYS_gettid);
	log_mark();
	const size_t sizes[] = { 1, 24, 1000, 40000, 300000 };

	for (size_t n : sizes) {
		plain(n);
		aligned(n, std::align_val_t(128));
	}
	operator delete(nullptr);
	log_mark();
	return fail() == 3 ? 0 : 1;
}
