/* SPDX-License-Identifier: Apache-2.0
 *
 * gcc and clang parse command lines alike: a word is an option, the value of
 * the preceding option, or an input. Its suffix or -x determines the type of an
 * input. Only options with a separate value must be known; otherwise the value
 * would count as an input.
 *
 * The flags precede those of the user. The last one of -g and -g1, or of
 * -fno-omit-frame-pointer and -fomit-frame-pointer, is effective, and
 * -fno-instrument-functions disables the hooks. So the user's choices prevail
 * without special code.
 *
 * For COMPILE_ENTRY gcc gets specs, which only apply to the compilers proper:
 * -pg as a flag would also change the link. Link-time optimisation compiles at
 * link time, so the linking line also has the specs. clang gets its XRay flags
 * past its driver, which would link XRay's runtime.
 *
 * Some lines stay unchanged: preprocessing (-E, -M), because -g would change
 * its output; assembler, which has no hooks; linking, because the objects
 * already have hooks, also with LTO; and code for machines without a C library.
 */
#include "collector/command/compile_flags.h"

#include <errno.h>
#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/path.h"
#include "collector/base/search.h"

/* The first gcc with -mfentry-name and -mfentry-section. */
#define GCC_ENTRY 10

/* Lists of words, separated by blanks. */

/* Options with a separate value if written exactly like this. */
static const char separate[] =
	"-A -B -D -F -I -J -L -MF -MJ -MQ -MT -T -U -Xanalyzer -Xassembler "
	"-Xclang -Xlinker -Xpreprocessor -arch -aux-info -dumpbase "
	"-dumpbase-ext -dumpdir -e -framework -gcc-toolchain -idirafter "
	"-iframework -imacros -imultilib -include -include-pch -iprefix "
	"-iquote -isysroot -isystem -ivfsoverlay -iwithprefix "
	"-iwithprefixbefore -l -mllvm -o -specs -target -u -wrapper -x -z "
	"--include --output --param --specs --sysroot --target";
/* Options with a folder of headers as value. */
static const char names_folder[] = "-I -idirafter -iquote -isystem";
/* Prefixes of options that may select headers and libraries. */
static const char selects_target[] =
	"-B -m -arch -gcc-toolchain --gcc-toolchain -isysroot -specs --specs "
	"-stdlib= -target --target --sysroot";
static const char source_suffixes[] =
	"c i cc cp cxx cpp CPP c++ C ii m mi mm M mii ccm cppm";
/* gcc's Fortran, Ada and D. */
static const char gcc_suffixes[] =
	"f F for FOR ftn FTN fpp FPP fi f90 F90 f95 F95 f03 F03 f08 F08 f18 "
	"F18 adb ads d dd";
/* Languages of compilers whose hooks are untested with perfrec. */
static const char foreign_suffixes[] =
	"go rs cu hip swift zig m2 cob cbl CBL pas pp hs ml";
static const char cplusplus_suffixes[] =
	"cc cp cxx cpp CPP c++ C ii mm M mii ccm cppm";
static const char c_languages[] =
	"c c++ cpp-output c++-cpp-output objective-c objective-c++ "
	"objective-c-cpp-output objective-c++-cpp-output objc-cpp-output "
	"objc++-cpp-output c++-module c++-system-module";
static const char gcc_languages[] = "f77 f77-cpp-input f95 f95-cpp-input ada d";
static const char foreign_languages[] =
	"go cuda hip rust modula-2 modula-2-cpp-output cobol algol68 cl ir";
static const char header_suffixes[] = "h hh H hp hxx hpp HPP h++ tcc";
static const char assembler_suffixes[] = "s S sx";
static const char linker_suffixes[] = "o a so lo la obj bc";
static const char no_code[] =
	"-E -M -MM --preprocess --dependencies --user-dependencies";
/* For the linker, which then drops all names. */
static const char strips[] = "-s --strip-all -strip-all";
static const char no_link[] =
	"-c -S --compile --assemble -fsyntax-only --analyze --precompile -r";
