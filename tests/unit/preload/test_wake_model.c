/* SPDX-License-Identifier: Apache-2.0
 *
 * test_wake_model - explores all interleavings of one writer and one reader
 * around the two sleeps of docs/RING.md, rows ASLEEP and ROOM, in x86's memory
 * model.
 *
 * Both sides are step machines. A step is one access to shared memory or one
 * futex call, in the order of preload/ring/put.c and wait.c (writer),
 * collector/ drain.c and ring_get.c (reader). Each side has a store buffer, a
 * FIFO: stores enter it, loads look into it first, and its oldest store may
 * reach memory at any time. A read-modify-write, an sc store (xchg) and a
 * system call need an empty buffer. That is x86-TSO.
 *
 * explore() visits every reachable state. Waits have no timeout here, so a
 * state without a next step is final. It is good if the writer is done and the
 * reader sleeps with everything read; otherwise a wakeup was lost. The ring has
 * 4 cells, and a chunk is one of them, as real rings have four chunks. The
 * writer puts CELLS records, more than a lap: about 230,000 states.
 *
 * Each flaw removes one ingredient of the contract. The explorer must then find
 * a lost wakeup.
 */

#include "tests/suite.h"

#define RING 4
#define CELLS 6
#define BUFFER 8 /* stores; a side with a full buffer waits for memory */

enum side { WRITER, READER, SIDES };

enum word { HEAD, TAIL, ROOM, WAITING, RINGS, ASLEEP, WORDS };

enum flaw {
	SOUND,
	PLAIN_HEAD, /* no read-modify-write of head before reading asleep */
	PLAIN_ASLEEP, /* asleep = 1 is a plain store */
	PLAIN_WAITING, /* waiting = 1 is a plain store */
	PLAIN_TAIL, /* tail and room are plain stores */
	LATE_RINGS, /* rings is read after the last look at head */
	LATE_ROOM, /* room is read after the last look at tail */
	STILL_RINGS, /* rings does not change */
	STILL_ROOM, /* room does not change */
	NO_LOOK_AT_HEAD, /* the reader sleeps without a last look at head */
	NO_LOOK_AT_TAIL, /* the writer sleeps without a last look at tail */
};

enum writer_step {
	W_RENEW, /* limits_renew(): is there room? */
	W_HEAD, /* doorbell_ring(), from here */
	W_LOOK_ASLEEP,
	W_RING,
	W_WAKE,
	W_PUT, /* or wait */
	W_READ_ROOM, /* wait_until_room(), from here */
	W_SAY_WAITING,
	W_LOOK_TAIL,
	W_SLEEP,
	W_AWAKE,
	W_DONE,
};

enum reader_step {
	R_LOOK, /* ring_get_look() */
	R_READ, /* a cell; then ring_get_publish() */
	R_TAIL,
	R_ROOM,
	R_LOOK_WAITING,
	R_WAKE,
	R_READ_RINGS, /* drain_sleep(), from here */
	R_SAY_ASLEEP,
	R_LOOK_HEAD,
	R_SLEEP,
	R_AWAKE,
};

struct store {
	uint8_t word, value;
};

/* All bytes, so memcmp() compares states. */
struct machine {
	uint8_t step;
	uint8_t asleep; /* in a futex call */
	uint8_t mine; /* writer: its head, reader: its tail */
	uint8_t seen; /* writer: tail, reader: head */
	uint8_t expected; /* value of the futex word */
	uint8_t stores;
	struct store buffer[BUFFER];
};

struct state {
	uint8_t memory[WORDS];
	struct machine side[SIDES];
};

/* --- memory -------------------------------------------------------------- */

static uint8_t load(const struct state *state, enum side side, enum word word)
{
	const struct machine *m = &state->side[side];
	int i;

	for (i = m->stores - 1; i >= 0; i--)
		if (m->buffer[i].word == word)
			return m->buffer[i].value;
	return state->memory[word];
}

/* The oldest store reaches memory. */
static void flush_one(struct state *state, enum side side)
{
	struct machine *m = &state->side[side];

	state->memory[m->buffer[0].word] = m->buffer[0].value;
	m->stores--;
	memmove(m->buffer, m->buffer + 1, m->stores * sizeof(*m->buffer));
	m->buffer[m->stores] = (struct store){ 0, 0 };
}

/* Returns false if the buffer is full. */
static bool store(struct state *state, enum side side, enum word word,
		  uint8_t value)
{
	struct machine *m = &state->side[side];

	if (m->stores == BUFFER)
		return false;
	m->buffer[m->stores++] = (struct store){ word, value };
	return true;
}

/* Returns false while older stores are buffered. */
static bool store_sc(struct state *state, enum side side, enum word word,
		     uint8_t value)
{
	if (state->side[side].stores)
		return false;
	state->memory[word] = value;
	return true;
}

static bool store_as(struct state *state, enum side side, enum word word,
		     uint8_t value, bool plain)
{
	return plain ? store(state, side, word, value)
		     : store_sc(state, side, word, value);
}

