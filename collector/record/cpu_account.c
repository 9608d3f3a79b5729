/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_account - one entry for each process, found by its pid.
 *
 * Sources of the numbers. No single source is right, so there are three:
 *
 * 1. The kernel's task clock events, inherited by every process of the tree
 *    (cpu_samples.c: the tree). Each task reports its running time at its end
 *    (READ). An ordinary user has no other source for a process that lives for
 *    a millisecond, is linked statically or is killed: the events need nothing
 *    in the program, and do not race with the parent's wait. They miss the
 *    switch to and from a task, the kernel's work at the end of a process after
 *    the events are gone (about 0.15 ms), and all code after an exec of a
 *    set-user-ID file. They include time that a hypervisor took away.
 * 2. getrusage() of all reaped processes, which `perfrec record` gets with the
 *    end of its program. It is exact, but only a sum. Its excess over 1. is
 *    spread: over unsampled processes by their number, because the end of a
 *    process costs about the same each time, and over the profile.
 * 3. The clock of a process that still runs when the recording ends.
 *
 * Rejected sources: procfs or the CPU clock of another process show the exact
 * time of a process until it is reaped, but its parent may reap it before the
 * collector looks, and a shell does. Taskstats and the process connector need
 * CAP_NET_ADMIN. The shim could store the thread's clock at its end, but not
 * when the process is killed or calls exit_group(), nor in a static program.
 *
 * The kernel swaps the inherited events of two tasks that have equal ones
 * instead of switching them. It swaps the counts back (inherit_stat), so each
 * task reports its own time. But one task then ends with the events that were
 * opened first, for which the kernel writes no READ. Its time is the total less
 * the times of all others.
 *
 * Programs choose the names of commands: any bytes, and as many names as
 * processes. So rows and entries are bounded; further processes count as
 * "others".
 */
#include "collector/record/cpu_account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/lock.h"
#include "shared/compiler.h"

#define ENTRIES_MAX (1u << 17)
#define SLOTS_MIN 64u
#define NONE UINT32_MAX
#define SECOND_NS 1000000000ULL
/* The maximum scale of the profile, for the cost of switches between tasks. Two
 * threads that only pass a word to and fro need 1.4. If more time is missing,
 * it was spent outside of all sources, and counts as unknown. */
#define SCALE_MOST 1.5

struct entry {
	pid_t pid;
	uint32_t next; /* in its chain */
	char name[16]; /* "": unknown */
	uint64_t named_ns; /* time of the name */
	uint64_t exec_ns, hello_ns; /* latest; 0: none */
	uint64_t counted_ns, told_ns;
	uint64_t tasks, ended, reads;
	bool forked; /* its start was reported */
	bool told, sampled; /* the sampler knows it; it has samples */
};

struct cpu_account {
	struct lock lock;
	struct entry *entry; /* entry[0]: all beyond the limit */
	uint32_t count, room;
	uint32_t *chain; /* by pid; the newest of a pid comes first */
	uint32_t mask;
	uint32_t root; /* NONE: no tree */
	uint32_t events;
	uint64_t total_ns, steal_ns, lost;
	bool paused;
};

/* --- entries ------------------------------------------------------------- */

static uint32_t *entry_chain(const struct cpu_account *account, pid_t pid)
{
	return &account->chain[(uint32_t)pid & account->mask];
}

static struct entry *find_account_entry(const struct cpu_account *account,
					pid_t pid)
{
	uint32_t i = *entry_chain(account, pid);

	while (i != NONE && account->entry[i].pid != pid)
		i = account->entry[i].next;
	return i == NONE ? NULL : &account->entry[i];
}

