/* SPDX-License-Identifier: Apache-2.0
 *
 * controller - words of this file:
 *
 *   work     the program's CPU time without perfrec's cost. A rate is calls per
 *            ns of work, so it is independent of the states of functions. A
 *            *load* is cost per ns of work.
 *   window   the sum of ticks until the program has run for a while; then
 *            controller_tick() decides once.
 *   wish     the requested state of a function. For a while after the request,
 *            all sums assume that the function has it.
 */

#include "collector/states/controller.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

#define MS 1000000.0
#define SECOND 1e9

/* A window ends after this CPU time, or after this wall time with any CPU
 * time. */
#define WINDOW_CPU_NS (4 * MS)
#define WINDOW_WALL_NS SECOND
/* A tick counts for at most this much, because a clock may jump. */
#define TICK_MAX_NS (10 * SECOND)
/* Work is at least this part of the CPU time, even if the estimated cost is
 * higher. */
#define WORK_LEAST 0.04

/* Parts of the budget. A load above OVER_NOW in one window, or above OVER_SLOW
 * on average, makes functions quieter until it falls to QUIET_TO. They become
 * louder below LOUD_TO. */
#define OVER_NOW 1.25
#define OVER_SLOW 1.0
#define QUIET_TO 0.8
#define LOUD_TO 0.85
/* Most of the budget that may pay for costs other than functions. */
#define PAYS 0.8
/* Limit of a debt in ns of the budget, because a clock may jump. */
#define DEBT_MOST_NS (10 * SECOND)
/* Touchable functions get at least this part of the budget. */
#define LEAST 0.1
/* Part of the budget for episodes. */
#define EPISODES 0.15

/* Time constants of averages. */
#define SLOW_NS (400 * MS)
#define HELD_NS SECOND
#define TOLD_NS SECOND
/* A window keeps this part of the weight of recorded durations. */
#define MEAN_KEEPS 0.8
/* But at most MEAN_TIMES the weight of its own durations, and at least
 * MEAN_LEAST. So a function that was called often and is now called rarely is
 * judged by its present durations. */
#define MEAN_TIMES 4
#define MEAN_LEAST 32
/* A function becomes louder at once if this many durations show that it is
 * long. */
#define LONG_ENDED 4

/* A wish counts as fulfilled for WISH_TRUSTED_NS, and is repeated after
 * WISH_AGAIN_NS. */
#define WISH_TRUSTED_NS SECOND
#define WISH_AGAIN_NS (2 * SECOND)
/* Time that a function stays quiet before it becomes louder: first value and
 * limit. */
#define WAIT_FIRST_NS (500 * MS)
#define WAIT_MOST_NS (64 * SECOND)
/* As above, for a function that was muted in an earlier recording: its calls
 * may be rarer or longer now. */
#define WAIT_KNOWN_NS (60 * MS)
/* A function that is quiet again within this time waits longer. */
#define SOON_NS (10 * SECOND)
/* A function is rare if its rate fell by this factor since it went quiet. Its
 * wait is then shorter. */
#define RARE 8
#define RARE_WAITS 4

/* Episodes: the longest time of saving budget; the pause between two of one
 * function; the most at once; the cost of one, which is some six writes to the
 * program's text and work for the replay of each thread. */
#define EPISODES_SAVED_NS (2 * SECOND)
#define EPISODE_PAUSE_NS (SECOND / 2)
#define EPISODES_MAX 16
#define EPISODE_PATCH_NS 30000.0
/* An episode without any effect ends after this time. */
#define EPISODE_LOST_NS (2 * SECOND)

/* The load has changed if this part of the calls belongs to other functions
 * than before, in this many windows in a row. */
#define CHANGED_PART 0.5
#define CHANGED_WINDOWS 3
#define CHANGED_CALLS 100

/* Scores are logarithmic, four buckets to a power of two. */
#define BUCKETS 512
#define BUCKET_ZERO 400

struct function {
	bool known;
	bool fixed;
	bool asked; /* the wish was sent, at asked_at */
	bool episode; /* counted, but recorded for a moment */
	bool charged; /* paid by the episodes' part of the budget */
	bool rated; /* a window had its calls */
	uint8_t state, wish;
	uint16_t bucket; /* scratch of record_again() */
	float span, counted; /* ns of a call */
	float now, slow, held; /* rates */
	float quiet_rate; /* when it last became quieter */
	double ended, ended_ns; /* of earlier windows, weighted to the latest */
	/* In this window. */
	uint64_t calls;
	double new_ended, new_ended_ns;
	/* Wall time. */
	double asked_at, louder_at, quieter_at;
	double episode_at; /* start of the last episode, or earliest start of
			    * the next */
	double wait;
	double episode_price; /* reserved for the open episode */
};