/* The kernel compares and sleeps under one lock. */
static bool futex_wait(struct state *state, enum side side, enum word word)
{
	struct machine *m = &state->side[side];

	if (m->stores)
		return false;
	m->asleep = state->memory[word] == m->expected;
	return true;
}

static bool futex_wake(struct state *state, enum side side)
{
	if (state->side[side].stores)
		return false;
	state->side[!side].asleep = 0;
	return true;
}

/* --- the two sides ------------------------------------------------------- */

static bool has_room(const struct machine *writer)
{
	/* Begins must leave the last quarter to ends. */
	return writer->mine - writer->seen < RING - RING / 4;
}

/* wait_until_room() */
static bool step_waiting_writer(struct state *state, enum flaw flaw)
{
	struct machine *m = &state->side[WRITER];
	bool late = flaw == LATE_ROOM;

	switch ((enum writer_step)m->step) {
	case W_READ_ROOM:
		m->expected = load(state, WRITER, ROOM);
		m->step = late ? W_SLEEP : W_SAY_WAITING;
		return true;
	case W_SAY_WAITING:
		m->step = W_LOOK_TAIL;
		return store_as(state, WRITER, WAITING, 1,
				flaw == PLAIN_WAITING);
	case W_LOOK_TAIL:
		m->seen = load(state, WRITER, TAIL);
		if (m->mine - m->seen <= RING / 2 && flaw != NO_LOOK_AT_TAIL)
			m->step = W_AWAKE;
		else
			m->step = late ? W_READ_ROOM : W_SLEEP;
		return true;
	case W_SLEEP:
		m->step = late ? W_SAY_WAITING : W_READ_ROOM;
		return futex_wait(state, WRITER, ROOM);
	case W_AWAKE:
		m->step = W_RENEW;
		return store(state, WRITER, WAITING, 0);
	default:
		return false; /* W_DONE */
	}
}

/* Returns false if the writer must wait; *state is then invalid. */
static bool step_writer(struct state *state, enum flaw flaw)
{
	struct machine *m = &state->side[WRITER];

	switch ((enum writer_step)m->step) {
	case W_RENEW:
		m->seen = load(state, WRITER, TAIL);
		m->step = W_HEAD;
		return true;
	case W_HEAD:
		m->step = W_LOOK_ASLEEP;
		return flaw == PLAIN_HEAD || !m->stores;
	case W_LOOK_ASLEEP:
		m->step = load(state, WRITER, ASLEEP) ? W_RING : W_PUT;
		return true;
	case W_RING:
		m->step = W_WAKE;
		return store_sc(state, WRITER, RINGS,
				state->memory[RINGS] + (flaw != STILL_RINGS));
	case W_WAKE:
		m->step = W_PUT;
		return futex_wake(state, WRITER);
	case W_PUT:
		if (m->mine == CELLS || !has_room(m)) {
			m->step = m->mine == CELLS    ? W_DONE
				  : flaw == LATE_ROOM ? W_SAY_WAITING
						      : W_READ_ROOM;
			return true;
		}
		/* The reader has read the overwritten cell. */
		ck_assert_int_lt(m->mine - state->side[READER].mine, RING);
		m->step = W_RENEW;
		return store(state, WRITER, HEAD, ++m->mine);
	default:
		return step_waiting_writer(state, flaw);
	}
}

/* drain_sleep() */
static bool step_sleepy_reader(struct state *state, enum flaw flaw)
{
	struct machine *m = &state->side[READER];
	bool late = flaw == LATE_RINGS;

	switch ((enum reader_step)m->step) {
	case R_READ_RINGS:
		m->expected = load(state, READER, RINGS);
		m->step = late ? R_SLEEP : R_SAY_ASLEEP;
		return true;
	case R_SAY_ASLEEP:
		m->step = R_LOOK_HEAD;
		return store_as(state, READER, ASLEEP, 1, flaw == PLAIN_ASLEEP);
	case R_LOOK_HEAD:
		if (load(state, READER, HEAD) != m->mine &&
		    flaw != NO_LOOK_AT_HEAD)
			m->step = R_AWAKE;
		else
			m->step = late ? R_READ_RINGS : R_SLEEP;
		return true;
	case R_SLEEP:
		m->step = R_AWAKE;
		return futex_wait(state, READER, RINGS);
	default:
		m->step = R_LOOK; /* R_AWAKE */
		return store_sc(state, READER, ASLEEP, 0);
	}
}

static bool step_reader(struct state *state, enum flaw flaw)
{
	struct machine *m = &state->side[READER];
	bool plain = flaw == PLAIN_TAIL;

	switch ((enum reader_step)m->step) {
	case R_LOOK:
		m->seen = load(state, READER, HEAD);
		m->step = R_READ;
		return true;
	case R_READ:
		if (m->seen == m->mine) {
			m->step = flaw == LATE_RINGS ? R_SAY_ASLEEP
						     : R_READ_RINGS;
			return true;
		}
		m->mine++;
		m->step = R_TAIL;
		return true;
	case R_TAIL:
		m->step = R_ROOM;
		return store_as(state, READER, TAIL, m->mine, plain);
	case R_ROOM:
		m->step = R_LOOK_WAITING;
		return flaw == STILL_ROOM ||
		       store_as(state, READER, ROOM, m->mine, plain);
	case R_LOOK_WAITING:
		m->step = load(state, READER, WAITING) ? R_WAKE : R_READ;
		return true;
	case R_WAKE:
		m->step = R_READ;
		return futex_wake(state, READER);
	default:
		return step_sleepy_reader(state, flaw);
	}
}

