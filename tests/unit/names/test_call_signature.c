/* SPDX-License-Identifier: Apache-2.0
 *
 * call_signature, call_layout: words of arguments by a signature, errors in
 * signatures, and what the program is asked to record.
 */
#include "collector/names/call_signature.h"
#include "tests/suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/record_ext.h"

static const struct {
	const char *text, *pattern;
	const char
		*values; /* NAME KIND BYTES WORD; the result without a name */
} good[] = {
	{ "parse_*", "parse_*", NULL },
	{ " f ", "f", NULL },
	{ "f()", "f", " 0 0 0" },
	{ "f(void)->int", "f", " 2 4 0" },
	{ "f(int, u8)", "f", " 0 0 0|arg1 2 4 0|arg2 3 1 1" },
	{ "f(a:int,b_2 : str)->double", "f", " 6 8 1|a 2 4 0|b_2 8 8 1" },
	{ "ns::f(double, int, float)->ptr", "ns::f",
	  " 7 8 0|arg1 6 8 6|arg2 2 4 0|arg3 6 4 7" },
	{ "f(view, int)->view", "f", " 10 8 0|arg1 10 8 0|arg2 2 4 2" },
	{ "f(ptr,ptr,ptr,ptr,ptr,view,int)", "f",
	  " 0 0 0|arg1 7 8 0|arg2 7 8 1|arg3 7 8 2|arg4 7 8 3|arg5 7 8 4|"
	  "arg6 10 8 14|arg7 2 4 5" },
	{ "f(int,int,int,int,int,int,long,char)", "f",
	  " 0 0 0|arg1 2 4 0|arg2 2 4 1|arg3 2 4 2|arg4 2 4 3|arg5 2 4 4|"
	  "arg6 2 4 5|arg7 2 8 14|arg8 2 1 15" },
	{ "A::operator()(int)", "A::operator()", " 0 0 0|arg1 2 4 0" },
	{ "map<int, A>::at", "map<int, A>::at", NULL },
	{ "A::operator,", "A::operator,", NULL },
	{ "[a,b]*", "[a,b]*", NULL },
};

static const struct {
	const char *text, *why;
} bad[] = {
	{ "", "the name of a function is missing" },
	{ "(int)", "the name of a function is missing" },
	{ "f(int", "'f(int' has no closing bracket" },
	{ "f(foo)", "'foo' is no type; use int" },
	{ "f(char *)", "'char *' is no type" },
	{ "f(int,)", "'' is no type" },
	{ "f(int)int", "after the arguments comes -> and a type" },
	{ "f(int)->", "'' is no type" },
	{ "f(int)->nothing", "'nothing' is no type" },
	{ "f,g", "'f,g' names several functions: give the option for each" },
	{ "map<int, A>::at,g(int)", "names several functions" },
	{ "f->int", "has a result without arguments" },
	{ "f(a b:int)", "'a b' is no name of an argument" },
	{ "f(:int)", "the name of argument 1 is missing" },
	{ "f(int, void)", "an argument cannot be void" },
	{ "f(a123456789012345678901234567890123456789012345678901234567890123:"
	  "int)",
	  "the name of argument 1 is too long" },
	{ "f(int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,int,"
	  "int)",
	  "more than 16 arguments" },
};

static size_t describe_value(const struct call_value *value, char *out,
			     size_t room)
{
	return (size_t)snprintf(out, room, "%s %u %u %u", value->name,
				value->kind, value->bytes, value->word);
}

TEST(signatures, EACH(0, ARRAY_SIZE(good)))
{
	char why[CALL_SIGNATURE_WHY_BYTES] = "", text[1024];
	struct call_signature signature;
	size_t length;

	ck_assert_msg(!call_signature_parse(good[_i].text, &signature, why),
		      "%s: %s", good[_i].text, why);
	ck_assert_str_eq(signature.pattern, good[_i].pattern);
	ck_assert_int_eq(signature.has_types, good[_i].values != NULL);
	length = describe_value(&signature.layout.result, text, sizeof(text));
	for (uint32_t i = 0; i < signature.layout.count; i++) {
		text[length++] = '|';
		length += describe_value(&signature.layout.value[i],
					 text + length, sizeof(text) - length);
	}
	if (good[_i].values)
		ck_assert_str_eq(text, good[_i].values);
	call_signature_release(&signature);
}

TEST(malformed, EACH(0, ARRAY_SIZE(bad)))
{
	char why[CALL_SIGNATURE_WHY_BYTES] = "";
	struct call_signature signature;

	ck_assert_int_eq(call_signature_parse(bad[_i].text, &signature, why),
			 -EINVAL);
	ck_assert_msg(strstr(why, bad[_i].why), "%s: %s", bad[_i].text, why);
	ck_assert(!signature.pattern);
}

/* Makes the words of @text; number 7. */
static struct thunk_words words_of(const char *text, bool texts,
				   struct call_signature *signature)
{
	char why[CALL_SIGNATURE_WHY_BYTES];
	struct thunk_words words;

	ck_assert_int_eq(call_signature_parse(text, signature, why), 0);
	(void)call_layout_settle(&signature->layout, texts, 7, &words);
	return words;
}

