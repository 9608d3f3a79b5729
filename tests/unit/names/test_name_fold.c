/* SPDX-License-Identifier: Apache-2.0
 *
 * Readable forms of full names: name_fold, the patterns that match them, and
 * names shown side by side.
 */

#include "collector/names/name_fold.h"
#include "collector/names/name_pattern.h"
#include "collector/show/short_name.h"
#include "tests/random.h"
#include "tests/suite.h"

/* Full, short, plain. */
static const char *const folded[][3] = {
	{ "main", "main", "main" },
	{ "", "", "" },
	{ "std::vector<int>& ns::f<int, A>(B<C> const&) const",
	  "ns::f<…>(B<…> const&) const", "ns::f<int, A>" },
	{ "nlohmann::json_abi_v3_11_2::basic_json<std::map, "
	  "std::__cxx11::basic_string<char> >::assert_invariant(bool) const",
	  "nlohmann::basic_json<…>::assert_invariant(bool) const",
	  "nlohmann::json_abi_v3_11_2::basic_json<std::map, "
	  "std::__cxx11::basic_string<char> >::assert_invariant" },
	{ "void fmt::v9::detail::vformat_to<char>(fmt::v9::detail::buffer<"
	  "char>&)",
	  "fmt::detail::vformat_to<…>(fmt::detail::buffer<…>&)",
	  "fmt::v9::detail::vformat_to<char>" },
	{ "std::chrono::_V2::system_clock::now()",
	  "std::chrono::system_clock::now()",
	  "std::chrono::_V2::system_clock::now" },
	{ "std::__1::vector<int>::size() const", "std::vector<…>::size() const",
	  "std::__1::vector<int>::size" },
	/* types with familiar aliases */
	{ "f(std::__cxx11::basic_string<char, std::char_traits<char>, "
	  "std::allocator<char> > const&, std::basic_string_view<char, "
	  "std::char_traits<char> >)",
	  "f(std::string const&, std::string_view)", "f" },
	{ "g(std::__1::basic_string<wchar_t, std::__1::char_traits<wchar_t>, "
	  "std::__1::allocator<wchar_t>>)",
	  "g(std::wstring)", "g" },
	{ "std::__cxx11::basic_string<char, std::char_traits<char>, "
	  "std::allocator<char> >::basic_string(char const*)",
	  "std::string::basic_string(char const*)",
	  "std::__cxx11::basic_string<char, std::char_traits<char>, "
	  "std::allocator<char> >::basic_string" },
	{ "f(std::basic_string<char, std::char_traits<char>, mine<char> >)",
	  "f(std::basic_string<…>)", "f" },
	{ "f(my::basic_string_view<char, std::char_traits<char> >)",
	  "f(my::basic_string_view<…>)", "f" },
	{ "f(my::std::basic_string_view<char, std::char_traits<char> >)",
	  "f(my::std::basic_string_view<…>)", "f" },
	{ "f(std::basic_string_view<char, std::char_traits<char>",
	  "f(std::basic_string_view<char, std::char_traits<char>",
	  "f(std::basic_string_view<char, std::char_traits<char>" },
	{ "mine::v9::f()", "mine::v9::f()", "mine::v9::f" },
	{ "f[abi:cxx11](int)", "f(int)", "f[abi:cxx11]" },
	{ "std::string f[abi:cxx11]<int>(int)", "f<…>(int)",
	  "f[abi:cxx11]<int>" },
	/* operators */
	{ "bool operator< <int>(X<int> const&, X<int> const&)",
	  "operator< <…>(X<…> const&, X<…> const&)", "operator< <int>" },
	{ "std::ostream& operator<< <int>(std::ostream&, X<int>)",
	  "operator<< <…>(std::ostream&, X<…>)", "operator<< <int>" },
	{ "void operator<<int>(x)", "operator<<…>(x)", "operator<<int>" },
	{ "operator<<(std::ostream&, int)", "operator<<(std::ostream&, int)",
	  "operator<<" },
	{ "auto operator<=><int>(A, B)", "operator<=><…>(A, B)",
	  "operator<=><int>" },
	{ "X<int>::operator->() const", "X<…>::operator->() const",
	  "X<int>::operator->" },
	{ "X::operator()(int) const", "X::operator()(int) const",
	  "X::operator()" },
	{ "X::operator std::vector<int>() const",
	  "X::operator std::vector<…>() const",
	  "X::operator std::vector<int>" },
	{ "X::operator unsigned long<int>()", "X::operator unsigned long<…>()",
	  "X::operator unsigned long<int>" },
	{ "X::operator void (*)(int)() const",
	  "X::operator void (*)(int)() const", "X::operator void (*)(int)" },
	{ "operator new[](unsigned long)", "operator new[](unsigned long)",
	  "operator new[]" },
	{ "my_operator<int>::f()", "my_operator<…>::f()",
	  "my_operator<int>::f" },
	/* unnamed functions */
	{ "main::{lambda(std::vector<int>)#1}::operator()(int) const",
	  "main::{lambda(std::vector<…>)#1}::operator()(int) const",
	  "main::{lambda(std::vector<int>)#1}::operator()" },
	{ "auto f(int)::{lambda(auto:1)#1}::operator()<int>(int) const",
	  "f(int)::{lambda(auto:1)#1}::operator()<…>(int) const",
	  "f(int)::{lambda(auto:1)#1}::operator()<int>" },
	{ "void (anonymous namespace)::g<int>(int)",
	  "(anonymous namespace)::g<…>(int)", "(anonymous namespace)::g<int>" },
	{ "(anonymous namespace)::x(int)", "(anonymous namespace)::x(int)",
	  "(anonymous namespace)::x" },
	/* types with brackets */
	{ "void (*foo<int>(int))(char)", "foo<…>(int)", "foo<int>" },
	{ "f(void (*)(std::vector<int>))", "f(void (*)(std::vector<…>))", "f" },
	{ "std::function<void (int)>::operator()(int) const",
	  "std::function<…>::operator()(int) const",
	  "std::function<void (int)>::operator()" },
	{ "decltype (forward<A>({parm#1})) std::invoke<A, B>(A&&, B)",
	  "std::invoke<…>(A&&, B)", "std::invoke<A, B>" },
	{ "std::enable_if<(sizeof (T))<(8), int>::type g<int>(decltype (x<"
	  "int>()))",
	  "g<…>(decltype(…))", "g<int>" },
	{ "void g<((1)>(2))>(int)", "g<…>(int)", "g<((1)>(2))>" },
	{ "void f<&X::operator->, 'a'>(int)", "f<…>(int)",
	  "f<&X::operator->, 'a'>" },
	{ "void f<int>(int) requires C<int>", "f<…>(int)", "f<int>" },
	{ "non-virtual thunk to ns::X<int>::f()",
	  "non-virtual thunk to ns::X<…>::f()",
	  "non-virtual thunk to ns::X<int>::f" },
	/* clones */
	{ "foo.constprop.0.isra.3", "foo", "foo" },
	{ "f(int) [clone .isra.0]", "f(int)", "f" },
	{ "f(int) [clone .isra.0.part.1]", "f(int)", "f" },
	{ "f(int) [clone .cold]", "f(int) [clone .cold]", "f" },
	{ "foo.avx2", "foo.avx2", "foo.avx2" },
	/* of several files */
	{ "helper (main.c)", "helper (main.c)", "helper" },
	{ "foo.isra.3 (a.c #2)", "foo (a.c #2)", "foo" },
	{ "f<int>(X<int>) const (b.cc)", "f<…>(X<…>) const (b.cc)", "f<int>" },
	{ "(anonymous namespace)::f() [clone .cold] (b.cc)",
	  "(anonymous namespace)::f() [clone .cold] (b.cc)",
	  "(anonymous namespace)::f" },
	{ ".part.0", ".part.0", ".part.0" },
	/* Rust */
	{ "<alloc::vec::Vec<T> as core::iter::Iterator>::next",
	  "<alloc::vec::Vec<…> as core::iter::Iterator>::next",
	  "<alloc::vec::Vec<T> as core::iter::Iterator>::next" },
	{ "core::ptr::drop_in_place::<alloc::vec::Vec<i32>>",
	  "core::ptr::drop_in_place::<…>",
	  "core::ptr::drop_in_place::<alloc::vec::Vec<i32>>" },
	{ "core::ptr::<impl *const T>::add", "core::ptr::<impl *const T>::add",
	  "core::ptr::<impl *const T>::add" },
	{ "foo::{{closure}}::h0123456789abcdef", "foo::{{closure}}",
	  "foo::{{closure}}" },
	/* other languages, and plain texts */
	{ "main.(*T).Method", "main.(*T).Method", "main.(*T).Method" },
	{ "type..eq.struct { a int; b string }",
	  "type..eq.struct { a int; b string }",
	  "type..eq.struct { a int; b string }" },
	{ "_D3foo3barFiZv", "_D3foo3barFiZv", "_D3foo3barFiZv" },
	{ "void java.lang.Foo::bar(int)", "void java.lang.Foo::bar(int)",
	  "void java.lang.Foo::bar" },
	{ "[kernel]", "[kernel]", "[kernel]" },
	{ "load file (cold)", "load file (cold)", "load file (cold)" },
	{ "a<b", "a<b", "a<b" },
	{ "f(a<b)", "f(a<b)", "f" },
	{ "f<a(b>(c)", "f<a(b>(c)", "f<a(b>(c)" },
	/* hostile names */
	{ "a\033[31m\nb", "a?[31m?b", "a\033[31m\nb" },
	{ "a\xe2\x80\xae"
	  "b\xc2\x9b",
	  "a?b?",
	  "a\xe2\x80\xae"
	  "b\xc2\x9b" },
	{ "\xff\xc3\xa9\xc3", "?\xc3\xa9?", "\xff\xc3\xa9\xc3" },
};

