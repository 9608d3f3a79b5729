/* SPDX-License-Identifier: Apache-2.0
 *
 * say - the shim's only way to speak: one line on stderr, at start.
 */
#ifndef PERFREC_PRELOAD_SAY_H
#define PERFREC_PRELOAD_SAY_H

/* Write "perfrec: ", the three texts and a newline, in one piece. */
void say(const char *what, const char *why, const char *detail);

#endif
