/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/endpoint.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/base64.h"
#include "collector/base/file_at.h"
#include "collector/base/log.h"
#include "collector/output/own_files.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define FILE_BYTES_MAX (64u << 10)
#define VALUE_BYTES_MAX 8192
/* A shorter one is no secret, and is in many texts by chance. */
#define SECRET_BYTES_MIN 4
/* Of Pyroscope's tenants. */
#define TENANT_BYTES_MAX 150
#define TENANT_CHARACTERS                                                \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" \
	"!-_.*'()"

static const struct protocol *const g_protocols[] = {
	&protocol_pyroscope,
	&protocol_otlp,
	&protocol_parca,
	&protocol_ingest,
};

/* --- the URL ------------------------------------------------------------- */

static const char *split_scheme(const char *text, const struct protocol **out)
{
	for (size_t i = 0; i < ARRAY_SIZE(g_protocols); i++) {
		size_t length = strlen(g_protocols[i]->scheme);

		if (!strncmp(text, g_protocols[i]->scheme, length) &&
		    (!strncmp(text + length, "+http://", 8) ||
		     !strncmp(text + length, "+https://", 9))) {
			*out = g_protocols[i];
			return text + length + 1;
		}
	}
	return NULL;
}

static bool has_part(CURLU *url, CURLUPart part)
{
	char *text = NULL;
	bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), count = strlen(end);

	return length >= count && !strcmp(text + length - count, end);
}

/* Appends the path of the protocol to that of @url, unless it is there. */
static int set_path(CURLU *url, const struct protocol *protocol)
{
	char *path = NULL, *whole;
	int err = -ENOMEM;
	size_t length;
	bool has_path;

	if (curl_url_get(url, CURLUPART_PATH, &path, 0) != CURLUE_OK)
		return err;
	length = strlen(path);
	while (length && path[length - 1] == '/')
		length--;
	path[length] = '\0';
	has_path = ends_with(path, protocol->path) ||
		   ends_with(path, "/v1/profiles");
	if (asprintf(&whole, "%s%s", path, has_path ? "" : protocol->path) >=
	    0) {
		if (curl_url_set(url, CURLUPART_PATH, whole, 0) == CURLUE_OK)
			err = 0;
		free(whole);
	}
	curl_free(path);
	return err;
}

static int parse_url(CURLU *url, const char *rest, struct endpoint *out,
		     const char **why)
{
	char *whole = NULL;
	int err;

	*why = "it is no URL";
	if (curl_url_set(url, CURLUPART_URL, rest, 0) != CURLUE_OK)
		return -EINVAL;
	*why = "credentials do not belong on a command line, which all users "
	       "can read: give them by variable, or by --push-auth FILE";
	if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
		return -EINVAL;
	*why = "it has a '?' or '#'";
	if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
		return -EINVAL;
	err = set_path(url, out->protocol);
	if (err)
		return err;
	if (curl_url_get(url, CURLUPART_URL, &whole, 0) != CURLUE_OK)
		return -ENOMEM;
	out->url = strdup(whole);
	curl_free(whole);
	return out->url ? 0 : -ENOMEM;
}

int endpoint_parse(const char *text, struct endpoint *out, const char **why)
{
	CURLU *url = curl_url();
	const char *rest;
	int err = -ENOMEM;

	*out = (struct endpoint){ 0 };
	rest = split_scheme(text, &out->protocol);
	*why = "it does not begin with pyroscope+https://, otlp+https://, "
	       "parca+https:// or pyroscope-ingest+https:// (or ...+http://)";
	if (!rest)
		err = -EINVAL;
	else if (url && (out->given = strdup(text)))
		err = parse_url(url, rest, out, why);
	if (!err)
		out->id = hash_text(
			hash_text(HASH_START, out->protocol->scheme), out->url);
	curl_url_cleanup(url);
	if (err)
		endpoint_release(out);
	return err;
}

static void release_secrets(struct endpoint *endpoint)
{
	free(endpoint->user);
	free(endpoint->password);
	free(endpoint->ca_file);
	for (size_t i = 0; i < endpoint->header_count; i++)
		free(endpoint->headers[i]);
}

void endpoint_release(struct endpoint *endpoint)
{
	release_secrets(endpoint);
	free(endpoint->given);
	free(endpoint->url);
	*endpoint = (struct endpoint){ 0 };
}