struct change {
	struct controller_change change;
	float urgency;
};

struct controller {
	double budget; /* cost per ns of work */
	double load; /* the part for functions in this window */
	double debt; /* unpaid other costs, ns */
	struct function *functions;
	size_t count, room;
	struct change *changes;
	size_t changes_count, changes_room;

	double wall, work; /* sums of all ticks */
	/* This window. */
	double window_wall, window_cpu, window_cost, window_work;
	double slow_keeps, held_keeps; /* weights of an old rate in a new one */
	uint32_t threads;
	unsigned int changed; /* windows in a row with another load */

	double episodes_saved, episodes_reserved;
	unsigned int episodes;
	uint32_t episode_next; /* number to look at first */

	/* Reported figures. */
	double told_cost, told_cpu;
	double floor, unmet_for;
	bool unmet;
	double cost_ns, counting_ns, cpu_ns, episode_ns;
	uint64_t asked;
};

static double load_of_budget(double share)
{
	if (!(share > 0))
		return 0;
	return share < 0.999 ? share / (1 - share) : 1000;
}

struct controller *controller_new(double budget)
{
	struct controller *controller = calloc(1, sizeof(*controller));

	if (controller)
		controller->budget = controller->load = load_of_budget(budget);
	return controller;
}

void controller_free(struct controller *controller)
{
	if (!controller)
		return;
	free(controller->functions);
	free(controller->changes);
	free(controller);
}

/* --- one function -------------------------------------------------------- */

/* Returns the function, created if needed, or NULL if it is not steered. */
static struct function *take_steered_function(struct controller *controller,
					      uint32_t number)
{
	if (number >= CONTROLLER_FUNCTIONS_MAX)
		return NULL;
	if (number >= controller->count) {
		if (grow_array_zeroed(controller->functions, controller->room,
				      (size_t)number + 1))
			return NULL;
		controller->count = (size_t)number + 1;
	}
	return &controller->functions[number];
}

static struct function *find_steered_function(
	const struct controller *controller, uint32_t number)
{
	if (number >= controller->count || !controller->functions[number].known)
		return NULL;
	return &controller->functions[number];
}

static double cost_in(const struct function *function, unsigned int state)
{
	switch (state) {
	case FUNCTION_SPAN:
		return function->span;
	case FUNCTION_OFF:
		return 0;
	default:
		return function->counted;
	}
}

static bool wish_trusted(const struct controller *controller,
			 const struct function *function)
{
	return function->asked &&
	       controller->wall - function->asked_at < WISH_TRUSTED_NS;
}

/* Returns the state that sums assume. */
static unsigned int planned_state_of(const struct controller *controller,
				     const struct function *function)
{
	/* Episodes have their own part of the budget. */
	if (function->episode || function->charged)
		return FUNCTION_COUNTED;
	return wish_trusted(controller, function) ? function->wish
						  : function->state;
}

static double step_span(const struct function *function)
{
	return fmax((double)function->span - (double)function->counted, 0);
}

static double mean_of(const struct function *function)
{
	if (!(function->ended > 0))
		return 0;
	return function->ended_ns / function->ended;
}

static double louder_rate(const struct function *function)
{
	return fmax(function->now, function->slow);
}

static bool is_long(const struct function *function)
{
	/* A weighted mean is inexact. */
	return mean_of(function) > CONTROLLER_LONG_NS * 0.9999;
}

/* Returns true if a wish was not fulfilled in time. */
static bool is_stuck(const struct controller *controller,
		     const struct function *function)
{
	/* A long open call keeps a function draining. */
	if (function->state == FUNCTION_DRAINING &&
	    function->wish == FUNCTION_COUNTED)
		return false;
	return function->asked && function->state != function->wish &&
	       !wish_trusted(controller, function);
}

/*
 * Returns true if the policy may make the function quieter. Sets *@mean to its
 * mean duration, or to an upper bound.
 */
