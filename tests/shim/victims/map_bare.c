/* SPDX-License-Identifier: Apache-2.0
 *
 * map_bare - a library without constructors and destructors, even the
 * compiler's. It runs only when called, and ld.so can unload it without the
 * bytes of its file. Its symbols exceed a page.
 */
#define FOUR(x, name) x(name##0) x(name##1) x(name##2) x(name##3)
#define FUNCTION(name)        \
	int name(int i);      \
	int name(int i)       \
	{                     \
		return i + 1; \
	}
#define FOUR_2(name) FOUR(FUNCTION, name)
#define SIXTEEN(name) \
	FOUR_2(name##_0) FOUR_2(name##_1) FOUR_2(name##_2) FOUR_2(name##_3)

SIXTEEN(map_bare_function_with_a_name_that_takes_some_bytes_0)
SIXTEEN(map_bare_function_with_a_name_that_takes_some_bytes_1)
SIXTEEN(map_bare_function_with_a_name_that_takes_some_bytes_2)
SIXTEEN(map_bare_function_with_a_name_that_takes_some_bytes_3)
SIXTEEN(map_bare_function_with_a_name_that_takes_some_bytes_4)
SIXTEEN(map_bare_function_with_a_name_that_takes_some_bytes_5)
FUNCTION(map_call)