TEST(name_fold_makes_short_and_plain_names)
{
	char out[NAME_FOLD_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(folded); i++) {
		size_t length = name_fold(folded[i][0], out);

		ck_assert_str_eq(out, folded[i][1]);
		ck_assert_uint_eq(length, strlen(out));
		name_fold_plain(folded[i][0], out);
		ck_assert_str_eq(out, folded[i][2]);
	}
}

static size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

TEST(name_fold_of_a_short_name_is_itself)
{
	char once[NAME_FOLD_BYTES], twice[NAME_FOLD_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(folded); i++) {
		name_fold(folded[i][0], once);
		name_fold(once, twice);
		ck_assert_str_eq(once, twice);
		ck_assert_uint_le(count_characters(once), strlen(folded[i][0]));
	}
}

/* The result is clean and no longer than the text. */
TEST(name_fold_takes_any_text)
{
	static const char *const pieces[] = {
		"<",	      ">",
		"(",	      ")",
		"operator",   "::",
		"a",	      " ",
		"{",	      "}",
		"[abi:",      "]",
		"decltype (", " [clone .part.1",
		"'",	      ",",
		"-",	      "\xe2\x80\xae",
		"\x80",	      "requires ",
		"&",	      "*",
		"f<int>(",
	};
	char text[512], out[NAME_FOLD_BYTES];
	uint64_t seed = 20261122;

	for (int round = 0; round < 20000; round++) {
		size_t used = 0;

		while (used < sizeof(text) - 20) {
			uint64_t random = next_random(&seed);
			const char *piece = pieces[random % ARRAY_SIZE(pieces)];

			used += (size_t)sprintf(text + used, "%s", piece);
			if (random >> 58 == 0)
				break;
		}
		ck_assert_uint_eq(name_fold(text, out), strlen(out));
		ck_assert_uint_le(strlen(out), 2 * used);
		ck_assert_ptr_null(strstr(out, "\xe2\x80\xae"));
		name_fold_plain(text, out);
		ck_assert_uint_le(strlen(out), used);
	}
}

