/* SPDX-License-Identifier: Apache-2.0
 *
 * instrumented - whether any code in this process can call the shim.
 */
#ifndef PERFREC_PRELOAD_START_INSTRUMENTED_H
#define PERFREC_PRELOAD_START_INSTRUMENTED_H

#include <stdbool.h>

/* Returns true if a loaded module refers to __cyg_profile_func_enter or to the
 * symbol of perfrec.h, or is an entry build. Takes the dynamic linker's lock;
 * callable from constructors. */
bool instrumented(void);
/* Returns true if a loaded module is an entry build. Same lock. */
bool entry_build(void);

/* Returns true if .preinit_array of the program has functions of an entry
 * build. The collector has not patched these in time. Any context. */
bool preinit_has_entries(void);

#endif
