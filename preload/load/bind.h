/* SPDX-License-Identifier: Apache-2.0
 *
 * bind - binds libraries opened with RTLD_DEEPBIND to the shim. They search
 * their own dependencies before preloaded libraries, so their hooks are the C
 * library's empty ones, and their malloc() is the C library's.
 */
#ifndef PERFREC_PRELOAD_LOAD_BIND_H
#define PERFREC_PRELOAD_LOAD_BIND_H

struct module;

/* Binds references of @module to the shim if they are bound to the next
 * definition after the shim's. Definitions of the module or its own libraries
 * keep their references. @module must stay loaded. Makes system calls; takes no
 * lock. */
void bind_module(const struct module *module);

#endif
