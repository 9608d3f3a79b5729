/* SPDX-License-Identifier: Apache-2.0
 *
 * instrumented - whether anything in this process can call the shim yet.
 */
#ifndef PERFREC_PRELOAD_START_INSTRUMENTED_H
#define PERFREC_PRELOAD_START_INSTRUMENTED_H

#include <stdbool.h>

/* True when a loaded module refers to __cyg_profile_func_enter or to what
 * perfrec.h looks for, or is an entry build. Takes the dynamic linker's lock; a
 * constructor may call it. */
bool instrumented(void);
/* Whether a loaded module is an entry build (shared/entry_build.h). As above.
 */
bool entry_build(void);

/* Whether .preinit_array of the program has functions of an entry build, whose
 * text the collector has not changed yet. Any context. */
bool preinit_has_entries(void);

#endif