/* --- credentials --------------------------------------------------------- */

static const char *const g_variables[] = {
	"PYROSCOPE_BASIC_AUTH_USER",  "PYROSCOPE_BASIC_AUTH_PASSWORD",
	"PYROSCOPE_AUTH_TOKEN",	      "PYROSCOPE_TENANT_ID",
	"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_CERTIFICATE",
	"PARCA_BEARER_TOKEN",	      "SSL_CERT_FILE",
};

struct secrets {
	char *file; /* lines NAME=VALUE, each ended by a NUL */
	size_t count;
};

static int read_secrets(int fd, const char *path, struct secrets *out)
{
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return -errno;
	if (status.st_mode & 077) {
		log_err("'%s' has credentials and others may use it: chmod 600 "
			"'%s'",
			path, path);
		return -EPERM;
	}
	if (status.st_uid && status.st_uid != geteuid()) {
		log_err("'%s' has credentials and belongs to another user: "
			"chown it",
			path);
		return -EPERM;
	}
	if (status.st_size > FILE_BYTES_MAX)
		return -EFBIG;
	out->count = (size_t)status.st_size;
	out->file = malloc(out->count + 1);
	if (!out->file)
		return -ENOMEM;
	err = file_read_at(fd, out->file, out->count, 0);
	out->file[err ? 0 : out->count] = 0;
	for (size_t i = 0; i < out->count; i++)
		if (out->file[i] == '\n')
			out->file[i] = 0;
	return err;
}

static bool is_known_variable(const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(g_variables); i++) {
		const size_t length = strlen(g_variables[i]);

		if (!strncmp(line, g_variables[i], length) &&
		    line[length] == '=')
			return true;
	}
	return !*line || *line == '#';
}

/* 0, or -EINVAL after one line of log. That says the number of a wrong line
 * alone: the line may be a secret. */
static int check_secrets(const struct secrets *secrets, const char *path)
{
	unsigned int number = 1;

	for (size_t at = 0; at < secrets->count;
	     at += strlen(secrets->file + at) + 1, number++)
		if (!is_known_variable(secrets->file + at)) {
			log_err("line %u of '%s' is no NAME=VALUE of a "
				"variable that perfrec-push knows: correct it",
				number, path);
			return -EINVAL;
		}
	return 0;
}

static int open_secrets(const char *path, struct secrets *out)
{
	int fd, err;

	if (!path)
		return 0;
	fd = own_files_open(path);
	err = fd < 0 ? fd : read_secrets(fd, path, out);
	if (fd >= 0)
		close(fd);
	if (err && err != -EPERM)
		log_err("cannot read '%s': %s", path, strerror(-err));
	return err ? err : check_secrets(out, path);
}

static const char *find_secret(const struct secrets *secrets, const char *name)
{
	const size_t length = strlen(name);
	const char *value;

	for (size_t at = 0; at < secrets->count;
	     at += strlen(secrets->file + at) + 1)
		if (!strncmp(secrets->file + at, name, length) &&
		    secrets->file[at + length] == '=')
			return secrets->file + at + length + 1;
	value = getenv(name);
	return value && *value ? value : NULL;
}

/* Returns true if @value may be in a header; otherwise logs one line. */
static bool is_plain_secret(const char *name, const char *value)
{
	bool plain = strlen(value) <= VALUE_BYTES_MAX;

	for (const char *at = value; *at && plain; at++)
		plain = !iscntrl((unsigned char)*at);
	if (!plain)
		log_err("%s is too long or has control characters: correct it",
			name);
	return plain;
}

/* Sets *@to to a copy of secret @name, or NULL. */
static int copy_secret(const struct secrets *secrets, const char *name,
		       char **to)
{
	const char *value = find_secret(secrets, name);

	if (!value)
		return 0;
	if (!is_plain_secret(name, value))
		return -EINVAL;
	*to = strdup(value);
	return *to ? 0 : -ENOMEM;
}

static int add_endpoint_header(struct endpoint *endpoint, const char *name,
			       const char *before, const char *value)
{
	char **to = &endpoint->headers[endpoint->header_count];

	if (endpoint->header_count == ENDPOINT_HEADERS_MAX)
		return -E2BIG;
	if (asprintf(to, "%s: %s%s", name, before, value) < 0) {
		*to = NULL;
		return -ENOMEM;
	}
	endpoint->header_count++;
	return 0;
}

