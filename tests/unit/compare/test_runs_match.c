/* SPDX-License-Identifier: Apache-2.0
 *
 * Matches names of functions across builds.
 */
#include "collector/compare/runs_match.h"
#include "tests/suite.h"

static const struct {
	const char *name, *plain, *folded;
} names[] = {
	{ "main", "main", "main" },
	{ "f.isra.0", "f", "f" },
	{ "f.constprop.0.isra.3", "f", "f" },
	{ "f.part.1.cold", "f", "f" },
	{ "f(int) [clone .isra.0]", "f(int)", "f" },
	{ "std::f[abi:cxx11](int)", "std::f(int)", "std::f" },
	{ "a<int, b<c> >::g(d<e>) const", "a<int, b<c> >::g(d<e>) const",
	  "a::g const" },
	{ "a::operator<(b<c>)", "a::operator<(b<c>)", "a::operator<" },
	{ "a::operator->()", "a::operator->()", "a::operator->" },
	{ "a::operator>><x>(y)", "a::operator>><x>(y)", "a::operator>><x>" },
	{ ".cold", ".cold", ".cold" },
	{ "broken<<(", "broken<<(", "broken" },
	{ "x>)y", "x>)y", "x>)y" },
	{ "[abi:", "[abi:", "[abi:" },
	{ "", "", "" },
};

TEST(runs_match_name_leaves_out_what_differs_by_build,
     EACH(0, ARRAY_SIZE(names)))
{
	char out[64];

	runs_match_name(names[_i].name, false, out, sizeof(out));
	ck_assert_str_eq(out, names[_i].plain);
}

TEST(runs_match_name_folded_has_no_arguments, EACH(0, ARRAY_SIZE(names)))
{
	char out[64];

	runs_match_name(names[_i].name, true, out, sizeof(out));
	ck_assert_str_eq(out, names[_i].folded);
}

TEST(runs_match_name_is_cut_to_its_room)
{
	char out[4];

	runs_match_name("abcdef", true, out, sizeof(out));
	ck_assert_str_eq(out, "abc");
}

TEST(runs_match_module_leaves_out_folder_and_version)
{
	char out[16];

	runs_match_module("/usr/lib/libz.so.1.2.13", out, sizeof(out));
	ck_assert_str_eq(out, "libz");
	runs_match_module("./app", out, sizeof(out));
	ck_assert_str_eq(out, "app");
	runs_match_module("", out, sizeof(out));
	ck_assert_str_eq(out, "");
}
