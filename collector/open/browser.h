/* SPDX-License-Identifier: Apache-2.0
 *
 * browser - starts the browser of the person at this machine. For a process of
 * one thread.
 */
#ifndef PERFREC_COLLECTOR_OPEN_BROWSER_H
#define PERFREC_COLLECTOR_OPEN_BROWSER_H

#include <stdio.h>
#include <sys/types.h>

/*
 * Starts the browser with @url: the command in $BROWSER, else where there is a
 * screen one of the usual commands. What it prints is thrown away. *@out is its
 * pid; whoever wants to know how it ends waits for it. Returns 0 or -errno:
 * -ENOENT, there is no browser or no screen. Logs nothing.
 */
int browser_start(const char *url, pid_t *out);

/* Prints what a person types on another machine to reach @port of 127.0.0.1
 * here: a command. */
void browser_print_tunnel(unsigned int port, FILE *out);
/* Prints the same for a copy of file @path. */
void browser_print_copy(const char *path, FILE *out);

#endif
