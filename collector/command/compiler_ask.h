/* SPDX-License-Identifier: Apache-2.0
 *
 * compiler_ask - finds out which compiler a command is, which C library its
 * programs get, and where its headers are. The compiler itself is asked: its
 * name says nothing. Asking takes as long as compiling a small file, so answers
 * are kept in the user's cache folder.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_COMPILER_ASK_H
#define PERFREC_COLLECTOR_COMMAND_COMPILER_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/command/compile_flags.h"

struct compiler_answer {
	struct compile_target target;
	bool glibc; /* its programs get glibc, which has the hooks */
	char *text; /* target.folders point into it */
	const char **folders;
};

/*
 * Asks the compiler that the @count words of @command start, for the machine
 * that the options of @line select. @command and @line stay the caller's. For a
 * process of one thread. Returns 0; or, after one line in the log, -ENOTSUP (it
 * is neither gcc nor clang), -EIO (it gave no answer) or another -errno. On
 * success the caller ends *@out with compiler_answer_release().
 */
int compiler_ask(const char *const *command, size_t count,
		 const struct compile_line *line, struct compiler_answer *out);
/* Frees what @answer points to, and makes it all zeros, which may be released
 * again. */
void compiler_answer_release(struct compiler_answer *answer);

#endif