static bool may_touch(const struct controller *controller,
		      const struct function *function, double *mean)
{
	double calls = (double)function->calls;

	*mean = mean_of(function);
	if (function->fixed || function->episode ||
	    is_stuck(controller, function))
		return false;
	if (*mean > 0)
		return !is_long(function);
	if (!(calls > 0))
		return false;
	*mean = controller->window_wall * controller->threads / calls;
	return *mean < CONTROLLER_LONG_NS;
}

static unsigned int jitter(uint32_t number)
{
	return (number * 2654435761u) >> 24;
}

static void wish(struct controller *controller, struct function *function,
		 unsigned int state)
{
	function->wish = (uint8_t)state;
	function->asked = false;
	function->asked_at = controller->wall;
}

/* Sets the earliest start of the next episode, spread over time by number. */
static void delay_episode(const struct controller *controller,
			  struct function *function)
{
	uint32_t number = (uint32_t)(function - controller->functions);

	function->episode_at = controller->wall +
			       EPISODE_PAUSE_NS * (1 + jitter(number) / 256.0);
}

static void wish_quieter(struct controller *controller,
			 struct function *function)
{
	double loud_for = controller->wall - function->louder_at;

	if (function->louder_at > 0 &&
	    loud_for < fmax(4 * function->wait, SOON_NS))
		function->wait = fmin(2 * fmax(function->wait, WAIT_FIRST_NS),
				      WAIT_MOST_NS);
	else
		function->wait = fmax(function->wait / 2, WAIT_FIRST_NS);
	function->quieter_at = controller->wall;
	function->quiet_rate = (float)louder_rate(function);
	delay_episode(controller, function);
	wish(controller, function, FUNCTION_COUNTED);
}

static void wish_louder(struct controller *controller,
			struct function *function)
{
	function->louder_at = controller->wall;
	wish(controller, function, FUNCTION_SPAN);
}

static bool has_waited(const struct controller *controller,
		       const struct function *function)
{
	double quiet_for = controller->wall - function->quieter_at;

	/* A long function does not wait, unless it had to go quiet again
	 * before. */
	if (is_long(function) && function->ended >= LONG_ENDED &&
	    function->wait <= WAIT_FIRST_NS)
		return true;
	if (function->held < function->quiet_rate / RARE)
		return quiet_for >= fmax(function->wait / RARE_WAITS,
					 fmin(function->wait, WAIT_FIRST_NS));
	return quiet_for >= function->wait;
}

static void episode_over(struct controller *controller,
			 struct function *function)
{
	if (!function->episode)
		return;
	controller->episodes--;
	controller->episodes_reserved -= function->episode_price;
	function->episode = false;
}

/* --- a tick -------------------------------------------------------------- */

static float sane(float ns)
{
	return ns > 0 ? fminf(ns, 1e6f) : 0;
}

/* Applies all reports about a function except its calls. */
static void see_function(struct controller *controller,
			 struct function *function,
			 const struct controller_function *told)
{
	bool first = !function->known;

	if (first) {
		function->known = true;
		function->wait = WAIT_FIRST_NS;
	}
	function->state = (uint8_t)told->state;
	function->fixed = told->fixed;
	function->span = sane(told->cost->span);
	function->counted = sane(told->cost->counted);
	if (first || told->fixed) {
		episode_over(controller, function);
		function->wish = told->state == FUNCTION_SPAN
					 ? FUNCTION_SPAN
					 : FUNCTION_COUNTED;
	}
	function->charged =
		function->charged &&
		(function->episode || function->state != FUNCTION_COUNTED);
}

/* Applies a report. Returns the cost of the function since the last tick. */
static double take_told(struct controller *controller,
			const struct controller_function *told)
{
	struct function *function =
		take_steered_function(controller, told->number);
	double calls = (double)told->calls, cost;
	unsigned int before;
	bool charged;

	if (!function || told->state > FUNCTION_DRAINING)
		return 0;
	before = function->known ? function->state : told->state;
	charged = function->charged;
	see_function(controller, function, told);
	/* The state may have changed at any time since the last tick. */
	cost = calls *
	       (cost_in(function, before) + cost_in(function, told->state)) / 2;
	if (charged) {
		controller->episode_ns += cost;
		controller->episodes_saved -=
			fmax(cost - calls * (double)function->counted, 0);
	}
	if (told->state != FUNCTION_OFF)
		controller->counting_ns += calls * (double)function->counted;
	function->calls += told->calls;
	function->new_ended += (double)told->ended;
	function->new_ended_ns += (double)told->ended_ns;
	return cost;
}

