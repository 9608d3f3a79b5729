/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/note.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/hex.h"
#include "collector/drain/seq_names.h"
#include "collector/drain/traceparent.h"
#include "collector/names/call_layout.h"
#include "collector/names/sites.h"
#include "collector/options/argument_conditions.h"
#include "collector/trace/fields.h"
#include "shared/compiler.h"

/* Overhead of malloc() per block. */
#define MALLOC_BYTES 16

/* --- cells --------------------------------------------------------------- */

void note_clear(struct note *note)
{
	bytes_clear(&note->args);
	bytes_clear(&note->name);
	bytes_clear(&note->words);
	note->arg_count = note->flow_count = 0;
	note->request = (struct trace_ids){ 0 };
	note->has_args = note->has_name = note->has_flows =
		note->has_correlation = note->has_at = note->has_request =
			note->has_words = false;
}

void note_release(struct note *note)
{
	bytes_release(&note->args);
	bytes_release(&note->name);
	bytes_release(&note->words);
}

bool note_is_empty(const struct note *note)
{
	return !note->has_args && !note->has_name && !note->has_flows &&
	       !note->has_correlation && !note->has_at && !note->has_request &&
	       !note->has_words;
}

void note_take(struct note *note, const struct record *cells, size_t count,
	       struct note_counts *counts)
{
	bool *const seen[] = {
		[EXT_ARGS - EXT_ARGS] = &note->has_args,
		[EXT_NAME - EXT_ARGS] = &note->has_name,
		[EXT_FLOWS - EXT_ARGS] = &note->has_flows,
		[EXT_CORRELATION - EXT_ARGS] = &note->has_correlation,
		[EXT_AT - EXT_ARGS] = &note->has_at,
		[EXT_REQUEST - EXT_ARGS] = &note->has_request,
		[EXT_WORDS - EXT_ARGS] = &note->has_words,
	};
	enum record_ext ext = record_ext(cells[0].word);

	if (*seen[ext - EXT_ARGS] || (ext >= EXT_CORRELATION && count < 2) ||
	    (ext == EXT_REQUEST &&
	     (count - 1) * sizeof(*cells) < sizeof(note->request))) {
		counts->odd_prefixes++;
		return;
	}
	*seen[ext - EXT_ARGS] = true;
	if (ext == EXT_ARGS) {
		note->arg_count = record_ext_value(cells[0].word);
		bytes_put(&note->args, cells + 1, (count - 1) * sizeof(*cells));
	} else if (ext == EXT_NAME) {
		size_t bytes =
			MIN(record_ext_value(cells[0].word), NOTE_STRING_MAX);

		bytes_put(&note->name, cells + 1,
			  MIN(bytes, (count - 1) * sizeof(*cells)));
	} else if (ext == EXT_FLOWS) {
		uint32_t told = record_ext_value(cells[0].word), i;

		for (i = 0; i < told && i + 1 < count && i < NOTE_FLOWS_MAX;
		     i++)
			note->flow[i] =
				(struct note_flow){ cells[i + 1].word,
						    cells[i + 1].clock & 1 };
		note->flow_count = i;
		counts->cut_flows += told - i;
	} else if (ext == EXT_CORRELATION) {
		note->correlation = cells[1].word;
	} else if (ext == EXT_WORDS) {
		note->layout = record_ext_value(cells[0].word);
		bytes_put(&note->words, cells + 1,
			  (count - 1) * sizeof(*cells));
	} else if (ext == EXT_REQUEST) {
		memcpy(&note->request, cells + 1, sizeof(note->request));
	} else {
		note->at_ns = cells[1].word;
	}
}

struct note *note_copy(const struct note *note)
{
	struct note *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *note;
	copy->args = copy->name = copy->words = (struct bytes){ 0 };
	bytes_put(&copy->args, note->args.at, note->args.count);
	bytes_put(&copy->name, note->name.at, note->name.count);
	bytes_put(&copy->words, note->words.at, note->words.count);
	return copy;
}

void note_free(struct note *note)
{
	if (note)
		note_release(note);
	free(note);
}

