/* SPDX-License-Identifier: Apache-2.0
 *
 * name_fold - what a person reads of the full name of a function. The full name
 * is a text: it may come from a file of another machine, where there is no
 * mangled name. It may have any bytes, be cut anywhere, and be of any language:
 * what is no name of C++ or Rust stays as it is.
 *
 *   std::vector<int>& ns::f<int, A>(B<C> const&) const   full
 *   ns::f<…>(B<…> const&) const                          short
 *   ns::f<int, A>                                        plain
 *
 * Two full names may have the same short name: it is never an identity. All
 * functions take time that is linear in the name, keep no state, and may be
 * called by any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_NAME_FOLD_H
#define PERFREC_COLLECTOR_NAMES_NAME_FOLD_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes for a short or a plain name and its NUL. What is longer is cut and then
 * ends in "...". */
#define NAME_FOLD_BYTES 4096

/*
 * Writes to @out what a person reads of @full: its template arguments are
 * "<…>", and what it returns, the tags of its ABI ("[abi:cxx11]"), known inline
 * namespaces ("std::__cxx11::", "fmt::v9::"), what it requires, and what the
 * compiler appended to its copies (".isra.0") are left out. The file that tells
 * a function from others of its name (" (main.c)") stays. Each byte that is no
 * UTF-8, each control character, and each character that changes the direction
 * of what follows becomes '?'. std::basic_string<char, ...> with its usual
 * arguments is std::string; so are wstring, string_view, wstring_view. It never
 * has more characters than @full. Returns its length in bytes, without its NUL.
 */
size_t name_fold(const char *full, char out[NAME_FOLD_BYTES]);

/*
 * The same, with some lists of template arguments open: those that hold the
 * byte @open[0], ... @open[count - 1] of @full. Lists in them stay folded
 * unless they hold that byte, too.
 */
size_t name_fold_open(const char *full, const size_t *open, size_t count,
		      char out[NAME_FOLD_BYTES]);

/* Where what name_fold() shows begins in @full: behind what the function
 * returns. */
size_t name_fold_begin(const char *full);

/* Writes @full to @out, without the type that the function returns, its
 * parameters and its file. No byte is replaced. Returns the length in bytes. */
size_t name_fold_plain(const char *full, char out[NAME_FOLD_BYTES]);

/* Writes @full to @out, with '?' for what name_fold() would replace. Returns
 * its length in bytes. */
size_t name_fold_clean(const char *full, char out[NAME_FOLD_BYTES]);

#endif
