/* SPDX-License-Identifier: Apache-2.0
 *
 * text_same PID [PATTERN] - says how many bytes of the executable mappings of
 * the process differ from their files; with PATTERN only of files whose path
 * contains it. Prints one line for each mapping that differs, and exits with 1
 * if there are any. Shares no code with the collector.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long long differing(int mem, const char *path,
				    unsigned long long start,
				    unsigned long long end,
				    unsigned long long offset)
{
	static unsigned char there[65536], file[65536];
	unsigned long long count = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && start < end) {
		size_t wanted = end - start < sizeof(there) ? end - start
							    : sizeof(there);
		ssize_t got = pread(mem, there, wanted, (off_t)start);
		ssize_t has = pread(fd, file, wanted, (off_t)offset);

		if (got <= 0)
			break;
		for (ssize_t i = 0; i < got && i < has; i++)
			count += there[i] != file[i];
		start += (unsigned long long)got;
		offset += (unsigned long long)got;
	}
	if (fd >= 0)
		close(fd);
	return count;
}

int main(int argc, char **argv)
{
	char name[64], line[8192], path[8192], rights[8];
	unsigned long long start, end, offset, count;
	int mem, bad = 0;
	FILE *maps;

	if (argc < 2)
		return 2;
	snprintf(name, sizeof(name), "/proc/%s/mem", argv[1]);
	mem = open(name, O_RDONLY | O_CLOEXEC);
	snprintf(name, sizeof(name), "/proc/%s/maps", argv[1]);
	maps = fopen(name, "re");
	if (mem < 0 || !maps) {
		perror(name);
		return 2;
	}
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %8191[^\n]",
			   &start, &end, rights, &offset, path) < 5 ||
		    rights[2] != 'x' || path[0] != '/' ||
		    (argc > 2 && !strstr(path, argv[2])))
			continue;
		count = differing(mem, path, start, end, offset);
		if (!count)
			continue;
		printf("%llu bytes of %s differ\n", count, path);
		bad = 1;
	}
	return bad;
}
