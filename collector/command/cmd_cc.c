/* SPDX-License-Identifier: Apache-2.0
 *
 * Usually perfrec adds flags to the command line and becomes the compiler. Two
 * cases need more:
 *
 * --only and --exclude may select some sources of a command line, but a flag
 * applies to all. Then the compiler runs several times. If the line does not
 * link, it runs for the selected sources and then for the rest. If the line
 * links, each selected source is first compiled to an object in a temporary
 * folder. Then the entire line runs with these objects instead of the sources.
 *
 * C libraries other than glibc have no hooks, so a program with calls of hooks
 * would not link. There, each linked module gets another source, a memfd with
 * two empty hooks. This must not happen with glibc: a hook in the program would
 * hide that of the preloaded library.
 *
 * With --hooks=entry (shared/entry_build.h) gcc's objects are complete. clang's
 * get their note from another source at link time. gcc's link-time optimisation
 * inserts hooks only when it links, and then it cannot distinguish sources.
 */
#include "collector/command/cmd_cc.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/path.h"
#include "collector/command/compile_flags.h"
#include "collector/command/compiler_ask.h"
#include "collector/command/spawn.h"
#include "collector/options/opts.h"
#include "shared/compiler.h"
#include "shared/entry_build.h"

/* As in shells. */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127
#define EXIT_SIGNAL 128

/* Valid C and C++, even with all warnings as errors. */
static const char stubs[] =
	"#ifdef __cplusplus\n"
	"extern \"C\" {\n"
	"#endif\n"
	"#define STUB __attribute__((used, weak, visibility(\"hidden\"), \\\n"
	"			    no_instrument_function))\n"
	"STUB void __cyg_profile_func_enter(void *function, void *site);\n"
	"STUB void __cyg_profile_func_exit(void *function, void *site);\n"
	"void __cyg_profile_func_enter(void *function, void *site)\n"
	"{ (void)function; (void)site; }\n"
	"void __cyg_profile_func_exit(void *function, void *site)\n"
	"{ (void)function; (void)site; }\n"
	"#ifdef __cplusplus\n"
	"}\n"
	"#endif\n";

/* The note of shared/entry_build.h, in assembler. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define NOTE_XRAY 2

_Static_assert(NOTE_XRAY == ENTRY_XRAY && ENTRY_NOTE_TYPE == 1u, "as below");

static const char xray_note[] =
	".section .note.perfrec,\"a\",@note\n"
	".balign 4\n"
	".long 8, 4, 1\n"
	".asciz \"" ENTRY_NOTE_NAME "\"\n"
	".long " TEXT(NOTE_XRAY) "\n"
				 ".section .note.GNU-stack,\"\",@progbits\n";

struct path_list {
	char **paths; /* absolute, without links */
	size_t count;
};

struct cc_options {
	struct path_list only, except;
	struct compile_choice choice;
	const char **functions; /* for choice.functions */
	bool verbose, dry_run;
};

struct words {
	const char **list;
	size_t count;
};

struct cc {
	const char *name; /* "cc" or "c++" */
	struct cc_options options;
	const char *const *command;
	size_t command_count;
	const char *const *rest; /* its arguments, as given */
	struct compile_line *line;
	struct compiler_answer answer;
	const char *flags[COMPILE_FLAGS_MAX + 1]; /* to add; may be empty */
	char *lists; /* memory of some flags */
	char *specs; /* "-specs=PATH" or NULL */
};

/* --- options ------------------------------------------------------------- */

static int take_cc_path(struct path_list *list, const struct opts_value *value)
{
	char *path = realpath(value->text, NULL);
	char why[128];

	if (path) {
		list->paths[list->count++] = path;
		return OPTS_GO_ON;
	}
	snprintf(why, sizeof(why), "%s%s", strerror(errno),
		 value->text[0] == '/' ? "" : " here; give an absolute path");
	return opts_refuse(value, why);
}

