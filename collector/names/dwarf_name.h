/* SPDX-License-Identifier: Apache-2.0
 *
 * dwarf_name - names of functions in C++ that have no mangled name in the debug
 * information: those of unnamed namespaces, local classes and lambdas. For
 * perfrec-symbolize only, as symbolize_dwarf.h says. One thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_DWARF_NAME_H
#define PERFREC_COLLECTOR_NAMES_DWARF_NAME_H

#include <elfutils/libdw.h>
#include <stddef.h>

/* The functions of a unit, and their namespaces and classes. All zero: none. */
struct dwarf_scopes {
	struct dwarf_scope *list; /* by the place of @die */
	size_t count, room;
};

/* Adds @die, which lies in the scope @parent (0: in the unit). Entries come in
 * the order of their addresses. Returns the number of the new scope. 0: there
 * is no memory, and entries in it seem to lie in the unit. */
size_t dwarf_scopes_add(struct dwarf_scopes *scopes, const Dwarf_Die *die,
			size_t parent);
void dwarf_scopes_release(struct dwarf_scopes *scopes);

/* Follows the references of @die to the entry that declares it, *@out. */
void dwarf_declaration(const Dwarf_Die *die, Dwarf_Die *out);
/*
 * The name of the function that @declaration declares, with its scopes and the
 * types of its parameters, like a demangled name. A lambda is called by the
 * line and the column where it begins. @scopes are those of the unit of
 * @declaration. NULL: it is not in them, or there is no memory. The name lives
 * as long as @scopes.
 */
const char *dwarf_scoped_name(struct dwarf_scopes *scopes,
			      Dwarf_Die *declaration);

#endif
