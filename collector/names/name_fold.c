/* SPDX-License-Identifier: Apache-2.0
 *
 * find_parts() finds the start of the name after the return type, its
 * parameters and its end. put_folded_part() writes the part between. Both skip
 * template argument lists as a whole, so each byte is read only a few times. An
 * unterminated list is no list, and the bytes up to that finding are not
 * searched again.
 */
#include "collector/names/name_fold.h"

#include <string.h>

#include "collector/base/utf8.h"
#include "shared/compiler.h"

/* Most open lists inside each other. */
#define OPEN_DEPTH_MAX 16

#define ELLIPSIS "\xe2\x80\xa6"

struct name {
	const char *text;
	size_t length;
	size_t begin;
	size_t params; /* end: none */
	size_t end;
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

static bool starts_with(const struct name *name, size_t at, const char *text)
{
	size_t length = strlen(text);

	return name->length - at >= length &&
	       memcmp(name->text + at, text, length) == 0;
}

static char char_at(const struct name *name, size_t at)
{
	return at < name->length ? name->text[at] : '\0';
}

static char char_before(const struct name *name, size_t at)
{
	return at ? name->text[at - 1] : '\0';
}

/* --- tokens that hold brackets ------------------------------------------- */

/* Includes the symbol of the operator. Returns 0 if there is none. */
static size_t operator_length(const struct name *name, size_t at)
{
	static const char *const symbols[] = { "()",  "[]",  "->*", "->", "<=>",
					       "<<=", ">>=", "<<",  ">>", "<=",
					       ">=",  "<",   ">" };
	const size_t word = strlen("operator");

	if (char_at(name, at) != 'o' || !starts_with(name, at, "operator") ||
	    is_word(char_before(name, at)) || is_word(char_at(name, at + word)))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		size_t length = strlen(symbols[i]);

		if (!starts_with(name, at + word, symbols[i]))
			continue;
		/* "operator<<int>": the list of operator< */
		if (strcmp(symbols[i], "<<") == 0 &&
		    is_word(char_at(name, at + word + length)))
			continue;
		return word + length;
	}
	return word;
}

static size_t anonymous_length(const struct name *name, size_t at)
{
	static const char *const texts[] = { "(anonymous namespace)",
					     "(anonymous class)",
					     "(anonymous)" };

	if (char_at(name, at) != '(')
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (starts_with(name, at, texts[i]))
			return strlen(texts[i]);
	return 0;
}

/* Returns the length of a token whose brackets do not count; at least 1. */
static size_t token_length(const struct name *name, size_t at)
{
	size_t length = operator_length(name, at);

	if (length)
		return length;
	/* A literal such as '<'. */
	return char_at(name, at) == '\'' && char_at(name, at + 1) &&
			       char_at(name, at + 2) == '\''
		       ? 3
		       : 1;
}

/* Returns false if not closed, with *@at at the end of the search. */
static bool skip_brackets(const struct name *name, size_t *at, char close)
{
	char open = name->text[*at];
	size_t depth = 0;

	while (*at < name->length) {
		char c = name->text[*at];

		*at += token_length(name, *at);
		if (c == open)
			depth++;
		else if (c == close && !--depth)
			return true;
	}
	return false;
}

/* Returns false for '<' or '>' in comparisons and arrows: "(a)<(b)", ">=". */
static bool is_bracket(const struct name *name, size_t at)
{
	char before = char_before(name, at);

	if (name->text[at] == '<')
		return before != ')' &&
		       !(before == '<' && at > 1 && name->text[at - 2] == ')');
	return before != '-' && char_at(name, at + 1) != '=';
}

/* As skip_brackets() for template arguments. Ignores round brackets inside,
 * which may contain comparisons. */
static bool skip_list(const struct name *name, size_t *at)
{
	size_t angles = 0, rounds = 0;

	while (*at < name->length) {
		size_t here = *at, length = token_length(name, here);
		char c = name->text[here];

		*at += length;
		if (length > 1)
			continue;
		if (c == '(') {
			rounds++;
		} else if (c == ')') {
			if (!rounds--)
				return false;
		} else if ((c == '<' || c == '>') && !rounds &&
			   (!angles || is_bracket(name, here))) {
			if (c == '<')
				angles++;
			else if (!--angles)
				return true;
		}
	}
	return false;
}

