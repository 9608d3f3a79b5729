/* SPDX-License-Identifier: Apache-2.0
 *
 * profile STACKS DIR - make a profile of about so many distinct stacks, up to
 * 24 deep, of 200 functions, and write it to DIR/wall.pb.gz. Prints the ns of
 * adding and of writing, and the size of the file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/log.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/output/comments.h"
#include "collector/profile/stack_profile.h"
#include "collector/replay/cct_flat.h"

#define FUNCTIONS 200
#define DEPTH 24

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Random chains: except for a few common starts, each node is a new stack. */
static void make_tree(struct flat_node *node, uint32_t count)
{
	uint64_t random = 1;
	uint32_t i;

	for (i = 1; i <= count; i++) {
		random = random * 6364136223846793005ULL + 1;
		node[i] = (struct flat_node){
			.parent = i % DEPTH == 1 ? 0 : i - 1,
			.function = 1 + (uint32_t)(random >> 40) % FUNCTIONS,
			.calls = 1 + (random >> 50),
			.self_ns = (int64_t)(random >> 44),
		};
	}
}

static int run(struct cct_flat *flat, struct modules *modules,
	       struct symbol_cache *cache, int dir_fd)
{
	const struct profile_owner owner = {
		1, 1, "bench", "bench", NULL, NULL
	};
	struct comments comments = { 0 };
	const struct stack_profile_header header = { .start_ns = 1,
						     .period = 1,
						     .comments = &comments };
	struct budget budget = { .left = 1ULL << 30 };
	struct stack_profile *profile;
	struct stat status;
	long long start, added, written;

	if (stack_profile_new(&stack_profile_wall, cache, &budget, &profile) <
	    0)
		return 1;
	start = now_ns();
	if (stack_profile_add_flat(profile, &owner, flat, modules) < 0)
		return 1;
	added = now_ns();
	if (stack_profile_write(profile, &header, dir_fd, "wall.pb.gz") < 0 ||
	    fstatat(dir_fd, "wall.pb.gz", &status, 0) < 0)
		return 1;
	written = now_ns();
	printf("%lld %lld %lld\n", added - start, written - added,
	       (long long)status.st_size);
	stack_profile_free(&profile);
	comments_release(&comments);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t count = argc == 3 ? (uint32_t)atol(argv[1]) : 0, i;
	int dir_fd = argc == 3 ? open(argv[2], O_RDONLY | O_DIRECTORY) : -1;
	struct flat_function function[FUNCTIONS + 1] = { { 0, 0 } };
	struct flat_node *node = calloc(count + 1, sizeof(*node));
	struct cct_flat flat = { .function = function,
				 .function_count = FUNCTIONS + 1,
				 .node = node,
				 .node_count = count + 1 };
	struct symbol_cache *cache;
	struct modules *modules;

	log_init("bench_profile", LOG_ERR);
	if (!count || dir_fd < 0 || !node || symbol_cache_new(&cache) < 0 ||
	    modules_new(getpid(), getpid(), NULL, cache, &modules) < 0) {
		fprintf(stderr, "usage: profile STACKS DIR\n");
		return 2;
	}
	for (i = 1; i <= FUNCTIONS; i++)
		function[i].address = (uintptr_t)main + 16 * i;
	make_tree(node, count);
	return run(&flat, modules, cache, dir_fd);
}
