/* SPDX-License-Identifier: Apache-2.0
 *
 * The collector's copy of the shim's code: each kind can be timed repeatedly,
 * and the copy has no other effects.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "collector/files/calibrate.h"
#include "collector/options/collect_options.h"
#include "shared/own_cost.h"
#include "tests/suite.h"

#define SECOND_NS 1e9

TEST(own_cost_of_each_kind_is_some_time, EACH(0, 2))
{
	bool ticks = _i % 2;

	for (int turn = 0; turn < 3; turn++)
		for (int kind = 0; kind < OWN_COST_KINDS; kind++) {
			double ns =
				own_cost_ns((enum own_cost_kind)kind, ticks);

			ck_assert_msg(ns > 0 && ns < SECOND_NS, "%d: %f ns",
				      kind, ns);
		}
}

#define TRIES 20

/* The halves add up to a loop around the hooks, so they exceed the hooks' net
 * cost. Other programs disturb it, hence the repetition. */
TEST(own_cost_has_two_halves, EACH(0, 2))
{
	static const enum own_cost_kind kinds[] = { OWN_COST_SPAN,
						    OWN_COST_GENERAL,
						    OWN_COST_DEPTH };
	bool ticks = _i % 2;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct own_cost_halves halves;
		double whole, both;
		int tries = 0;

		do {
			halves = own_cost_halves(kinds[i], ticks);
			whole = own_cost_ns(kinds[i], ticks);
			both = halves.inner_ns + halves.outer_ns;
			ck_assert(halves.inner_ns > 0);
			ck_assert(halves.outer_ns > 0);
			ck_assert(halves.least_ns >= halves.inner_ns);
		} while (3 * both <= whole && ++tries < TRIES);
		ck_assert_msg(3 * both > whole, "%f, %f", both, whole);
	}
}

TEST(own_cost_of_a_stack_is_more_than_none)
{
	double none = own_cost_sample_ns(0);
	double most = own_cost_sample_ns(UINT32_MAX);

	ck_assert(none > 0 && none < SECOND_NS);
	ck_assert(most > none && most < SECOND_NS);
}

/* 0: the kernel takes no samples here. */
TEST(own_cost_of_a_cpu_sample)
{
	for (uint32_t bytes = 0; bytes <= STACK_BYTES_MAX;
	     bytes += STACK_BYTES_MAX) {
		double ns = calibrate_perf_ns(bytes);

		ck_assert_msg(ns == 0 || (ns > 1000 && ns < SECOND_NS), "%f",
			      ns);
		ns = calibrate_signal_ns(bytes);
		ck_assert_msg(ns > 0 && ns < SECOND_NS, "%f", ns);
	}
}

#define ROUNDS 10

static void *time_each_kind(void *unused)
{
	for (int i = 0; i < ROUNDS * OWN_COST_KINDS; i++)
		ck_assert(calibrate_own_ns(
				  (enum own_cost_kind)(i % OWN_COST_KINDS),
				  true) > 0);
	ck_assert(calibrate_own_halves(OWN_COST_DEPTH, true).inner_ns > 0);
	ck_assert(calibrate_own_sample_ns(1000) > 0);
	ck_assert(calibrate_signal_ns(1000) > 0);
	return unused;
}

/* Recordings of a daemon may end at the same time. */
TEST(own_cost_is_timed_by_several_threads)
{
	pthread_t thread[4];

	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		ck_assert_int_eq(
			pthread_create(&thread[i], NULL, time_each_kind, NULL),
			0);
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
}

/* The shim's definitions would precede libc's; sanitizers have their own. */
TEST(own_cost_interposes_nothing)
{
	static const char *const names[] = {
		"__cyg_profile_func_enter",
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		"malloc",
#endif
	};
	Dl_info from;

	own_cost_ns(OWN_COST_BLOCK, true);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_msg(dladdr(dlsym(RTLD_DEFAULT, names[i]), &from) &&
				      strstr(from.dli_fname, "libc"),
			      "%s", names[i]);
	ck_assert_ptr_null(dlsym(RTLD_DEFAULT, "perfrec_shim_1"));
}