/* Doubles entries and chains. Returns false without memory, or at the limit. */
static bool grow_entries(struct cpu_account *account)
{
	uint32_t room = 2 * account->room;
	struct entry *longer;
	uint32_t *chain;

	if (room > ENTRIES_MAX)
		return false;
	longer = realloc(account->entry, room * sizeof(*longer));
	if (!longer)
		return false;
	account->entry = longer;
	chain = malloc(room * sizeof(*chain));
	if (!chain)
		return false;
	free(account->chain);
	account->chain = chain;
	account->mask = room - 1;
	account->room = room;
	for (uint32_t i = 0; i < room; i++)
		chain[i] = NONE;
	/* In the old order, so that the newest comes first again. */
	for (uint32_t i = 1; i < account->count; i++) {
		uint32_t *link = entry_chain(account, account->entry[i].pid);

		account->entry[i].next = *link;
		*link = i;
	}
	return true;
}

static struct entry *add_account_entry(struct cpu_account *account, pid_t pid)
{
	struct entry *entry;
	uint32_t *link;

	if (account->count == account->room && !grow_entries(account))
		return &account->entry[0];
	link = entry_chain(account, pid);
	entry = &account->entry[account->count];
	*entry = (struct entry){ .pid = pid, .next = *link };
	*link = account->count++;
	return entry;
}

static struct entry *account_entry_at(struct cpu_account *account, pid_t pid)
{
	struct entry *entry = find_account_entry(account, pid);

	return entry ? entry : add_account_entry(account, pid);
}

static void set_entry_name(struct entry *entry, const char *name)
{
	snprintf(entry->name, sizeof(entry->name), "%s", name);
}

/* --- life ---------------------------------------------------------------- */

