/* SPDX-License-Identifier: Apache-2.0
 *
 * name_fold - shortens full names of functions for people. A full name is any
 * text: it may come from another machine, be cut anywhere, and be of any
 * language. Names of other languages than C++ and Rust stay as they are.
 *
 *   std::vector<int>& ns::f<int, A>(B<C> const&) const   full
 *   ns::f<…>(B<…> const&) const                          short
 *   ns::f<int, A>                                        plain
 *
 * Different functions may have the same short name. Takes time linear in the
 * name. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_NAME_FOLD_H
#define PERFREC_COLLECTOR_NAMES_NAME_FOLD_H

#include <stdbool.h>
#include <stddef.h>

/* For a short or plain name with its NUL. Longer names end in "...". */
#define NAME_FOLD_BYTES 4096

/*
 * Writes the short name of @full. Template arguments become "<…>". Dropped are:
 * the return type, ABI tags ("[abi:cxx11]"), known inline namespaces
 * ("std::__cxx11::", "fmt::v9::"), requires clauses, and compiler suffixes
 * (".isra.0"). The file of a name (" (main.c)") stays. Bytes that are not
 * UTF-8, control characters and characters that change the text direction
 * become '?'. std::basic_string<char, ...> with its defaults becomes
 * std::string, likewise wstring, string_view and wstring_view. The result never
 * has more characters than @full. Returns its length in bytes.
 */
size_t name_fold(const char *full, char out[NAME_FOLD_BYTES]);

/* As name_fold(), but keeps template argument lists that contain one of the
 * bytes @open[0..@count - 1] of @full. */
size_t name_fold_open(const char *full, const size_t *open, size_t count,
		      char out[NAME_FOLD_BYTES]);

size_t name_fold_begin(const char *full);

/* Drops the return type, parameters and file of @full. Replaces no bytes.
 * Returns the length in bytes. */
size_t name_fold_plain(const char *full, char out[NAME_FOLD_BYTES]);

/* Only replaces bytes by '?' as name_fold(). Returns the length in bytes. */
size_t name_fold_clean(const char *full, char out[NAME_FOLD_BYTES]);

#endif
