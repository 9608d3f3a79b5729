/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/base/bytes.h"
#include "collector/drain/process_context.h"
#include "collector/drain/process_words.h"
#include "collector/record/attributes.h"
#include "tests/suite.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct who *g_who;

static void set_up(void)
{
	ck_assert_int_eq(who_new(1, &g_who), 0);
}

static void tear_down(void)
{
	who_free(&g_who);
}

static const char *all(void)
{
	static char text[1 << 16];
	const char *key, *value;
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; (key = who_attribute(g_who, i, &value)); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s=%s\n",
				       key, value);
	return text;
}

/* @bad: number of malformed attributes. */
static void check(const char *environment, size_t count, size_t bad,
		  const char *want)
{
	char *copy = malloc(count);

	memcpy(copy, environment, count);
	ck_assert_uint_eq(process_words_environment(copy, count, g_who), bad);
	free(copy);
	ck_assert_str_eq(all(), want);
}

#define CHECK(environment, bad, want) \
	check(environment, sizeof(environment), bad, want)
#define PAIRS "OTEL_RESOURCE_ATTRIBUTES="

FIXTURE(set_up, tear_down);

TEST(words_name_of_the_service_comes_first)
{
	CHECK("A=b\0OTEL_SERVICE_NAME=one\0" PAIRS "service.name=two,a=b", 0,
	      "service.name=one\na=b\n");
	ck_assert(who_is_told(g_who));
}

TEST(words_empty_name_of_the_service_is_none)
{
	CHECK("OTEL_SERVICE_NAME=\0" PAIRS "service.name=two", 0,
	      "service.name=two\n");
}

TEST(words_pairs_are_decoded)
{
	CHECK(PAIRS "a=1%2C2, b%3d = x%20y\t,c=a=b,d=+,e=%C3%A4,", 0,
	      "a=1,2\nb==x y\nc=a=b\nd=+\ne=\xc3\xa4\n");
}

TEST(words_bad_pairs_are_left_out_and_counted)
{
	CHECK(PAIRS "no,=v,k=,,a=%,b=%2,c=%zz,d=%00,e=good,f=%2", 9,
	      "e=good\n");
}

/* The pid belongs to one process, but a recording has several. */
TEST(words_pid_is_no_attribute)
{
	CHECK(PAIRS "process.pid=5,a=b,process.pid2=6", 0,
	      "a=b\nprocess.pid2=6\n");
}

TEST(words_empty_pairs_are_none)
{
	CHECK(PAIRS, 0, "");
	CHECK("OTEL_RESOURCE_ATTRIBUTE=a=b\0XOTEL_SERVICE_NAME=x", 0, "");
	CHECK("", 0, "");
	ck_assert(!who_is_told(g_who));
}

TEST(words_last_of_equal_keys_counts)
{
	CHECK(PAIRS "a=1,b=2,a=3", 0, "a=3\nb=2\n");
}

TEST(words_very_long_pairs_are_bounded)
{
	enum { BYTES = 1 << 20 };
	char *text = malloc(BYTES);
	size_t at = (size_t)sprintf(text, PAIRS), pairs = 0;

	for (; at < BYTES - 32; pairs++)
		at += (size_t)sprintf(text + at, "key%zu=value,", pairs);
	ck_assert_uint_eq(process_words_environment(text, at + 1, g_who),
			  pairs - WHO_ATTRIBUTES_MAX);
	ck_assert_uint_gt(pairs, WHO_ATTRIBUTES_MAX);
	memset(text, 'x', BYTES);
	at = (size_t)sprintf(text, PAIRS "long=");
	text[at] = 'x';
	text[BYTES - 1] = '\0';
	ck_assert_uint_eq(process_words_environment(text, BYTES, g_who), 1);
	free(text);
}

TEST(words_pod_is_named_by_its_host_in_kubernetes_only)
{
	CHECK("HOSTNAME=laptop", 0, "");
	CHECK("HOSTNAME=web-1\0KUBERNETES_SERVICE_HOST=10.0.0.1", 0,
	      "k8s.pod.name=web-1\n");
	CHECK("HOSTNAME=web-1\0K8S_POD_NAME=web-2\0POD_NAME=web-3", 0,
	      "k8s.pod.name=web-2\n");
}

static void check_container(const char *text, bool mounts, bool found)
{
	who_free(&g_who);
	set_up();
	ck_assert_int_eq(process_words_container(text, mounts, g_who), found);
	ck_assert_str_eq(all(), found ? "container.id=" ID "\n" : "");
}

TEST(words_container_of_each_kind_is_found)
{
	check_container("0::/docker/" ID "\n", false, true);
	check_container("0::/system.slice/docker-" ID ".scope\n", false, true);
	check_container("0::/kubepods.slice/x/cri-containerd-" ID ".scope\n",
			false, true);
	check_container("1:cpu:/a/" ID "/b\n0::/\n", false, true);
	check_container("9 8 0:1 /var/lib/docker/containers/" ID
			"/hostname /etc/hostname rw\n",
			true, true);
}

TEST(words_container_is_64_digits)
{
	check_container("0::/\n", false, false);
	check_container("0::/docker/" ID "0\n", false, false);
	check_container("0::/docker/" ID "g\n", false, false);
	check_container("0::/user.slice/user-0.slice\n", false, false);
	check_container("/sandboxes/" ID "/hostname\n", true, false);
	check_container("", true, false);
}

TEST(words_context_of_any_bytes_is_read)
{
	/* Prefixes of a valid context, each with every change of one byte. */
	static const uint8_t good[] = "\x0a\x1a\x0a\x0a\x0a\x01"
				      "a\x12\x05\x0a\x03xyz\x0a\x0c\x0a\x01"
				      "b\x12\x07\x21\0\0\0\0\0\0\xf8";
	struct bytes payload = { 0 };

	for (size_t count = 0; count < sizeof(good); count++)
		for (int change = 0; change < 256; change++) {
			bytes_clear(&payload);
			bytes_put(&payload, good, sizeof(good) - 1);
			payload.at[count % (sizeof(good) - 1)] ^=
				(uint8_t)change;
			payload.count = change ? payload.count : count;
			process_context_tell(&payload, g_who);
		}
	who_free(&g_who);
	set_up();
	bytes_clear(&payload);
	bytes_put(&payload, good, sizeof(good) - 1);
	process_context_tell(&payload, g_who);
	bytes_release(&payload);
	ck_assert_str_eq(all(), "a=xyz\n");
}