/* --- a window: rates ----------------------------------------------------- */

static void update_mean(struct function *function)
{
	double most = fmax(MEAN_TIMES * function->new_ended, MEAN_LEAST);
	double keeps = MEAN_KEEPS;

	if (!(function->new_ended > 0))
		return;
	if (function->ended * keeps > most)
		keeps = most / function->ended;
	function->ended = function->ended * keeps + function->new_ended;
	function->ended_ns =
		function->ended_ns * keeps + function->new_ended_ns;
	function->new_ended = function->new_ended_ns = 0;
}

static void update_rate(struct controller *controller,
			struct function *function)
{
	float now = (float)((double)function->calls /
			    fmax(controller->window_work, 1));

	if (!function->rated) {
		function->slow = function->held = now;
	} else {
		function->slow += (now - function->slow) *
				  (float)(1 - controller->slow_keeps);
		function->held =
			fmaxf(fmaxf(now, function->slow),
			      function->held * (float)controller->held_keeps);
	}
	function->now = now;
	function->rated = true;
}

static bool load_changed(struct controller *controller)
{
	double differ = 0, sum = 0, calls = 0;

	for (size_t i = 0; i < controller->count; i++) {
		const struct function *function = &controller->functions[i];

		if (!function->known)
			continue;
		calls += (double)function->calls;
		differ += fabs((double)function->now - (double)function->slow);
		sum += louder_rate(function);
	}
	if (calls < CHANGED_CALLS)
		return false;
	if (differ < CHANGED_PART * sum)
		controller->changed = 0;
	else
		controller->changed++;
	return controller->changed >= CHANGED_WINDOWS;
}

/* --- a window: the sums of a plan ---------------------------------------- */

struct plan {
	double now, slow; /* loads without the extra cost of episodes */
	double fixed; /* load that no plan can avoid, including counting */
};

static void sum_up_window(const struct controller *controller,
			  struct plan *plan)
{
	*plan = (struct plan){ 0 };
	for (size_t i = 0; i < controller->count; i++) {
		const struct function *function = &controller->functions[i];
		double cost, mean;

		if (!function->known)
			continue;
		cost = cost_in(function,
			       planned_state_of(controller, function));
		plan->now += cost * (double)function->now;
		plan->slow += cost * (double)function->slow;
		if (may_touch(controller, function, &mean))
			cost = fmin(cost, (double)function->counted);
		plan->fixed += cost * louder_rate(function);
	}
}

static unsigned int bucket_of_score(double score)
{
	int power;
	double part;

	if (!(score > 0))
		return 0;
	part = frexp(fmin(score, 1e30), &power); /* 0.5 to 1 */
	power = power * 4 + (int)((part - 0.5) * 8) + BUCKET_ZERO;
	if (power < 1)
		return 1;
	return power < BUCKETS ? (unsigned int)power : BUCKETS - 1;
}

/* Short and frequent functions score high. */
static unsigned int score_of(const struct function *function, double rate,
			     double mean)
{
	return bucket_of_score(rate * (double)function->span / fmax(mean, 1));
}

/* Load by bucket, and the first bucket above the limit, which has @left to
 * share. */
struct limit {
	double load[BUCKETS];
	unsigned int at;
	double left;
};

static void find_limit(struct limit *limit, double allowed)
{
	limit->left = allowed;
	for (limit->at = 0; limit->at < BUCKETS; limit->at++) {
		if (limit->load[limit->at] > limit->left)
			return;
		limit->left -= limit->load[limit->at];
	}
}

/* Returns true if a function of @bucket with @load is within the limit. */
static bool within(struct limit *limit, unsigned int bucket, double load)
{
	if (bucket != limit->at)
		return bucket < limit->at;
	if (load > limit->left)
		return false;
	limit->left -= load;
	return true;
}

/* --- a window: quieter --------------------------------------------------- */

/* Returns true if a plan may make @function quieter. Sets *@rate and
 * *@bucket. */
static bool may_quieten(const struct controller *controller,
			const struct function *function, double *rate,
			unsigned int *bucket)
{
	double mean;

	*rate = louder_rate(function);
	if (!function->known ||
	    planned_state_of(controller, function) != FUNCTION_SPAN ||
	    !(*rate > 0) || !may_touch(controller, function, &mean))
		return false;
	*bucket = score_of(function, *rate, mean);
	return true;
}