static int take_cc_option(void *to, const struct opts_value *value)
{
	struct cc_options *options = to;

	switch (value->id) {
	case OPT_CC_ONLY:
		return take_cc_path(&options->only, value);
	case OPT_CC_EXCLUDE:
		return take_cc_path(&options->except, value);
	case OPT_CC_EXCLUDE_FUNCTION:
		options->functions[options->choice.function_count++] =
			value->text;
		return OPTS_GO_ON;
	case OPT_CC_HOOKS:
		options->choice.hooks = (enum compile_hooks)value->word;
		return OPTS_GO_ON;
	case OPT_CC_SYSTEM_HEADERS:
		options->choice.headers =
			COMPILE_HEADERS_OUT + (enum compile_headers)value->word;
		return OPTS_GO_ON;
	case OPT_CC_BEFORE_INLINING:
		options->choice.style = COMPILE_BEFORE;
		return OPTS_GO_ON;
	case OPT_CC_AFTER_INLINING:
		options->choice.style = COMPILE_AFTER;
		return OPTS_GO_ON;
	case OPT_CC_VERBOSE:
		options->verbose = true;
		return OPTS_GO_ON;
	case OPT_CC_DRY_RUN:
		options->dry_run = true;
		return OPTS_GO_ON;
	default:
		assert(!"an option of perfrec cc that nobody takes");
		return OPTS_WRONG;
	}
}

/* --- running the compiler ------------------------------------------------ */

static void put_quoted(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./,:@%";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	putc('\'', out);
}

static void show_words(const struct words *words, FILE *out)
{
	for (size_t i = 0; i < words->count; i++) {
		if (i)
			putc(' ', out);
		put_quoted(out, words->list[i]);
	}
	putc('\n', out);
	fflush(out);
}