/* Returns the eighth number of the first line of /proc/stat, in ns. */
static uint64_t read_steal(void)
{
	unsigned long long ticks = 0;
	long per_second = sysconf(_SC_CLK_TCK);
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return 0;
	if (fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
		ticks = 0;
	fclose(file);
	return per_second > 0 ? ticks * (SECOND_NS / (uint64_t)per_second) : 0;
}

int cpu_account_new(struct cpu_account **out)
{
	struct cpu_account *account = calloc(1, sizeof(*account));

	if (!account)
		return -ENOMEM;
	account->entry = malloc(SLOTS_MIN * sizeof(*account->entry));
	account->chain = malloc(SLOTS_MIN * sizeof(*account->chain));
	if (!account->entry || !account->chain) {
		free(account->entry);
		free(account->chain);
		free(account);
		return -ENOMEM;
	}
	lock_init(&account->lock, LOCK_CPU_ACCOUNT);
	account->room = SLOTS_MIN;
	account->mask = SLOTS_MIN - 1;
	account->root = NONE;
	for (uint32_t i = 0; i < SLOTS_MIN; i++)
		account->chain[i] = NONE;
	account->entry[0] = (struct entry){ .name = CPU_OTHERS };
	account->count = 1;
	account->steal_ns = read_steal();
	*out = account;
	return 0;
}

void cpu_account_free(struct cpu_account **account)
{
	struct cpu_account *old = *account;

	*account = NULL;
	if (!old)
		return;
	lock_destroy(&old->lock);
	free(old->entry);
	free(old->chain);
	free(old);
}

uint64_t cpu_account_steal_ns(const struct cpu_account *account)
{
	uint64_t now = read_steal();

	return now > account->steal_ns ? now - account->steal_ns : 0;
}

/* --- the tree ------------------------------------------------------------ */

void cpu_account_root(struct cpu_account *account, pid_t pid, uint32_t events)
{
	struct entry *entry;

	lock_acquire(&account->lock);
	entry = account_entry_at(account, pid);
	entry->forked = true;
	entry->tasks++;
	account->root = (uint32_t)(entry - account->entry);
	account->events = events;
	lock_release(&account->lock);
}

/* Returns the entry of process @pid at its start. Records of one process come
 * from the buffers of several CPUs: its name, and even its end, may be read
 * before its start. An entry that already has a start belongs to an earlier
 * process with the same pid. */
static struct entry *begin_entry(struct cpu_account *account, pid_t pid)
{
	struct entry *entry = find_account_entry(account, pid);

	if (!entry || entry->forked)
		entry = add_account_entry(account, pid);
	entry->forked = true;
	return entry;
}

void cpu_account_fork(struct cpu_account *account, pid_t pid, pid_t tid,
		      pid_t parent)
{
	const struct entry *maker;
	struct entry *entry;

	lock_acquire(&account->lock);
	entry = pid == tid ? begin_entry(account, pid)
			   : account_entry_at(account, pid);
	entry->tasks++;
	maker = find_account_entry(account, parent);
	if (!entry->name[0] && maker)
		memcpy(entry->name, maker->name, sizeof(entry->name));
	lock_release(&account->lock);
}

void cpu_account_name(struct cpu_account *account, pid_t pid, pid_t tid,
		      const char *name, uint64_t ns, bool exec)
{
	struct entry *entry;

	if (pid != tid)
		return;
	lock_acquire(&account->lock);
	entry = account_entry_at(account, pid);
	if (exec)
		entry->exec_ns = MAX(entry->exec_ns, ns);
	if (entry != account->entry && ns >= entry->named_ns) {
		set_entry_name(entry, name);
		entry->named_ns = ns;
	}
	lock_release(&account->lock);
}

void cpu_account_hello(struct cpu_account *account, pid_t pid, uint64_t ns)
{
	struct entry *entry;

	lock_acquire(&account->lock);
	entry = account_entry_at(account, pid);
	entry->hello_ns = MAX(entry->hello_ns, ns);
	lock_release(&account->lock);
}

void cpu_account_count(struct cpu_account *account, pid_t pid, uint64_t ns)
{
	struct entry *entry;

	lock_acquire(&account->lock);
	entry = account_entry_at(account, pid);
	entry->counted_ns += ns;
	entry->reads++;
	lock_release(&account->lock);
}

void cpu_account_exit(struct cpu_account *account, pid_t pid)
{
	lock_acquire(&account->lock);
	account_entry_at(account, pid)->ended++;
	lock_release(&account->lock);
}

void cpu_account_lose(struct cpu_account *account, uint64_t records)
{
	lock_acquire(&account->lock);
	account->lost += records;
	lock_release(&account->lock);
}

void cpu_account_paused(struct cpu_account *account)
{
	lock_acquire(&account->lock);
	account->paused = true;
	lock_release(&account->lock);
}

void cpu_account_total(struct cpu_account *account, uint64_t ns)
{
	lock_acquire(&account->lock);
	account->total_ns = ns;
	lock_release(&account->lock);
}

/* --- the profile --------------------------------------------------------- */

void cpu_account_tell(struct cpu_account *account, pid_t pid, const char *name,
		      uint64_t ns, bool sampled)
{
	struct entry *entry;

	lock_acquire(&account->lock);
	entry = account_entry_at(account, pid);
	if (!entry->name[0])
		set_entry_name(entry, name);
	entry->told_ns += ns;
	entry->told = true;
	entry->sampled |= sampled;
	lock_release(&account->lock);
}

/* --- the end ------------------------------------------------------------- */

static uint64_t cpu_clock_of(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time) < 0)
		return 0;
	return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static bool lacks_a_read(const struct cpu_account *account,
			 const struct entry *entry)
{
	return entry->forked && entry->reads < account->events * entry->tasks;
}

/* Returns the process whose time is missing (see the head of this file): its
 * samples exceed its reported time by more than those of any other process
 * without all READs. */
static struct entry *find_silent(struct cpu_account *account)
{
	struct entry *best = &account->entry[account->root];
	uint64_t most = 0, lack;
	bool found = lacks_a_read(account, best);

	for (uint32_t i = 0; i < account->count; i++) {
		struct entry *entry = &account->entry[i];

		if (!lacks_a_read(account, entry))
			continue;
		lack = entry->told_ns - MIN(entry->told_ns, entry->counted_ns);
		if (!found || lack > most) {
			best = entry;
			most = lack;
			found = true;
		}
	}
	return best;
}

