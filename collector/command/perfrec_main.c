/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "collector/command/cmd_cc.h"
#include "collector/command/cmd_ctl.h"
#include "collector/command/cmd_record.h"
#include "collector/command/cmd_report.h"
#include "collector/base/log.h"
#include "collector/options/usage.h"
#include "shared/compiler.h"

static const char usage[] =
	"usage: perfrec COMMAND [options]\n"
	"\n"
	"  perfrec record [options] -- COMMAND [ARGUMENT...]\n"
	"                      run a program and record it\n"
	"  perfrec report [options] [DIR]\n"
	"                      print the summary of a recording again\n"
	"  perfrec ctl [options] list|pause|resume|flush|stop [TARGET]\n"
	"                      control a recording that goes on\n"
	"  perfrec cc [options] COMPILER [ARGUMENT...]\n"
	"  perfrec c++ [options] COMPILER [ARGUMENT...]\n"
	"                      compile a program that is to be recorded\n"
	"  perfrec --version   print the version\n"
	"\n"
	"perfrec COMMAND --help lists the options; perfrec(1) explains them.\n";

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "record", cmd_record }, { "report", cmd_report }, { "ctl", cmd_ctl },
	{ "cc", cmd_cc },	  { "c++", cmd_cc },
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	log_init("perfrec", LOG_INFO);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (strcmp(name, "--help") == 0) {
		fputs(usage, stdout);
		return USAGE_OK;
	}
	if (strcmp(name, "--version") == 0) {
		puts("perfrec " PERFREC_VERSION);
		return USAGE_OK;
	}
	if (!name[0])
		fputs(usage, stderr);
	else
		log_err("unknown command '%s'; see perfrec --help", name);
	return USAGE_WRONG;
}