/* Excludes the bracket of "decltype (". Returns 0 if there is none. */
static size_t decltype_length(const struct name *name, size_t at)
{
	static const char *const words[] = { "decltype", "typeof", "noexcept" };

	if (is_word(char_before(name, at)))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t length = strlen(words[i]);

		if (!starts_with(name, at, words[i]))
			continue;
		length += char_at(name, at + length) == ' ';
		return char_at(name, at + length) == '(' ? length : 0;
	}
	return 0;
}

/* --- the parts of a name ------------------------------------------------- */

static size_t prefix_length(const struct name *name)
{
	static const char *const prefixes[] = {
		"non-virtual thunk to ",
		"virtual thunk to ",
		"covariant return thunk to ",
		"vtable for ",
		"VTT for ",
		"typeinfo for ",
		"typeinfo name for ",
		"guard variable for ",
		"TLS init function for ",
		"TLS wrapper function for ",
		"transaction clone for ",
		"non-transaction clone for ",
		"hidden alias for ",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (starts_with(name, 0, prefixes[i]))
			return strlen(prefixes[i]);
	return 0;
}

/* A suffix is @word plus a number. Returns 0 if there is none. */
static size_t suffix_length(const struct name *name, size_t end,
			    const char *word)
{
	size_t length = strlen(word), at = end;

	while (at && name->text[at - 1] >= '0' && name->text[at - 1] <= '9')
		at--;
	if (at == end || at <= length ||
	    memcmp(name->text + at - length, word, length) != 0)
		return 0;
	return end - at + length;
}

/* As suffix_length() for all words, in C (f.isra.0) and demangled (f() [clone
 * .isra.0]). */
static size_t copy_length(const struct name *name, size_t end)
{
	static const char clone[] = " [clone ";
	static const char *const words[] = { ".isra.", ".constprop.", ".part.",
					     ".lto_priv.", ".llvm." };
	bool closed = end && name->text[end - 1] == ']';
	size_t in = end - closed, before = closed ? strlen(clone) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t length = suffix_length(name, in, words[i]);

		/* "[clone .isra.0.part.1]" */
		while (closed && length && in - length >= before &&
		       name->text[in - length - 1] != ' ') {
			size_t more = 0;

			for (size_t j = 0; j < ARRAY_SIZE(words) && !more; j++)
				more = suffix_length(name, in - length,
						     words[j]);
			if (!more)
				return 0;
			length += more;
		}
		if (!length || in - length <= before)
			continue;
		if (!closed)
			return length;
		if (memcmp(name->text + in - length - before, clone, before))
			return 0;
		return length + before + 1;
	}
	return 0;
}

/* Rust: "::h0123456789abcdef". */
static size_t hash_length(const struct name *name, size_t end)
{
	static const size_t length = 19;

	if (end <= length || memcmp(name->text + end - length, "::h", 3) != 0)
		return 0;
	for (size_t i = end - 16; i < end; i++)
		if (!memchr("0123456789abcdef", name->text[i], 16))
			return 0;
	return length;
}

static size_t find_name_end(const struct name *name)
{
	size_t end = name->length, copy;

	while ((copy = copy_length(name, end)) != 0)
		end -= copy;
	return end - hash_length(name, end);
}

struct walk {
	size_t at;
	size_t begin; /* possible start of the name: after the last space */
	bool in_operator;
	bool has_params;
	bool is_template; /* only templates show a return type */
	bool is_odd; /* no C++ name */
};

/* "void (*f<int>(int))(char)": the name is in the brackets. */
static bool enter_pointer(struct name *name, struct walk *walk)
{
	size_t close = walk->at, in = walk->at + 1;

	if (walk->has_params || !skip_brackets(name, &close, ')'))
		return false;
	while (in < close && strchr("*& ", name->text[in]))
		in++;
	if (char_at(name, close) != '(' || in + 1 >= close ||
	    !memchr(name->text + in, '(', close - in))
		return false;
	name->end = close - 1;
	walk->at = in;
	walk->begin = in;
	return true;
}

static void pass_round(struct name *name, struct walk *walk)
{
	size_t open = walk->at;
	char before = char_before(name, open);

	if (before == ' ' && !walk->in_operator) {
		if (strchr("*&", char_at(name, open + 1)) &&
		    enter_pointer(name, walk))
			return;
		walk->is_odd = true;
		return;
	}
	/* Go: "main.(*T).Method" */
	if (!skip_brackets(name, &walk->at, ')') ||
	    char_at(name, walk->at) == '.') {
		walk->is_odd = true;
		return;
	}
	walk->has_params = true;
	walk->in_operator = false;
	walk->is_template |= before == '>';
	name->params = open;
}

