/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_pprof - reads the input as a profile, compressed or not. An accepted
 * profile must be consistent.
 */
#include <string.h>

#include "collector/read/pprof_read.h"
#include "tests/fuzz/fuzz.h"

static volatile size_t g_sink;

static void check_names(const struct pprof *pprof)
{
	fuzz_must(pprof->type_count <= PPROF_VALUES_MAX, "too many types");
	for (size_t i = 0; i < pprof->type_count; i++)
		g_sink += strlen(pprof->type[i].type) +
			  strlen(pprof->type[i].unit);
	for (size_t i = 0; i < pprof->comment_count; i++)
		g_sink += strlen(pprof->comments[i]);
	for (size_t i = 0; i < pprof->function_count; i++)
		g_sink += strlen(pprof->functions[i].name) +
			  strlen(pprof->functions[i].file);
}

static void check_locations(const struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->location_count; i++) {
		const struct pprof_location *one = &pprof->locations[i];

		g_sink += strlen(one->module);
		for (uint32_t line = 0; line < one->line_count; line++)
			fuzz_must(one->lines[line].function <
					  pprof->function_count,
				  "a line has no function");
	}
}

static void check_samples(const struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->sample_count; i++)
		for (uint32_t at = 0; at < pprof->samples[i].depth; at++)
			fuzz_must(pprof->samples[i].stack[at] <
					  pprof->location_count,
				  "a stack has an unknown location");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct pprof *pprof = NULL;
	char name[16];

	snprintf(name, sizeof(name), "%d", fd);
	if (!pprof_read("/proc/self/fd", name, &pprof)) {
		check_names(pprof);
		check_locations(pprof);
		check_samples(pprof);
	}
	pprof_free(&pprof);
	close(fd);
	return 0;
}
