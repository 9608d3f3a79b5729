/* SPDX-License-Identifier: Apache-2.0
 *
 * code_returns - which functions never return. Code behind a call of one is
 * reached from elsewhere, with other registers.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_RETURNS_H
#define PERFREC_COLLECTOR_CODE_CODE_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/code/code_group.h"

enum code_returns { CODE_RETURNS_UNKNOWN, CODE_RETURNS, CODE_RETURNS_NEVER };

/* Whether the function at @address never returns, for certain. @scratch is
 * overwritten; its file and pieces say where to look. False also without
 * memory. */
bool code_returns_never(struct code_group *scratch, uint64_t address);
/* The same for a call of what the slot at @address says. */
bool code_returns_never_slot(const struct code_file *file, uint64_t address);
/* Whether the code at @address does nothing: [endbr64] ret. */
bool code_returns_at_once(const struct code_file *file, uint64_t address);

#endif
