/* SPDX-License-Identifier: Apache-2.0
 *
 * io_calls - the arguments and results of the C library's functions for files and
 * sockets (--calls-to), and what each one does.
 */
#ifndef PERFREC_COLLECTOR_NAMES_IO_CALLS_H
#define PERFREC_COLLECTOR_NAMES_IO_CALLS_H

/* What a call does to the file of its argument "fd". */
enum io_kind {
	IO_OTHER, /* fsync(), fstat(), ... */
	IO_OPENS, /* the result is a descriptor of the argument "path" */
	IO_READS, /* the result is bytes */
	IO_WRITES,
	IO_CLOSES, /* also fdopen(): fclose() closes it, and has no "fd" */
	IO_COPIES, /* dup(): the result is another descriptor */
	IO_PATH, /* something about "path" */
	IO_SOCKET, /* the result is a descriptor of a socket */
	IO_MAKES, /* likewise, of eventfd() or another function */
	IO_WAITS, /* poll(): no file */
};

struct io_call {
	const char *name;
	const char *signature; /* as for --args */
	enum io_kind kind;
};

/* Returns the function with @name, or NULL. Any thread. */
const struct io_call *io_call_find(const char *name);

#endif
