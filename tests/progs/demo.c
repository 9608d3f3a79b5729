/* SPDX-License-Identifier: Apache-2.0
 *
 * demo - what `make demo` records: a small search index. One thread writes
 * documents, three index them, and the main thread merges their indexes and
 * prints the most frequent words. The result is the same in every run, the
 * timeline is not.
 *
 *	writer --> queue of documents --> indexer 1..3 --> merge --> result
 *
 * demo [DOCUMENTS [WORDS]]: 600 documents of 900 words, unless told otherwise.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VOCABULARY 2000
#define WORD_BYTES 16
#define INDEXERS 3
#define QUEUE_ROOM 8
#define SLOTS 8192 /* of an index: a power of two, more than VOCABULARY */

/* No build inlines the steps of a thread, so each has its row. */
#define STEP __attribute__((noinline)) static

static int g_documents = 600, g_words = 900;

struct document {
	size_t length;
	char text[]; /* room for g_words words */
};

/* --- the queue: a bounded one, closed by its writer ---------------------- */

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t has_room, has_documents;
	struct document *documents[QUEUE_ROOM];
	size_t first, count;
	bool closed;
};

static struct queue g_queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.has_room = PTHREAD_COND_INITIALIZER,
	.has_documents = PTHREAD_COND_INITIALIZER,
};

STEP void queue_put(struct queue *queue, struct document *document)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == QUEUE_ROOM)
		pthread_cond_wait(&queue->has_room, &queue->lock);
	queue->documents[(queue->first + queue->count) % QUEUE_ROOM] = document;
	queue->count++;
	pthread_cond_signal(&queue->has_documents);
	pthread_mutex_unlock(&queue->lock);
}

/* NULL: there will be no more. */
STEP struct document *queue_take(struct queue *queue)
{
	struct document *document = NULL;

	pthread_mutex_lock(&queue->lock);
	while (!queue->count && !queue->closed)
		pthread_cond_wait(&queue->has_documents, &queue->lock);
	if (queue->count) {
		document = queue->documents[queue->first];
		queue->first = (queue->first + 1) % QUEUE_ROOM;
		queue->count--;
		pthread_cond_signal(&queue->has_room);
	}
	pthread_mutex_unlock(&queue->lock);
	return document;
}

static void queue_close(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	pthread_cond_broadcast(&queue->has_documents);
	pthread_mutex_unlock(&queue->lock);
}

/* --- the writer: documents of made-up words ------------------------------ */

struct random {
	uint64_t state;
};

static uint32_t random_below(struct random *random, uint32_t limit)
{
	random->state = random->state * 6364136223846793005ULL + 1;
	return (uint32_t)((random->state >> 33) % limit);
}

/* Word @number of the vocabulary, in syllables. Returns its length. */
static size_t spell_word(uint32_t number, char out[WORD_BYTES])
{
	static const char consonants[] = "bdfgklmnprstvz";
	static const char vowels[] = "aeiou";
	size_t length = 0;

	do {
		out[length++] = consonants[number % 14];
		out[length++] = vowels[number / 14 % 5];
		number /= 70;
	} while (number);
	return length;
}

/* Small numbers come often, as frequent words do in real text. */
static uint32_t pick_word(struct random *random)
{
	uint32_t limit = random_below(random, VOCABULARY) + 1;

	return random_below(random, limit);
}

STEP struct document *write_document(struct random *random)
{
	struct document *document =
		malloc(sizeof(*document) + (size_t)g_words * WORD_BYTES);

	if (!document)
		abort();
	document->length = 0;
	for (int i = 0; i < g_words; i++) {
		char *word = &document->text[document->length];
		size_t length = spell_word(pick_word(random), word);

		if (random_below(random, 10) == 0)
			word[0] = (char)(word[0] - 'a' + 'A');
		word[length] = ' ';
		document->length += length + 1;
	}
	return document;
}

static void *writer_main(void *argument)
{
	struct random random = { 42 };

	(void)argument;
	pthread_setname_np(pthread_self(), "writer");
	for (int i = 0; i < g_documents; i++)
		queue_put(&g_queue, write_document(&random));
	queue_close(&g_queue);
	return NULL;
}

