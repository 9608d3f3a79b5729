/* SPDX-License-Identifier: Apache-2.0
 *
 * compile_flags - parses the command line of a compiler, and makes the flags
 * for calls of perfrec's hooks. Runs nothing. Any thread.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_COMPILE_FLAGS_H
#define PERFREC_COLLECTOR_COMMAND_COMPILE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

enum compile_kind {
	COMPILE_OPTION,
	COMPILE_TARGET, /* an option that may select headers or a libc */
	COMPILE_LANGUAGE, /* -x and its value */
	COMPILE_OUTPUT, /* -o and its value */
	COMPILE_SOURCE, /* in a language with hooks, or "-" */
	COMPILE_HEADER, /* to precompile */
	COMPILE_ASSEMBLER,
	COMPILE_FOREIGN, /* a source in a language without hooks */
	COMPILE_INPUT, /* for the linker: objects, archives */
};

struct compile_word {
	const char *text;
	enum compile_kind kind;
	const char *language; /* of an input, from -x */
	const char *folder; /* folder of headers inside text, or NULL */
	char *map; /* option that restores old names of files, or NULL */
	bool gcc_only; /* of a source: clang starts another compiler for it */
	bool chosen; /* of a source: gets hooks; the caller may change it */
};

struct compile_line {
	char **expanded; /* memory of the words; [0] is the compiler */
	size_t count;
	bool makes_code; /* not only preprocessing */
	bool links;
	bool cplusplus; /* a chosen source is in C++ */
	bool freestanding; /* for a machine that may lack hooks */
	bool no_hooks; /* -fno-instrument-functions */
	/* A word that makes the linker drop all names, or NULL. */
	const char *strips;
	bool lto; /* the linker compiles again */
	/* An option that conflicts with --hooks=entry in gcc, or NULL. */
	const char *no_entry;
	bool changed; /* by compile_line_mark_paths() */
	bool gnatmake; /* inputs are Ada units without suffix */
	struct compile_word words[];
};

/* Returns true if @command is gnatmake. It may have a path, a machine prefix
 * and a version suffix ("x86_64-linux-gnu-gnatmake-12"). */
bool compile_is_gnatmake(const char *command);

/* Parses the command line @argv of a compiler, up to its NULL. Expands response
 * files ("@file"). Chooses sources and headers unless the line is freestanding.
 * Returns 0 or -ENOMEM. *@out has a copy of all words; the caller frees it. */
int compile_line_read(char *const *argv, struct compile_line **out);
/* *@line may be NULL. */
void compile_line_free(struct compile_line **line);
/* Counts the words of @kind that are chosen, or with @chosen false that are
 * not. */
size_t compile_line_count(const struct compile_line *line,
			  enum compile_kind kind, bool chosen);
/* Returns true if @text has the suffix of a source, object or library. Such a
 * word is not part of the compiler's name. */
bool compile_is_input(const char *text);

/* In the order of the words of --system-headers. */
enum compile_headers {
	COMPILE_HEADERS_UNSAID,
	COMPILE_HEADERS_OUT, /* no hooks in functions of system headers */
	COMPILE_HEADERS_IN,
};

enum compile_style { COMPILE_DEFAULT, COMPILE_BEFORE, COMPILE_AFTER };

/* In the order of the words of --hooks. */
enum compile_hooks {
	COMPILE_CALLS, /* functions call hooks */
	COMPILE_ENTRY, /* room for hooks (shared/entry_build.h) */
};

struct compile_choice { /* the user's choices */
	enum compile_hooks hooks;
	enum compile_style style; /* hooks before or after inlining */
	enum compile_headers headers;
	const char *const *functions; /* to exclude */
	size_t function_count;
};

/* The compiler's answer (compiler_ask.h). */
struct compile_target {
	bool clang; /* otherwise gcc */
	bool x86_64; /* with 64-bit addresses */
	int version; /* of gcc, or the gcc version that clang claims */
	const char *const *folders;
	size_t folder_count;
};

/* Returns a static sentence with the reason why this compiler cannot do
 * @choice, or NULL. */
const char *compile_flags_refuse(const struct compile_target *target,
				 const struct compile_choice *choice);

/* Returns the reason why only the sources of @line cannot have hooks of
 * COMPILE_ENTRY, or NULL. The sentence is in a buffer that the next call
 * overwrites, so one thread at a time. */
const char *compile_entry_refuse(const struct compile_line *line,
				 const struct compile_target *target);

/*
 * gcc searches for system folders anywhere in the path of a file. So
 * "/stage/usr/include", which contains such a name, becomes
 * "/stage/usr/./include". Returns the new path for the caller to free. Returns
 * NULL if gcc interprets @path correctly or there is no memory.
 */
char *compile_path_mark(const struct compile_target *target, const char *path);
/* Marks the chosen sources of @line and its folders of headers. */
void compile_line_mark_paths(struct compile_line *line,
			     const struct compile_target *target);
/* Returns the first folder of @line below a system folder, whose functions get
 * no hooks, or NULL. *@more: number of further ones. */
const char *compile_line_left_out(const struct compile_line *line,
				  const struct compile_target *target,
				  size_t *more);

#define COMPILE_FLAGS_MAX 6

/*
 * Writes the flags for the chosen sources of @line to @flags, with a final
 * NULL. Put them in front of the user's flags. @specs: path of the specs, which
 * gcc needs for COMPILE_ENTRY, or NULL. Flags with lists point into *@lists,
 * which the caller frees (may be NULL); others are static or @specs. Returns 0
 * or -ENOMEM.
 */
int compile_flags_make(const struct compile_line *line,
		       const struct compile_target *target,
		       const struct compile_choice *choice, const char *specs,
		       const char *flags[COMPILE_FLAGS_MAX + 1], char **lists);

#endif