static void quieten(struct controller *controller, const struct plan *plan)
{
	double allowed =
		fmax((QUIET_TO - EPISODES) * controller->load - plan->fixed,
		     LEAST * controller->load);
	struct limit limit = { .at = 0 };
	unsigned int bucket;
	double rate;

	for (size_t i = 0; i < controller->count; i++) {
		const struct function *function = &controller->functions[i];

		if (may_quieten(controller, function, &rate, &bucket))
			limit.load[bucket] += rate * step_span(function);
	}
	find_limit(&limit, allowed);
	for (size_t i = 0; i < controller->count; i++) {
		struct function *function = &controller->functions[i];

		if (may_quieten(controller, function, &rate, &bucket) &&
		    !within(&limit, bucket, rate * step_span(function)))
			wish_quieter(controller, function);
	}
}

/* --- a window: louder ---------------------------------------------------- */

static bool may_function_record(const struct controller *controller,
				const struct function *function)
{
	return function->known && !function->fixed && !function->episode &&
	       function->wish == FUNCTION_COUNTED &&
	       function->state == FUNCTION_COUNTED &&
	       has_waited(controller, function);
}

static void record_again(struct controller *controller, double room)
{
	struct limit limit = { .at = 0 };

	for (size_t i = 0; i < controller->count; i++) {
		struct function *function = &controller->functions[i];
		double load = (double)function->held * step_span(function);

		if (!may_function_record(controller, function))
			continue;
		if (is_long(function)) {
			wish_louder(controller, function);
			room -= load;
			continue;
		}
		function->bucket = (uint16_t)score_of(
			function, (double)function->held, mean_of(function));
		limit.load[function->bucket] += load;
	}
	find_limit(&limit, fmax(room, 0));
	for (size_t i = 0; i < controller->count; i++) {
		struct function *function = &controller->functions[i];

		if (may_function_record(controller, function) &&
		    !is_long(function) &&
		    within(&limit, function->bucket,
			   (double)function->held * step_span(function)))
			wish_louder(controller, function);
	}
}

/* --- episodes ------------------------------------------------------------ */

/* Returns the cost of an episode beyond counting. It takes about two ticks. */
static double episode_price(const struct controller *controller,
			    const struct function *function)
{
	double load = (double)function->held * step_span(function);
	double cpu_ns = fmax(controller->window_cpu * CONTROLLER_HURRY_NS /
				     fmax(controller->window_wall, 1),
			     WINDOW_CPU_NS);

	return 2 * cpu_ns * load / (1 + load) + EPISODE_PATCH_NS;
}

static void episode_begin(struct controller *controller,
			  struct function *function, double price)
{
	function->episode = function->charged = true;
	function->episode_at = controller->wall;
	function->episode_price = price;
	controller->episodes_reserved += price;
	controller->episodes_saved -= EPISODE_PATCH_NS;
	controller->episodes++;
	wish(controller, function, FUNCTION_SPAN);
}

static bool may_begin(const struct controller *controller,
		      const struct function *function)
{
	return function->known && !function->fixed && !function->episode &&
	       !function->charged && function->wish == FUNCTION_COUNTED &&
	       function->state == FUNCTION_COUNTED && function->now > 0 &&
	       controller->wall >= function->episode_at;
}

static void episodes_begin(struct controller *controller, double most)
{
	for (size_t i = 0; i < controller->count; i++) {
		uint32_t number = (uint32_t)((controller->episode_next + i) %
					     controller->count);
		struct function *function = &controller->functions[number];
		double price;

		if (controller->episodes >= EPISODES_MAX)
			return;
		if (!may_begin(controller, function))
			continue;
		/* Start here next time, unless this one starts now. */
		controller->episode_next = number;
		price = episode_price(controller, function);
		if (controller->episodes_saved - controller->episodes_reserved <
		    fmin(price, most / 2))
			return;
		episode_begin(controller, function, price);
	}
}

static void episodes(struct controller *controller)
{
	double share = EPISODES * controller->load;
	double most = share * EPISODES_SAVED_NS * controller->window_work /
		      fmax(controller->window_wall, 1);

	controller->episodes_saved = fmin(
		controller->episodes_saved + share * controller->window_work,
		most);
	for (size_t i = 0; i < controller->count; i++) {
		struct function *function = &controller->functions[i];

		if (function->episode &&
		    (function->state == FUNCTION_SPAN ||
		     controller->wall - function->episode_at >
			     EPISODE_LOST_NS)) {
			episode_over(controller, function);
			delay_episode(controller, function);
			wish(controller, function, FUNCTION_COUNTED);
		}
	}
	if (controller->load > 0)
		episodes_begin(controller, most);
}

