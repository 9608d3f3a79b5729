/* SPDX-License-Identifier: Apache-2.0
 *
 * late_victim - a program without hooks at its start, as if only its plugins
 * had hooks. The first hook runs in a vfork child and must not start recording
 * for the parent; the parent then calls ten more.
 */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void hook(void *function, void *call_site);

int main(void)
{
	hook *enter = (hook *)dlsym(RTLD_DEFAULT, "__cyg_profile_func_enter");
	hook *leave = (hook *)dlsym(RTLD_DEFAULT, "__cyg_profile_func_exit");
	int status, i;
	pid_t pid = vfork();

	if (!pid) {
		enter((void *)main, NULL);
		leave((void *)main, NULL);
		_exit(7);
	}
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		return 1;
	for (i = 0; i < 10; i++) {
		enter((void *)main, NULL);
		leave((void *)main, NULL);
	}
	return 0;
}
