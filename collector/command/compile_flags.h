/* SPDX-License-Identifier: Apache-2.0
 *
 * compile_flags - reads the command line of a compiler, and makes the flags
 * with which the compiler puts calls of perfrec's hooks into the program. It
 * runs nothing. Any thread may call.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_COMPILE_FLAGS_H
#define PERFREC_COLLECTOR_COMMAND_COMPILE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

/* What a word of the command line is. gcc and clang read words alike. */
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
	const char *folder; /* of headers: in the text; NULL: it names none */
	char *map; /* the option that gives its files their old names, or NULL
		    */
	bool gcc_only; /* of a source: clang starts another compiler for it */
	bool chosen; /* of a source: gets hooks; the caller may change it */
};

struct compile_line {
	char **expanded; /* what the words point into; [0] is the compiler */
	size_t count;
	bool makes_code; /* and does not only preprocess */
	bool links;
	bool cplusplus; /* a chosen source is in C++ */
	bool freestanding; /* for a machine that may have no hooks */
	bool no_hooks; /* -fno-instrument-functions */
	const char *strips; /* a word that has the linker drop all names, or
			     * NULL */
	bool lto; /* the linker compiles again */
	const char *no_entry; /* an option that gcc cannot have with
			       * --hooks=entry, or NULL */
	bool changed; /* by compile_line_mark_paths() */
	bool gnatmake; /* whose inputs are units of Ada, without suffix */
	struct compile_word words[];
};

/* Whether @command is gnatmake. It may have a path, the name of a machine in
 * front, and a version behind ("x86_64-linux-gnu-gnatmake-12"). */
bool compile_is_gnatmake(const char *command);

/*
 * Reads the command line @argv of a compiler, up to its NULL; @argv[0] is the
 * compiler. Words of response files ("@file") stand in their place. Sources and
 * headers are chosen, unless the line is freestanding. Returns 0 or -ENOMEM.
 * The caller owns *@out, which has a copy of all words, and ends it with
 * compile_line_free().
 */
int compile_line_read(char *const *argv, struct compile_line **out);
/* Frees *@line, which may be NULL, and sets it to NULL. */
void compile_line_free(struct compile_line **line);
/* How many words of @kind are chosen, or with @chosen false, are not. */
size_t compile_line_count(const struct compile_line *line,
			  enum compile_kind kind, bool chosen);
/* Whether the suffix of @text is that of a source, an object or a library. Such
 * a word is no part of the compiler's name. */
bool compile_is_input(const char *text);

/* In the order of the words of --system-headers, behind the first. */
enum compile_headers {
	COMPILE_HEADERS_UNSAID,
	COMPILE_HEADERS_OUT, /* functions of system headers get no hooks */
	COMPILE_HEADERS_IN,
};

enum compile_style { COMPILE_DEFAULT, COMPILE_BEFORE, COMPILE_AFTER };

/* In the order of the words of --hooks. */
enum compile_hooks {
	COMPILE_CALLS, /* functions call hooks */
	COMPILE_ENTRY, /* functions have room for hooks (shared/entry_build.h)
			*/
};

struct compile_choice { /* what the user wants */
	enum compile_hooks hooks;
	enum compile_style style; /* hooks before or after inlining */
	enum compile_headers headers;
	const char *const *functions; /* to leave out */
	size_t function_count;
};

/* What the compiler has said about itself (compiler_ask.h). */
struct compile_target {
	bool clang; /* else gcc */
	bool x86_64; /* with addresses of 64 bits */
	int version; /* of gcc, or what clang claims to be compatible with */
	const char *const *folders; /* of system headers */
	size_t folder_count;
};

/* A sentence, which is a constant, that says why this compiler cannot do what
 * @choice wants; NULL if it can. */
const char *compile_flags_refuse(const struct compile_target *target,
				 const struct compile_choice *choice);

/*
 * Why the sources of @line cannot have hooks of COMPILE_ENTRY, though others
 * can: a sentence in a buffer that the next call overwrites, for one thread at
 * a time. NULL: they can.
 */
const char *compile_entry_refuse(const struct compile_line *line,
				 const struct compile_target *target);

/*
 * gcc looks for the folders of system headers anywhere in the path of a file.
 * So a path such as "/stage/usr/include", which has the name of one inside, is
 * written as "/stage/usr/./include". Returns the new path, which the caller
 * frees; NULL if gcc reads @path right, or there is no memory.
 */
char *compile_path_mark(const struct compile_target *target, const char *path);
/* The same for the chosen sources of @line and its folders of headers. */
void compile_line_mark_paths(struct compile_line *line,
			     const struct compile_target *target);
/* The first folder of @line that lies in one of system headers, so that its
 * functions get no hooks; NULL: there is none. *@more: how many follow. */
const char *compile_line_left_out(const struct compile_line *line,
				  const struct compile_target *target,
				  size_t *more);

#define COMPILE_FLAGS_MAX 6

/*
 * Writes the flags that give hooks to the chosen sources of @line to @flags,
 * and a NULL behind them. They belong in front of the line's own flags, so that
 * those of the user prevail. @specs is the path of the file of specs, which gcc
 * needs for COMPILE_ENTRY (else NULL). Flags with lists point into *@lists, one
 * block that the caller frees (NULL if there is none); the others are constants
 * or @specs. Returns 0 or -ENOMEM.
 */
int compile_flags_make(const struct compile_line *line,
		       const struct compile_target *target,
		       const struct compile_choice *choice, const char *specs,
		       const char *flags[COMPILE_FLAGS_MAX + 1], char **lists);

#endif
