/* SPDX-License-Identifier: Apache-2.0
 *
 * cpu_timer - the engine "signal", without harm to the program:
 *
 * - The handler only copies registers and a part of the stack into the ring.
 *   It copies from the stack pointer to the known end of the thread's stack.
 *   On another stack (sigaltstack) it copies only registers.
 * - It never runs on the stack of a context, where SIGPROF is blocked
 *   (cpu_timer_spare()), nor on stacks below CPU_STACK_MIN. A handler of the
 *   program with its own stack also blocks SIGPROF (interpose_signal.c).
 *   A switch to another context unblocks SIGPROF while the old stack is still
 *   in use. So cpu_timer_switch() first takes a pending signal as a sample
 *   without a stack, and delays the timer.
 * - When the program wants SIGPROF, all timers are deleted and pending
 *   signals discarded before its action is set.
 *
 * The kernel checks timers of CPU time only at its ticks. At 250 ticks and 1000
 * samples a second, three of four samples are overruns of the fourth. The
 * weight of a sample counts them.
 *
 * A thread may be shorter than a period or a tick. Each tick that finds it must
 * become a sample with probability tick / period, even the first tick
 * (first_part()). Then that sample counts for more than the thread has run so
 * far, and the time after its last tick counts nothing. On average the two
 * cancel out.
 *
 * The kernel deletes timers in a forked child and at exec, but not at the end
 * of their thread.
 */
#include "preload/cpu/cpu_timer.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>

#include "preload/core/find_next.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/say.h"
#include "preload/core/sys.h"
#include "preload/core/thread_context.h"
#include "preload/core/thread_watch.h"
#include "preload/ring/put_run.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/hash.h"
#include "shared/record_ext.h"
#include "shared/ticks.h"
#include "shared/wire.h"

/* Greatest number of threads with a timer. */
#define TIMERS_MAX 4096
#define NS_PER_S 1000000000ULL
/* A timer first fires at least this long after it was set. */
#define FIRST_MIN_NS 50000ULL
#define AT_ONCE_NS 1000ULL
#define FIRST_STACK_BYTES (128ULL << 20)
#define SAMPLE_CELLS (sizeof(struct record_sample) / sizeof(struct record))

struct cpu_engine g_cpu;

static int (*g_real_sigaction)(int, const struct sigaction *,
			       struct sigaction *);

static struct {
	/* The kernel's timer ids plus 1; 0: free, -1: being made or ended. */
	int32_t id[TIMERS_MAX];
	/* A timer could not be deleted (a seccomp filter). Disarming it is not
	 * enough: a thread that is just setting it arms it again. */
	int32_t left;
	bool have_signal; /* SIGPROF is ours */
	uint64_t tick_ns; /* interval of the kernel's timer checks */
} g_timers;

static __thread struct {
	uint32_t timer; /* index in g_timers.id plus 1; 0: none */
	bool deaf; /* the handler must return at once */
	uint64_t first_weight; /* of the next sample; 0: 1 + overruns */
	uintptr_t stack_start, stack_end; /* 0: unknown */
} t_cpu;

int (*cpu_timer_sigaction(void))(int, const struct sigaction *,
				 struct sigaction *)
{
	if (!g_real_sigaction)
		g_real_sigaction =
			(__typeof__(g_real_sigaction))find_next("sigaction");
	return g_real_sigaction;
}

/* --- the handler --------------------------------------------------------- */

struct sample_run {
	struct record head;
	struct record_sample sample;
};

_Static_assert(sizeof(struct sample_run) % sizeof(struct record) == 0,
	       "whole cells");

static void copy_registers(const mcontext_t *from, uint64_t reg[RECORD_REGS])
{
#if defined(__x86_64__)
	static const uint8_t number[RECORD_REGS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
		REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};

	for (int i = 0; i < RECORD_REGS; i++)
		reg[i] = (uint64_t)from->gregs[number[i]];
#else
	memcpy(reg, from->regs, 31 * sizeof(*reg));
	reg[RECORD_REG_SP] = from->sp;
	reg[RECORD_REG_IP] = from->pc;
#endif
}

