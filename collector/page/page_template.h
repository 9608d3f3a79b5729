/* SPDX-License-Identifier: Apache-2.0
 *
 * page_template - the page without data, embedded at build time: HTML, style
 * and script of collector/page/web.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_TEMPLATE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_TEMPLATE_H

/* The line of the page to replace by the data. */
#define PAGE_TEMPLATE_MARK "<!-- perfrec:data -->"

/* With a final NUL. */
extern const char page_template[];

#endif
