/* SPDX-License-Identifier: Apache-2.0
 *
 * tsd - threads that end with destructors which set their keys again.
 */
#include <pthread.h>
#include <stdio.h>
static pthread_key_t keys[8];
static volatile int rounds;
__attribute__((noinline)) static int leaf(int x)
{
	return x;
}
static void destructor(void *value)
{
	long round = (long)value & 7, key = (long)value >> 3;

	leaf((int)round);
	rounds++;
	if (round < 4)
		pthread_setspecific(keys[key], (char *)value + 1);
}
__attribute__((noinline)) static void leave(void)
{
	pthread_exit(NULL);
}
static void *thread(void *leaves)
{
	for (long key = 0; key < 8; key++)
		pthread_setspecific(keys[key], (void *)(key << 3 | 1));
	if (leaves)
		leave();
	return NULL;
}
int main(void)
{
	pthread_t t;

	for (int i = 0; i < 8; i++)
		pthread_key_create(&keys[i], destructor);
	for (long i = 0; i < 4; i++) {
		pthread_create(&t, NULL, thread, (void *)(i & 1));
		pthread_join(t, NULL);
	}
	printf("%d\n", rounds);
	return 0;
}
