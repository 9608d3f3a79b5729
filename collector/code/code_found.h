/* SPDX-License-Identifier: Apache-2.0
 *
 * code_found - what following the code has found so far, in any order, and with
 * repetitions: a site may be reached from several functions.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_FOUND_H
#define PERFREC_COLLECTOR_CODE_CODE_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"

struct code_use { /* a site, and a function that it may stand for */
	uint64_t site;
	uint64_t address, slot; /* as in struct code_function */
	uint8_t form, length;
	bool is_exit, entry_build, r11_live;
	bool is_known; /* else it may stand for any function */
};

struct code_blame { /* a function that cannot be changed */
	uint64_t address, slot; /* need not be a function at all */
	uint64_t at; /* the reason is here */
	uint8_t refusal; /* enum code_refusal */
	/* It is one, of an entry build, and listed even if it has no sites. */
	bool is_function;
};

struct code_found {
	struct budget *budget;
	struct code_use *uses;
	size_t use_count, use_room;
	struct code_blame *blames;
	size_t blame_count, blame_room;
	struct code_blame all; /* its refusal, unless 0, is that of all */
	uint64_t decoded; /* instructions */
};

/* 0 or -ENOMEM. */
int code_found_use(struct code_found *found, const struct code_use *use);
int code_found_blame(struct code_found *found, const struct code_blame *blame);
void code_found_release(struct code_found *found);

#endif