/* Such code may run without a C library, and thus without hooks. */
static const char no_hooks[] =
	"-ffreestanding -fno-hosted -nostdlib -nolibc -nodefaultlibs "
	"-mcmodel=kernel -mkernel";
/* Incompatible with gcc's --hooks=entry: gprof uses the same place at the start
 * of functions, and for the others gcc 12 writes invalid assembler. */
static const char no_entry[] = "-pg -p -mcmodel=large -masm=intel";

/* Returns the length of the word in @list that equals @text, or with @prefix
 * begins it; 0 if there is none. */
static size_t find_word(const char *list, const char *text, bool prefix)
{
	size_t length;

	for (; *list; list += length, list += *list == ' ') {
		length = strcspn(list, " ");
		if (strncmp(text, list, length) == 0 &&
		    (prefix || !text[length]))
			return length;
	}
	return 0;
}

static bool is_word_listed(const char *text, const char *list)
{
	return find_word(list, text, false);
}

static const char *suffix_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	return dot ? dot + 1 : "";
}

static bool is_shared_object(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash : path, ".so.") != NULL;
}

bool compile_is_input(const char *text)
{
	const char *suffix = suffix_of(text);

	return is_word_listed(suffix, source_suffixes) ||
	       is_word_listed(suffix, gcc_suffixes) ||
	       is_word_listed(suffix, foreign_suffixes) ||
	       is_word_listed(suffix, header_suffixes) ||
	       is_word_listed(suffix, assembler_suffixes) ||
	       is_word_listed(suffix, linker_suffixes) ||
	       is_shared_object(text);
}

static enum compile_kind kind_by_language(const char *language)
{
	if (strncmp(language, "assembler", 9) == 0)
		return COMPILE_ASSEMBLER;
	if (strstr(language, "header"))
		return COMPILE_HEADER;
	if (is_word_listed(language, c_languages) ||
	    is_word_listed(language, gcc_languages))
		return COMPILE_SOURCE;
	if (is_word_listed(language, foreign_languages))
		return COMPILE_FOREIGN;
	return COMPILE_INPUT;
}

static enum compile_kind kind_by_suffix(const char *path)
{
	const char *suffix = suffix_of(path);

	if (is_word_listed(suffix, source_suffixes) ||
	    is_word_listed(suffix, gcc_suffixes))
		return COMPILE_SOURCE;
	if (is_word_listed(suffix, foreign_suffixes))
		return COMPILE_FOREIGN;
	if (is_word_listed(suffix, header_suffixes))
		return COMPILE_HEADER;
	if (is_word_listed(suffix, assembler_suffixes))
		return COMPILE_ASSEMBLER;
	return COMPILE_INPUT;
}

struct reader {
	struct compile_line *line;
	const char *language; /* -x; NULL: by suffix */
	const struct compile_word *option; /* expects a value */
	bool inputs; /* that can be linked */
	bool stops; /* before linking */
};

static bool strips_by_list(const char *list)
{
	for (; list; list = strchr(list, ',')) {
		char item[16];
		size_t length = strcspn(++list, ",");

		if (length >= sizeof(item))
			continue;
		memcpy(item, list, length);
		item[length] = '\0';
		if (is_word_listed(item, strips))
			return true;
	}
	return false;
}

static void take_language(struct reader *reader, const char *language)
{
	reader->language = strcmp(language, "none") ? language : NULL;
}

