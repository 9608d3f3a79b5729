/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds and frees a tree: recursion, and many blocks.
 */
#include <stdlib.h>

struct node {
	struct node *left, *right;
	unsigned int key;
};

static unsigned int g_state = 1;

__attribute__((noinline)) static unsigned int draw(void)
{
	g_state = g_state * 1103515245 + 12345;
	return g_state >> 8;
}

__attribute__((noinline)) static struct node *insert(struct node *to,
						     unsigned int key)
{
	if (!to) {
		to = calloc(1, sizeof(*to));
		if (to)
			to->key = key;
		return to;
	}
	if (key < to->key)
		to->left = insert(to->left, key);
	else
		to->right = insert(to->right, key);
	return to;
}

__attribute__((noinline)) static void release(struct node *node)
{
	if (!node)
		return;
	release(node->left);
	release(node->right);
	free(node);
}

int main(void)
{
	struct node *root = NULL;
	int count = 20000;

#ifdef WORK
	count += count / 50;
#endif
	for (int i = 0; i < count; i++)
		root = insert(root, draw());
#ifdef CALL
	draw();
#endif
#ifdef BLOCK
	root = root ? root : calloc(1, 100);
	root->left = insert(root->left, 1);
#endif
	release(root);
	return 0;
}
