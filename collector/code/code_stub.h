/* SPDX-License-Identifier: Apache-2.0
 *
 * code_stub - the stubs through which a file calls other files (the PLT). Pure; any
 * thread.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_STUB_H
#define PERFREC_COLLECTOR_CODE_CODE_STUB_H

#include <stdbool.h>
#include <stdint.h>

struct code_file;

/* Returns true for an entry of the PLT, with the address of its slot: [endbr64]
 * [mov $number, %r11d] [bnd] jmp *slot(%rip). mold writes the mov. */
bool code_file_stub(const struct code_file *file, uint64_t vaddr,
		    uint64_t *slot);

#endif
