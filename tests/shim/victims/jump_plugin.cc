/* SPDX-License-Identifier: Apache-2.0
 *
 * jump_plugin - throws and catches. Built as many kinds of plugins, and as a
 * program with -DPROGRAM. With -DPRIVATE it has its own unwinder; then only
 * landing pads that catch are recorded.
 */
#include <exception>
#include <stdexcept>
#include <string>

#include "tests/shim/victims/jump_victim.h"

#define NOINLINE __attribute__((noinline))

static expect_function *g_expect;

static void expect_catch(uintptr_t span)
{
	g_expect('F', JUMP_CATCH, 0, span);
}

namespace
{
/* Its destructor is a span, in the landing pad of @around. */
struct tidy {
	uintptr_t around;
	explicit tidy(uintptr_t span) : around(span)
	{
	}
	NOINLINE ~tidy()
	{
#if !defined(PRIVATE)
		if (std::uncaught_exceptions())
			expect_catch(around);
#endif
		SPAN_BEGIN(g_expect, 0x10);
		SPAN_END(g_expect, 0x10);
	}
};

NOINLINE void thrower(int depth)
{
	char room[200];

	__asm__ volatile("" : : "r"(room) : "memory");
	SPAN_BEGIN(g_expect, 0x20);
	if (depth)
		thrower(depth - 1);
	throw std::runtime_error("thrown");
}

NOINLINE void cleaner()
{
	SPAN_BEGIN(g_expect, 0x30);
	tidy guard(0x30);
	thrower(3);
	SPAN_END(g_expect, 0x30);
}

NOINLINE int catcher()
{
	int failed = 0;

	SPAN_BEGIN(g_expect, 0x40);
	try {
		cleaner();
		failed = 1;
	} catch (const std::runtime_error &error) {
		expect_catch(0x40);
		if (error.what() != std::string("thrown"))
			failed = 2;
		if (std::uncaught_exceptions())
			failed = 3;
		if (!std::current_exception())
			failed = 4;
	}
	if (std::current_exception())
		failed = 5;
	SPAN_END(g_expect, 0x40);
	return failed;
}

NOINLINE int rethrower()
{
	SPAN_BEGIN(g_expect, 0x50);
	try {
		try {
			thrower(1);
		} catch (...) {
			expect_catch(0x50);
			SPAN_BEGIN(g_expect, 0x60);
			SPAN_END(g_expect, 0x60);
			throw;
		}
	} catch (const std::exception &error) {
		expect_catch(0x50);
		SPAN_END(g_expect, 0x50);
		return 0;
	}
	return 6;
}
} // namespace

extern "C" __attribute__((visibility("default"))) int
run_plugin(expect_function *expect)
{
	int failed;

	g_expect = expect;
	failed = catcher();
	return failed ? failed : rethrower();
}

#if defined(PROGRAM)
#include <cstdio>

static std::FILE *g_result;

static void write_down(char kind, int flow, const void *address,
		       uintptr_t span)
{
	std::fprintf(g_result, "%c %d %lx %lx\n", kind, flow,
		     (unsigned long)(uintptr_t)address, (unsigned long)span);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	g_result = std::fopen(argv[1], "w");
	return !g_result || run_plugin(write_down) || std::fclose(g_result);
}
#endif