TEST(words)
{
	static const struct {
		const char *text;
		uint32_t words;
		bool result;
	} list[] = {
		{ "f(void)", 0, false },
		{ "f(void)->int", 0, true },
		{ "f(int)", 2, false },
		{ "f(int,int,int)->float", 6, true },
		{ "f(double)", 14, false },
		{ "f(int,int,int,int,int,int,int)", 16, false },
		{ "f(view)", 2, false }, /* without texts: not read */
		{ "f(str)", 2, false },
	};
	struct call_signature signature;

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct thunk_words got =
			words_of(list[i].text, false, &signature);

		ck_assert_uint_eq(thunk_words_count(got.texts), list[i].words);
		ck_assert_uint_eq(signature.layout.words, list[i].words);
		ck_assert_uint_eq(got.texts >> 6, 0);
		ck_assert_uint_eq(
			got.entry,
			list[i].words ? record_ext_word(EXT_WORDS,
							list[i].words / 2, 7, 0)
				      : 0);
		ck_assert_uint_eq(got.exit,
				  list[i].result
					  ? record_ext_word(EXT_WORDS, 1, 7, 0)
					  : 0);
		call_signature_release(&signature);
	}
}

TEST(texts)
{
	struct call_signature signature;
	struct thunk_words got =
		words_of("f(str,int,string,view,str,str,str,str,str)->view",
			 true, &signature);

	ck_assert_int_eq(thunk_words_text(got.texts, 0), THUNK_TEXT_CHARS);
	ck_assert_int_eq(thunk_words_text(got.texts, 1), THUNK_TEXT_NONE);
	ck_assert_int_eq(thunk_words_text(got.texts, 2), THUNK_TEXT_STRING);
	ck_assert_int_eq(thunk_words_text(got.texts, 3), THUNK_TEXT_VIEW);
	ck_assert_int_eq(thunk_words_text(got.texts, 14), THUNK_TEXT_CHARS);
	ck_assert_int_eq(thunk_words_result(got.texts), THUNK_TEXT_VIEW);
	/* The seventh text is a pointer. */
	ck_assert_int_eq(signature.layout.value[7].kind, CALL_VALUE_POINTER);
	ck_assert_int_eq(thunk_words_text(got.texts, 16), THUNK_TEXT_NONE);
	ck_assert_uint_eq(thunk_words_count(got.texts), 18);
	call_signature_release(&signature);
}

/* Debug information may name a stack word near the end. */
TEST(last_word)
{
	struct call_layout layout = { .count = 2 };
	struct thunk_words words;

	layout.value[0].kind = CALL_VALUE_INT;
	layout.value[0].word = THUNK_WORDS_MAX - 1;
	layout.value[1].kind = CALL_VALUE_VIEW;
	layout.value[1].word = THUNK_WORDS_MAX - 2;
	ck_assert(call_layout_settle(&layout, true, 7, &words));
	ck_assert_uint_eq(layout.words, THUNK_WORDS_MAX);
	ck_assert_int_eq(layout.value[0].kind, CALL_VALUE_INT);
	ck_assert_int_eq(layout.value[1].kind, CALL_VALUE_VIEW);
	/* Its second word is not recorded. */
	layout.value[1].word = THUNK_WORDS_MAX - 1;
	ck_assert(call_layout_settle(&layout, true, 7, &words));
	ck_assert_uint_eq(layout.words, THUNK_WORDS_MAX);
	ck_assert_int_eq(layout.value[1].kind, CALL_VALUE_UNREAD);
	ck_assert_int_eq(thunk_words_text(words.texts, THUNK_WORDS_MAX - 1),
			 THUNK_TEXT_NONE);
}

TEST(integers)
{
	const struct call_value small = { .kind = CALL_VALUE_INT, .bytes = 1 };
	const struct call_value large = { .kind = CALL_VALUE_UINT, .bytes = 8 };
	const struct call_value half = { .kind = CALL_VALUE_UINT, .bytes = 4 };
	struct call_enumerator name = { -3, "NEGATIVE" };
	const struct call_value color = { .kind = CALL_VALUE_ENUM,
					  .bytes = 4,
					  .names = &name,
					  .name_count = 1 };

	ck_assert_int_eq((int64_t)call_value_extend(&small, 0x1234ff), -1);
	ck_assert_uint_eq(call_value_extend(&large, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(call_value_extend(&half, UINT64_MAX), UINT32_MAX);
	ck_assert_str_eq(call_value_enumerator(&color, 0x77fffffffdULL),
			 "NEGATIVE");
	ck_assert_ptr_null(call_value_enumerator(&color, 3));
}

TEST(numbers)
{
	struct call_layouts *layouts;

	ck_assert_int_eq(call_layouts_new(&layouts), 0);
	ck_assert_ptr_null(call_layouts_find(layouts, 0));
	ck_assert_ptr_null(call_layouts_find(layouts, 1));
	for (uint32_t i = 1; i <= 1000; i++) {
		struct call_layout layout = { .function = i };

		ck_assert_uint_eq(call_layouts_next(layouts), i);
		ck_assert_int_eq(call_layouts_add(layouts, &layout), 0);
	}
	for (uint32_t i = 1; i <= 1000; i++)
		ck_assert_uint_eq(call_layouts_find(layouts, i)->function, i);
	ck_assert_ptr_null(call_layouts_find(layouts, 1001));
	ck_assert_ptr_null(call_layouts_find(layouts, UINT32_MAX));
	call_layouts_free(&layouts);
	ck_assert_ptr_null(layouts);
}
