/* SPDX-License-Identifier: Apache-2.0
 *
 * socket_path: the default place, and removal of sockets that killed collectors
 * left, but of nothing else.
 */
#include "collector/base/socket_path.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/suite.h"
#include "tests/unit/scratch.h"

static bool exists(const char *path)
{
	struct stat status;

	return !lstat(path, &status);
}

SUITE(scratch_enter, scratch_leave);

TEST(socket_path_private_is_cleaned_up, EACH(0, 2))
{
	char folder[SOCKET_PATH_BYTES], socket[SOCKET_PATH_BYTES];

	setenv("TMPDIR", ".", 1);
	unsetenv("XDG_RUNTIME_DIR");
	ck_assert_int_eq(socket_path_private(_i, folder, socket), 0);
	ck_assert(exists(folder));
	scratch_run("touch %s %s" SOCKET_PATH_ALL, socket, socket);
	socket_path_clean_up(socket);
	ck_assert(!exists(folder));
	socket_path_clean_up(socket);
}

/* Binds a socket at @path; without listen() it looks abandoned. */
static int bind_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

TEST(socket_path_private_removes_what_was_left)
{
	char folder[SOCKET_PATH_BYTES], socket[SOCKET_PATH_BYTES];
	int live;

	setenv("TMPDIR", ".", 1);
	unsetenv("XDG_RUNTIME_DIR");
	scratch_run("mkdir perfrec-stale0 perfrec-young0 perfrec-live00 "
		    "perfrec-begins");
	close(bind_at("perfrec-stale0/sock"));
	close(bind_at("perfrec-young0/sock"));
	live = bind_at("perfrec-live00/sock");
	scratch_run("touch -d '2 minutes ago' perfrec-stale0 perfrec-live00 "
		    "perfrec-begins");
	ck_assert_int_eq(socket_path_private(false, folder, socket), 0);
	ck_assert(!exists("perfrec-stale0"));
	ck_assert(exists("perfrec-young0/sock"));
	ck_assert(exists("perfrec-live00/sock"));
	ck_assert(exists("perfrec-begins"));
	ck_assert(exists(folder));
	close(live);
	scratch_run("rm -r perfrec-*");
}

/* Each contains something that must stay. */
TEST(socket_path_of_others_is_left_alone, EACH(0, 8))
{
	static const struct {
		const char *make, *socket, *stays;
	} cases[] = {
		{ "mkdir perfrec-abcde", "./perfrec-abcde/sock", NULL },
		{ "mkdir perfrec-abcdef0", "./perfrec-abcdef0/sock", NULL },
		{ "mkdir perfrec-abc.ef", "./perfrec-abc.ef/sock", NULL },
		{ "mkdir other-abcdef", "./other-abcdef/sock", NULL },
		{ "mkdir perfrec-abcdef", "./perfrec-abcdef/socket", NULL },
		{ "mkdir perfrec-abcdef; touch perfrec-abcdef/mine",
		  "./perfrec-abcdef/sock", "./perfrec-abcdef/mine" },
		{ "mkdir perfrec-abcdef; chown 12345 perfrec-abcdef",
		  "./perfrec-abcdef/sock", NULL },
		{ "mkdir real; ln -s real perfrec-abcdef",
		  "./perfrec-abcdef/sock", NULL },
	};
	const char *stays = cases[_i].stays;

	if (_i == 6 && geteuid())
		return; /* only root can chown files to others */
	scratch_run("rm -rf ./*; %s; touch %s", cases[_i].make,
		    cases[_i].socket);
	socket_path_clean_up(cases[_i].socket);
	ck_assert(exists(stays ? stays : cases[_i].socket));
}

TEST(socket_path_that_is_none_is_left_alone)
{
	scratch_run("rm -rf ./*; touch sock; mkdir perfrec-abcdef");
	socket_path_clean_up("");
	socket_path_clean_up("sock");
	socket_path_clean_up("/sock");
	socket_path_clean_up("./perfrec-nobody/sock");
	socket_path_clean_up("./perfrec-abcdef/nobody");
	ck_assert(exists("sock"));
	ck_assert(exists("perfrec-abcdef"));
}

/* --- default socket ------------------------------------------------------ */

/* Returns false if /run/user/UID exists. */
static bool lose_runtime_folder(void)
{
	char path[64];

	unsetenv("XDG_RUNTIME_DIR");
	setenv("TMPDIR", g_scratch, 1);
	snprintf(path, sizeof(path), "/run/user/%u", (unsigned int)geteuid());
	return !exists(path);
}

/* A second collector finds the folder. */
TEST(socket_path_usual_is_in_a_private_folder)
{
	char got[SOCKET_PATH_BYTES], folder[PATH_MAX], want[PATH_MAX + 32];
	struct stat status;

	if (!lose_runtime_folder())
		return;
	snprintf(folder, sizeof(folder), "%.4000s/perfrec-%u", g_scratch,
		 (unsigned int)geteuid());
	snprintf(want, sizeof(want), "%s/perfrec.sock", folder);
	scratch_run("rm -rf ./*");
	ck_assert_int_eq(socket_path_usual(false, got), 0);
	ck_assert_str_eq(got, want);
	ck_assert(!exists(folder));
	umask(0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(socket_path_usual(true, got), 0);
		ck_assert_str_eq(got, want);
		ck_assert_int_eq(stat(folder, &status), 0);
		ck_assert_uint_eq(status.st_mode & 07777, 0700);
	}
}

/* Its owner could intercept programs, or replace the socket. */
TEST(socket_path_usual_takes_no_folder_of_others, EACH(0, 5))
{
	static const char *const make[] = {
		"mkdir -m 0755 %s",
		"mkdir -m 0710 %s",
		"touch %s",
		"mkdir -m 0700 real; ln -s real %s",
		"mkdir -m 0700 %s; chown 12345 %s",
	};
	char got[SOCKET_PATH_BYTES], name[64], command[256];

	if (!lose_runtime_folder() || (_i == 4 && geteuid()))
		return;
	snprintf(name, sizeof(name), "perfrec-%u", (unsigned int)geteuid());
	snprintf(command, sizeof(command), make[_i], name, name);
	scratch_run("rm -rf ./*; %s", command);
	ck_assert_int_eq(socket_path_usual(true, got), -EPERM);
}

TEST(socket_path_usual_fails_where_there_is_no_temporary_folder)
{
	char got[SOCKET_PATH_BYTES], longer[SOCKET_PATH_BYTES + 1];

	if (!lose_runtime_folder())
		return;
	setenv("TMPDIR", "nowhere", 1);
	ck_assert_int_eq(socket_path_usual(true, got), -ENOENT);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	setenv("TMPDIR", longer, 1);
	ck_assert_int_eq(socket_path_usual(true, got), -ENAMETOOLONG);
	setenv("XDG_RUNTIME_DIR", longer, 1);
	ck_assert_int_eq(socket_path_usual(true, got), -ENAMETOOLONG);
}
