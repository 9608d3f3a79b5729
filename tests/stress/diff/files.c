/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes lines to a file, reads and splits them: system calls and text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned int fields;

__attribute__((noinline)) static void write_line(FILE *out, int i)
{
	fprintf(out, "%d,%s,%d\n", i, "some text that is longer", i * 7);
}

__attribute__((noinline)) static char *copy_field(const char *from)
{
	return strdup(from);
}

__attribute__((noinline)) static void split(char *line)
{
	char *save, *field = strtok_r(line, ",\n", &save);

	for (; field; field = strtok_r(NULL, ",\n", &save)) {
		free(copy_field(field));
		fields++;
	}
}

int main(void)
{
	FILE *file = tmpfile();
	char line[256];
	int count = 20000;

	if (!file)
		return 1;
#ifdef WORK
	count += count / 50;
#endif
	for (int i = 0; i < count; i++)
		write_line(file, i);
	rewind(file);
	while (fgets(line, sizeof(line), file))
		split(line);
#ifdef CALL
	split(line);
#endif
#ifdef BLOCK
	free(copy_field("one more"));
#endif
	fclose(file);
	return 0;
}
