/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/text_out.h"
#include "shared/compiler.h"

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0];
}

/* Starts @command from PATH in its own session, so Ctrl-C in the terminal does
 * not reach it. */
static int start_browser(const char *command, const char *url, pid_t *out)
{
	char *const argv[] = { (char *)(uintptr_t)command,
			       (char *)(uintptr_t)url, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawnattr_init(&attributes);
	if (err) {
		posix_spawn_file_actions_destroy(&actions);
		return -err;
	}
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !err; fd++)
		err = posix_spawn_file_actions_addopen(
			&actions, fd, "/dev/null",
			fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
	sigemptyset(&none);
	if (!err)
		err = posix_spawnattr_setsigmask(&attributes, &none);
	if (!err)
		err = posix_spawnattr_setflags(&attributes,
					       POSIX_SPAWN_SETSID |
						       POSIX_SPAWN_SETSIGMASK);
	if (!err)
		err = posix_spawnp(out, command, &actions, &attributes, argv,
				   environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

int browser_start(const char *url, pid_t *out)
{
	static const char *const usual[] = {
		"xdg-open", "x-www-browser", "firefox",
		"chromium", "google-chrome",
	};
	const char *chosen = getenv("BROWSER");
	int err = -ENOENT;

	if (chosen && chosen[0])
		return start_browser(chosen, url, out);
	if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(usual) && err == -ENOENT; i++)
		err = start_browser(usual[i], url, out);
	return err;
}

static void print_here(FILE *out)
{
	const struct passwd *user = getpwuid(geteuid());
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	text_out(user ? user->pw_name : "USER", out);
	fputc('@', out);
	text_out(host[0] ? host : "HOST", out);
}

void browser_print_tunnel(unsigned int port, FILE *out)
{
	fprintf(out, "    ssh -L %u:127.0.0.1:%u ", port, port);
	print_here(out);
	fputc('\n', out);
}

void browser_print_copy(const char *path, FILE *out)
{
	fputs("    scp ", out);
	print_here(out);
	fputc(':', out);
	text_out_quoted(path, out);
	fputs(" .\n", out);
}