/* Quadratic time would take hours. */
TEST(name_fold_takes_time_that_is_linear)
{
	static const char *const pieces[] = {
		"a<",	     "(",   "f(a<",    "<", "[abi:", "decltype (",
		"operator<", " (*", ".part.1", "{", "::_V2", "a<b>("
	};
	const size_t bytes = 1 << 18;
	char *text = malloc(bytes + 32), out[NAME_FOLD_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		size_t length = strlen(pieces[i]), used = 0;

		for (; used < bytes; used += length)
			memcpy(text + used, pieces[i], length + 1);
		name_fold(text, out);
		ck_assert_uint_lt(strlen(out), NAME_FOLD_BYTES);
		name_fold_open(text, (size_t[]){ bytes / 2 }, 1, out);
		name_fold_plain(text, out);
	}
	free(text);
}

TEST(name_fold_too_long_is_cut)
{
	char text[2 * NAME_FOLD_BYTES], out[NAME_FOLD_BYTES];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	ck_assert_uint_eq(name_fold(text, out), NAME_FOLD_BYTES - 1);
	ck_assert_str_eq(out + NAME_FOLD_BYTES - 4, "...");
	name_fold_plain(text, out);
	ck_assert_uint_lt(strlen(out), NAME_FOLD_BYTES);
}

/* --- patterns ------------------------------------------------------------ */

