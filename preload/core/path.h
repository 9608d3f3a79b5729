/* SPDX-License-Identifier: Apache-2.0
 *
 * path - makes paths without the C library. Callable from any context.
 */
#ifndef PERFREC_PRELOAD_CORE_PATH_H
#define PERFREC_PRELOAD_CORE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Appends @text to @path, which has room for @size bytes. Returns false if it does
 * not fit. */
bool path_add(char *path, size_t size, const char *text);
/* The same for decimal digits. */
bool path_add_number(char *path, size_t size, unsigned long number);

#endif