static void pass_one(struct name *name, struct walk *walk)
{
	size_t length = operator_length(name, walk->at);
	char c = name->text[walk->at];

	if (length) {
		walk->in_operator = true;
	} else {
		length = anonymous_length(name, walk->at);
		if (!length)
			length = decltype_length(name, walk->at);
		if (length && c != '(') {
			walk->at += length;
			walk->is_odd |= !skip_brackets(name, &walk->at, ')');
			return;
		}
	}
	if (length) {
		walk->at += length;
	} else if (c == '(') {
		pass_round(name, walk);
	} else if (c == '<' &&
		   (walk->in_operator || is_bracket(name, walk->at))) {
		walk->is_odd |= !skip_list(name, &walk->at);
	} else if (c == '{' || c == '[') {
		walk->is_odd |=
			!skip_brackets(name, &walk->at, c == '{' ? '}' : ']');
	} else {
		walk->at++;
		if (c == ' ' && !walk->has_params && !walk->in_operator)
			walk->begin = walk->at;
	}
}

/* A file looks like " (main.c #2)". Returns 0 if there is none. */
static size_t file_length(const char *full, size_t length)
{
	const char *open = memrchr(full, '(', length);
	const char *end = full + length;

	if (!open || open < full + 2 || open[-1] != ' ' || end[-1] != ')' ||
	    !memchr(open, '.', (size_t)(end - open)) ||
	    strcspn(open, "<>,*&:") < (size_t)(end - open))
		return 0;
	return (size_t)(end - open) + 1;
}

static void find_parts(const char *full, struct name *name)
{
	struct walk walk = { 0 };
	size_t length = strlen(full), prefix;

	*name = (struct name){
		.text = full,
		.length = length - file_length(full, length),
	};
	name->end = find_name_end(name);
	name->params = name->end;
	prefix = prefix_length(name);
	walk.at = walk.begin = prefix;
	while (walk.at < name->end && !walk.is_odd) {
		if (walk.has_params && starts_with(name, walk.at, " requires "))
			name->end = walk.at;
		else
			pass_one(name, &walk);
	}
	if (walk.is_odd || !walk.has_params)
		name->params = name->end = find_name_end(name);
	else if (walk.is_template && !prefix)
		name->begin = walk.begin;
}

/* --- the output ---------------------------------------------------------- */

struct sink {
	char *out;
	size_t used;
	bool is_full;
};

static void put_folded(struct sink *sink, const char *text, size_t length)
{
	/* Room for "..." and the NUL. */
	if (sink->is_full || sink->used + length > NAME_FOLD_BYTES - 4) {
		sink->is_full = true;
		return;
	}
	memcpy(sink->out + sink->used, text, length);
	sink->used += length;
}

static size_t end_sink(struct sink *sink)
{
	if (sink->is_full) {
		memcpy(sink->out + sink->used, "...", 3);
		sink->used += 3;
	}
	sink->out[sink->used] = '\0';
	return sink->used;
}

static size_t put_folded_char(struct sink *sink, const struct name *name,
			      size_t at)
{
	const char *text = name->text + at;
	size_t length = utf8_length(text, name->length - at);

	if (!length || utf8_steers(text, length)) {
		put_folded(sink, "?", 1);
		return length ? length : 1;
	}
	put_folded(sink, text, length);
	return length;
}

static void put_chars(struct sink *sink, const struct name *name, size_t at,
		      size_t end)
{
	while (at < end)
		at += put_folded_char(sink, name, at);
}

/* --- inline namespaces --------------------------------------------------- */

static const struct inline_namespace {
	const char *outer; /* enclosing namespace; NULL: any */
	const char *name; /* '#': digits; '*' at the end: anything */
} inline_namespaces[] = {
	/* libstdc++, libc++, and the variants of Android and Chromium */
	{ NULL, "__cxx11" },
	{ NULL, "_V2" },
	{ NULL, "__debug" },
	{ "std", "__#" },
	{ "std", "__ndk#" },
	{ "std", "__Cr" },
	{ NULL, "__fs" },
	{ "experimental", "fundamentals_v#" },
	{ "experimental", "v#" },
	{ "filesystem", "v#" },
	/* libraries */
	{ "nlohmann", "json_abi*" },
	{ "fmt", "v#" },
	{ "toml", "v#" },
	{ "absl", "lts_#" },
	{ "log", "v2*" },
	{ "dnn", "dnn4_v#" },
};

