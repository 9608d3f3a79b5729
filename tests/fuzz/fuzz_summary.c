/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_summary - reads the input as a summary.json. An accepted summary is
 * printed and written; the result must be accepted again.
 */
#include <string.h>

#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "collector/show/summary_print.h"
#include "tests/fuzz/fuzz.h"

/* The summary.json of g_folder is a link to this descriptor. */
#define INPUT_FD 900
#define INPUT_LINK "/proc/self/fd/900"

static char g_folder[] = "/tmp/perfrec-fuzz.XXXXXX";
static char g_link[sizeof(g_folder) + sizeof(SUMMARY_NAME)];

static void remove_folder(void)
{
	unlink(g_link);
	rmdir(g_folder);
}

static void make_folder(void)
{
	if (g_link[0])
		return;
	fuzz_must(mkdtemp(g_folder), g_folder);
	snprintf(g_link, sizeof(g_link), "%s/" SUMMARY_NAME, g_folder);
	fuzz_must(!symlink(INPUT_LINK, g_link), g_link);
	atexit(remove_folder);
}

static void set_summary(const void *data, size_t size)
{
	int fd = fuzz_file(data, size);

	fuzz_must(dup2(fd, INPUT_FD) == INPUT_FD, "dup2");
	close(fd);
}

/* Returns the JSON text, which the caller frees. */
static char *write_again(const struct summary *summary, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	fuzz_must(out && !summary_write_json(summary, 0, out) && !fclose(out),
		  "cannot write");
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct summary *summary = NULL, *again = NULL;
	size_t bytes;
	char *text;

	make_folder();
	set_summary(data, size);
	if (!summary_read(g_folder, &summary)) {
		text = write_again(summary, &bytes);
		set_summary(text, bytes);
		fuzz_must(!summary_read(g_folder, &again) &&
				  again->function_count ==
					  summary->function_count,
			  "the written summary is refused");
		free(text);
	}
	summary_free(&summary);
	summary_free(&again);
	close(INPUT_FD);
	return 0;
}
