/* SPDX-License-Identifier: Apache-2.0
 *
 * json_text - texts of any bytes as JSON, which has to be UTF-8.
 */
#ifndef PERFREC_COLLECTOR_BASE_JSON_TEXT_H
#define PERFREC_COLLECTOR_BASE_JSON_TEXT_H

#include <jansson.h>

/* A new JSON string of @text, with '?' for each byte that is no UTF-8. The
 * caller owns it; NULL: no memory. Any thread. */
json_t *json_text(const char *text);

#endif
