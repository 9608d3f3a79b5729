/* SPDX-License-Identifier: Apache-2.0
 *
 * exceptions - throws through instrumented functions: deep, caught in the
 * middle, rethrown, thrown and caught in destructors while another one is on
 * its way, through inlined functions, functions without hooks, C, threads that
 * are cancelled. See nesting.h.
 */
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "tests/progs/nesting/nesting.h"

#define INLINE __attribute__((always_inline)) inline

typedef const struct frame *caller;

NOINLINE static void leaf(caller up)
{
	CALLED("leaf");
}

struct noisy {
	caller up;
	explicit QUIET noisy(caller from) : up(from)
	{
	}
	NOINLINE ~noisy()
	{
		CALLED("noisy::~noisy");
		leaf(&me);
	}
};

NOINLINE static void thrower(caller up, int depth)
{
	CALLED("thrower");
	if (depth)
		thrower(&me, depth - 1);
	else
		throw std::runtime_error("thrower");
	leaf(&me);
}

/* Destroys something at every level. */
NOINLINE static void untidy(caller up, int depth)
{
	CALLED("untidy");
	noisy thing(&me);

	if (depth)
		untidy(&me, depth - 1);
	else
		thrower(&me, 3);
	leaf(&me);
}

NOINLINE static void catch_deep(caller up)
{
	CALLED("catch_deep");
	for (int i = 0; i < 10; i++) {
		try {
			thrower(&me, i);
		} catch (const std::exception &) {
			leaf(&me);
		}
		leaf(&me);
		try {
			untidy(&me, i);
		} catch (...) {
		}
		leaf(&me);
	}
}

NOINLINE static void catch_in_the_middle(caller up, int depth)
{
	CALLED("catch_in_the_middle");
	try {
		if (depth)
			catch_in_the_middle(&me, depth - 1);
		else
			thrower(&me, 2);
	} catch (const std::exception &) {
		leaf(&me);
		if (depth % 2)
			thrower(&me, 1);
		else
			throw;
	}
}

NOINLINE static void not_caught_here(caller up)
{
	CALLED("not_caught_here");
	try {
		thrower(&me, 2);
	} catch (const std::logic_error &) {
		leaf(&me);
	}
	leaf(&me);
}

struct throws_inside {
	caller up;
	explicit QUIET throws_inside(caller from) : up(from)
	{
	}
	NOINLINE ~throws_inside()
	{
		CALLED("throws_inside::~throws_inside");
		try {
			untidy(&me, 1);
		} catch (...) {
			leaf(&me);
		}
		leaf(&me);
	}
};

NOINLINE static void in_destructors(caller up)
{
	CALLED("in_destructors");
	throws_inside first(&me);
	throws_inside second(&me);

	thrower(&me, 1);
	leaf(&me);
}

#if !defined(__clang__)
/* Slices of their own: the hooks are called for inlined functions, too. (As
 * clang calls no exit hooks while unwinding, and all of these have one stack
 * pointer, it is not known which of them a handler is in.) */
static INLINE void inlined_throws(caller up)
{
	CALLED("inlined_throws");
	thrower(&me, 1);
}

static INLINE void inlined_catches(caller up)
{
	CALLED("inlined_catches");
	try {
		inlined_throws(&me);
	} catch (...) {
		leaf(&me);
	}
	leaf(&me);
}

NOINLINE static void around_inlined(caller up)
{
	CALLED("around_inlined");
	inlined_catches(&me);
	leaf(&me);
	try {
		inlined_throws(&me);
	} catch (...) {
		leaf(&me);
	}
	leaf(&me);
}
#endif

/* No hooks: in the trace its callees are its caller's. */
NOINLINE QUIET static void silent(caller up, bool catches)
{
	try {
		thrower(up, 2);
	} catch (...) {
		leaf(up);
		if (!catches)
			throw;
	}
	leaf(up);
}

NOINLINE static void around_silent(caller up)
{
	CALLED("around_silent");
	silent(&me, true);
	leaf(&me);
	try {
		silent(&me, false);
	} catch (...) {
		leaf(&me);
	}
	leaf(&me);
}

static caller g_sorts;

static int compare(const void *, const void *)
{
	caller up = g_sorts;
	CALLED("compare");
	thrower(&me, 1);
	return 0;
}

NOINLINE static void through_c(caller up)
{
	int two[2] = { 1, 2 };

	CALLED("through_c");
	g_sorts = &me;
	try {
		std::qsort(two, 2, sizeof(two[0]), compare);
	} catch (...) {
		leaf(&me);
	}
	leaf(&me);
}

NOINLINE static void cancelled(caller up, int depth)
{
	CALLED("cancelled");
	noisy thing(&me);

	if (depth)
		cancelled(&me, depth - 1);
	else
		pthread_exit(NULL);
	leaf(&me);
}

static void *run(void *unused)
{
	STARTED("run");
	noisy thing(&me);

	try {
		thrower(&me, 3);
	} catch (...) {
		leaf(&me);
	}
	cancelled(&me, 3);
	return unused;
}

int main()
{
	pthread_t thread;

	STARTED("main");
	catch_deep(&me);
	try {
		catch_in_the_middle(&me, 6);
	} catch (...) {
		leaf(&me);
	}
	try {
		not_caught_here(&me);
	} catch (...) {
		leaf(&me);
	}
	try {
		in_destructors(&me);
	} catch (...) {
		leaf(&me);
	}
#if !defined(__clang__)
	around_inlined(&me);
#endif
	around_silent(&me);
	through_c(&me);
	leaf(&me);
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	return 0;
}
