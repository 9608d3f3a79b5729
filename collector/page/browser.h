/* SPDX-License-Identifier: Apache-2.0
 *
 * browser - starts the user's browser on this machine. For a process of one
 * thread.
 */
#ifndef PERFREC_COLLECTOR_PAGE_BROWSER_H
#define PERFREC_COLLECTOR_PAGE_BROWSER_H

#include <stdio.h>
#include <sys/types.h>

/*
 * Starts the browser with @url: the command in $BROWSER, otherwise a common one
 * if there is a screen. Discards its output. The caller may wait for the pid
 * *@out. Returns 0 or -errno; -ENOENT: no browser or no screen. Logs nothing.
 */
int browser_start(const char *url, pid_t *out);

/* Prints a command for another machine to reach @port of 127.0.0.1 here. */
void browser_print_tunnel(unsigned int port, FILE *out);
/* Prints a command for another machine to copy the file @path. */
void browser_print_copy(const char *path, FILE *out);

#endif
