/* SPDX-License-Identifier: Apache-2.0
 *
 * jump_victim - how the victims of test_jump say what is to be recorded. A
 * span has a made-up address; what jumps names the span whose function's
 * stack pointer its record is to have.
 */
#ifndef PERFREC_TESTS_SHIM_JUMP_VICTIM_H
#define PERFREC_TESTS_SHIM_JUMP_VICTIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

#define JUMP_CATCH 3 /* FLOW_CATCH, for C++ */

/* Writes down that a record of @kind is next; of a FLOW record @address, @span
 * (0: any hint will do) and @flow are to be as said. */
typedef void expect_function(char kind, int flow, const void *address,
			     uintptr_t span);

/* What a plugin does; 0, or the number of the check that failed. */
typedef int plugin_run(expect_function *expect);
plugin_run run_plugin;

#ifdef __cplusplus
}
#endif

/* Macros: the hooks must be called by the function itself. */
#define SPAN_BEGIN(expect, span)                                        \
	do {                                                            \
		(expect)('B', 0, 0, (span));                            \
		__cyg_profile_func_enter((void *)(uintptr_t)(span), 0); \
	} while (0)
#define SPAN_END(expect, span)                                         \
	do {                                                           \
		(expect)('E', 0, 0, (span));                           \
		__cyg_profile_func_exit((void *)(uintptr_t)(span), 0); \
	} while (0)

#endif