/* --- the indexers: words to counts --------------------------------------- */

struct entry {
	char word[WORD_BYTES]; /* "": free */
	uint64_t count;
};

struct index {
	struct entry entries[SLOTS];
	uint64_t words;
};

static uint32_t hash_word(const char *word, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)word[i]) * 16777619u;
	return hash ^ hash >> 15;
}

static bool same_word(const struct entry *entry, const char *word,
		      size_t length)
{
	return !memcmp(entry->word, word, length) && !entry->word[length];
}

/* The entry of @word, or the free one where it belongs. */
static struct entry *index_find(struct index *index, const char *word,
				size_t length)
{
	uint32_t at = hash_word(word, length) % SLOTS;

	while (index->entries[at].word[0] &&
	       !same_word(&index->entries[at], word, length))
		at = (at + 1) % SLOTS;
	return &index->entries[at];
}

static void index_add(struct index *index, const char *word, size_t length,
		      uint64_t count)
{
	struct entry *entry = index_find(index, word, length);

	if (!entry->word[0])
		memcpy(entry->word, word, length);
	entry->count += count;
	index->words += count;
}

static char lower_case(char letter)
{
	return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a')
					      : letter;
}

/* Copies the next word after *@at in lower case; 0 at the end. */
static size_t next_word(const struct document *document, size_t *at,
			char out[WORD_BYTES])
{
	size_t length = 0;

	while (*at < document->length && document->text[*at] != ' ')
		out[length++] = lower_case(document->text[(*at)++]);
	++*at;
	return length;
}

STEP void index_document(struct index *index, const struct document *document)
{
	char word[WORD_BYTES];
	size_t at = 0, length;

	while ((length = next_word(document, &at, word)))
		index_add(index, word, length, 1);
}

struct indexer {
	pthread_t thread;
	int number;
	struct index index;
};

static void *indexer_main(void *argument)
{
	struct indexer *indexer = argument;
	struct document *document;
	char name[16];

	snprintf(name, sizeof(name), "indexer %d", indexer->number);
	pthread_setname_np(pthread_self(), name);
	while ((document = queue_take(&g_queue))) {
		index_document(&indexer->index, document);
		free(document);
	}
	return NULL;
}

/* --- the result ---------------------------------------------------------- */

STEP void index_merge(struct index *into, const struct index *from)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (from->entries[i].word[0])
			index_add(into, from->entries[i].word,
				  strlen(from->entries[i].word),
				  from->entries[i].count);
}

/* Most frequent first, then by the alphabet; free entries last. */
static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(a->word, b->word);
}

STEP void print_result(struct index *index)
{
	size_t distinct = 0;

	qsort(index->entries, SLOTS, sizeof(index->entries[0]),
	      compare_entries);
	while (distinct < SLOTS && index->entries[distinct].count)
		distinct++;
	printf("%d documents, %llu words, %zu distinct; most frequent:",
	       g_documents, (unsigned long long)index->words, distinct);
	for (size_t i = 0; i < 3; i++)
		printf(" %s (%llu)", index->entries[i].word,
		       (unsigned long long)index->entries[i].count);
	putchar('\n');
}

static pthread_t start(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument)) {
		fputs("demo: cannot start a thread\n", stderr);
		exit(1);
	}
	return thread;
}

int main(int argc, char **argv)
{
	static struct indexer indexers[INDEXERS];
	static struct index merged;
	pthread_t writer;

	if (argc > 1)
		g_documents = atoi(argv[1]);
	if (argc > 2)
		g_words = atoi(argv[2]);
	writer = start(writer_main, NULL);
	for (int i = 0; i < INDEXERS; i++) {
		indexers[i].number = i + 1;
		indexers[i].thread = start(indexer_main, &indexers[i]);
	}
	pthread_join(writer, NULL);
	for (int i = 0; i < INDEXERS; i++) {
		pthread_join(indexers[i].thread, NULL);
		index_merge(&merged, &indexers[i].index);
	}
	print_result(&merged);
	return 0;
}
