/* SPDX-License-Identifier: Apache-2.0
 *
 * bind_now - binds calls that the dynamic linker would bind when they are made
 * first. The collector takes a call by the address in its slot (--calls-to), and
 * a binding after that would overwrite its own.
 */
#ifndef PERFREC_PRELOAD_LOAD_BIND_NOW_H
#define PERFREC_PRELOAD_LOAD_BIND_NOW_H

/* Binds the calls of all modules of the program's start. A call whose function is
 * not certain stays as it is, and so do modules that dlopen() has loaded. Only
 * while recording starts, as it takes the lock of dl_iterate_phdr(). Calls
 * resolvers of the C library (STT_GNU_IFUNC). Makes no system call. */
void bind_now(void);

#endif
