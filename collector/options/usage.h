/* SPDX-License-Identifier: Apache-2.0
 *
 * usage - what every command line of perfrec answers in the same words.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_USAGE_H
#define PERFREC_COLLECTOR_OPTIONS_USAGE_H

/* Exit statuses of perfrec itself. */
enum usage_exit { USAGE_OK = 0, USAGE_FAILED = 1, USAGE_WRONG = 2 };

/* What a parser of options returns when there is something to do. */
#define USAGE_GO_ON (-1)

/*
 * After getopt_long() returned @c, '?' or ':', for @argv of @command
 * ("perfrec record"): one line that names the option. The option string must
 * start with ':' (or "+:"), and values of long options lie above 255.
 * Returns USAGE_WRONG.
 */
int usage_bad_option(int c, char *const *argv, const char *command);

#endif
