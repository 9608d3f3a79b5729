/* SPDX-License-Identifier: Apache-2.0
 *
 * flips_plugin - a library that flips.cc repeatedly loads and unloads.
 */
__attribute__((noinline)) long plugin_leaf(long x)
{
	return x * 5 + 3;
}

__attribute__((noinline)) long plugin_work(long x)
{
	for (int i = 0; i < 8; i++)
		x = plugin_leaf(x) ^ i;
	return x;
}
