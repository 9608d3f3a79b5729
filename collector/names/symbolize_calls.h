/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_calls - the arguments of a function by its debug information: where
 * they are when it is entered, and their types. For perfrec-symbolize only
 * (symbolize_dwarf.h). One thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_CALLS_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_CALLS_H

#include <elfutils/libdw.h>

struct call_layout;

/* Describes @function, a DW_TAG_subprogram that is entered at @entry. *@out is
 * empty before, and the caller releases it. An argument whose place or type is
 * not certain is CALL_VALUE_UNREAD. */
void dwarf_call_layout(Dwarf_Die *function, Dwarf_Addr entry,
		       struct call_layout *out);

#endif