/* Returns the bytes to copy at @sp, whole cells; sets *@flags. */
static uint32_t stack_bytes(uintptr_t sp, uint32_t *flags)
{
	uint64_t room = (record_run_max(g_shim.ring_cells) - 1 - SAMPLE_CELLS) *
			sizeof(struct record);
	uint64_t most = MIN((uint64_t)g_cpu.stack_bytes, room), bytes;

	*flags = SAMPLE_NO_STACK;
	if (sp % 8 || sp < t_cpu.stack_start || sp >= t_cpu.stack_end)
		return 0;
	bytes = t_cpu.stack_end - sp;
	*flags = bytes > most ? SAMPLE_STACK_CUT : 0;
	return (uint32_t)(MIN(bytes, most) & ~(sizeof(struct record) - 1));
}

/* Records a sample. @registers is NULL if unknown. */
static void put_sample(const mcontext_t *registers, uint64_t weight)
{
	struct sample_run run = { .sample.weight = weight };
	struct put_run put = { .cells = &run.head, .count = 1 + SAMPLE_CELLS };
	uintptr_t sp;

	if (registers)
		copy_registers(registers, run.sample.reg);
	thread_context_read(&run.sample.request);
	sp = run.sample.reg[RECORD_REG_SP];
	run.sample.stack_bytes = stack_bytes(sp, &run.sample.flags);
	put.behind = (const void *)sp;
	put.behind_cells = run.sample.stack_bytes / sizeof(struct record);
	run.head.word = record_ext_word(
		EXT_CPU_SAMPLE, (uint32_t)(SAMPLE_CELLS + put.behind_cells), 0,
		sp);
	put_run_of(&put, PUT_SAMPLE, sp, run.sample.reg[RECORD_REG_IP]);
}

static void handler(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	(void)signal;
	/* From kill(), or from setitimer() without a handler. */
	if (info->si_code != SI_TIMER || t_cpu.deaf)
		return;
	/* relaxed: a late sample may count or not */
	if (!atom_load_rlx(&g_cpu.on))
		return; /* from a timer that could not be deleted */
	if (gate & GATE_OFF) {
		cpu_timer_thread_ends();
		return;
	}
	put_sample(&interrupted->uc_mcontext,
		   t_cpu.first_weight ? t_cpu.first_weight
				      : 1 + (uint64_t)MAX(info->si_overrun, 0));
	t_cpu.first_weight = 0;
}

/* --- timers -------------------------------------------------------------- */

static uint32_t claim_index(void)
{
	for (uint32_t i = 0; i < TIMERS_MAX; i++)
		/* relaxed: a first check; the swap decides */
		if (!atom_load_rlx(&g_timers.id[i]) &&
		    /* order: sc, TIMER: one thread claims it */
		    atom_cas_sc(&g_timers.id[i], 0, -1))
			return i + 1;
	return 0;
}

static void end_timer(int32_t timer)
{
	const struct itimerspec never = { { 0, 0 }, { 0, 0 } };

	if (sys(SYS_timer_delete, timer) == 0)
		return;
	sys(SYS_timer_settime, timer, 0, &never, 0);
	/* order: sc, TIMER: give_up_signal() sees it */
	atom_xchg_sc(&g_timers.left, 1);
}

static void free_index(uint32_t index)
{
	/* order: sc, TIMER: 0 implies no timer, or one in left */
	atom_xchg_sc(&g_timers.id[index - 1], 0);
}

/* Deletes the timer of @index, if there is one, and frees the index. */
static void delete_timer(uint32_t index)
{
	/* relaxed: the swap decides */
	int32_t timer = atom_load_rlx(&g_timers.id[index - 1]);

	/* order: sc, TIMER: one thread deletes it */
	if (timer <= 0 || !atom_cas_sc(&g_timers.id[index - 1], timer, -1))
		return;
	/* After an unseen fork the id may belong to another timer. */
	if (sys(SYS_getpid) == g_cpu.pid)
		end_timer(timer - 1);
	free_index(index);
}

static uint64_t random_below(uint64_t ns)
{
	uint64_t mixed = (ticks_now() ^ (uintptr_t)&t_cpu) * HASH_MULTIPLIER;

	return (mixed >> 32) % ns;
}

/* Returns the first interval of a new thread's timer. The first tick is a
 * sample with probability tick / period. If a tick has several periods, its
 * first sample stands for all of them, however long the thread ran in it. */
static uint64_t first_part(uint64_t period_ns)
{
	uint64_t tick_ns = g_timers.tick_ns, drawn;

	if (period_ns <= tick_ns) {
		t_cpu.first_weight = MAX(
			(tick_ns + random_below(period_ns)) / period_ns, 1ULL);
		return AT_ONCE_NS;
	}
	drawn = random_below(period_ns);
	return drawn <= tick_ns ? AT_ONCE_NS : drawn - tick_ns / 2;
}

