/* SPDX-License-Identifier: Apache-2.0
 *
 * debugger - shows gdb the thunks of moved functions.
 */
#ifndef PERFREC_PRELOAD_LOAD_DEBUGGER_H
#define PERFREC_PRELOAD_LOAD_DEBUGGER_H

/* Passes the present ELF files of the thunk area (function_shm.h) to gdb, now or
 * when it attaches. Does nothing if no function was moved. One thread at a time:
 * at the hello, and under the dynamic linker's lock. */
void debugger_show_thunks(void);

#endif
