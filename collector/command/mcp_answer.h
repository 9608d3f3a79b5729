/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_answer - cuts what a command printed to the size of an answer to an
 * agent. Any thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_MCP_ANSWER_H
#define PERFREC_COLLECTOR_COMMAND_MCP_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of an answer, about 4,000 tokens; of these for messages. */
#define MCP_ANSWER_BYTES 16000
#define MCP_MESSAGES_BYTES 1000
#define MCP_TEXT_BYTES (MCP_ANSWER_BYTES - MCP_MESSAGES_BYTES)
/* Elements of a list in an answer. */
#define MCP_ITEMS_MAX 1000

/*
 * Returns @value as a compact JSON text of at most MCP_TEXT_BYTES. It has the
 * first elements of each list, at most @items and MCP_ITEMS_MAX. If some are
 * missing, a member KEY_more beside the list says how many, and to narrow by
 * @narrow. Long texts end with "...". The answer lacks `durations`, the
 * histograms of functions. Returns NULL without memory, or if even one element
 * of each list is too much. The caller frees the text.
 */
char *mcp_answer_json(const json_t *value, size_t items, const char *narrow);

/* Returns the first lines of the @count bytes at @text in at most
 * MCP_TEXT_BYTES. Long lines end with "...". If lines are missing, the last
 * line says how many, and to narrow by @narrow. @more: @text itself is cut, so
 * the number is not known. Bytes that are not UTF-8 become '?'. Returns NULL
 * without memory. The caller frees the text. */
char *mcp_answer_text(const char *text, size_t count, bool more,
		      const char *narrow);

#endif