size_t note_bytes(const struct note *note)
{
	return note ? sizeof(*note) + note->args.room + note->name.room +
			       note->words.room + 4 * MALLOC_BYTES
		    : 0;
}

/* --- arguments ----------------------------------------------------------- */

struct arg {
	struct note_arg head;
	const char *key, *text;
};

static size_t cells_of(size_t bytes)
{
	return ALIGN_UP(bytes, sizeof(struct record));
}

static bool next_arg(const struct bytes *args, size_t *at, struct arg *out)
{
	size_t left = args->count - *at, key, text;

	if (left < sizeof(out->head))
		return false;
	memcpy(&out->head, args->at + *at, sizeof(out->head));
	*at += sizeof(out->head);
	left -= sizeof(out->head);
	key = cells_of(out->head.key_bytes);
	text = cells_of(out->head.text_bytes);
	if (key > left || text > left - key)
		return false;
	out->key = (const char *)args->at + *at;
	out->text = out->key + key;
	*at += key + text;
	return true;
}

struct key {
	const char *text;
	size_t bytes;
	char buffer[NOTE_KEY_MAX + 16];
};

struct target {
	struct seq_names *names;
	struct bytes *fields, *interned;
	struct note_match *match; /* or NULL */
};

static void put_annotation(const struct target *target, const struct key *key,
			   const struct bytes *value)
{
	uint32_t iid = seq_names_key(target->names, key->text, key->bytes,
				     target->interned);
	size_t name =
		iid ? bytes_field_size(TAG_DEBUG_ANNOTATION_NAME_IID, iid)
		    : bytes_field_size(TAG_DEBUG_ANNOTATION_NAME, key->bytes) +
				key->bytes;

	bytes_field(target->fields, TAG_TRACK_EVENT_DEBUG_ANNOTATIONS,
		    name + value->count);
	if (iid)
		bytes_field(target->fields, TAG_DEBUG_ANNOTATION_NAME_IID, iid);
	else
		bytes_text(target->fields, TAG_DEBUG_ANNOTATION_NAME, key->text,
			   key->bytes);
	bytes_put(target->fields, value->at, value->count);
}

static size_t whole_characters(const char *text, size_t bytes)
{
	size_t tail = bytes, needed;
	unsigned char lead;

	while (tail && bytes - tail < 3 &&
	       (unsigned char)text[tail - 1] >> 6 == 2)
		tail--;
	lead = tail ? (unsigned char)text[tail - 1] : 0;
	needed = lead >> 5 == 6	   ? 2
		 : lead >> 4 == 14 ? 3
		 : lead >> 3 == 30 ? 4
				   : 0;
	return needed > bytes - tail + 1 ? tail - 1 : bytes;
}

static bool put_arg_value(const struct arg *arg, size_t kept, struct bytes *out)
{
	uint64_t value = arg->head.value;

	switch (arg->head.type) {
	case NOTE_BOOL:
		bytes_field(out, TAG_DEBUG_ANNOTATION_BOOL_VALUE, value != 0);
		return true;
	case NOTE_INT:
		bytes_field(out, TAG_DEBUG_ANNOTATION_INT_VALUE, value);
		return true;
	case NOTE_UINT:
		bytes_field(out, TAG_DEBUG_ANNOTATION_UINT_VALUE, value);
		return true;
	case NOTE_DOUBLE:
		bytes_fixed64(out, TAG_DEBUG_ANNOTATION_DOUBLE_VALUE, value);
		return true;
	case NOTE_POINTER:
		bytes_field(out, TAG_DEBUG_ANNOTATION_POINTER_VALUE, value);
		return true;
	case NOTE_STRING:
		bytes_text(out, TAG_DEBUG_ANNOTATION_STRING_VALUE, arg->text,
			   kept);
		return true;
	default:
		return false;
	}
}