static bool matches_namespace(const char *pattern, const char *word,
			      size_t length)
{
	size_t at = 0;

	for (; *pattern; pattern++) {
		if (*pattern == '*')
			return true;
		if (*pattern == '#') {
			size_t first = at;

			while (at < length && word[at] >= '0' &&
			       word[at] <= '9')
				at++;
			if (at == first)
				return false;
		} else if (at >= length || word[at++] != *pattern) {
			return false;
		}
	}
	return at == length;
}

static bool is_in(const struct name *name, size_t at, const char *outer)
{
	size_t length = strlen(outer);

	return at >= length + 2 &&
	       memcmp(name->text + at - 2 - length, outer, length) == 0 &&
	       (at == length + 2 || !is_word(name->text[at - 3 - length]));
}

/* Includes "::". Returns 0 if there is none. */
static size_t inline_length(const struct name *name, size_t at)
{
	size_t end = at;

	if (at < 2 || name->text[at - 1] != ':' || name->text[at - 2] != ':' ||
	    !memchr("_fvjld", name->text[at], 6))
		return 0;
	while (is_word(char_at(name, end)))
		end++;
	if (!starts_with(name, end, "::"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(inline_namespaces); i++) {
		const struct inline_namespace *one = &inline_namespaces[i];

		if ((!one->outer || is_in(name, at, one->outer)) &&
		    matches_namespace(one->name, name->text + at, end - at))
			return end - at + 2;
	}
	return 0;
}

/* --- short names --------------------------------------------------------- */

struct fold {
	const struct name *name;
	struct sink *sink;
	const size_t *open;
	size_t open_count;
	size_t depth;
	size_t none_before; /* no list starts before this */
};

static bool is_template_open(const struct fold *fold, size_t from, size_t to)
{
	if (fold->depth >= OPEN_DEPTH_MAX)
		return false;
	for (size_t i = 0; i < fold->open_count; i++)
		if (fold->open[i] > from && fold->open[i] < to)
			return true;
	return false;
}

/* Accepts a space after the symbol. */
static bool follows_operator(const struct name *name, size_t at)
{
	const size_t word = strlen("operator");

	at -= char_before(name, at) == ' ';
	for (int i = 0; i < 3 && at > word; i++, at--)
		if (!strchr("<>=-!+*/%&|^~,", name->text[at - 1]))
			break;
	return at >= word &&
	       memcmp(name->text + at - word, "operator", word) == 0;
}

/* Without inline namespaces and blanks between brackets. */
static const struct known_type {
	const char *text, *name;
} known_types[] = {
	{ "basic_string<char, std::char_traits<char>, std::allocator<char>>",
	  "string" },
	{ "basic_string<wchar_t, std::char_traits<wchar_t>, "
	  "std::allocator<wchar_t>>",
	  "wstring" },
	{ "basic_string_view<char, std::char_traits<char>>", "string_view" },
	{ "basic_string_view<wchar_t, std::char_traits<wchar_t>>",
	  "wstring_view" },
};

/* Returns 0 if @at has another text. */
static size_t end_of_type(const struct name *name, size_t at, const char *text)
{
	for (; *text; text++) {
		at += inline_length(name, at);
		if (*text == '>' && char_at(name, at) == ' ')
			at++;
		if (char_at(name, at) != *text)
			return 0;
		at++;
	}
	return at;
}

static bool follows_std(const struct sink *sink)
{
	const size_t length = strlen("std::");
	size_t used = sink->used;

	return used >= length &&
	       memcmp(sink->out + used - length, "std::", length) == 0 &&
	       (used == length || (!is_word(sink->out[used - length - 1]) &&
				   sink->out[used - length - 1] != ':'));
}

/* Returns the position after the type, or 0. */
static size_t put_known_type(struct fold *fold, size_t at)
{
	if (char_at(fold->name, at) != 'b' || !follows_std(fold->sink))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(known_types); i++) {
		const struct known_type *type = &known_types[i];
		size_t end = end_of_type(fold->name, at, type->text);

		if (!end || is_template_open(fold, at, end))
			continue;
		put_folded(fold->sink, type->name, strlen(type->name));
		return end;
	}
	return 0;
}

