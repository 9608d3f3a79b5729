/* SPDX-License-Identifier: Apache-2.0
 *
 * export_svg - a flame graph: outermost functions at the bottom, with widths
 * proportional to their shares. Readable without its script, which adds zoom
 * and search. Frames below 1/20000 of the total are not drawn, nor the frames
 * above them.
 */
#include "collector/export/formats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "collector/base/put.h"
#include "collector/base/size.h"
#include "collector/base/utf8.h"
#include "collector/export/flamegraph_script.h"
#include "collector/export/stack_tree.h"
#include "collector/names/name_fold.h"
#include "shared/compiler.h"
#include "shared/hash.h"

#define WIDTH 1200
#define MARGIN 10
#define ROW 17
#define HEAD 44 /* above the frames */
#define FOOT 24
#define CHARACTER 6.6
#define PARTS_DRAWN 20000
#define DEPTH_DRAWN 512

struct svg {
	const struct stack_tree *tree;
	const struct pprof_type *type;
	uint64_t sum;
	uint32_t depth;
	FILE *out;
};

/* Escapes text for XML. Characters that XML cannot have become '?'. */
static void put_xml(const char *text, size_t left, FILE *out)
{
	while (left) {
		bool seen;
		size_t bytes = put_next(text, left, &seen);
		char c = text[0];

		if (!seen || (bytes == 3 && !memcmp(text, "\xef\xbf", 2) &&
			      (unsigned char)text[2] >= 0xbe))
			put_char('?', out);
		else if (c == '<')
			put_text("&lt;", out);
		else if (c == '>')
			put_text("&gt;", out);
		else if (c == '&')
			put_text("&amp;", out);
		else if (c == '"')
			put_text("&quot;", out);
		else if (c == '\'')
			put_text("&#39;", out);
		else
			put_bytes(text, bytes, out);
		text += bytes;
		left -= bytes;
	}
}

static const char *value_text(const struct svg *svg, uint64_t value, char *text)
{
	if (strcmp(svg->type->unit, "nanoseconds") == 0)
		return size_format_ns(value, text);
	if (strcmp(svg->type->unit, "bytes") == 0)
		return size_format_bytes(value, text);
	return size_format_count(value, text);
}

static size_t first_characters(const char *text, size_t count)
{
	size_t at = 0;

	while (text[at] && count--)
		at += MAX(utf8_length(text + at, strlen(text + at)), 1u);
	return at;
}

/* @x: left edge of the frame, as a share of the total. */
static void put_frame(const struct svg *svg, const struct stack_node *node,
		      double x)
{
	const char *full =
		node->depth ? stack_tree_name(svg->tree, node) : "all";
	double share = (double)node->total / (double)svg->sum;
	double left = MARGIN + x * (WIDTH - 2 * MARGIN);
	double width = share * (WIDTH - 2 * MARGIN);
	uint32_t y = HEAD + (svg->depth - node->depth) * ROW;
	size_t room = width > 6 ? (size_t)((width - 6) / CHARACTER) : 0;
	char name[NAME_FOLD_BYTES];
	uint64_t hash;
	char value[SIZE_TEXT];

	name_fold(full, name);
	fprintf(svg->out,
		"<g class=\"f\" tabindex=\"0\" data-x=\"%.12g\" "
		"data-w=\"%.12g\" data-d=\"%u\" data-n=\"",
		x, share, node->depth);
	put_xml(name, strlen(name), svg->out);
	put_text("\">", svg->out);
	put_text("<title>", svg->out);
	put_xml(full, strlen(full), svg->out);
	fprintf(svg->out, " (%s, %.2f %%)</title>",
		value_text(svg, node->total, value),
		100.0 * (double)node->total / (double)svg->sum);
	fprintf(svg->out,
		"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"16\" "
		"fill=\"",
		left, y, MAX(width - 0.5, 0.3));
	hash = hash_fold(hash_text(HASH_START, full));
	fprintf(svg->out, "rgb(%u,%u,%u)", 205 + (unsigned int)(hash % 50),
		90 + (unsigned int)(hash / 64 % 130),
		50 + (unsigned int)(hash / 8192 % 40));
	fprintf(svg->out, "\"/><text x=\"%.2f\" y=\"%u\">", left + 3, y + 12);
	if (room >= 3 && first_characters(name, room) < strlen(name)) {
		put_xml(name, first_characters(name, room - 1), svg->out);
		put_text("\xe2\x80\xa6", svg->out);
	} else if (room >= 3) {
		put_xml(name, strlen(name), svg->out);
	}
	put_text("</text></g>\n", svg->out);
}

/* Recursion is limited to DEPTH_DRAWN. */
static void put_frames(const struct svg *svg, uint32_t number, double x)
{
	const struct stack_node *node = stack_tree_node(svg->tree, number);

	if (!node->total || node->depth > svg->depth ||
	    (double)node->total * PARTS_DRAWN < (double)svg->sum)
		return;
	put_frame(svg, node, x);
	for (uint32_t i = 0; i < node->count; i++) {
		uint32_t child = svg->tree->order[node->first + i];

		put_frames(svg, child, x);
		x += (double)stack_tree_node(svg->tree, child)->total /
		     (double)svg->sum;
	}
}

static void put_svg_head(const struct svg *svg, const char *title)
{
	uint32_t height = HEAD + (svg->depth + 1) * ROW + FOOT;
	char value[SIZE_TEXT];

	fprintf(svg->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" "
		"viewBox=\"0 0 %d %u\">\n",
		WIDTH, height);
	put_text(
		"<style>text{font:12px monospace;fill:#000}"
		".f{cursor:pointer}.f:hover rect,.f:focus rect{stroke:#000}"
		".f{outline:none}.hit rect{fill:#d0f}"
		".b{text-decoration:underline;cursor:pointer}"
		"</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
		"\n",
		svg->out);
	fprintf(svg->out, "<text x=\"%d\" y=\"18\">", MARGIN);
	put_xml(title, first_characters(title, 100), svg->out);
	put_text(": ", svg->out);
	put_xml(svg->type->type, strlen(svg->type->type), svg->out);
	fprintf(svg->out, ", %s</text>\n", value_text(svg, svg->sum, value));
	fprintf(svg->out,
		"<text class=\"b\" id=\"reset\" x=\"%d\" y=\"36\">reset</text>"
		"<text class=\"b\" id=\"search\" x=\"%d\" y=\"36\">search"
		"</text><text id=\"note\" x=\"%d\" y=\"36\"></text>\n",
		MARGIN, MARGIN + 60, MARGIN + 130);
}

int export_flamegraph(const struct export_profile *profile, FILE *out)
{
	struct stack_tree tree;
	struct svg svg = { .tree = &tree,
			   .type = &profile->profile->type[profile->value],
			   .out = out };
	int err = stack_tree_make(profile->profile, profile->value, &tree);
	uint32_t depth;

	if (err)
		return err;
	svg.sum = MAX(stack_tree_node(&tree, 0)->total, 1u);
	depth = 0;
	for (uint32_t i = 0; i < svg.tree->nodes.count; i++) {
		const struct stack_node *node = stack_tree_node(svg.tree, i);

		if ((double)node->total * PARTS_DRAWN >= (double)svg.sum)
			depth = MAX(depth, node->depth);
	}
	svg.depth = MIN(depth, DEPTH_DRAWN);
	put_svg_head(&svg, profile->title);
	put_frames(&svg, 0, 0);
	put_text("<script><![CDATA[\n" FLAMEGRAPH_SCRIPT
		 "]]></script>\n</svg>\n",
		 out);
	stack_tree_release(&tree);
	return ferror(out) ? -EIO : 0;
}