static void read_option_word(struct reader *reader, struct compile_word *word)
{
	size_t length = find_word(names_folder, word->text, true);

	if (strncmp(word->text, "-x", 2) == 0)
		word->kind = COMPILE_LANGUAGE;
	else if (strcmp(word->text, "--output") == 0 ||
		 strncmp(word->text, "-o", 2) == 0)
		word->kind = COMPILE_OUTPUT;
	else if (find_word(selects_target, word->text, true))
		word->kind = COMPILE_TARGET;
	else
		word->kind = COMPILE_OPTION;
	word->folder = length ? word->text + length : NULL;
	if (is_word_listed(word->text, no_code))
		reader->line->makes_code = false;
	if (is_word_listed(word->text, no_link))
		reader->stops = true;
	if (is_word_listed(word->text, no_hooks))
		reader->line->freestanding = true;
	if (strcmp(word->text, "-fno-instrument-functions") == 0)
		reader->line->no_hooks = true;
	if (strncmp(word->text, "-flto", 5) == 0)
		reader->line->lto = true;
	if (strcmp(word->text, "-fno-lto") == 0)
		reader->line->lto = false;
	if (is_word_listed(word->text, strips) ||
	    (strncmp(word->text, "-Wl,", 4) == 0 &&
	     strips_by_list(word->text + 3)))
		reader->line->strips = word->text;
	if (is_word_listed(word->text, no_entry))
		reader->line->no_entry = word->text;
	if (is_word_listed(word->text, separate))
		reader->option = word;
	else if (word->kind == COMPILE_LANGUAGE)
		take_language(reader, word->text + 2);
}

bool compile_is_gnatmake(const char *command)
{
	static const char name[] = "gnatmake";
	const char *base = path_name(command);
	const char *at = strstr(base, name);
	const char *end = at ? at + strlen(name) : "";

	return at && (at == base || at[-1] == '-') &&
	       (!*end || (*end == '-' && !end[strspn(end, "-.0123456789")]));
}

static void read_words(struct reader *reader)
{
	struct compile_line *line = reader->line;

	for (size_t i = 0; i < line->count; i++) {
		struct compile_word *word = &line->words[i];

		word->text = line->expanded[i + 1];
		if (reader->option) {
			word->kind = reader->option->kind;
			if (strcmp(reader->option->text, "-Xlinker") == 0 &&
			    is_word_listed(word->text, strips))
				reader->line->strips = word->text;
			if (reader->option->folder)
				word->folder = word->text;
			reader->option = NULL;
			if (word->kind == COMPILE_LANGUAGE)
				take_language(reader, word->text);
		} else if (word->text[0] == '-' && word->text[1])
			read_option_word(reader, word);
		else {
			word->language = reader->language;
			word->kind = word->language
					     ? kind_by_language(word->language)
					     : kind_by_suffix(word->text);
			if (reader->line->gnatmake &&
			    word->kind == COMPILE_INPUT &&
			    !compile_is_input(word->text))
				word->kind = COMPILE_SOURCE;
			word->gcc_only =
				word->language
					? is_word_listed(word->language,
							 gcc_languages)
					: is_word_listed(suffix_of(word->text),
							 gcc_suffixes);
			word->chosen = word->kind == COMPILE_SOURCE ||
				       word->kind == COMPILE_HEADER;
			reader->line->cplusplus |=
				word->language
					? strstr(word->language, "++") != NULL
					: is_word_listed(suffix_of(word->text),
							 cplusplus_suffixes);
			reader->inputs |= word->kind != COMPILE_HEADER;
		}
	}
	line->links = reader->inputs && line->makes_code && !reader->stops;
	for (size_t i = 0; i < line->count; i++)
		line->words[i].chosen &= !line->freestanding;
}

int compile_line_read(char *const *argv, struct compile_line **out)
{
	char **expanded = (char **)argv;
	int count = countargv(expanded);
	struct compile_line *line;

	/* expandargv() copies if there is something to expand. */
	expandargv(&count, &expanded);
	if (expanded == argv)
		expanded = dupargv(expanded);
	line = calloc(1, sizeof(*line) + (size_t)count * sizeof(*line->words));
	if (!line) {
		freeargv(expanded);
		return -ENOMEM;
	}
	line->expanded = expanded;
	line->count = (size_t)count - 1;
	line->makes_code = true;
	line->gnatmake = compile_is_gnatmake(argv[0]);
	read_words(&(struct reader){ .line = line });
	*out = line;
	return 0;
}

