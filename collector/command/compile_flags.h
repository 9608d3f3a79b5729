/* SPDX-License-Identifier: Apache-2.0
 *
 * compile_flags - what the command line of a compiler does, and the flags
 * that make it call perfrec's hooks. Runs nothing.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_COMPILE_FLAGS_H
#define PERFREC_COLLECTOR_COMMAND_COMPILE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

/* What gcc and clang, which read the same words, make of one of them. */
enum compile_kind {
	COMPILE_OPTION,
	COMPILE_TARGET, /* an option that may select headers or a libc */
	COMPILE_LANGUAGE, /* -x and its value */
	COMPILE_OUTPUT, /* -o and its value */
	COMPILE_SOURCE, /* of a language with hooks; "-" is one, too */
	COMPILE_HEADER, /* to be precompiled */
	COMPILE_ASSEMBLER,
	COMPILE_FOREIGN, /* a source of a language without hooks */
	COMPILE_INPUT, /* for the linker: objects, archives */
};

struct compile_word {
	const char *text;
	enum compile_kind kind;
	const char *language; /* of an input, where -x says it */
	bool gcc_only; /* of a source: clang starts another compiler for it */
	bool chosen; /* of a source: gets hooks; the caller may change it */
};

struct compile_line {
	char **expanded; /* what the words point into; [0] is the compiler */
	size_t count;
	bool makes_code; /* and does not only preprocess */
	bool links;
	bool freestanding; /* for a machine that may have no hooks */
	bool gnatmake; /* whose inputs are units of Ada, without suffix */
	struct compile_word words[];
};

/* Whether @command, with or without a path, a machine's name in front and a
 * version behind, is gnatmake. */
bool compile_is_gnatmake(const char *command);

/*
 * Read the command line @argv of a compiler, with what is in response files.
 * Sources and headers are chosen, unless the line is freestanding. Returns 0
 * or -ENOMEM. The caller ends *@out with compile_line_free().
 */
int compile_line_read(char *const *argv, struct compile_line **out);
void compile_line_free(struct compile_line **line);
/* How many words of @kind are chosen, or are not. */
size_t compile_line_count(const struct compile_line *line,
			  enum compile_kind kind, bool chosen);
/* Whether @text names an input by its suffix: a source, an object, a library.
 * Then it is no part of the compiler's name. */
bool compile_is_input(const char *text);

enum compile_style { COMPILE_DEFAULT, COMPILE_BEFORE, COMPILE_AFTER };

struct compile_choice { /* what the user wants */
	enum compile_style style; /* hooks before or after inlining */
	const char *const *functions; /* to leave out */
	size_t function_count;
};

/* What the compiler's answer (compiler_ask.h) says of it. */
struct compile_target {
	bool clang; /* else gcc */
	const char *const *folders; /* of system headers */
	size_t folder_count;
};

/* Why @choice is not possible with this compiler, as a sentence; or NULL. */
const char *compile_flags_refuse(const struct compile_target *target,
				 const struct compile_choice *choice);

#define COMPILE_FLAGS_MAX 5

/*
 * The flags that give hooks to chosen sources of @line, in @flags,
 * NULL-terminated. They belong in front of the line's own, which then prevail.
 * They are constants, but for lists, which are in *@lists: the caller frees
 * that one block. Returns 0 or -ENOMEM.
 */
int compile_flags_make(const struct compile_line *line,
		       const struct compile_target *target,
		       const struct compile_choice *choice,
		       const char *flags[COMPILE_FLAGS_MAX + 1], char **lists);

#endif
