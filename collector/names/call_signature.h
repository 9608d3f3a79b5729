/* SPDX-License-Identifier: Apache-2.0
 *
 * call_signature - parses the value of --args:
 *
 *   PATTERN                   parse_*; types are those of debug information
 *   PATTERN(TYPES)            f(int, path:str)
 *   PATTERN(TYPES)->TYPE      f(int, path:str)->double
 *
 * PATTERN as in name_pattern.h. TYPES are separated by commas, each perhaps with
 * a name and a colon in front.
 */
#ifndef PERFREC_COLLECTOR_NAMES_CALL_SIGNATURE_H
#define PERFREC_COLLECTOR_NAMES_CALL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/names/call_layout.h"

struct call_signature {
	char *pattern; /* owned */
	bool has_types;
	struct call_layout layout; /* if it has types */
};

#define CALL_SIGNATURE_WHY_BYTES 256

/* Reads @text. Returns 0; -ENOMEM; or -EINVAL, with a reason for the user in
 * @why. The caller ends *@out with call_signature_release(). Any thread. */
int call_signature_parse(const char *text, struct call_signature *out,
			 char why[CALL_SIGNATURE_WHY_BYTES]);
void call_signature_release(struct call_signature *signature);

#endif
