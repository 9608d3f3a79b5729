/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize - runs perfrec-symbolize, which reads debug information, and checks
 * its answers. Waits for seconds at worst: call it on the jobs thread. Any
 * number of calls may run at once.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_H

#include <stddef.h>
#include <stdint.h>

struct call_layout;

struct symbolize_frame {
	const char *function; /* mangled, or "" */
	const char *file; /* or "" */
	uint32_t line, start_line; /* 0: unknown */
};

/* Called per frame, innermost first, for each address in order. Strings are
 * valid during the call: any bytes, SYMBOLIZE_TEXT_MAX at most. */
typedef void symbolize_visit(void *context, uint64_t vaddr,
			     const struct symbolize_frame *frame);

struct symbolize_request {
	int elf_fd;
	int alt_fd; /* dwz file; -1: none */
	int root_fd; /* root of its paths; -1: ours */
	const uint64_t *vaddr; /* sorted, unique */
	size_t count;
	unsigned int seconds;
};

#define SYMBOLIZE_WHY_BYTES 256

/* Calls @visit for each frame of @request, also before an error. Returns 0;
 * -ENOENT: no perfrec-symbolize; or another -errno with @why. */
int symbolize_lines(const struct symbolize_request *request,
		    symbolize_visit *visit, void *context,
		    char why[SYMBOLIZE_WHY_BYTES]);
/* Called for each address in order. @layout is NULL if no function is known to
 * start there. The callee may take it over, and makes it empty then. */
typedef void symbolize_visit_call(void *context, uint64_t vaddr,
				  struct call_layout *layout);
/* As symbolize_lines() for the arguments of the functions that start at the
 * addresses. */
int symbolize_calls(const struct symbolize_request *request,
		    symbolize_visit_call *visit, void *context,
		    char why[SYMBOLIZE_WHY_BYTES]);
/* Fetches the debug file of @build_id from $DEBUGINFOD_URLS. Returns 0, or
 * -errno with @why. The caller closes *@out. */
int symbolize_fetch(const char *build_id, unsigned int seconds, int *out,
		    char why[SYMBOLIZE_WHY_BYTES]);

#endif