void compile_line_free(struct compile_line **line)
{
	for (size_t i = 0; *line && i < (*line)->count; i++)
		free((*line)->words[i].map);
	if (*line)
		freeargv((*line)->expanded);
	free(*line);
	*line = NULL;
}

size_t compile_line_count(const struct compile_line *line,
			  enum compile_kind kind, bool chosen)
{
	size_t count = 0;

	for (size_t i = 0; i < line->count; i++)
		count += line->words[i].kind == kind &&
			 line->words[i].chosen == chosen;
	return count;
}

/* A comma would end the item. */
static void put_option_item(FILE *out, const char *item, bool first)
{
	if (!first)
		putc(',', out);
	for (; *item; item++) {
		if (*item == ',')
			putc('\\', out);
		putc(*item, out);
	}
}

/* Returns true if @path is below a system folder. Nested system folders need
 * not be listed. */
static bool is_covered(const struct compile_target *target, const char *path)
{
	for (size_t i = 0; i < target->folder_count; i++) {
		size_t length = strlen(target->folders[i]);

		if (strncmp(path, target->folders[i], length) == 0 &&
		    path[length] == '/')
			return true;
	}
	return false;
}

static bool is_system_folder(const struct compile_target *target,
			     const char *path)
{
	return search_text(path, (const char *const *)target->folders,
			   target->folder_count);
}

/* Returns the last slash of a system folder's name inside @path, or NULL. Skips
 * names of one component, which have no slash to mark. */
static const char *find_system_name(const struct compile_target *target,
				    const char *path)
{
	for (size_t i = 0; i < target->folder_count; i++) {
		const char *folder = target->folders[i];
		const char *last = strrchr(folder, '/');
		const char *at = strstr(path, folder);

		if (at && last && last != folder)
			return at + (last - folder);
	}
	return NULL;
}

char *compile_path_mark(const struct compile_target *target, const char *path)
{
	const char *from = path, *at;
	char *marked = NULL, *next;

	if (is_covered(target, path) || is_system_folder(target, path))
		return NULL;
	while ((at = find_system_name(target, from))) {
		if (asprintf(&next, "%.*s/.%s", (int)(at - from), from, at) < 0)
			break;
		free(marked);
		from = marked = next;
	}
	return marked;
}

/* Replaces @path in word @i by @marked. Names of files in the program and its
 * debug information stay the same, except if that would need a second "=". */
static void replace_path(struct compile_line *line, size_t i, const char *path,
			 const char *marked)
{
	struct compile_word *word = &line->words[i];
	char *text;

	if (asprintf(&text, "%.*s%s", (int)(path - word->text), word->text,
		     marked) < 0)
		return;
	if (strchr(path, '=') ||
	    asprintf(&word->map, "-ffile-prefix-map=%s=%s", marked, path) < 0)
		word->map = NULL;
	free(line->expanded[i + 1]);
	line->expanded[i + 1] = text;
	word->text = text;
	word->folder = NULL;
	line->changed = true;
}

void compile_line_mark_paths(struct compile_line *line,
			     const struct compile_target *target)
{
	for (size_t i = 0; i < line->count; i++) {
		const struct compile_word *word = &line->words[i];
		const char *path = word->chosen ? word->text : word->folder;
		char *marked = path ? compile_path_mark(target, path) : NULL;

		if (marked)
			replace_path(line, i, path, marked);
		free(marked);
	}
}

const char *compile_line_left_out(const struct compile_line *line,
				  const struct compile_target *target,
				  size_t *more)
{
	const char *first = NULL;

	*more = 0;
	for (size_t i = 0; line->cplusplus && i < line->count; i++) {
		const char *folder = line->words[i].folder;

		if (!folder || !is_covered(target, folder) ||
		    is_system_folder(target, folder))
			continue;
		*more += first != NULL;
		first = first ? first : folder;
	}
	return first;
}

/* Writes two options of gcc, each with a NUL; an option without items is "".
 * Returns 0 or -ENOMEM. */
