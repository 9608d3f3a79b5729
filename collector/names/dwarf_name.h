/* SPDX-License-Identifier: Apache-2.0
 *
 * dwarf_name - names of C++ functions without a mangled name in the debug
 * information: functions of unnamed namespaces, local classes and lambdas. For
 * perfrec-symbolize only (symbolize_dwarf.h). One thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_DWARF_NAME_H
#define PERFREC_COLLECTOR_NAMES_DWARF_NAME_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

/* Functions, namespaces and classes of a unit. Initialize to zero. */
struct dwarf_scopes {
	struct dwarf_scope *list; /* by address of the entry */
	size_t count, room;
};

/* Adds @die in the scope @parent (0: the unit). Call in the order of addresses.
 * Returns the number of the scope, or 0 if out of memory; then its children
 * seem to lie in the unit. */
size_t dwarf_scopes_add(struct dwarf_scopes *scopes, const Dwarf_Die *die,
			size_t parent);
void dwarf_scopes_release(struct dwarf_scopes *scopes);

/* Moves @die to its next sibling. Returns false at the end, and if that one
 * precedes @die, as in a hostile file. */
bool dwarf_next_sibling(Dwarf_Die *die);
/* Follows the references of @die to its declaration. */
void dwarf_declaration(const Dwarf_Die *die, Dwarf_Die *out);
/* Like a demangled name; lambdas are named by line and column. NULL: not in
 * @scopes, or out of memory. Valid until dwarf_scopes_release(). */
const char *dwarf_scoped_name(struct dwarf_scopes *scopes,
			      Dwarf_Die *declaration);

#endif