/* Makes a timer for this thread. Returns its id plus 1, or 0. */
static int32_t make_timer(void)
{
	struct sigevent event;
	int32_t id = 0;

	memset(&event, 0, sizeof(event));
	event.sigev_signo = SIGPROF;
	event.sigev_notify = SIGEV_THREAD_ID;
	event._sigev_un._tid = (int32_t)sys(SYS_gettid);
	if (sys(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &id) < 0)
		return 0;
	return id + 1;
}

static void set_timer(int32_t timer, uint64_t first)
{
	uint64_t period = g_cpu.period_ns;
	const struct itimerspec when = {
		.it_interval = { (time_t)(period / NS_PER_S),
				 (long)(period % NS_PER_S) },
		.it_value = { (time_t)(first / NS_PER_S),
			      (long)(first % NS_PER_S) },
	};

	sys(SYS_timer_settime, timer - 1, 0, &when, 0);
}

static void count_unsampled(void)
{
	/* relaxed: a count */
	atom_add_rlx(&g_shim.page->unsampled_threads, 1);
}

/* Makes and sets this thread's timer. The caller blocks SIGPROF, so that the
 * handler does not see it half done. */
static void arm_timer(void)
{
	uint32_t index = claim_index();
	int32_t timer = index ? make_timer() : 0;

	if (!timer) {
		if (index)
			free_index(index);
		count_unsampled();
		return;
	}
	t_cpu.timer = index;
	t_cpu.deaf = false;
	/* order: sc, TIMER: the stopping thread finds it, or we see the stop */
	atom_xchg_sc(&g_timers.id[index - 1], timer);
	/* order: sc, TIMER: as above */
	if (atom_load_sc(&g_cpu.on))
		set_timer(timer, first_part(g_cpu.period_ns));
	else
		delete_timer(index);
}

static void arm_timer_blocked(void)
{
	uint64_t signals = sys_block_signals();

	arm_timer();
	sys_restore_signals(signals);
}

void cpu_timer_thread_begins(size_t stack_bytes)
{
	/* A thread's own data lies above its stack. */
	uintptr_t end = (uintptr_t)__builtin_thread_pointer();

	/* relaxed: arm_timer() sees a stop in between */
	if (!atom_load_rlx(&g_cpu.on) || g_shim.no_syscalls || t_cpu.timer)
		return;
	if (end <= stack_bytes || !thread_watch_over()) {
		count_unsampled();
		return;
	}
	t_cpu.stack_start = end - stack_bytes;
	t_cpu.stack_end = end;
	arm_timer_blocked();
}

void cpu_timer_thread_ends(void)
{
	uint32_t index = t_cpu.timer;

	if (!index)
		return;
	/* A pending signal then does nothing. */
	t_cpu.deaf = true;
	t_cpu.timer = 0;
	delete_timer(index);
}

/* The child has one thread, and no timer of its parent. */
void cpu_timer_forked(void)
{
	/* relaxed: no other thread exists */
	if (!atom_load_rlx(&g_cpu.on))
		return;
	memset(g_timers.id, 0, sizeof(g_timers.id));
	g_cpu.pid = (int32_t)sys(SYS_getpid);
	if (!t_cpu.timer)
		return;
	t_cpu.timer = 0;
	arm_timer_blocked();
}

void cpu_timer_stop(void)
{
	/* order: sc, TIMER: a thread in arm_timer() sees it, or we see its
	 * timer */
	if (!atom_xchg_sc(&g_cpu.on, false))
		return;
	for (uint32_t i = 0; i < TIMERS_MAX; i++) {
		/* relaxed: a first check; delete_timer() decides */
		if (atom_load_rlx(&g_timers.id[i]) > 0)
			delete_timer(i + 1);
	}
}

/* --- SIGPROF ------------------------------------------------------------- */

bool cpu_timer_has_signal(void)
{
	/* relaxed: changes once */
	return atom_load_rlx(&g_timers.have_signal);
}

/* Returns true if a timer may still fire, or another thread is ending one. */
static bool may_fire(void)
{
	/* order: sc, TIMER: the table first, then left */
	for (uint32_t i = 0; i < TIMERS_MAX; i++)
		if (atom_load_sc(&g_timers.id[i]))
			return true;
	/* order: sc, TIMER: as above */
	return atom_load_sc(&g_timers.left);
}