/* --- a window: everything ------------------------------------------------ */

static void tell_window(struct controller *controller, const struct plan *plan)
{
	double keep = exp(-controller->window_cpu / TOLD_NS);
	bool over;

	controller->told_cost =
		controller->told_cost * keep + controller->window_cost;
	controller->told_cpu =
		controller->told_cpu * keep + controller->window_cpu;
	controller->floor = plan->fixed / (1 + plan->fixed);
	over = plan->fixed > controller->budget &&
	       plan->slow > controller->budget;
	if (over)
		controller->unmet_for += controller->window_wall;
	else if (plan->slow < 0.9 * controller->budget || !plan->fixed)
		controller->unmet_for = 0;
	controller->unmet = controller->unmet_for >= SECOND;
}

static void decide(struct controller *controller)
{
	struct plan plan;
	double room;
	double most = PAYS * controller->budget * controller->window_work;
	double paid = fmin(controller->debt, most);

	/* Pays other costs from the budget of this window. */
	controller->debt -= paid;
	controller->load = controller->budget;
	if (paid > 0)
		controller->load -= paid / controller->window_work;
	controller->slow_keeps = exp(-controller->window_wall / SLOW_NS);
	controller->held_keeps = exp(-controller->window_wall / HELD_NS);
	for (size_t i = 0; i < controller->count; i++) {
		struct function *function = &controller->functions[i];

		if (!function->known)
			continue;
		update_mean(function);
		update_rate(controller, function);
	}
	if (load_changed(controller)) {
		controller->changed = 0;
		for (size_t i = 0; i < controller->count; i++)
			controller->functions[i].slow =
				controller->functions[i].now;
	}
	sum_up_window(controller, &plan);
	tell_window(controller, &plan);
	if (plan.now > OVER_NOW * controller->load ||
	    plan.slow > OVER_SLOW * controller->load) {
		quieten(controller, &plan);
		sum_up_window(controller, &plan);
	}
	episodes(controller);
	room = LOUD_TO * controller->load - fmax(plan.now, plan.slow);
	record_again(controller, room);
}

/* --- wishes --------------------------------------------------------------- */

static bool to_say(const struct controller *controller,
		   const struct function *function)
{
	if (!function->known || function->fixed)
		return false;
	if (function->asked &&
	    (controller->wall - function->asked_at < WISH_AGAIN_NS ||
	     (function->wish == FUNCTION_COUNTED &&
	      function->state == FUNCTION_DRAINING)))
		return false;
	return function->state != function->wish;
}

static int compare_urgency(const void *one, const void *other)
{
	const struct change *a = one, *b = other;

	if (a->urgency != b->urgency)
		return a->urgency > b->urgency ? -1 : 1;
	return a->change.number < b->change.number ? -1 : 1;
}

static void gather(struct controller *controller)
{
	controller->changes_count = 0;
	for (size_t i = 0; i < controller->count; i++) {
		const struct function *function = &controller->functions[i];
		struct change *change;

		if (!to_say(controller, function))
			continue;
		if (grow_array(controller->changes, controller->changes_room,
			       controller->changes_count + 1))
			break;
		change = &controller->changes[controller->changes_count++];
		change->change = (struct controller_change){
			.number = (uint32_t)i,
			.state = function->wish,
			.episode = function->charged,
		};
		/* The largest saving comes first. */
		change->urgency = (float)(louder_rate(function) *
					  (cost_in(function, function->state) -
					   cost_in(function, function->wish)));
	}
	if (controller->changes_count > 1)
		qsort(controller->changes, controller->changes_count,
		      sizeof(*controller->changes), compare_urgency);
}

static size_t say_wishes(struct controller *controller,
			 struct controller_change *changes, size_t room)
{
	size_t count;

	gather(controller);
	count = controller->changes_count < room ? controller->changes_count
						 : room;
	for (size_t i = 0; i < count; i++) {
		struct function *function;

		changes[i] = controller->changes[i].change;
		function = &controller->functions[changes[i].number];
		function->asked = true;
		function->asked_at = controller->wall;
	}
	controller->asked += count;
	return count;
}

