/* SPDX-License-Identifier: Apache-2.0
 *
 * code_r11 - finds where r11 is needed. Thunks of entry builds overwrite it,
 * which ordinary calls allow. Retpoline thunks take an address in r11, and some
 * calling conventions an argument.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_R11_H
#define PERFREC_COLLECTOR_CODE_CODE_R11_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_group.h"

enum code_r11 { CODE_R11_UNKNOWN, CODE_R11_FREE, CODE_R11_NEEDED };

/* Returns true if the function of @group uses r11 before setting it, or jumps
 * to a function that does. Overwrites @scratch. Also true if out of memory. */
bool code_r11_enters(struct code_group *group, struct code_group *scratch);
/* As code_r11_enters(). Returns false if @address is no known function. */
bool code_r11_enters_at(struct code_group *scratch, uint64_t address);
/* Returns true if r11 was set after the last call before @number. */
bool code_r11_given(const struct code_group *group,
		    const struct code_member *member, size_t number);

#endif
