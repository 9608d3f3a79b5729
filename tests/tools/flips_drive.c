/* SPDX-License-Identifier: Apache-2.0
 *
 * flips_drive - asks a collector for other states of functions until it has
 * gone: functions named exact_ are recorded or counted, those named loose_ and
 * plugin_ recorded, counted or off. Prints how many requests were answered.
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

/* Whether there was an answer. */
static int ask(const char *path, const char *request)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char answer[65536];
	ssize_t got = -1, sum = 0;

	if (fd < 0)
		return 0;
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
		while ((got = recv(fd, answer, sizeof(answer), 0)) > 0)
			sum += got;
	close(fd);
	return got == 0 && sum > 0;
}

int main(int argc, char **argv)
{
	const size_t count = sizeof(requests) / sizeof(*requests);
	unsigned long answered = 0;

	if (argc < 2)
		return 2;
	while (ask(argv[1], requests[answered % count]))
		answered++;
	printf("%lu\n", answered);
	return 0;
}
