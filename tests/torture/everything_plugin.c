/* SPDX-License-Identifier: Apache-2.0
 *
 * everything_plugin - a library that everything.cc loads and unloads.
 */
static int twice(int i)
{
	return 2 * i;
}

int plugin_work(int i);
int plugin_work(int i)
{
	return twice(i) + 1;
}
