/* SPDX-License-Identifier: Apache-2.0
 *
 * code_calls - decides which slots of the global offset table can lead to a
 * thunk instead of the function that a file calls through them (--calls-to).
 *
 * A slot is taken only if all instructions that refer to it call or jump through
 * it. Other instructions use the function's address, which must stay the same in
 * all files.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_CALLS_H
#define PERFREC_COLLECTOR_CODE_CODE_CALLS_H

#include <stdbool.h>

struct code_file;
struct code_found;

/* Adds a use to @found for each slot of @file that can be taken and, if @blames,
 * a blame for each other one. Reads all code of @file. Returns 0 or -ENOMEM. */
int code_calls_find(const struct code_file *file, struct code_found *found,
		    bool blames);

#endif