TEST(name_pattern_matches_full_plain_and_short)
{
	static const char sort[] = "void std::sort<std::vector<int>::iterator"
				   ">(std::vector<int>::iterator)";
	static const char hidden[] = "(anonymous namespace)::x(int)";
	static const char json[] = "nlohmann::json_abi_v3_11_2::basic_json<"
				   "std::map>::dump(int) const";

	ck_assert(name_pattern_matches("std::*", sort, ""));
	ck_assert(name_pattern_matches("std::sort*", sort, ""));
	ck_assert(name_pattern_matches("void std::sort*", sort, ""));
	ck_assert(name_pattern_matches("std::sort<…>(std::vector<…>::iterator)",
				       sort, ""));
	ck_assert(!name_pattern_matches("sort*", sort, ""));
	ck_assert(!name_pattern_matches("std::sort", sort, ""));
	ck_assert(name_pattern_matches("(anonymous namespace)::x", hidden, ""));
	ck_assert(name_pattern_matches("(anonymous*::x", hidden, ""));
	ck_assert(!name_pattern_matches("", hidden, ""));
	ck_assert(
		name_pattern_matches("nlohmann::basic_json*::dump*", json, ""));
	ck_assert(name_pattern_matches("*::dump", json, ""));
	ck_assert(name_pattern_matches("@lib*", json, "/lib/libx.so"));
	ck_assert(name_pattern_matches("name[abi:cxx11]() const",
				       "name[abi:cxx11]() const", ""));
	ck_assert(name_pattern_matches("name[abi:cxx11]",
				       "name[abi:cxx11]() const", ""));
	ck_assert(name_pattern_matches("List::operator[]",
				       "List::operator[](int)", ""));
	ck_assert(name_pattern_matches("parse_*e", "parse_line.isra.0", ""));
	ck_assert(!name_pattern_matches("parse", "parse_line.isra.0", ""));
}

TEST(name_pattern_of_a_name_can_be_typed)
{
	char out[NAME_PATTERN_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(folded); i++) {
		if (!name_pattern_make(folded[i][0], out))
			continue;
		ck_assert(name_pattern_matches(out, folded[i][0], ""));
		ck_assert_uint_le(strlen(out), 40);
		for (const char *c = out; *c; c++)
			ck_assert(*c > ' ' && *c < 0x7f &&
				  !strchr("'\"`$!\\", *c));
	}
	ck_assert(name_pattern_make(folded[3][0], out));
	ck_assert_str_eq(out, "nlohmann::basic_json*::assert_invariant*");
	ck_assert(name_pattern_make("main", out));
	ck_assert_str_eq(out, "main");
	ck_assert(!name_pattern_make("", out));
	ck_assert(!name_pattern_make("\033\033", out));
}

/* --- names shown side by side -------------------------------------------- */

static void check_names(const char *const (*pairs)[2], size_t count)
{
	const char *full[16];
	struct short_names names;

	for (size_t i = 0; i < count; i++)
		full[i] = pairs[i][0];
	ck_assert_int_eq(short_names_make(&names, full, count, false), 0);
	for (size_t i = 0; i < count; i++)
		ck_assert_str_eq(short_names_get(&names, i), pairs[i][1]);
	short_names_free(&names);
	ck_assert_int_eq(short_names_make(&names, full, count, true), 0);
	for (size_t i = 0; i < count; i++)
		ck_assert_str_eq(short_names_get(&names, i), full[i]);
	short_names_free(&names);
}

TEST(short_names_that_clash_show_what_differs)
{
	static const char *const pairs[][2] = {
		{ "main", "main" },
		{ "V<A<int>, B<int> >::f()", "V<A<…>, B<int> >::f()" },
		{ "V<A<int>, B<long> >::f()", "V<A<…>, B<long> >::f()" },
		{ "W<int>::g()", "W<…>::g()" },
		{ "W<int>::g()", "W<…>::g()" },
		{ "main", "main" },
		{ "X<A>::f<B>()", "X<A>::f<…>()" },
		{ "X<B>::f<B>()", "X<B>::f<B>()" },
		{ "X<B>::f<C>()", "X<B>::f<C>()" },
		{ "foo.part.0", "foo.part.0" },
		{ "foo", "foo" },
		{ "int k<int>()", "int k<int>()" },
		{ "long k<int>()", "long k<int>()" },
	};

	check_names(pairs, ARRAY_SIZE(pairs));
}

TEST(short_names_of_nothing)
{
	struct short_names names;

	ck_assert_int_eq(short_names_make(&names, NULL, 0, false), 0);
	short_names_free(&names);
}
