/* SPDX-License-Identifier: Apache-2.0
 *
 * page_template - the page without data, as it was when perfrec was built: the
 * HTML, the style and the script of collector/page/web.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_TEMPLATE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_TEMPLATE_H

/* The line of the page that the data takes the place of. */
#define PAGE_TEMPLATE_MARK "<!-- perfrec:data -->"

/* A NUL is behind the page. */
extern const char page_template[];

#endif