/* Returns true if the record of the start or end of a process of the tree was
 * dropped. @now_ns: its CPU time, 0 if it is gone. The kernel reports such a
 * loss only with its next record, which may never come. */
static bool is_entry_cut(const struct entry *entry, uint64_t now_ns)
{
	if (!entry->forked)
		return entry->ended || entry->reads;
	return entry->tasks > entry->ended && !now_ns;
}

static void count_rest_of_tree(struct cpu_account *account)
{
	uint64_t sum = 0;

	if (account->root == NONE)
		return;
	for (uint32_t i = 0; i < account->count; i++) {
		struct entry *entry = &account->entry[i];

		uint64_t now_ns = 0;

		if (i && entry->forked && entry->tasks > entry->ended)
			now_ns = cpu_clock_of(entry->pid);
		entry->counted_ns = MAX(entry->counted_ns, now_ns);
		account->lost += i && is_entry_cut(entry, now_ns);
		sum += entry->counted_ns;
	}
	if (account->total_ns > sum)
		find_silent(account)->counted_ns += account->total_ns - sum;
}

static int rows_by_name(const void *left, const void *right)
{
	const struct cpu_row *a = left, *b = right;

	if (a->is_short != b->is_short)
		return a->is_short - b->is_short;
	return strcmp(a->name, b->name);
}

static int rows_by_time(const void *left, const void *right)
{
	const struct cpu_row *a = left, *b = right;
	bool last_a = !strcmp(a->name, CPU_OTHERS);
	bool last_b = !strcmp(b->name, CPU_OTHERS);

	if (last_a != last_b)
		return last_a - last_b;
	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return rows_by_name(a, b);
}

static void add_account_row(struct cpu_row *to, const struct cpu_row *from)
{
	to->count += from->count;
	to->ns += from->ns;
}

/* Merges rows with equal names, in place. Returns the number of rows left. */
static size_t merge_account_rows(struct cpu_row *row, size_t count)
{
	size_t kept = 0;

	if (!count)
		return 0;
	qsort(row, count, sizeof(*row), rows_by_name);
	for (size_t i = 1; i < count; i++) {
		if (!rows_by_name(&row[kept], &row[i]))
			add_account_row(&row[kept], &row[i]);
		else
			row[++kept] = row[i];
	}
	qsort(row, kept + 1, sizeof(*row), rows_by_time);
	return kept + 1;
}

/* Lists the processes whose last program never said hello. @row has room for
 * all. */
static void sum_unloaded(const struct cpu_account *account, struct cpu_row *row,
			 struct cpu_sum *out)
{
	size_t count = 0;

	for (uint32_t i = 1; i < account->count; i++) {
		const struct entry *entry = &account->entry[i];

		if (entry->hello_ns >= entry->exec_ns)
			continue;
		row[count] =
			(struct cpu_row){ .count = 1, .ns = entry->counted_ns };
		memcpy(row[count++].name, entry->name, sizeof(entry->name));
	}
	out->unloaded = count;
	out->unloaded_names = merge_account_rows(row, count);
	out->unloaded_rows = MIN(out->unloaded_names, (size_t)CPU_UNLOADED_MAX);
	memcpy(out->unloaded_row, row,
	       out->unloaded_rows * sizeof(*out->unloaded_row));
}

/* Distributes @more, the excess of getrusage() over the known time. */
static void add_missing_time(const struct cpu_account *account,
			     uint64_t sampled_ns, uint64_t more,
			     struct cpu_sum *out)
{
	double share = (double)out->count / (double)(account->count - 1);
	uint64_t to_rows = (uint64_t)((double)more * MIN(share, 1.0));
	uint64_t most = (uint64_t)((double)sampled_ns * (SCALE_MOST - 1));
	uint64_t to_profile;
	uint64_t left, count;

