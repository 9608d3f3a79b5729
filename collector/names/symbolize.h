/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize - runs perfrec-symbolize, the program that reads debug information,
 * and checks what it answers. These functions wait for a process, for seconds
 * at worst: call them on the jobs thread. Any number of them may run at once.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_H

#include <stddef.h>
#include <stdint.h>

struct symbolize_frame {
	const char *function; /* as the compiler named it: mangled; or "" */
	const char *file; /* or "" */
	uint32_t line, start_line; /* 0: unknown */
};

/* Called for each frame, innermost first, of each address in turn. Strings are
 * valid during the call, at most SYMBOLIZE_TEXT_MAX bytes, any bytes. */
typedef void symbolize_visit(void *context, uint64_t vaddr,
			     const struct symbolize_frame *frame);

struct symbolize_request {
	int elf_fd; /* the file with the debug information */
	int alt_fd; /* what dwz moved out of it; -1: nothing */
	int root_fd; /* where paths in it begin; -1: our own root */
	const uint64_t *vaddr; /* ascending, each but once */
	size_t count;
	unsigned int seconds; /* that it may take in all */
};

#define SYMBOLIZE_WHY_BYTES 256

/*
 * Asks for all addresses of @request, and calls @visit with @context for each
 * frame. Returns 0; -ENOENT: perfrec-symbolize is not there; or another -errno.
 * A reason for a person is then in @why, cut to fit. Frames that came before an
 * error have been visited.
 */
int symbolize_lines(const struct symbolize_request *request,
		    symbolize_visit *visit, void *context,
		    char why[SYMBOLIZE_WHY_BYTES]);
/*
 * Asks the servers of $DEBUGINFOD_URLS for the debug file of @build_id, for
 * @seconds at most. Returns 0 with a descriptor in *@out, which the caller
 * closes; or -errno with a reason in @why.
 */
int symbolize_fetch(const char *build_id, unsigned int seconds, int *out,
		    char why[SYMBOLIZE_WHY_BYTES]);

#endif