static void match_arg(struct note_match *match, const struct arg *arg,
		      size_t kept, const struct key *key)
{
	struct argument_value value = {
		.kind = arg->head.type == NOTE_STRING	? ARGUMENT_TEXT
			: arg->head.type == NOTE_DOUBLE ? ARGUMENT_REAL
			: arg->head.type == NOTE_INT	? ARGUMENT_SIGNED
							: ARGUMENT_UNSIGNED,
		.number = arg->head.type == NOTE_BOOL ? arg->head.value != 0
						      : arg->head.value,
		.text = arg->text,
		.text_bytes = kept,
	};

	memcpy(&value.real, &arg->head.value, sizeof(value.real));
	for (size_t i = 0; i < match->count; i++) {
		if (!argument_condition_names(match->list[i], key->text,
					      key->bytes))
			continue;
		match->named |= (uint8_t)(1u << i);
		if (argument_condition_holds(match->list[i], &value))
			match->held |= (uint8_t)(1u << i);
	}
}

static bool put_arg(const struct target *target, const struct arg *arg,
		    const struct key *key)
{
	size_t kept = MIN(arg->head.text_bytes, NOTE_STRING_MAX);
	bool cut = arg->head.type == NOTE_STRING &&
		   (arg->head.cut || arg->head.text_bytes > NOTE_STRING_MAX);
	struct bytes value = { 0 };
	bool good;

	if (cut)
		kept = whole_characters(arg->text, kept);
	good = put_arg_value(arg, kept, &value);
	if (good)
		put_annotation(target, key, &value);
	if (good && target->match)
		match_arg(target->match, arg, kept, key);
	if (good && cut) {
		struct key length;
		struct bytes length_value = { 0 };
		int count = snprintf(length.buffer, sizeof(length.buffer),
				     "%.*s bytes", (int)key->bytes, key->text);

		length.text = length.buffer;
		length.bytes = (size_t)count;
		bytes_field(&length_value, TAG_DEBUG_ANNOTATION_UINT_VALUE,
			    MAX(arg->head.value, arg->head.text_bytes));
		put_annotation(target, &length, &length_value);
		bytes_release(&length_value);
	}
	bytes_release(&value);
	return good;
}

static void put_args(const struct note *note, const struct site *site,
		     const struct target *target, struct note_counts *counts)
{
	uint32_t most = MIN(note->arg_count, NOTE_ARGS_MAX), i;
	struct trace_ids request = note->request;
	size_t at = 0;
	struct arg arg;
	struct key key;

	for (i = 0; i < most && next_arg(&note->args, &at, &arg); i++) {
		static const char name[] = "traceparent";
		struct trace_ids ids;

		key.text = arg.key;
		key.bytes = MIN(arg.head.key_bytes, NOTE_KEY_MAX);
		if (!key.bytes && site && i < site->keys) {
			key.text = site->key[i];
			key.bytes = strnlen(key.text, NOTE_KEY_MAX);
		}
		if (!key.bytes) {
			key.text = key.buffer;
			key.bytes =
				(size_t)snprintf(key.buffer, sizeof(key.buffer),
						 "arg %u", i + 1);
		}
		counts->cut_args += !put_arg(target, &arg, &key);
		/* The argument traceparent says which request the annotation
		 * belongs to. */
		if (arg.head.type != NOTE_STRING || key.bytes != strlen(name) ||
		    memcmp(key.text, name, strlen(name)))
			continue;
		if (traceparent_parse(arg.text, arg.head.text_bytes, &ids))
			request = ids;
		else
			counts->odd_traceparents++;
	}
	counts->cut_args += note->arg_count - i;
	if (trace_ids_are_set(&request))
		note_trace_ids(&request, target->names, target->fields,
			       target->interned);
}

/* --- arguments of functions ---------------------------------------------- */

/* Returns the text of word @word in the texts behind @at, and its head in @out;
 * NULL: there is none. */
static const char *find_word_text(const struct bytes *words, size_t at,
				  uint32_t word, struct word_text *out)
{
	while (words->count - at >= sizeof(*out)) {
		size_t bytes;

		memcpy(out, words->at + at, sizeof(*out));
		at += sizeof(*out);
		bytes = cells_of(out->bytes);
		if (out->bytes > WORD_TEXT_MAX || bytes > words->count - at)
			return NULL;
		if (out->word == word)
			return (const char *)words->at + at;
		at += bytes;
	}
	return NULL;
}