	to_rows = MIN(to_rows, out->ns);
	to_profile = MIN(more - to_rows, most);
	if (sampled_ns)
		out->scale = 1 + (double)to_profile / (double)sampled_ns;
	out->unknown_ns = more - to_rows - to_profile;
	left = to_rows;
	count = out->count;
	for (size_t i = 0; i < out->rows; i++) {
		double of_count = (double)out->row[i].count / (double)count;
		uint64_t part = (uint64_t)((double)left * of_count);

		part = MIN(part, left);
		out->row[i].ns += part;
		left -= part;
		count -= out->row[i].count;
	}
	out->ns += to_rows - left;
	out->unknown_ns += left;
}

static void hold_against_truth(const struct cpu_account *account,
			       const struct cpu_truth *truth,
			       struct cpu_sum *out)
{
	uint64_t known = truth->sampled_ns + out->ns;

	if (!truth->known || !known || account->count < 2 || account->paused)
		return;
	if (truth->used_ns > known)
		add_missing_time(account, truth->sampled_ns,
				 truth->used_ns - known, out);
	else {
		double all = (double)truth->sampled_ns + (double)out->ns;
		double stolen =
			(double)MIN(known - truth->used_ns, truth->steal_ns);

		/* The kernel's task clock runs on while a hypervisor has the
		 * CPU: that time is subtracted. Any further excess belongs to
		 * processes that nobody waited for, which getrusage() does not
		 * include. */
		out->scale = 1 - stolen / all;
		out->ns = 0;
		for (size_t i = 0; i < out->rows; i++) {
			out->row[i].ns =
				(uint64_t)((double)out->row[i].ns * out->scale);
			out->ns += out->row[i].ns;
		}
	}
}

/* Keeps the first CPU_ROWS_MAX - 1 rows, and adds up all others in the last
 * one. */
static void keep_rows(const struct cpu_row *row, size_t count,
		      struct cpu_sum *out)
{
	struct cpu_row *last = &out->row[CPU_ROWS_MAX - 1];

	out->rows = MIN(count, (size_t)CPU_ROWS_MAX);
	memcpy(out->row, row, out->rows * sizeof(*row));
	if (count <= CPU_ROWS_MAX)
		return;
	snprintf(last->name, sizeof(last->name), "%s", CPU_OTHERS);
	last->is_short = true;
	for (size_t i = CPU_ROWS_MAX; i < count; i++)
		add_account_row(last, &row[i]);
}

/* Makes a row for each process without a sample. It was too short for one if it
 * had less than two periods of CPU time, or could have been sampled. */
static size_t make_account_rows(const struct cpu_account *account,
				uint64_t period_ns, struct cpu_row *row)
{
	size_t count = 0;

	for (uint32_t i = 0; i < account->count; i++) {
		const struct entry *entry = &account->entry[i];
		uint64_t ns = MAX(entry->counted_ns, entry->told_ns);

		/* Sampled, or outside of the tree and without time. */
		if (entry->sampled || (!ns && !entry->forked && !entry->ended))
			continue;
		row[count].count = i ? 1 : MAX(entry->tasks, 1u);
		row[count].ns = ns;
		row[count].is_short = !i || entry->told || ns < 2 * period_ns;
		memcpy(row[count].name, entry->name, sizeof(entry->name));
		count++;
	}
	return count;
}

void cpu_account_close(struct cpu_account *account,
		       const struct cpu_truth *truth, struct cpu_sum *out)
{
	struct cpu_row *row;
	size_t count;

	*out = (struct cpu_sum){ .scale = 1 };
	lock_acquire(&account->lock);
	count_rest_of_tree(account);
	out->lost = account->lost;
	row = calloc(account->count, sizeof(*row));
	if (row) {
		count = make_account_rows(account, truth->period_ns, row);
		keep_rows(row, merge_account_rows(row, count), out);
		sum_unloaded(account, row, out);
		free(row);
	}
	for (size_t i = 0; i < out->rows; i++) {
		out->count += out->row[i].count;
		out->ns += out->row[i].ns;
	}
	hold_against_truth(account, truth, out);
	lock_release(&account->lock);
}
