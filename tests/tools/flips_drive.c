/* SPDX-License-Identifier: Apache-2.0
 *
 * flips_drive - asks a collector for other states of functions until it has
 * gone: functions named exact_ are recorded or counted, those named loose_ and
 * plugin_ recorded, counted or off. Prints how many requests were answered.
 *
 * It begins when a program counts functions named exact_. If these were to be
 * recorded at the start of the program, they would not be connected then, and
 * calls would be missing later.
 *
 * usage: flips_drive SOCKET
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *const requests[] = {
	"functions\tcexact_*\toloose_*\toplugin_*\n",
	"functions\tcloose_*\tcplugin_*\n",
	"functions\toloose_*\tcsignal_*\n",
	"functions\tsexact_*\tsloose_*\tsplugin_*\n",
	"functions\toloose_*\tosignal_*\tcexact_*\n",
	"functions\tcloose_*\tssignal_*\n",
	"functions\toloose_*\toplugin_*\n",
	"functions\tcloose_*\toexact_never\n",
};

enum answer { GONE, REFUSED, OBEYED };

static enum answer ask(const char *path, const char *request)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char answer[65536];
	ssize_t got = -1;
	enum answer whole = GONE;

	if (fd < 0)
		return GONE;
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
		while ((got = recv(fd, answer, sizeof(answer), 0)) > 0)
			if (whole == GONE)
				whole = memmem(answer, (size_t)got, "\"error\"",
					       7)
						? REFUSED
						: OBEYED;
	close(fd);
	return got ? GONE : whole;
}

int main(int argc, char **argv)
{
	const size_t count = sizeof(requests) / sizeof(*requests);
	unsigned long answered = 0;
	enum answer first;

	if (argc < 2)
		return 2;
	do
		first = ask(argv[1], "functions\tcexact_*\toloose_*\n");
	while (first == REFUSED);
	if (first == OBEYED)
		do
			answered++;
		while (ask(argv[1], requests[answered % count]) != GONE);
	printf("%lu\n", answered);
	return 0;
}