static void put_word_arg(const struct target *target, const char *name,
			 enum note_type type, uint64_t bits)
{
	const struct arg arg = { .head = { .type = (uint8_t)type,
					   .value = bits } };
	const struct key key = { .text = name, .bytes = strlen(name) };

	put_arg(target, &arg, &key);
}

static void put_word_string(const struct target *target, const char *name,
			    const char *text, size_t bytes, bool cut,
			    uint64_t length)
{
	const struct arg arg = {
		.head = { .type = NOTE_STRING,
			  /* The length of a char * is not known. */
			  .cut = cut && length,
			  .text_bytes = (uint32_t)bytes,
			  .value = length },
		.text = text,
	};
	const struct key key = { .text = name, .bytes = strlen(name) };
	char more[CALL_NAME_BYTES + 16];

	put_arg(target, &arg, &key);
	if (!cut || length)
		return;
	snprintf(more, sizeof(more), "%s cut", name);
	put_word_arg(target, more, NOTE_BOOL, 1);
}

/* Returns false if the text is missing. */
static bool put_word_text(const struct note *note, size_t texts, uint32_t word,
			  const struct target *target, const char *name)
{
	static const char *const instead[] = {
		[WORD_TEXT_BAD] = "<bad address>",
		[WORD_TEXT_UNREAD] = "<not read>",
	};
	struct word_text head;
	const char *text = find_word_text(&note->words, texts, word, &head);

	if (!text || head.state > WORD_TEXT_UNREAD)
		return false;
	if (head.state == WORD_TEXT_NULL)
		put_word_arg(target, name, NOTE_POINTER, 0);
	else if (head.state >= WORD_TEXT_BAD)
		put_word_string(target, name, instead[head.state],
				strlen(instead[head.state]), false, 0);
	else
		put_word_string(target, name, text, head.bytes,
				head.state == WORD_TEXT_CUT, head.length);
	return true;
}

static uint64_t float_bits(const struct call_value *value, uint64_t word)
{
	const uint32_t low = (uint32_t)word;
	double wide;
	float narrow;

	if (value->bytes != sizeof(narrow))
		return word;
	memcpy(&narrow, &low, sizeof(narrow));
	wide = (double)narrow;
	memcpy(&word, &wide, sizeof(word));
	return word;
}

static void put_word_number(const struct target *target, const char *name,
			    const struct call_value *value, uint64_t word)
{
	const char *enumerator;

	switch (value->kind) {
	case CALL_VALUE_BOOL:
		put_word_arg(target, name, NOTE_BOOL, word & 0xff);
		break;
	case CALL_VALUE_ENUM:
		enumerator = call_value_enumerator(value, word);
		if (enumerator) {
			put_word_string(target, name, enumerator,
					strlen(enumerator), false, 0);
			break;
		}
		/* fallthrough */
	case CALL_VALUE_INT:
		put_word_arg(target, name, NOTE_INT,
			     call_value_extend(value, word));
		break;
	case CALL_VALUE_UINT:
		put_word_arg(target, name, NOTE_UINT,
			     call_value_extend(value, word));
		break;
	case CALL_VALUE_FLOAT:
		put_word_arg(target, name, NOTE_DOUBLE,
			     float_bits(value, word));
		break;
	default:
		put_word_arg(target, name, NOTE_POINTER, word);
		break;
	}
}

/* Puts a value of a call with @count words. Returns false if it is missing. */
static bool put_call_value(const struct note *note, uint32_t count,
			   const struct target *target, const char *name,
			   const struct call_value *value)
{
	static const char unread[] = "<not read>";
	uint64_t word;

	if (value->kind == CALL_VALUE_UNREAD) {
		put_word_string(target, name, unread, strlen(unread), false, 0);
		return true;
	}
	if (value->word >= count)
		return false;
	memcpy(&word, note->words.at + value->word * sizeof(word),
	       sizeof(word));
	if (value->kind == CALL_VALUE_CHARS ||
	    value->kind == CALL_VALUE_STRING || value->kind == CALL_VALUE_VIEW)
		return put_word_text(note, count * sizeof(word), value->word,
				     target, name);
	put_word_number(target, name, value, word);
	return true;
}

