/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_exec - wraps exec and posix_spawn, so that the new program loads
 * the shim with any environment (environment.h). Calls without an environment
 * use that of the process, which may have been cleared.
 *
 * system() and popen() start programs inside the C library, with the
 * environment of the process, which cannot be changed for one call.
 */
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "preload/core/find_next.h"
#include "preload/core/libc.h"
#include "preload/start/environment.h"
#include "shared/compiler.h"

/* Returns the result of @call, an expression that uses environment.list, made
 * from @given. @err_of is the errno of a failed call. */
#define START(given, err_of, call)                                \
	({                                                        \
		struct environment environment;                   \
		int result;                                       \
		environment_begin(&environment, given);           \
		do                                                \
			result = call;                            \
		while (environment_again(&environment,            \
					 result ? (err_of) : 0)); \
		result;                                           \
	})
#define EXEC(given, call) START(given, *libc()->errno_location(), call)

static int exec_with(const char *path, char *const argv[],
		     char *const variables[])
{
	return EXEC(variables, NEXT(execve)(path, argv, environment.list));
}

ATTR_EXPORT int execve(const char *path, char *const argv[],
		       char *const variables[])
{
	return exec_with(path, argv, variables);
}

ATTR_EXPORT int execvpe(const char *file, char *const argv[],
			char *const variables[])
{
	return EXEC(variables, NEXT(execvpe)(file, argv, environment.list));
}

ATTR_EXPORT int fexecve(int fd, char *const argv[], char *const variables[])
{
	return EXEC(variables, NEXT(fexecve)(fd, argv, environment.list));
}

ATTR_EXPORT int execveat(int fd, const char *path, char *const argv[],
			 char *const variables[], int flags)
{
	return EXEC(variables,
		    NEXT(execveat)(fd, path, argv, environment.list, flags));
}

static int exec_path(const char *path, char *const argv[])
{
	return EXEC(libc_environ(),
		    environment.block
			    ? NEXT(execve)(path, argv, environment.list)
			    : NEXT(execv)(path, argv));
}

static int exec_file(const char *file, char *const argv[])
{
	return EXEC(libc_environ(),
		    environment.block
			    ? NEXT(execvpe)(file, argv, environment.list)
			    : NEXT(execvp)(file, argv));
}

ATTR_EXPORT int execv(const char *path, char *const argv[])
{
	return exec_path(path, argv);
}

ATTR_EXPORT int execvp(const char *file, char *const argv[])
{
	return exec_file(file, argv);
}

/* Returns the number of arguments from @first on. */
static size_t count_arguments(const char *first, va_list *args)
{
	size_t count = first != NULL;

	while (first && va_arg(*args, const char *))
		count++;
	return count;
}

/* Fills @argv, which has room for @count arguments and NULL. */
static void fill_arguments(char **argv, size_t count, const char *first,
			   va_list *args)
{
	argv[0] = (char *)first;
	for (size_t i = 1; i <= count; i++)
		argv[i] = va_arg(*args, char *);
}

/* Sets @argv to the arguments, on the stack; @args is behind them then. */
#define ARGUMENTS(argv, args, first)                                       \
	do {                                                               \
		size_t count_;                                             \
		va_start(args, first);                                     \
		count_ = count_arguments(first, &args);                    \
		va_end(args);                                              \
		(argv) = __builtin_alloca((count_ + 1) * sizeof(*(argv))); \
		va_start(args, first);                                     \
		fill_arguments(argv, count_, first, &args);                \
	} while (0)

ATTR_EXPORT int execl(const char *path, const char *first, ...)
{
	va_list args;
	char **argv;

	ARGUMENTS(argv, args, first);
	va_end(args);
	return exec_path(path, argv);
}

ATTR_EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list args;
	char **argv;

	ARGUMENTS(argv, args, first);
	va_end(args);
	return exec_file(file, argv);
}

ATTR_EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *variables;
	va_list args;
	char **argv;

	ARGUMENTS(argv, args, first);
	variables = va_arg(args, char *const *);
	va_end(args);
	return exec_with(path, argv, variables);
}

ATTR_EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
			    const posix_spawn_file_actions_t *restrict actions,
			    const posix_spawnattr_t *restrict attributes,
			    char *const argv[restrict],
			    char *const variables[restrict])
{
	return START(variables, result,
		     NEXT(posix_spawn)(pid, path, actions, attributes, argv,
				       environment.list));
}

ATTR_EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
			     const posix_spawn_file_actions_t *restrict actions,
			     const posix_spawnattr_t *restrict attributes,
			     char *const argv[restrict],
			     char *const variables[restrict])
{
	return START(variables, result,
		     NEXT(posix_spawnp)(pid, file, actions, attributes, argv,
					environment.list));
}