/* Adds a header whose value is secret @name behind @before. */
static int take_endpoint_header(const struct secrets *secrets, const char *name,
				const char *header, const char *before,
				struct endpoint *endpoint)
{
	const char *value = find_secret(secrets, name);

	if (!value)
		return 0;
	return is_plain_secret(name, value)
		       ? add_endpoint_header(endpoint, header, before, value)
		       : -EINVAL;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (isspace((unsigned char)*text))
		text++;
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	return text;
}

/* Adds one "name=value" of OTEL_EXPORTER_OTLP_HEADERS. -EPERM, after one line
 * of log: it may not be set; or another -errno. */
static int take_pair(struct endpoint *endpoint, const char *name, char *pair)
{
	char *value = strchr(pair, '='), *plain;
	int err = -EINVAL;
	static const char *const taken[] = {
		"Content-Type",	  "Content-Encoding",
		"Content-Length", "Transfer-Encoding",
		"Host",		  "Expect",
	};

	if (!value)
		return err;
	*value++ = 0;
	pair = trim(pair);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (!strcasecmp(pair, taken[i])) {
			log_err("%s sets %s, which perfrec-push sets: leave it "
				"out",
				name, pair);
			return -EPERM;
		}
	plain = curl_easy_unescape(NULL, trim(value), 0, NULL);
	if (!plain)
		return -ENOMEM;
	/* A token of RFC 9110. */
	if (*pair &&
	    strspn(pair, "abcdefghijklmnopqrstuvwxyz"
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			 "!#$%&'*+-.^_`|~") == strlen(pair) &&
	    is_plain_secret(name, plain))
		err = add_endpoint_header(endpoint, pair, "", plain);
	curl_free(plain);
	return err;
}

static int take_pairs(const struct secrets *secrets, const char *name,
		      struct endpoint *endpoint)
{
	const char *value = find_secret(secrets, name);
	char *copy, *rest, *pair;
	int err = 0;

	if (!value)
		return 0;
	rest = copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	while (!err && (pair = strsep(&rest, ",")))
		if (*trim(pair))
			err = take_pair(endpoint, name, pair);
	free(copy);
	if (err && err != -EPERM)
		log_err("%s is no list of NAME=VALUE: correct it", name);
	return err;
}

/* Rejects settings that no server accepts. Returns 0, or -EINVAL after one line
 * in the log. */
static int check_pyroscope(const struct secrets *secrets,
			   const struct endpoint *endpoint)
{
	const char *tenant = find_secret(secrets, "PYROSCOPE_TENANT_ID");

	if (endpoint->password && !endpoint->user)
		log_err("PYROSCOPE_BASIC_AUTH_PASSWORD is set and "
			"PYROSCOPE_BASIC_AUTH_USER is not: set both");
	else if (endpoint->user && strchr(endpoint->user, ':'))
		log_err("PYROSCOPE_BASIC_AUTH_USER has a ':', which ends the "
			"user: correct it");
	else if (tenant && (strlen(tenant) > TENANT_BYTES_MAX ||
			    tenant[strspn(tenant, TENANT_CHARACTERS)]))
		log_err("PYROSCOPE_TENANT_ID has characters that no tenant "
			"has, or more than %d: correct it",
			TENANT_BYTES_MAX);
	else
		return 0;
	return -EINVAL;
}

static int take_pyroscope(const struct secrets *secrets,
			  struct endpoint *endpoint)
{
	int err = copy_secret(secrets, "PYROSCOPE_BASIC_AUTH_USER",
			      &endpoint->user);

	if (!err)
		err = copy_secret(secrets, "PYROSCOPE_BASIC_AUTH_PASSWORD",
				  &endpoint->password);
	if (!err)
		err = check_pyroscope(secrets, endpoint);
	if (!err)
		err = take_endpoint_header(secrets, "PYROSCOPE_TENANT_ID",
					   "X-Scope-OrgID", "", endpoint);
	if (!err && !endpoint->user)
		err = take_endpoint_header(secrets, "PYROSCOPE_AUTH_TOKEN",
					   "Authorization", "Bearer ",
					   endpoint);
	return err;
}