static int say_cannot_run(const char *name, int err)
{
	log_err("cannot run '%s': %s%s", name, strerror(err),
		spawn_way_out(name, err));
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Becomes the program @words; with --dry-run only prints it. */
static int become_compiler(const struct cc *cc, const struct words *words)
{
	if (cc->options.verbose)
		show_words(words, stderr);
	if (cc->options.dry_run) {
		show_words(words, stdout);
		return OPTS_OK;
	}
	execvp(cc->command[0], (char *const *)words->list);
	return say_cannot_run(cc->command[0], errno);
}

static int run_compiler(const struct cc *cc, const struct words *words)
{
	pid_t child;
	int status;

	if (cc->options.dry_run)
		return become_compiler(cc, words);
	child = fork();
	if (!child)
		_exit(become_compiler(cc, words));
	while (child >= 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			child = -1;
	if (child < 0) {
		log_err("cannot start '%s': %s", words->list[0],
			strerror(errno));
		return OPTS_FAILED;
	}
	return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

/* --- command lines ------------------------------------------------------- */

static void add_argument_word(struct words *words, const char *word)
{
	words->list[words->count++] = word;
}

/* Begins *@words with the compiler, and with the flags if @with_flags.
 * Reserves room for all further words. The caller frees the list. Returns 0
 * or -ENOMEM. */
static int start_words(const struct cc *cc, bool with_flags,
		       struct words *words)
{
	/* A source may become "-x LANGUAGE SOURCE". */
	size_t room = cc->command_count + cc->line->count * 3 +
		      COMPILE_FLAGS_MAX + 16;

	*words = (struct words){ .list = calloc(room, sizeof(*words->list)) };
	if (!words->list) {
		log_err("out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < cc->command_count; i++)
		add_argument_word(words, cc->command[i]);
	for (size_t i = 0; with_flags && cc->flags[i]; i++)
		add_argument_word(words, cc->flags[i]);
	if (!with_flags || !cc->line->changed)
		return 0;
	/* Otherwise gcc removes the "/." from the paths again. */
	add_argument_word(words, "-fno-canonical-system-headers");
	for (size_t i = 0; i < cc->line->count; i++)
		if (cc->line->words[i].map)
			add_argument_word(words, cc->line->words[i].map);
	return 0;
}

static bool is_cplusplus(const struct compile_line *line)
{
	for (size_t i = 0; i < line->count; i++)
		if (strncmp(line->words[i].text, "-std=", 5) == 0 &&
		    strstr(line->words[i].text, "++"))
			return true;
	return false;
}

static void add_source(struct words *words, const char *language,
		       const char *text)
{
	static char path[32];
	/* The compiler inherits it. */
	int fd = memfd_create("perfrec-stubs", 0);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		log_warn("no stubs for the hooks: %s", strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	add_argument_word(words, "-x");
	add_argument_word(words, language);
	add_argument_word(words, path);
}

/* Returns true if the output may have hooks of an entry build: objects may,
 * sources only if selected. */
static bool links_entry_build(const struct cc *cc)
{
	return cc->line->links && cc->answer.text && cc->answer.target.x86_64 &&
	       cc->options.choice.hooks == COMPILE_ENTRY &&
	       (compile_line_count(cc->line, COMPILE_SOURCE, true) ||
		!compile_line_count(cc->line, COMPILE_SOURCE, false));
}

static void add_stubs(const struct cc *cc, struct words *words)
{
	if (links_entry_build(cc) && cc->answer.target.clang)
		add_source(words, "assembler", xray_note);
	if (!cc->line->links || cc->answer.glibc || !cc->answer.text ||
	    cc->options.choice.hooks == COMPILE_ENTRY)
		return;
	add_source(words, is_cplusplus(cc->line) ? "c++" : "c", stubs);
}

static int compile_whole(const struct cc *cc)
{
	struct words words;
	int result;

	if (start_words(cc, true, &words))
		return OPTS_FAILED;
	/* Objects of link-time optimisation have no hooks yet. */
	if (!cc->flags[0] && cc->specs && links_entry_build(cc))
		add_argument_word(&words, cc->specs);
	for (size_t i = 0; cc->line->changed && i < cc->line->count; i++)
		add_argument_word(&words, cc->line->words[i].text);
	for (size_t i = 0; !cc->line->changed && cc->rest[i]; i++)
		add_argument_word(&words, cc->rest[i]);
	add_stubs(cc, &words);
	result = become_compiler(cc, &words);
	free(words.list);
	return result;
}

/* Compiles the selected sources, or the other ones, of a line that does not
 * link. */
static int compile_some(const struct cc *cc, bool chosen)
{
	struct words words;
	int result;

	if (start_words(cc, chosen, &words))
		return OPTS_FAILED;
	for (size_t i = 0; i < cc->line->count; i++) {
		const struct compile_word *word = &cc->line->words[i];
		bool is_input = word->kind >= COMPILE_SOURCE;

		if (!is_input || word->chosen == chosen)
			add_argument_word(&words, word->text);
	}
	result = run_compiler(cc, &words);
	free(words.list);
	return result;
}

static int compile_one(const struct cc *cc, const struct compile_word *source,
		       const char *object)
{
	struct words words;
	int result;

	if (start_words(cc, true, &words))
		return OPTS_FAILED;
	for (size_t i = 0; i < cc->line->count; i++)
		if (cc->line->words[i].kind <= COMPILE_TARGET)
			add_argument_word(&words, cc->line->words[i].text);
	if (source->language) {
		add_argument_word(&words, "-x");
		add_argument_word(&words, source->language);
	}
	/* Flags for the linker are unused here. */
	if (cc->answer.target.clang)
		add_argument_word(&words, "-Qunused-arguments");
	add_argument_word(&words, "-c");
	add_argument_word(&words, source->text);
	add_argument_word(&words, "-o");
	add_argument_word(&words, object);
	result = run_compiler(cc, &words);
	free(words.list);
	return result;
}

/* Runs the entire line with objects instead of the selected sources. A -x
 * applies until the next -x and would be wrong for an object. */
static int link_objects(const struct cc *cc, char *const *objects)
{
	const char *language = NULL;
	struct words words;
	int result;

	if (start_words(cc, false, &words))
		return OPTS_FAILED;
	for (size_t i = 0; i < cc->line->count; i++) {
		const struct compile_word *word = &cc->line->words[i];
		const char *wanted = objects[i] ? NULL : word->language;

		if (word->kind == COMPILE_LANGUAGE)
			continue;
		if (word->kind >= COMPILE_SOURCE && wanted != language) {
			add_argument_word(&words, "-x");
			add_argument_word(&words, wanted ? wanted : "none");
			language = wanted;
		}
		add_argument_word(&words, objects[i] ? objects[i] : word->text);
	}
	add_stubs(cc, &words);
	result = run_compiler(cc, &words);
	free(words.list);
	return result;
}

static int compile_in(const struct cc *cc, const char *folder)
{
	const struct compile_line *line = cc->line;
	char **objects = calloc(line->count, sizeof(*objects));
	int result = objects ? OPTS_OK : OPTS_FAILED;

	for (size_t i = 0; i < line->count && result == OPTS_OK; i++) {
		if (line->words[i].kind != COMPILE_SOURCE ||
		    !line->words[i].chosen)
			continue;
		if (asprintf(&objects[i], "%s/%zu.o", folder, i) < 0) {
			objects[i] = NULL;
			result = OPTS_FAILED;
		} else {
			result = compile_one(cc, &line->words[i], objects[i]);
		}
	}
	if (result == OPTS_OK)
		result = link_objects(cc, objects);
	for (size_t i = 0; objects && i < line->count; i++) {
		if (objects[i])
			unlink(objects[i]);
		free(objects[i]);
	}
	free(objects);
	return result;
}

static int compile_and_link(const struct cc *cc)
{
	const char *temporary = getenv("TMPDIR");
	char folder[PATH_MAX];
	int result;

	snprintf(folder, sizeof(folder), "%s/perfrec-cc.XXXXXX",
		 temporary && temporary[0] ? temporary : "/tmp");
	if (!mkdtemp(folder)) {
		log_err("cannot make a folder for objects '%s': %s", folder,
			strerror(errno));
		return OPTS_FAILED;
	}
	/* The signals end the compiler; perfrec stays to remove the folder. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	result = compile_in(cc, folder);
	rmdir(folder);
	return result;
}

static int compile_as_chosen(const struct cc *cc)
{
	bool some = compile_line_count(cc->line, COMPILE_SOURCE, true);
	bool not_all = compile_line_count(cc->line, COMPILE_SOURCE, false);
	int result;

	if (!cc->flags[0] || !some || !not_all)
		return compile_whole(cc);
	if (cc->line->links)
		return compile_and_link(cc);
	result = compile_some(cc, true);
	return result ? result : compile_some(cc, false);
}

/* --- choices -------------------------------------------------------------- */

static bool path_is_in(const char *path, const struct path_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		size_t length = strlen(list->paths[i]);

		if (strncmp(path, list->paths[i], length) == 0 &&
		    (!path[length] || path[length] == '/' || length == 1))
			return true;
	}
	return false;
}

/* Precompiled headers stay selected, because they need the flags of the sources
 * that include them. */
static void choose_sources(struct cc *cc)
{
	const struct cc_options *options = &cc->options;

	for (size_t i = 0; i < cc->line->count; i++) {
		struct compile_word *word = &cc->line->words[i];
		char *path;

		if (word->kind != COMPILE_SOURCE || !word->chosen)
			continue;
		/* "-" has no path. */
		path = realpath(word->text, NULL);
		if (options->only.count)
			word->chosen = path && path_is_in(path, &options->only);
		if (path && path_is_in(path, &options->except))
			word->chosen = false;
		free(path);
	}
}

/* Returns true if the file name of @word is in @list, where each name has a
 * blank on both sides. */
static bool is_one_of(const char *word, const char *list)
{
	const char *name = path_name(word);
	const char *at = strstr(list, name);
	size_t length = strlen(name);

	return at && length && at[-1] == ' ' && at[length] == ' ';
}

static bool is_assignment(const char *word)
{
	const char *equals = strchr(word, '=');

	return equals && equals != word && word[0] != '-' &&
	       !memchr(word, '/', (size_t)(equals - word));
}

static bool is_command(const char *word)
{
	char path[PATH_MAX];

	return spawn_find_command(word, path) == 0;
}

/*
 * Counts the words between the launcher argv[0] and the command that it starts:
 * assignments ("A=1"), and for launchers such as nice also options and their
 * values. Returns 0 if there is no command, or if argv[0] is no launcher with
 * such words.
 */
static int count_launcher_words(char *const *argv)
{
	bool any = is_one_of(argv[0],
			     " env nice ionice time timeout taskset setarch "
			     "chrt stdbuf nohup setsid ");
	int count = 0;

	if (!any && !is_one_of(argv[0], " ccache sccache distcc icecc "))
		return 0;
	while (argv[count + 1] && (is_assignment(argv[count + 1]) ||
				   (any && (argv[count + 1][0] == '-' ||
					    !is_command(argv[count + 1])))))
		count++;
	return argv[count + 1] && is_command(argv[count + 1]) ? count : 0;
}

/* Returns true if @word after a launcher is the command it starts. */
static bool names_next(const char *word)
{
	return word && word[0] != '-' && word[0] != '@' &&
	       !compile_is_input(word) &&
	       (strchr(word, '/') || access(word, F_OK) < 0) &&
	       is_command(word);
}

/* Counts the words of @argv that name the compiler: one, or more after
 * launchers such as ccache and env. The words must name commands and no
 * inputs. */
static int count_command(char *const *argv)
{
	int skipped, count = 1;

	for (;;) {
		skipped = count_launcher_words(argv + count - 1);
		if (!skipped && !names_next(argv[count]))
			return count;
		count += skipped + 1;
	}
}

static int read_command(struct cc *cc, char **argv)
{
	char path[PATH_MAX];
	int count, err;

	err = spawn_find_command(argv[0], path);
	if (err)
		return say_cannot_run(argv[0], -err);
	count = count_command(argv);
	cc->command = (const char *const *)argv;
	cc->command_count = (size_t)count;
	cc->rest = (const char *const *)argv + count;
	if (compile_line_read(argv + count - 1, &cc->line)) {
		log_err("out of memory");
		return OPTS_FAILED;
	}
	choose_sources(cc);
	return OPTS_GO_ON;
}

static bool wants_flags(const struct compile_line *line)
{
	return line->makes_code &&
	       compile_line_count(line, COMPILE_SOURCE, true) +
		       compile_line_count(line, COMPILE_HEADER, true);
}

/* Sets cc->specs to the option for entry.specs, which is next to this
 * executable or in the folder of `make install`. */
static int find_specs(struct cc *cc)
{
	static const char *const places[] = {
		"entry.specs",
		"../libexec/perfrec/entry.specs",
	};
	char self[PATH_MAX], path[PATH_MAX], *real = NULL;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[length < 0 ? 0 : length] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(places) && !real; i++) {
		int size = snprintf(path, sizeof(path), "%.*s/%s",
				    (int)(slash - self), self, places[i]);

		if (size >= 0 && size < PATH_MAX)
			real = realpath(path, NULL);
	}
	if (!real) {
		log_err("cannot find entry.specs, which --hooks=entry needs: "
			"install perfrec whole");
		return OPTS_FAILED;
	}
	if (asprintf(&cc->specs, "-specs=%s", real) < 0)
		cc->specs = NULL;
	free(real);
	if (cc->specs)
		return OPTS_GO_ON;
	log_err("out of memory");
	return OPTS_FAILED;
}

static int prepare_entry(struct cc *cc)
{
	struct compile_line *line = cc->line;
	const char *why = compile_entry_refuse(line, &cc->answer.target);

	if (why || line->no_hooks) {
		if (why && wants_flags(line))
			log_warn("%s", why);
		for (size_t i = 0; i < line->count; i++)
			line->words[i].chosen = false;
		return OPTS_GO_ON;
	}
	if (cc->answer.target.clang)
		return OPTS_GO_ON;
	/* gcc's link-time optimisation puts hooks into all functions or
	 * none. */
	if (line->lto && line->links && !line->freestanding &&
	    (cc->options.only.count || cc->options.except.count)) {
		log_warn("--only and --exclude have no effect on --hooks=entry "
			 "with -flto: gcc puts hooks in when it links");
		for (size_t i = 0; i < line->count; i++)
			line->words[i].chosen |=
				line->words[i].kind == COMPILE_SOURCE;
	}
	return find_specs(cc);
}

static void mark_variable(struct cc *cc, const char *name)
{
	const char *value = getenv(name);
	char *copy = value ? strdup(value) : NULL, *rest = copy;
	char *folder, *marked, *text = NULL;
	bool changed = false;
	size_t size;
	FILE *out = copy ? open_memstream(&text, &size) : NULL;

	while (out && (folder = strsep(&rest, ":"))) {
		marked = compile_path_mark(&cc->answer.target, folder);
		fprintf(out, "%s%s", marked ? marked : folder, rest ? ":" : "");
		changed |= marked != NULL;
		free(marked);
	}
	if (out && !fclose(out) && changed && !setenv(name, text, 1))
		cc->line->changed = true;
	free(text);
	free(copy);
}

/* Restricts gcc's exclusion to system headers, and warns of user folders that
 * gcc still excludes. */
static void prepare_headers(struct cc *cc)
{
	static const char *const variables[] = { "CPATH", "C_INCLUDE_PATH",
						 "CPLUS_INCLUDE_PATH",
						 "OBJC_INCLUDE_PATH" };
	const struct compile_target *target = &cc->answer.target;
	const struct compile_choice *choice = &cc->options.choice;
	const char *folder;
	char others[32] = "";
	size_t more;

	if (target->clang || choice->hooks == COMPILE_ENTRY ||
	    choice->headers == COMPILE_HEADERS_IN)
		return;
	folder = compile_line_left_out(cc->line, target, &more);
	if (more)
		snprintf(others, sizeof(others), " and %zu more", more);
	if (folder && choice->headers == COMPILE_HEADERS_UNSAID)
		log_warn("no hooks in functions of headers in '%s'%s: give "
			 "them some by --system-headers=yes, or hide this by "
			 "--system-headers=no",
			 folder, others);
	compile_line_mark_paths(cc->line, target);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		mark_variable(cc, variables[i]);
}

static int find_flags(struct cc *cc)
{
	const struct compile_choice *choice = &cc->options.choice;
	struct compile_line *line = cc->line;
	bool wanted = wants_flags(line);
	const char *why;
	int err, result;

	/* gnatmake's -s is another option. */
	if (line->links && line->strips && !line->freestanding &&
	    !line->no_hooks && !line->gnatmake)
		log_warn("'%s' strips the names of functions: perfrec will "
			 "show places such as 'app+0x1234'; leave it out",
			 line->strips);
	if (!wanted && !line->links &&
	    !compile_line_count(line, COMPILE_FOREIGN, false))
		return OPTS_GO_ON;
	err = compiler_ask(cc->command, cc->command_count, line, &cc->answer);
	/* The compiler then reports the error itself. */
	if (err == -EIO || (err == -ENOTSUP && !wanted))
		return OPTS_GO_ON;
	if (err)
		return OPTS_FAILED;
	if (cc->answer.target.clang) {
		/* clang passes such sources to a gcc, with flags that only
		 * clang accepts. */
		for (size_t i = 0; i < line->count; i++) {
			struct compile_word *word = &line->words[i];

			if (!word->gcc_only || !word->chosen)
				continue;
			word->chosen = false;
			log_warn("no hooks in '%s', which clang leaves to "
				 "another compiler: use that one",
				 word->text);
		}
	}
	for (size_t i = 0; line->makes_code && i < line->count; i++)
		if (line->words[i].kind == COMPILE_FOREIGN)
			log_warn("no hooks in '%s': perfrec cc knows C, C++, "
				 "Objective-C, Fortran, Ada and D",
				 line->words[i].text);
	if (choice->hooks == COMPILE_ENTRY) {
		result = prepare_entry(cc);
		if (result != OPTS_GO_ON)
			return result;
	}
	if (!wants_flags(line))
		return OPTS_GO_ON;
	why = compile_flags_refuse(&cc->answer.target, choice);
	if (why) {
		log_err("%s", why);
		return OPTS_WRONG;
	}
	prepare_headers(cc);
	if (!compile_flags_make(line, &cc->answer.target, choice, cc->specs,
				cc->flags, &cc->lists))
		return OPTS_GO_ON;
	log_err("out of memory");
	return OPTS_FAILED;
}

/* cmd_cc() without the memory for options, which @cc has. */
static int cc_main(struct cc *cc, int argc, char **argv)
{
	enum opts_command command = opts_find_command(cc->name);
	int result =
		opts_parse(command, argc, argv, take_cc_option, &cc->options);

	if (result == OPTS_GO_ON && optind >= argc) {
		log_err("no compiler: perfrec %s [options] COMPILER "
			"[ARGUMENT...]",
			cc->name);
		return OPTS_WRONG;
	}
	if (result == OPTS_GO_ON)
		result = read_command(cc, argv + optind);
	if (result == OPTS_GO_ON)
		result = find_flags(cc);
	if (result == OPTS_GO_ON)
		result = compile_as_chosen(cc);
	return result;
}

static void path_list_release(struct path_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	free(list->paths);
}

int cmd_cc(int argc, char **argv)
{
	const size_t room = (size_t)argc;
	struct cc cc = { .name = argv[0] };
	struct cc_options *options = &cc.options;
	int result = OPTS_FAILED;

	options->only.paths = calloc(room, sizeof(char *));
	options->except.paths = calloc(room, sizeof(char *));
	options->functions = calloc(room, sizeof(*options->functions));
	options->choice.functions = options->functions;
	if (options->only.paths && options->except.paths && options->functions)
		result = cc_main(&cc, argc, argv);
	else
		log_err("out of memory");
	path_list_release(&options->only);
	path_list_release(&options->except);
	free(options->functions);
	compiler_answer_release(&cc.answer);
	free(cc.lists);
	free(cc.specs);
	compile_line_free(&cc.line);
	return result;
}