bool cpu_timer_give_up_signal(bool for_default)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	/* Samples end here, so the thread counts as not sampled. */
	count_unsampled();
	cpu_timer_stop();
	if (for_default && may_fire())
		return false;
	/* order: sc, TIMER: only one thread releases it */
	if (!atom_xchg_sc(&g_timers.have_signal, false))
		return true;
	/* Discards pending signals of all threads. Never SIG_DFL in between. */
	g_real_sigaction(SIGPROF, &ignore, NULL);
	return true;
}

static int set_handler(struct sigaction *old)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	action.sa_flags = SA_RESTART | SA_SIGINFO;
	return g_real_sigaction(SIGPROF, &action, old);
}

bool cpu_timer_stand_in(struct sigaction *old)
{
	/* A process without an engine never had a timer. */
	if (!g_cpu.pid || !g_real_sigaction || !may_fire() || set_handler(old))
		return false;
	/* order: sc, TIMER: only one thread can release it again */
	(void)atom_xchg_sc(&g_timers.have_signal, true);
	return true;
}

static bool take_signal(void)
{
	struct sigaction old;

	if (!cpu_timer_sigaction())
		return false;
	if (g_real_sigaction(SIGPROF, NULL, &old) < 0 ||
	    old.sa_flags & SA_SIGINFO || old.sa_handler != SIG_DFL)
		return false;
	g_timers.have_signal = set_handler(NULL) == 0;
	return g_timers.have_signal;
}

static bool is_on_own_stack(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return here >= t_cpu.stack_start && here < t_cpu.stack_end;
}

void cpu_timer_switch(const ucontext_t *context)
{
	const struct timespec at_once = { 0, 0 };
	const uint64_t mask = 1ULL << (SIGPROF - 1);
	int32_t timer;
	siginfo_t info = { .si_code = 0 };

	if (!t_cpu.timer || is_on_own_stack() ||
	    (context && sigset_has(&context->uc_sigmask, SIGPROF)))
		return;
	/* relaxed: this thread's own, unless all are being deleted */
	timer = atom_load_rlx(&g_timers.id[t_cpu.timer - 1]);
	if (timer <= 0)
		return;
	if (sys(SYS_rt_sigtimedwait, &mask, &info, &at_once,
		KERNEL_SIGSET_BYTES) == SIGPROF &&
	    info.si_code == SI_TIMER)
		put_sample(NULL, 1 + (uint64_t)MAX(info.si_overrun, 0));
	set_timer(timer, MAX(random_below(g_cpu.period_ns), FIRST_MIN_NS));
}

void cpu_timer_spare(ucontext_t *context)
{
	/* relaxed: a hint; earlier contexts are safe without it */
	if (atom_load_rlx(&g_cpu.on))
		sigset_add(&context->uc_sigmask, SIGPROF);
}

/* --- start --------------------------------------------------------------- */

/* Returns the largest size of the first thread's stack: its limit, or the range
 * that the kernel keeps free. */
static uint64_t first_stack_bytes(void)
{
	struct rlimit limit = { 0, 0 };

	sys(SYS_prlimit64, 0, RLIMIT_STACK, 0, &limit);
	return MIN((uint64_t)limit.rlim_cur, FIRST_STACK_BYTES);
}

/* The program's name is at the end of the first stack. */
static void arm_first_timer(void)
{
	uintptr_t name = libc()->getauxval(AT_EXECFN), here = (uintptr_t)&name;

	if (name <= here || sys(SYS_gettid) != g_shim.pid)
		return;
	t_cpu.stack_end = name & -sizeof(struct record);
	t_cpu.stack_start = t_cpu.stack_end - first_stack_bytes();
	arm_timer();
}

void cpu_timer_start(const struct wire_reply *reply, bool quiet)
{
	struct timespec tick = { 0, 0 };

	if (!reply->cpu_hz || g_shim.no_syscalls)
		return;
	g_cpu.period_ns = NS_PER_S / reply->cpu_hz;
	g_cpu.stack_bytes = reply->stack_bytes;
	g_cpu.pid = g_shim.pid;
	if (!g_cpu.period_ns)
		return;
	sys(SYS_clock_getres, CLOCK_REALTIME_COARSE, &tick);
	g_timers.tick_ns = (uint64_t)tick.tv_nsec;
	if (!take_signal()) {
		count_unsampled();
		if (!quiet)
			say((const char *[]){ "no CPU samples: the program was "
					      "started "
					      "with SIGPROF in use" },
			    1);
		return;
	}
	/* relaxed: no other thread uses it yet */
	atom_store_rlx(&g_cpu.on, true);
	arm_first_timer();
}
