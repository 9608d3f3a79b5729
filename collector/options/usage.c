/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/usage.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/base/log.h"

int usage_bad_option(int c, char *const *argv, const char *command)
{
	char letter[] = { '-', (char)optopt, '\0' };
	const char *option = argv[optind - 1];

	if (optopt && optopt <= UINT8_MAX)
		option = letter;
	if (c == ':')
		log_err("option '%s' needs a value; see %s --help", option,
			command);
	else
		log_err("unknown option '%s'; see %s --help", option, command);
	return USAGE_WRONG;
}
