/* SPDX-License-Identifier: Apache-2.0
 *
 * cplusplus - the same header in C++: slices end when they go out of scope, by
 * exceptions as well; strings are values.
 */
#include <perfrec.h>
#include <stdexcept>
#include <string>
#include <string_view>

static void work(int depth)
{
	PERFREC_SCOPE("work", "depth", depth);
	if (!depth)
		throw std::runtime_error("enough");
	work(depth - 1);
}

int main()
{
	const std::string text = "a string";
	const std::string_view view = "a view";

	PERFREC_SCOPE("main", "text", text, "view", view, "null", nullptr);
	try {
		work(2);
	} catch (const std::exception &error) {
		PERFREC_INSTANT("caught", "what", error.what());
	}
	return 0;
}
