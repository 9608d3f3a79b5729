/* SPDX-License-Identifier: Apache-2.0
 *
 * tells_names COUNT LENGTH ROUNDS [wait] - annotates with COUNT names of LENGTH
 * characters that no earlier round had, then does it again by exec(), ROUNDS
 * times in all. With "wait" the last round waits for the end of stdin.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfrec.h"

#define LENGTH_MAX 1023

struct told {
	struct perfrec_site site;
	char name[LENGTH_MAX + 1], file[LENGTH_MAX + 1];
	char function[LENGTH_MAX + 1];
};

static void set_text(char *text, const char *what, int round, int number,
		     size_t length)
{
	int begun =
		snprintf(text, LENGTH_MAX, "%s %d %d ", what, round, number);

	while ((size_t)begun < length)
		text[begun++] = 'x';
	text[begun] = '\0';
}

__attribute__((noinline)) void tell(struct told *told)
{
	if (perfrec_on_(&told->site))
		perfrec_shim_()->instant(&told->site, NULL, 0);
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[1]) : 0;
	size_t length = argc > 3 ? (size_t)atoi(argv[2]) : 0;
	int rounds = argc > 3 ? atoi(argv[3]) : 0;
	struct told *told = calloc((size_t)count + 1, sizeof(*told));
	char left[16];

	if (!told || length > LENGTH_MAX)
		return 1;
	for (int i = 0; i < count; i++) {
		struct perfrec_site site = PERFREC_SITE_INIT_(
			1, 0, told[i].name, "app", told[i].function, NULL, 0);

		told[i].site = site;
		told[i].site.file = told[i].file;
		set_text(told[i].name, "name", rounds, i, length);
		set_text(told[i].file, "file", rounds, i, length);
		set_text(told[i].function, "function", rounds, i, length);
		tell(&told[i]);
	}
	if (rounds < 2) {
		while (argc > 4 && getchar() != EOF)
			;
		return 7;
	}
	snprintf(left, sizeof(left), "%d", rounds - 1);
	argv[3] = left;
	execv(argv[0], argv);
	return 1;
}