/* --- the explorer -------------------------------------------------------- */

struct found {
	struct state *state; /* all reached states in the order of discovery */
	size_t count, room;
	uint32_t *index; /* hash table: 1 + number of a state, or 0 */
	size_t index_size; /* a power of two, at least twice room */
};

static void *must(void *memory)
{
	ck_assert_ptr_nonnull(memory);
	return memory;
}

static uint32_t *place_of(const struct found *found, const struct state *state)
{
	const uint8_t *bytes = (const uint8_t *)state;
	uint64_t hash = 14695981039346656037ULL; /* FNV-1a */
	size_t i;

	for (i = 0; i < sizeof(*state); i++)
		hash = (hash ^ bytes[i]) * 1099511628211ULL;
	for (i = hash;; i++) {
		uint32_t *place = &found->index[i & (found->index_size - 1)];

		if (!*place ||
		    !memcmp(&found->state[*place - 1], state, sizeof(*state)))
			return place;
	}
}

static void grow(struct found *found)
{
	size_t i;

	found->room = found->room ? 2 * found->room : 1 << 12;
	found->state = must(
		realloc(found->state, found->room * sizeof(*found->state)));
	found->index_size = 2 * found->room;
	free(found->index);
	found->index = must(calloc(found->index_size, sizeof(*found->index)));
	for (i = 0; i < found->count; i++)
		*place_of(found, &found->state[i]) = (uint32_t)i + 1;
}

static void add(struct found *found, const struct state *state)
{
	uint32_t *place;

	if (found->count == found->room)
		grow(found);
	place = place_of(found, state);
	if (*place)
		return;
	found->state[found->count++] = *state;
	*place = (uint32_t)found->count;
}

/* Adds all successors of *@from; returns the number of steps. */
static int expand(struct found *found, const struct state *from, enum flaw flaw)
{
	enum side side;
	int steps = 0;

	for (side = WRITER; side < SIDES; side++) {
		struct state next = *from;

		if (next.side[side].stores) {
			flush_one(&next, side);
			add(found, &next);
			steps++;
			next = *from;
		}
		if (next.side[side].asleep)
			continue;
		if (side == WRITER ? step_writer(&next, flaw)
				   : step_reader(&next, flaw)) {
			add(found, &next);
			steps++;
		}
	}
	return steps;
}

static bool is_good_end(const struct state *state)
{
	return state->side[WRITER].step == W_DONE &&
	       state->side[READER].asleep && state->side[READER].mine == CELLS;
}

/* Returns the number of states with a lost wakeup. */
static size_t explore(enum flaw flaw, const char *name)
{
	struct found found = { 0 };
	struct state start = { 0 };
	size_t i, lost = 0, good = 0;

	add(&found, &start);
	for (i = 0; i < found.count; i++) {
		struct state from = found.state[i];

		if (expand(&found, &from, flaw))
			continue;
		if (is_good_end(&from))
			good++;
		else
			lost++;
	}
	printf("%-16s %8zu states, %3zu good ends, %3zu lost wakeups\n", name,
	       found.count, good, lost);
	ck_assert_uint_gt(good, 0);
	free(found.state);
	free(found.index);
	return lost;
}

struct expectation {
	enum flaw flaw;
	const char *name;
};

static const struct expectation sound[] = {
	{ SOUND, "sound" },
	/* The futex call follows the store and compares room, which changes
	 * with the tail: enough on x86. */
	{ PLAIN_WAITING, "plain waiting" },
};

static const struct expectation unsound[] = {
	{ PLAIN_HEAD, "plain head" },
	{ PLAIN_ASLEEP, "plain asleep" },
	{ PLAIN_TAIL, "plain tail" },
	{ LATE_RINGS, "late rings" },
	{ LATE_ROOM, "late room" },
	{ STILL_RINGS, "still rings" },
	{ STILL_ROOM, "still room" },
	{ NO_LOOK_AT_HEAD, "no look at head" },
	{ NO_LOOK_AT_TAIL, "no look at tail" },
};

TEST(wake_model_as_written_loses_no_wakeup, EACH(0, ARRAY_SIZE(sound)))
{
	ck_assert_uint_eq(explore(sound[_i].flaw, sound[_i].name), 0);
}

TEST(wake_model_with_a_flaw_loses_wakeups, EACH(0, ARRAY_SIZE(unsound)))
{
	ck_assert_uint_gt(explore(unsound[_i].flaw, unsound[_i].name), 0);
}
