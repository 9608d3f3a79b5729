/* SPDX-License-Identifier: Apache-2.0
 *
 * code_r11 - where r11 has a value that somebody needs. Thunks of entry builds
 * change r11, which no usual call keeps. But thunks of retpolines get the
 * address in it, and some calling conventions an argument.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_R11_H
#define PERFREC_COLLECTOR_CODE_CODE_R11_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_group.h"

enum code_r11 { CODE_R11_UNKNOWN, CODE_R11_FREE, CODE_R11_NEEDED };

/* Whether the function of @group, which is built, needs the value that r11 has
 * where the function begins, or jumps to a function that does. Overwrites
 * @scratch, whose file and pieces say where to look. True also without memory.
 */
bool code_r11_enters(struct code_group *group, struct code_group *scratch);
/* The same for the function at @address; false if no function is known there.
 */
bool code_r11_enters_at(struct code_group *scratch, uint64_t address);
/* Whether instruction @number of @member leaves with a value that was put into
 * r11 in the instructions right before it, since the last call. */
bool code_r11_given(const struct code_group *group,
		    const struct code_member *member, size_t number);

#endif
