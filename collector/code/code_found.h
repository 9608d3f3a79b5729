/* SPDX-License-Identifier: Apache-2.0
 *
 * code_found - the findings so far, unsorted and with duplicates, since several
 * functions may reach the same site.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_FOUND_H
#define PERFREC_COLLECTOR_CODE_CODE_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"

struct code_use { /* a site and one function it may report */
	uint64_t site;
	uint64_t address, slot; /* as in struct code_function */
	uint32_t name;
	uint8_t form, length;
	bool is_exit, entry_build, r11_live;
	bool is_known; /* false: any function is possible */
};

struct code_blame { /* must not be changed */
	uint64_t address, slot;
	uint64_t at; /* address that caused the refusal */
	uint32_t name; /* as in struct code_function */
	uint8_t refusal; /* enum code_refusal */
	/* A function of an entry build, or a slot: listed even without sites. */
	bool is_function;
};

struct code_found {
	struct budget *budget;
	struct code_use *uses;
	size_t use_count, use_room;
	struct code_blame *blames;
	size_t blame_count, blame_room;
	struct code_blame all; /* with a refusal: applies to all functions */
	uint64_t decoded;
};

int code_found_use(struct code_found *found, const struct code_use *use);
int code_found_blame(struct code_found *found, const struct code_blame *blame);
void code_found_release(struct code_found *found);

#endif
