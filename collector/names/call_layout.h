/* SPDX-License-Identifier: Apache-2.0
 *
 * call_layout - what the recorded words of a call mean (--args): the layouts of
 * functions, by debug information (symbolize.h) or by a signature
 * (call_signature.h), and their numbers in EXT_WORDS (record_ext.h).
 */
#ifndef PERFREC_COLLECTOR_NAMES_CALL_LAYOUT_H
#define PERFREC_COLLECTOR_NAMES_CALL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/function_shm.h"

enum call_value_kind {
	CALL_VALUE_NONE, /* no result */
	CALL_VALUE_UNREAD, /* of a type, or at a place, that is not read */
	CALL_VALUE_INT,
	CALL_VALUE_UINT,
	CALL_VALUE_BOOL,
	CALL_VALUE_ENUM,
	CALL_VALUE_FLOAT, /* of 4 or 8 bytes */
	CALL_VALUE_POINTER,
	CALL_VALUE_CHARS, /* char * */
	CALL_VALUE_STRING, /* the address of a std::string */
	CALL_VALUE_VIEW, /* std::string_view: the length; the address is in the
			  * next word */
	CALL_VALUE_KINDS,
};

/* Arguments of calls in a trace are named "args.NAME", results "ret". By the
 * prefix Perfetto's tools group them. */
#define CALL_ARGUMENT_PREFIX "args."
#define CALL_ARGUMENT_PREFIX_BYTES (sizeof(CALL_ARGUMENT_PREFIX) - 1)
#define CALL_RESULT "ret"

#define CALL_NAME_BYTES 64 /* of a value or an enumerator, with the NUL */
#define CALL_VALUES_MAX 16
#define CALL_ENUMERATORS_MAX 512 /* of a type */

struct call_enumerator {
	int64_t value;
	char name[CALL_NAME_BYTES];
};

struct call_value {
	uint8_t kind; /* enum call_value_kind */
	uint8_t bytes; /* of integers, enums and floats: 1, 2, 4 or 8 */
	uint8_t word; /* index, see struct thunk_words; not of UNREAD */
	char name[CALL_NAME_BYTES];
	struct call_enumerator *names; /* owned; of an enum */
	uint32_t name_count;
};

struct call_layout {
	uint64_t function; /* its address */
	uint32_t count;
	uint32_t words; /* that an entry records; call_layout_settle() */
	struct call_value result; /* without a name */
	struct call_value value[CALL_VALUES_MAX]; /* arguments, in order */
};

/* Frees what @layout owns, and makes it empty. */
void call_layout_release(struct call_layout *layout);
/* Copies @from. Returns false without memory; *@to is empty then. */
bool call_layout_copy(const struct call_layout *from, struct call_layout *to);
/* Appends a value to @layout; NULL: there are CALL_VALUES_MAX. */
struct call_value *call_layout_add(struct call_layout *layout);

/* Makes the words that the program shall record, and decides which values are
 * read. @texts: texts are read; otherwise their values are pointers. @number is
 * the layout's. Returns false if there is nothing: no argument and no result. */
bool call_layout_settle(struct call_layout *layout, bool texts, uint32_t number,
			struct thunk_words *out);

/* Returns the name of the enumerator with @value, or NULL. */
const char *call_value_enumerator(const struct call_value *value,
				  uint64_t bits);
/* Returns @bits, a register or word, as 64 bits of the type of @value. */
uint64_t call_value_extend(const struct call_value *value, uint64_t bits);

/* --- places --------------------------------------------------------------- */

/* The next free places of arguments (System V ABI, x86-64). */
struct call_places {
	uint32_t registers, vectors, stack;
};

#define CALL_PLACE_NONE 255u

/* Returns the word of the next argument of @words 8-byte words (1 or 2) in
 * general registers, or on the stack; CALL_PLACE_NONE if that is not
 * recorded. */
uint32_t call_places_integer(struct call_places *places, uint32_t words);
/* The same for one floating-point number. */
uint32_t call_places_float(struct call_places *places);

/* --- numbers -------------------------------------------------------------- */

struct call_layouts; /* of an arena */

/* Returns 0 or -ENOMEM. */
int call_layouts_new(struct call_layouts **out);
void call_layouts_free(struct call_layouts **layouts);
/* Returns the number of the next call_layouts_add(), or 0 if there are too
 * many. One thread at a time. */
uint32_t call_layouts_next(const struct call_layouts *layouts);
/* Adds @layout, which is empty afterwards. Returns 0 or -ENOMEM. One thread at a
 * time. */
int call_layouts_add(struct call_layouts *layouts, struct call_layout *layout);
/* Returns the layout, valid until call_layouts_free(), or NULL. @number may be
 * anything. Any thread. */
const struct call_layout *call_layouts_find(const struct call_layouts *layouts,
					    uint32_t number);

#endif
