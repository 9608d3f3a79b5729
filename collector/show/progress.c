/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/progress.h"

#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "shared/compiler.h"

#define FIRST_NS UINT64_C(1000000000)
#define NEXT_NS UINT64_C(100000000)

bool progress_has_terminal(void)
{
	return isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

bool progress_fits(FILE *out)
{
	struct stat status;

	if (fstat(fileno(out), &status))
		return false;
	return S_ISREG(status.st_mode) ||
	       (S_ISCHR(status.st_mode) && !isatty(fileno(out)));
}

void progress_begin(struct progress *progress, const char *what, bool wanted)
{
	*progress = (struct progress){
		.what = what,
		.next_ns = clock_monotonic_ns() + FIRST_NS,
		.wanted = wanted && progress_has_terminal(),
	};
}

void progress_tell(void *progress, uint64_t at, uint64_t size)
{
	struct progress *self = progress;
	uint64_t now;

	if (!self->wanted)
		return;
	now = clock_monotonic_ns();
	if (now < self->next_ns)
		return;
	self->next_ns = now + NEXT_NS;
	self->shown = true;
	/* @at may exceed @size, because a file may have grown. The cursor stays
	 * at the first column, so the next message overwrites the line. */
	fprintf(stderr, "\033[Kperfrec: %s: %u %%\r", self->what,
		(unsigned int)((double)MIN(at, size) * 100 /
			       (double)MAX(size, 1u)));
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->shown && progress_has_terminal())
		progress_clear_line();
	progress->shown = false;
	progress->wanted = false;
}

void progress_clear_line(void)
{
	fputs("\r\033[K", stderr);
	fflush(stderr);
}
