/* SPDX-License-Identifier: Apache-2.0
 *
 * bind - a library that is opened with RTLD_DEEPBIND is bound to what it needs
 * itself before what is preloaded. So its hooks are the C library's empty ones,
 * and its malloc() the C library's.
 */
#ifndef PERFREC_PRELOAD_LOAD_BIND_H
#define PERFREC_PRELOAD_LOAD_BIND_H

struct module;

/* Bind references of @module, which stays loaded, to the shim where they are
 * bound to the function that the shim would call next. What the module or its
 * own libraries define stays as it is. Makes system calls; takes no lock. */
void bind_module(const struct module *module);

#endif