/* Rust has types in angles: "<T as Trait>::f", "core::<impl X for Y>::f". */
static bool is_list(const struct fold *fold, size_t at)
{
	const struct name *name = fold->name;
	char before = char_before(name, at);

	if (!at || at < fold->none_before || starts_with(name, at, "<impl "))
		return false;
	return is_word(before) || strchr(":])}", before) ||
	       follows_operator(name, at);
}

static size_t put_folded_list(struct fold *fold, size_t at)
{
	size_t end = at;

	if (!skip_list(fold->name, &end)) {
		fold->none_before = end;
		put_folded(fold->sink, "<", 1);
		return at + 1;
	}
	if (end == at + 2 || is_template_open(fold, at, end)) {
		fold->depth += end > at + 2;
		put_folded(fold->sink, "<", 1);
		return at + 1;
	}
	put_folded(fold->sink, "<" ELLIPSIS ">", strlen("<" ELLIPSIS ">"));
	return end;
}

static size_t put_decltype(struct fold *fold, size_t at, size_t word)
{
	size_t end = at + word;
	bool spaced = fold->name->text[end - 1] == ' ';

	if (at < fold->none_before || !skip_brackets(fold->name, &end, ')')) {
		fold->none_before = fold->name->length;
		put_chars(fold->sink, fold->name, at, at + word);
		return at + word;
	}
	put_folded(fold->sink, fold->name->text + at, word - spaced);
	put_folded(fold->sink, "(" ELLIPSIS ")", strlen("(" ELLIPSIS ")"));
	return end;
}

/* "[abi:cxx11]" */
static size_t tag_length(const struct name *name, size_t at)
{
	size_t end = at + strlen("[abi:");

	if (!starts_with(name, at, "[abi:"))
		return 0;
	while (is_word(char_at(name, end)) || char_at(name, end) == '.')
		end++;
	return char_at(name, end) == ']' ? end + 1 - at : 0;
}

static size_t put_folded_part(struct fold *fold, size_t at)
{
	const struct name *name = fold->name;
	size_t length = tag_length(name, at);

	if (!length)
		length = inline_length(name, at);
	if (length)
		return at + length;
	length = put_known_type(fold, at);
	if (length)
		return length;
	length = operator_length(name, at);
	if (!length)
		length = anonymous_length(name, at);
	if (length) {
		put_chars(fold->sink, name, at, at + length);
		return at + length;
	}
	length = decltype_length(name, at);
	if (length)
		return put_decltype(fold, at, length);
	if (name->text[at] == '<' && is_list(fold, at))
		return put_folded_list(fold, at);
	return at + put_folded_char(fold->sink, name, at);
}

size_t name_fold_open(const char *full, const size_t *open, size_t count,
		      char out[NAME_FOLD_BYTES])
{
	struct sink sink = { .out = out };
	struct name whole = { .text = full };
	struct name name;
	struct fold fold = {
		.name = &name, .sink = &sink, .open = open, .open_count = count
	};

	find_parts(full, &name);
	for (size_t at = name.begin; at < name.end && !sink.is_full;)
		at = put_folded_part(&fold, at);
	whole.length = strlen(full);
	put_chars(&sink, &whole, name.length, whole.length);
	return end_sink(&sink);
}

size_t name_fold(const char *full, char out[NAME_FOLD_BYTES])
{
	return name_fold_open(full, NULL, 0, out);
}

size_t name_fold_begin(const char *full)
{
	struct name name;

	find_parts(full, &name);
	return name.begin;
}

size_t name_fold_plain(const char *full, char out[NAME_FOLD_BYTES])
{
	struct sink sink = { .out = out };
	struct name name;

	find_parts(full, &name);
	put_folded(&sink, full + name.begin,
		   MIN(name.params - name.begin, (size_t)NAME_FOLD_BYTES - 4));
	return end_sink(&sink);
}

size_t name_fold_clean(const char *full, char out[NAME_FOLD_BYTES])
{
	struct sink sink = { .out = out };
	const struct name name = { .text = full, .length = strlen(full) };

	for (size_t at = 0; at < name.length && !sink.is_full;)
		at += put_folded_char(&sink, &name, at);
	return end_sink(&sink);
}