void note_encode_words(const struct note *note,
		       const struct call_layout *layout, bool is_end,
		       struct seq_names *names, struct bytes *fields,
		       struct bytes *interned, struct note_match *match,
		       struct note_counts *counts)
{
	const struct target target = { names, fields, interned, match };
	uint32_t count = is_end ? THUNK_WORDS_EXIT : layout->words;
	char name[CALL_ARGUMENT_PREFIX_BYTES + CALL_NAME_BYTES] =
		CALL_ARGUMENT_PREFIX;

	/* Not all words have arrived. */
	if (note->words.failed ||
	    count * sizeof(uint64_t) > note->words.count) {
		counts->cut_args++;
		return;
	}
	if (is_end) {
		counts->cut_args += !put_call_value(
			note, count, &target, CALL_RESULT, &layout->result);
		return;
	}
	for (uint32_t i = 0; i < layout->count; i++) {
		/* Not snprintf(): each argument of each call comes here. */
		memcpy(name + CALL_ARGUMENT_PREFIX_BYTES, layout->value[i].name,
		       CALL_NAME_BYTES);
		counts->cut_args += !put_call_value(note, count, &target, name,
						    &layout->value[i]);
	}
}

/* --- fields -------------------------------------------------------------- */

void note_encode(const struct note *note, const struct site *site,
		 struct seq_names *names, struct bytes *fields,
		 struct bytes *interned, struct note_match *match,
		 struct note_counts *counts)
{
	const struct target target = { names, fields, interned, match };

	put_args(note, site, &target, counts);
	for (uint32_t i = 0; i < note->flow_count; i++)
		bytes_fixed64(fields,
			      note->flow[i].ends
				      ? TAG_TRACK_EVENT_TERMINATING_FLOW_IDS
				      : TAG_TRACK_EVENT_FLOW_IDS,
			      note->flow[i].id);
	if (note->has_correlation)
		bytes_field(fields, TAG_TRACK_EVENT_CORRELATION_ID,
			    note->correlation);
}

static void put_own(const char *key, const struct target *target,
		    struct bytes *value)
{
	const struct key name = { .text = key, .bytes = strlen(key) };

	put_annotation(target, &name, value);
	bytes_release(value);
}

void note_number(const char *key, uint64_t value, struct seq_names *names,
		 struct bytes *fields, struct bytes *interned)
{
	const struct target target = { names, fields, interned, NULL };
	struct bytes out = { 0 };

	bytes_field(&out, TAG_DEBUG_ANNOTATION_INT_VALUE, value);
	put_own(key, &target, &out);
}

void note_text(const char *key, const char *text, struct seq_names *names,
	       struct bytes *fields, struct bytes *interned)
{
	const struct target target = { names, fields, interned, NULL };
	struct bytes out = { 0 };

	bytes_text(&out, TAG_DEBUG_ANNOTATION_STRING_VALUE, text, strlen(text));
	put_own(key, &target, &out);
}

void note_trace_ids(const struct trace_ids *ids, struct seq_names *names,
		    struct bytes *fields, struct bytes *interned)
{
	char trace[2 * sizeof(ids->trace) + 1], span[2 * sizeof(ids->span) + 1];

	hex_text(ids->trace, sizeof(ids->trace), trace);
	hex_text(ids->span, sizeof(ids->span), span);
	note_text("trace_id", trace, names, fields, interned);
	note_text("span_id", span, names, fields, interned);
}

bool note_name(const struct note *note, struct seq_names *names,
	       struct bytes *fields, struct bytes *interned)
{
	const char *text = (const char *)note->name.at;
	size_t bytes = whole_characters(text, note->name.count);
	uint32_t iid;

	if (!note->has_name || !bytes)
		return false;
	iid = seq_names_event(names, text, bytes, interned);
	if (iid)
		bytes_field(fields, TAG_TRACK_EVENT_NAME_IID, iid);
	else
		bytes_text(fields, TAG_TRACK_EVENT_NAME, text, bytes);
	return true;
}
