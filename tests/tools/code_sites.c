/* SPDX-License-Identifier: Apache-2.0
 *
 * code_sites [-q] FILE - prints the analysis of an ELF file by collector/code:
 *
 *	site ADDRESS FORM enter|exit FUNCTION...
 *	function ADDRESS SLOT SITES REFUSAL [at ADDRESS]
 *	text BYTES decoded INSTRUCTIONS ms MILLISECONDS
 *	functions N sites N refused N unknown-sites N merged N
 *
 * With -q only the last two lines, and refused functions.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/code/code_plan.h"

static void print_site(const struct code_plan *plan,
		       const struct code_site *site)
{
	printf("site %" PRIx64 " %s %s", site->address,
	       code_form_name(site->form), site->is_exit ? "exit" : "enter");
	for (uint32_t i = 0; i < site->count; i++)
		printf(" %" PRIx64,
		       plan->functions[plan->site_functions[site->first + i]]
			       .address);
	puts(site->r11_live ? " r11" : "");
}

static void print_function(const struct code_function *function)
{
	printf("function %" PRIx64 " %" PRIx64 " %u ", function->address,
	       function->slot, function->count);
	if (function->refused)
		printf("refused %s at %" PRIx64 "\n",
		       code_refusal_text(function->refused),
		       function->refused_at);
	else
		puts("good");
}

static void print(const struct code_plan *plan, bool quiet, double ms)
{
	size_t refused = 0, merged = 0;

	for (size_t i = 0; i < plan->site_count; i++) {
		merged += plan->sites[i].count > 1;
		if (!quiet)
			print_site(plan, &plan->sites[i]);
	}
	for (size_t i = 0; i < plan->function_count; i++) {
		refused += plan->functions[i].refused != 0;
		if (!quiet || plan->functions[i].refused)
			print_function(&plan->functions[i]);
	}
	printf("text %" PRIu64 " decoded %" PRIu64 " ms %.1f\n",
	       plan->text_bytes, plan->decoded, ms);
	printf("functions %zu sites %zu refused %zu unknown-sites %u merged "
	       "%zu\n",
	       plan->function_count, plan->site_count, refused,
	       plan->unknown_sites, merged);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	bool quiet = argc == 3 && !strcmp(argv[1], "-q");
	struct code_plan *plan = NULL;
	const char *why;
	double start;
	int fd;

	if (argc != 2 + quiet) {
		fputs("usage: code_sites [-q] FILE\n", stderr);
		return 2;
	}
	fd = open(argv[1 + quiet], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1 + quiet]);
		return 2;
	}
	start = now_ms();
	if (code_plan_new(fd, NULL, &plan, &why)) {
		printf("refused: %s\n", why);
		close(fd);
		return 1;
	}
	close(fd);
	print(plan, quiet, now_ms() - start);
	code_plan_free(&plan);
	return 0;
}