/* Sets the file of certificates to that of variable @name, unless there is one.
 * Without TLS nobody reads it. */
static int take_ca_file(const struct secrets *secrets, const char *name,
			struct endpoint *endpoint)
{
	int err = 0;

	if (endpoint->ca_file || strncmp(endpoint->url, "https:", 6) != 0)
		return 0;
	err = copy_secret(secrets, name, &endpoint->ca_file);
	if (!err && endpoint->ca_file && access(endpoint->ca_file, R_OK)) {
		err = -errno;
		log_err("cannot read '%s' of %s: %s", endpoint->ca_file, name,
			strerror(errno));
	}
	return err;
}

static int take_secrets(const struct secrets *secrets,
			struct endpoint *endpoint)
{
	const struct protocol *protocol = endpoint->protocol;
	int err = 0;

	if (protocol == &protocol_otlp) {
		err = take_pairs(secrets, "OTEL_EXPORTER_OTLP_HEADERS",
				 endpoint);
		if (!err)
			err = take_ca_file(secrets,
					   "OTEL_EXPORTER_OTLP_CERTIFICATE",
					   endpoint);
	} else if (protocol == &protocol_parca) {
		err = take_endpoint_header(secrets, "PARCA_BEARER_TOKEN",
					   "Authorization", "Bearer ",
					   endpoint);
	} else {
		err = take_pyroscope(secrets, endpoint);
	}
	return err ? err : take_ca_file(secrets, "SSL_CERT_FILE", endpoint);
}

int endpoint_load(struct endpoint *endpoint, const char *path)
{
	struct endpoint new = *endpoint;
	struct secrets secrets = { 0 };
	int err = open_secrets(path, &secrets);

	new.user = new.password = new.ca_file = NULL;
	memset(new.headers, 0, sizeof(new.headers));
	new.header_count = 0;
	if (!err)
		err = take_secrets(&secrets, &new);
	if (secrets.file)
		explicit_bzero(secrets.file, secrets.count);
	free(secrets.file);
	release_secrets(err ? &new : endpoint);
	if (!err)
		*endpoint = new;
	return err;
}

struct told {
	const void *text;
	size_t count;
};

static bool has_secret(const struct told *told, const char *secret)
{
	const size_t length = secret ? strlen(secret) : 0;

	return length >= SECRET_BYTES_MIN && length <= told->count &&
	       memmem(told->text, told->count, secret, length);
}

/* As has_secret(), for what HTTP makes of user and password. */
static bool has_basic(const struct told *told, const struct endpoint *endpoint)
{
	char *plain, *basic;
	bool has;

	if (!endpoint->user && !endpoint->password)
		return false;
	if (asprintf(&plain, "%s:%s", endpoint->user ? endpoint->user : "",
		     endpoint->password ? endpoint->password : "") < 0)
		return true; /* to be on the safe side */
	basic = base64_text(plain, strlen(plain));
	has = !basic || has_secret(told, basic);
	free(plain);
	free(basic);
	return has;
}

bool endpoint_secret_in(const struct endpoint *endpoint, const void *text,
			size_t count)
{
	const struct told told = { text, count };
	bool found = has_secret(&told, endpoint->user) ||
		     has_secret(&told, endpoint->password) ||
		     has_basic(&told, endpoint);

	/* The value of a header "NAME: VALUE", and its last word: an answer may
	 * repeat "Bearer TOKEN" as TOKEN. */
	for (size_t i = 0; i < endpoint->header_count && !found; i++)
		found = has_secret(&told,
				   strchr(endpoint->headers[i], ':') + 2) ||
			has_secret(&told,
				   strrchr(endpoint->headers[i], ' ') + 1);
	return found;
}

const char *endpoint_variables(const struct endpoint *endpoint)
{
	if (endpoint->protocol == &protocol_otlp)
		return "OTEL_EXPORTER_OTLP_HEADERS";
	if (endpoint->protocol == &protocol_parca)
		return "PARCA_BEARER_TOKEN";
	return "PYROSCOPE_BASIC_AUTH_USER and PYROSCOPE_BASIC_AUTH_PASSWORD, "
	       "PYROSCOPE_AUTH_TOKEN or PYROSCOPE_TENANT_ID";
}