static int make_lists(const struct compile_target *target,
		      const struct compile_choice *choice, char **lists)
{
	bool with_folders =
		target->folder_count && choice->headers != COMPILE_HEADERS_IN;
	size_t size, count = 0;
	FILE *out = open_memstream(lists, &size);

	if (!out)
		return -ENOMEM;
	if (with_folders)
		fputs("-finstrument-functions-exclude-file-list=", out);
	for (size_t i = 0; with_folders && i < target->folder_count; i++)
		if (!is_covered(target, target->folders[i]))
			put_option_item(out, target->folders[i], !count++);
	putc('\0', out);
	if (choice->function_count)
		fputs("-finstrument-functions-exclude-function-list=", out);
	for (size_t i = 0; i < choice->function_count; i++)
		put_option_item(out, choice->functions[i], !i);
	return fclose(out) ? -ENOMEM : 0;
}

static const char out_by_calls_only[] =
	"only gcc with --hooks=calls leaves system headers out: leave "
	"--system-headers=no out, or use perfrec record --exclude";

const char *compile_entry_refuse(const struct compile_line *line,
				 const struct compile_target *target)
{
	static char why[256];

	if (!target->x86_64)
		return "no hooks: --hooks=entry is for x86-64";
	if (target->clang || !line->no_entry)
		return NULL;
	snprintf(why, sizeof(why),
		 "no hooks: --hooks=entry does not go with '%s'",
		 line->no_entry);
	return why;
}

const char *compile_flags_refuse(const struct compile_target *target,
				 const struct compile_choice *choice)
{
	if (choice->hooks == COMPILE_ENTRY) {
		if (choice->style == COMPILE_BEFORE)
			return "--hooks=entry puts hooks in after inlining, "
			       "and cannot do it before: leave "
			       "--before-inlining out, or use --hooks=calls";
		if (choice->function_count)
			return "--hooks=entry cannot leave functions out by "
			       "name: use perfrec record --exclude, which "
			       "patches them away, or --hooks=calls with gcc";
		if (choice->headers == COMPILE_HEADERS_OUT)
			return out_by_calls_only;
		if (!target->clang && target->version < GCC_ENTRY)
			return "--hooks=entry needs gcc 10 or later, or clang";
		return NULL;
	}
	if (!target->clang && choice->style == COMPILE_AFTER)
		return "gcc puts its hooks in before inlining, and cannot do "
		       "it after: leave --after-inlining out, or use clang";
	if (target->clang && choice->headers == COMPILE_HEADERS_OUT)
		return out_by_calls_only;
	if (target->clang && choice->function_count)
		return "clang cannot leave functions out by name: use gcc, "
		       "__attribute__((no_instrument_function)), or perfrec "
		       "record --exclude";
	return NULL;
}

int compile_flags_make(const struct compile_line *line,
		       const struct compile_target *target,
		       const struct compile_choice *choice, const char *specs,
		       const char *flags[COMPILE_FLAGS_MAX + 1], char **lists)
{
	const char *functions;

	*lists = NULL;
	/* -g would add line numbers to assembler that may have its own. */
	if (!compile_line_count(line, COMPILE_ASSEMBLER, false))
		*flags++ = "-g";
	if (choice->hooks == COMPILE_ENTRY) {
		if (target->clang) {
			*flags++ = "-Xclang";
			*flags++ = "-fxray-instrument";
			*flags++ = "-Xclang";
			*flags++ = "-fxray-instruction-threshold=1";
		} else {
			*flags++ = specs;
		}
		*flags = NULL;
		return 0;
	}
	*flags++ = "-fno-omit-frame-pointer";
	*flags++ = target->clang && choice->style != COMPILE_BEFORE
			   ? "-finstrument-functions-after-inlining"
			   : "-finstrument-functions";
	*flags = NULL;
	if (target->clang)
		return 0;
	if (make_lists(target, choice, lists))
		return -ENOMEM;
	functions = *lists + strlen(*lists) + 1;
	if (**lists)
		*flags++ = *lists;
	if (*functions)
		*flags++ = functions;
	*flags = NULL;
	return 0;
}
