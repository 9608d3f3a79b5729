/* SPDX-License-Identifier: Apache-2.0
 *
 * one_call - the shortest program that has something to record.
 */
int main(void)
{
	return 0;
}
