/* SPDX-License-Identifier: Apache-2.0
 *
 * hostile SOCKET ATTACK [ARGUMENT...] - a program that attacks the collector at
 * SOCKET and the programs that it records. Except for storm and scribble, an
 * attack prints "ready" when it has its effect, and continues until the end of
 * stdin. Status 77: this machine does not permit it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/attacks/client.h"

static const struct attack {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *arguments, *what;
} g_attacks[] = {
	{ "silent", attack_silent, "N [again]",
	  "N connections that say nothing; again: those that are hung up on\n"
	  "are replaced" },
	{ "storm", attack_storm, "N",
	  "N connections, one after another, each with a message of random\n"
	  "form" },
	{ "linger", attack_linger, "N",
	  "N TCP sockets whose close takes an hour, to both sockets" },
	{ "hellos", attack_hellos, "N",
	  "N processes that begin to be recorded and end, again and again" },
	{ "ctl", attack_ctl, "N",
	  "N processes that ask for lists, flushes and figures, again and\n"
	  "again" },
	{ "mappings", attack_mappings, "N",
	  "N processes with very many mappings that say hello again and "
	  "again" },
	{ "children", attack_children, "N",
	  "N processes with very many mappings that say again and again that\n"
	  "they are children of a program" },
	{ "arenas", attack_arenas, "",
	  "arenas that are as large as may be, until no more is let in" },
	{ "forks", attack_forks, "N",
	  "a program with N children that have recorded, and stay" },
	{ "scribble", attack_scribble, "N SEED",
	  "N programs with arenas that are good at hello, then random bytes" },
	{ "claim", attack_claim, "N",
	  "claims again and again that its threads are those of N programs\n"
	  "with very many mappings" },
	{ "fill", attack_fill, "N",
	  "N threads that record as fast as they can" },
	{ "threads", attack_threads, "",
	  "threads without end: no slot is ever claimed by the same one" },
	{ "slices", attack_slices, "N",
	  "N asynchronous slices that nobody ends, with texts" },
	{ "names", attack_names, "",
	  "8 MiB of names, then others as another program, and so on" },
	{ "loads", attack_loads, "",
	  "says that it loads files: pipes, devices, memory of others" },
	{ "tables", attack_tables, "FOLDER N",
	  "maps N files with large symbol tables, which it makes, and calls\n"
	  "what is in them" },
	{ "mangled", attack_mangled, "FOLDER",
	  "the same with names that are hard to demangle" },
	{ "fault", attack_fault, "",
	  "whoever reads its arguments or its code waits (userfaultfd)" },
	{ "lease", attack_lease, "N",
	  "N hellos with memory of which it has a lease: whoever opens that\n"
	  "to write waits for 45 s" },
	{ "becomes", attack_becomes, "PROGRAM [ARGUMENT...]",
	  "says hello, and is PROGRAM before anybody has answered" },
	{ "held", attack_held, "FILE",
	  "sends FILE in each place of a descriptor; of a file system that\n"
	  "does not answer, whoever asks or closes it waits" },
};

#define ATTACKS (sizeof(g_attacks) / sizeof(g_attacks[0]))

static int usage(void)
{
	fputs("usage: hostile SOCKET ATTACK [ARGUMENT...]\n", stderr);
	for (size_t i = 0; i < ATTACKS; i++)
		fprintf(stderr, "%s %s\n%s\n", g_attacks[i].name,
			g_attacks[i].arguments, g_attacks[i].what);
	return 2;
}

int main(int argc, char **argv)
{
	struct rlimit files;

	if (argc < 3)
		return usage();
	client_set_socket(argv[1]);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < ATTACKS; i++)
		if (!strcmp(argv[2], g_attacks[i].name))
			return g_attacks[i].run(argc - 3, argv + 3);
	return usage();
}
