/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/sender.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/clock.h"
#include "shared/compiler.h"

#define CONNECT_SECONDS 10L

struct lane {
	CURL *easy;
	struct curl_slist *headers;
	char *url;
	char error[CURL_ERROR_SIZE];
	struct bytes answer;
	size_t answer_bytes; /* of all of the answer */
	bool cut; /* more than its body is kept of */
	uint64_t start_ns; /* of the request; 0: none is under way */
};

struct sender {
	CURLM *multi;
	long seconds;
	uint32_t count;
	struct lane lanes[];
};

struct sender *sender_new(uint32_t lanes, long seconds)
{
	struct sender *sender =
		calloc(1, sizeof(*sender) + lanes * sizeof(struct lane));

	if (!sender)
		return NULL;
	sender->count = lanes;
	sender->seconds = seconds;
	sender->multi = curl_multi_init();
	for (uint32_t i = 0; i < lanes && sender->multi; i++) {
		sender->lanes[i].easy = curl_easy_init();
		if (!sender->lanes[i].easy)
			break;
	}
	if (sender->multi && sender->lanes[lanes - 1].easy)
		return sender;
	sender_free(sender);
	return NULL;
}

static void end_lane(struct lane *lane)
{
	curl_slist_free_all(lane->headers);
	lane->headers = NULL;
	free(lane->url);
	lane->url = NULL;
	lane->start_ns = 0;
}

void sender_free(struct sender *sender)
{
	for (uint32_t i = 0; i < sender->count; i++) {
		struct lane *lane = &sender->lanes[i];

		if (lane->easy)
			curl_multi_remove_handle(sender->multi, lane->easy);
		curl_easy_cleanup(lane->easy);
		end_lane(lane);
		bytes_release(&lane->answer);
	}
	curl_multi_cleanup(sender->multi);
	free(sender);
}

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
	struct lane *lane = context;
	const size_t bytes = size * count;
	const size_t room = SENDER_ANSWER_KEPT - lane->answer.count;

	lane->answer_bytes += bytes;
	lane->cut |= bytes > room;
	if (lane->answer_bytes > SENDER_ANSWER_MAX)
		return 0;
	bytes_put(&lane->answer, data, MIN(bytes, room));
	return bytes;
}

/* libcurl bounds headers, but not those behind the last chunk of a body. */
static size_t take_header(char *data, size_t size, size_t count, void *context)
{
	struct lane *lane = context;
	const size_t bytes = size * count;

	(void)data;
	lane->answer_bytes += bytes;
	return lane->answer_bytes > SENDER_ANSWER_MAX ? 0 : bytes;
}

static int add_header(struct lane *lane, const char *header)
{
	struct curl_slist *longer = curl_slist_append(lane->headers, header);

	if (longer)
		lane->headers = longer;
	return longer ? 0 : -ENOMEM;
}

