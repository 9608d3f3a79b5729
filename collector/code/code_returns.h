/* SPDX-License-Identifier: Apache-2.0
 *
 * code_returns - finds functions that never return. Code after a call to such a
 * function is reached from elsewhere, with other registers.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_RETURNS_H
#define PERFREC_COLLECTOR_CODE_CODE_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/code/code_group.h"

enum code_returns { CODE_RETURNS_UNKNOWN, CODE_RETURNS, CODE_RETURNS_NEVER };

/* Returns true if that is certain. Overwrites @scratch. Also false if
 * out of memory. */
bool code_returns_never(struct code_group *scratch, uint64_t address);
bool code_returns_never_slot(const struct code_file *file, uint64_t address);
/* Returns true for [endbr64] ret. */
bool code_returns_at_once(const struct code_file *file, uint64_t address);

#endif