size_t controller_tick(struct controller *controller,
		       const struct controller_time *time,
		       const struct controller_function *functions,
		       size_t count, struct controller_change *changes,
		       size_t room)
{
	double wall = fmin((double)time->wall_ns, TICK_MAX_NS);
	double cpu = fmin((double)time->cpu_ns, TICK_MAX_NS * 4096);
	double cost = 0, work;

	controller->threads = time->threads ? time->threads : 1;
	for (size_t i = 0; i < count; i++)
		cost += take_told(controller, &functions[i]);
	/* Cost is CPU time, even if no clock has it. */
	cpu = fmax(cpu, cost);
	work = fmax(cpu - cost, cpu * WORK_LEAST);
	controller->wall += wall;
	controller->work += work;
	controller->window_wall += wall;
	controller->window_cpu += cpu;
	controller->window_cost += cost;
	controller->window_work += work;
	controller->cost_ns += cost;
	controller->cpu_ns += cpu;
	controller->debt = fmin(controller->debt + (double)time->other_ns,
				controller->budget * DEBT_MOST_NS);
	if (controller->window_cpu >= WINDOW_CPU_NS ||
	    (controller->window_wall >= WINDOW_WALL_NS &&
	     controller->window_cpu > 0)) {
		decide(controller);
		for (size_t i = 0; i < controller->count; i++)
			controller->functions[i].calls = 0;
		controller->window_wall = controller->window_cpu = 0;
		controller->window_cost = controller->window_work = 0;
	}
	return say_wishes(controller, changes, room);
}

/* --- knowledge ------------------------------------------------------------ */

bool controller_hurries(const struct controller *controller)
{
	return controller->episodes > 0;
}

void controller_know(struct controller *controller, uint32_t number,
		     const struct controller_known *known)
{
	struct function *function = take_steered_function(controller, number);
	bool span = known->state == FUNCTION_SPAN;

	if (!function)
		return;
	episode_over(controller, function);
	*function = (struct function){
		.known = true,
		.state = span ? FUNCTION_SPAN : FUNCTION_COUNTED,
		.wish = span ? FUNCTION_SPAN : FUNCTION_COUNTED,
		.asked = true,
		.asked_at = controller->wall,
		.now = known->calls_per_second / 1e9f,
		.slow = known->calls_per_second / 1e9f,
		.held = known->calls_per_second / 1e9f,
		.quiet_rate = known->calls_per_second / 1e9f,
		.quieter_at = controller->wall,
		.wait = WAIT_KNOWN_NS,
		.rated = true,
		.episode_at = controller->wall + jitter(number) * MS / 2,
	};
	if (known->mean_ns > 0) {
		function->ended = 1;
		function->ended_ns = (double)known->mean_ns;
	}
}

bool controller_known(const struct controller *controller, uint32_t number,
		      struct controller_known *known)
{
	const struct function *function =
		find_steered_function(controller, number);

	if (!function)
		return false;
	*known = (struct controller_known){
		.state = function->episode ? FUNCTION_COUNTED : function->wish,
		.mean_ns = (float)mean_of(function),
		.calls_per_second = function->held * 1e9f,
	};
	return true;
}

void controller_forget(struct controller *controller, uint32_t number)
{
	struct function *function = find_steered_function(controller, number);

	if (!function)
		return;
	episode_over(controller, function);
	*function = (struct function){ 0 };
}

void controller_reached(const struct controller *controller,
			struct controller_reached *reached)
{
	*reached = (struct controller_reached){
		.share = controller->told_cpu > 0
				 ? controller->told_cost / controller->told_cpu
				 : 0,
		.share_all = controller->cpu_ns > 0
				     ? controller->cost_ns / controller->cpu_ns
				     : 0,
		.floor = controller->floor,
		.unmet = controller->unmet,
		.cost_ns = (uint64_t)controller->cost_ns,
		.counting_ns = (uint64_t)controller->counting_ns,
		.cpu_ns = (uint64_t)controller->cpu_ns,
		.episode_ns = (uint64_t)controller->episode_ns,
		.changes = controller->asked,
	};
	for (size_t i = 0; i < controller->count; i++) {
		const struct function *function = &controller->functions[i];

		if (!function->known || function->fixed)
			continue;
		reached->counted +=
			function->wish == FUNCTION_COUNTED || function->episode;
	}
}