#define SET(option, value)           \
	(result = result != CURLE_OK \
			  ? result   \
			  : curl_easy_setopt(easy, CURLOPT_##option, value))

static int set_options(struct sender *sender, struct lane *lane,
		       const struct endpoint *endpoint,
		       const struct message *message)
{
	CURL *easy = lane->easy;
	CURLcode result = CURLE_OK;

	/* Drops CAINFO: the endpoint may have been loaded again without it. */
	curl_easy_reset(easy);
	SET(PRIVATE, lane);
	SET(URL, lane->url);
	SET(HTTPHEADER, lane->headers);
	SET(POST, 1L);
	SET(POSTFIELDSIZE_LARGE, (curl_off_t)message->body.count);
	SET(POSTFIELDS, (char *)message->body.at);
	SET(WRITEFUNCTION, take_answer);
	SET(WRITEDATA, lane);
	SET(HEADERFUNCTION, take_header);
	SET(HEADERDATA, lane);
	SET(ERRORBUFFER, lane->error);
	SET(PROTOCOLS_STR, "http,https");
	SET(FOLLOWLOCATION, 0L);
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	SET(NOSIGNAL, 1L);
	/* At the end nobody waits for a name server. */
	SET(QUICK_EXIT, 1L);
	SET(CONNECTTIMEOUT, CONNECT_SECONDS);
	SET(TIMEOUT, sender->seconds);
	SET(USERAGENT, "perfrec/" PERFREC_VERSION);
	SET(USERNAME, endpoint->user);
	SET(PASSWORD, endpoint->password);
	SET(HTTPAUTH, (long)CURLAUTH_BASIC);
	if (endpoint->ca_file)
		SET(CAINFO, endpoint->ca_file);
	if (result == CURLE_OK)
		return 0;
	return result == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

static int set_headers(struct lane *lane, const struct endpoint *endpoint,
		       const struct message *message,
		       const char *const *headers)
{
	char type[MESSAGE_TYPE_BYTES + 16];
	int err;

	snprintf(type, sizeof(type), "Content-Type: %s", message->content_type);
	err = add_header(lane, type);
	/* No round trip before the body. */
	if (!err)
		err = add_header(lane, "Expect:");
	if (!err && endpoint->protocol->gzip)
		err = add_header(lane, "Content-Encoding: gzip");
	for (; !err && headers && *headers; headers++)
		err = add_header(lane, *headers);
	for (size_t i = 0; i < endpoint->header_count && !err; i++)
		err = add_header(lane, endpoint->headers[i]);
	return err;
}

int sender_start(struct sender *sender, uint32_t lane,
		 const struct endpoint *endpoint, struct message *message,
		 const char *const *headers)
{
	struct lane *one = &sender->lanes[lane];
	int err = -ENOMEM;

	one->error[0] = 0;
	one->answer_bytes = 0;
	one->cut = false;
	one->start_ns = clock_monotonic_ns();
	bytes_clear(&one->answer);
	if (asprintf(&one->url, "%s%s", endpoint->url,
		     message->query ? message->query : "") >= 0)
		err = set_headers(one, endpoint, message, headers);
	else
		one->url = NULL;
	if (!err)
		err = set_options(sender, one, endpoint, message);
	if (!err && curl_multi_add_handle(sender->multi, one->easy) != CURLM_OK)
		err = -EIO;
	if (err)
		end_lane(one);
	return err;
}

bool sender_wait(struct sender *sender, int fd, uint64_t wait_ns)
{
	struct curl_waitfd wait = { .fd = fd, .events = CURL_WAIT_POLLIN };
	int running;

	/* Poll before curl_multi_perform(): an answer that it has read would
	 * wait otherwise. A request that was just started ends the wait. */
	curl_multi_poll(sender->multi, &wait, fd >= 0 ? 1 : 0,
			(int)((wait_ns + 999999) / 1000000), NULL);
	curl_multi_perform(sender->multi, &running);
	return fd >= 0 && wait.revents;
}

/* Whether a server has accepted the connection; perhaps there is no TLS yet. */
static bool is_connected(CURL *easy)
{
	curl_off_t connected = 0, ready = 0;

	curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected);
	/* An old connection that is used once more has only this one. */
	curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &ready);
	return connected > 0 || ready > 0;
}

uint64_t sender_silent_ns(const struct sender *sender, uint32_t lane)
{
	const struct lane *one = &sender->lanes[lane];

	return one->start_ns && !one->answer_bytes && is_connected(one->easy)
		       ? clock_monotonic_ns() - one->start_ns
		       : 0;
}

static enum sender_result result_of(CURL *easy, CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		return is_connected(easy) ? SENDER_SILENT : SENDER_NETWORK;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_ENGINE_NOTFOUND:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
	case CURLE_SSL_INVALIDCERTSTATUS:
		return SENDER_TLS;
	default:
		return SENDER_NETWORK;
	}
}

static void read_answer(struct sender *sender, struct lane *lane, CURLcode code,
			struct sender_answer *out)
{
	curl_off_t seconds = 0;
	const char *type = NULL;

	*out = (struct sender_answer){
		.lane = (uint32_t)(lane - sender->lanes),
		.body = lane->answer.at,
		.count = lane->answer.count,
		.cut = lane->cut || lane->answer.failed ||
		       lane->answer_bytes > SENDER_ANSWER_MAX,
		.taken_ns = clock_monotonic_ns() - lane->start_ns,
	};
	/* A status with more of an answer than anybody wants is one. */
	if (code != CURLE_OK && lane->answer_bytes <= SENDER_ANSWER_MAX) {
		out->result = result_of(lane->easy, code);
		snprintf(out->text, sizeof(out->text), "%s",
			 *lane->error ? lane->error : curl_easy_strerror(code));
		return;
	}
	curl_easy_getinfo(lane->easy, CURLINFO_RESPONSE_CODE, &out->status);
	curl_easy_getinfo(lane->easy, CURLINFO_RETRY_AFTER, &seconds);
	curl_easy_getinfo(lane->easy, CURLINFO_CONTENT_TYPE, &type);
	if (seconds > 0)
		out->retry_after_ns =
			(uint64_t)MIN(seconds, (curl_off_t)1000000) *
			UINT64_C(1000000000);
	snprintf(out->type, sizeof(out->type), "%s", type ? type : "");
}

bool sender_answer(struct sender *sender, struct sender_answer *out)
{
	const CURLMsg *message;
	struct lane *lane;
	int left;

	do
		message = curl_multi_info_read(sender->multi, &left);
	while (message && message->msg != CURLMSG_DONE);
	if (!message)
		return false;
	curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &lane);
	read_answer(sender, lane, message->data.result, out);
	curl_multi_remove_handle(sender->multi, lane->easy);
	end_lane(lane);
	return true;
}
