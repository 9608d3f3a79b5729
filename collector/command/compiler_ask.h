/* SPDX-License-Identifier: Apache-2.0
 *
 * compiler_ask - identifies the compiler of a command, the C library of its
 * programs, and its folders of headers. It asks the compiler, because names are
 * no evidence. A question costs a run of the compiler, so answers are cached in
 * the user's cache folder.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_COMPILER_ASK_H
#define PERFREC_COLLECTOR_COMMAND_COMPILER_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/command/compile_flags.h"

struct compiler_answer {
	struct compile_target target;
	bool glibc; /* its programs use glibc, which has the hooks */
	char *text; /* memory of target.folders */
	const char **folders;
};

/*
 * Asks the compiler of @command (@count words) for the machine that the options
 * of @line select. For a process of one thread. Returns 0, and the caller calls
 * compiler_answer_release(). Otherwise, after one line in the log, returns
 * -ENOTSUP (neither gcc nor clang), -EIO (no answer) or another -errno.
 */
int compiler_ask(const char *const *command, size_t count,
		 const struct compile_line *line, struct compiler_answer *out);
/* Frees the contents of @answer and sets it to all zero. */
void compiler_answer_release(struct compiler_answer *answer);

#endif
