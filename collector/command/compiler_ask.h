/* SPDX-License-Identifier: Apache-2.0
 *
 * compiler_ask - which compiler a command is, whose C library its programs
 * get, and where its headers are. The compiler says so itself, whatever its
 * name; answers are kept in the user's cache folder, because asking takes as
 * long as compiling a small file.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_COMPILER_ASK_H
#define PERFREC_COLLECTOR_COMMAND_COMPILER_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/command/compile_flags.h"

struct compiler_answer {
	struct compile_target target;
	bool glibc; /* its programs get that: it has the hooks */
	char *text; /* what target.folders point into */
	const char **folders;
};

/*
 * Ask the compiler that the @count words of @command start, for the target
 * that the options of @line select. For a process of one thread. Returns 0, or
 * after logging one line -ENOTSUP (neither gcc nor clang), -EIO (it gave no
 * answer) or another -errno. On success the caller ends *@out with
 * compiler_answer_release().
 */
int compiler_ask(const char *const *command, size_t count,
		 const struct compile_line *line, struct compiler_answer *out);
void compiler_answer_release(struct compiler_answer *answer);

#endif
