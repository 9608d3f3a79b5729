/* SPDX-License-Identifier: Apache-2.0
 *
 * jump_victim - the notes of test_jump's victims about expected records. A span
 * has a made-up address. A jump names the span whose function has the stack
 * pointer of the record.
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

/* Notes that a record of @kind is next. A FLOW record must have @address, the
 * hint of @span (0: any) and @flow. */
typedef void expect_function(char kind, int flow, const void *address,
			     uintptr_t span);

/* The entry of a plugin; returns 0, or the number of a failed check. */
typedef int plugin_run(expect_function *expect);
plugin_run run_plugin;

#ifdef __cplusplus
}
#endif

/* Macros, because the function itself must call the hooks. */
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
