/* SPDX-License-Identifier: Apache-2.0
 *
 * flamegraph_script - the script in the SVG of export_svg.c: a click or Enter
 * zooms, Escape resets, Ctrl-F or "search" highlights matches. A frame is <g
 * class="f" data-x data-w data-d>, in shares of the root and in rows.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_FLAMEGRAPH_SCRIPT_H
#define PERFREC_COLLECTOR_EXPORT_FLAMEGRAPH_SCRIPT_H

#define FLAMEGRAPH_SCRIPT                                                      \
	"'use strict';\n"                                                      \
	"(() => {\n"                                                           \
	"const root = document.documentElement;\n"                             \
	"const width = root.viewBox.baseVal.width - 20;\n"                     \
	"const frames = [...document.querySelectorAll('g.f')].map(g => ({\n"   \
	"  g, x: +g.dataset.x, w: +g.dataset.w, d: +g.dataset.d,\n"            \
	"  name: g.dataset.n, rect: g.querySelector('rect'),\n"                \
	"  text: g.querySelector('text')}));\n"                                \
	"const note = document.getElementById('note');\n"                      \
	"const show = (x, w, d) => frames.forEach(f => {\n"                    \
	"  const left = Math.max(f.x, x), right = Math.min(f.x + f.w, x + "    \
	"w);\n"                                                                \
	"  const shown = (right - left) / w * width;\n"                        \
	"  const hidden = !(shown > 0.05);\n"                                  \
	"  f.g.style.display = hidden ? 'none' : '';\n"                        \
	"  if (hidden) return;\n"                                              \
	"  f.g.style.opacity = f.d < d ? 0.5 : 1;\n"                           \
	"  const at = 10 + (left - x) / w * width;\n"                          \
	"  f.rect.setAttribute('x', at);\n"                                    \
	"  f.rect.setAttribute('width', Math.max(shown - 0.5, 0.3));\n"        \
	"  f.text.setAttribute('x', at + 3);\n"                                \
	"  const room = Math.floor((shown - 6) / 6.6);\n"                      \
	"  f.text.textContent = room < 3 ? '' : f.name.length <= room ?\n"     \
	"    f.name : f.name.slice(0, room - 1) + '\\u2026';\n"                \
	"});\n"                                                                \
	"const whole = () => show(0, 1, 0);\n"                                 \
	"const search = () => {\n"                                             \
	"  const text = prompt('Search for a part of a name:', '');\n"         \
	"  if (text === null) return;\n"                                       \
	"  find(text);\n"                                                      \
	"};\n"                                                                 \
	"const find = text => {\n"                                             \
	"  const low = text.toLowerCase();\n"                                  \
	"  let end = -1, sum = 0;\n"                                           \
	"  const hits = frames.filter(f => {\n"                                \
	"    const hit = low && f.name.toLowerCase().includes(low);\n"         \
	"    f.g.classList.toggle('hit', Boolean(hit));\n"                     \
	"    return hit;\n"                                                    \
	"  });\n"                                                              \
	"  hits.sort((a, b) => a.x - b.x || b.w - a.w).forEach(f => {\n"       \
	"    if (f.x + 1e-12 < end) return;\n"                                 \
	"    sum += f.w;\n"                                                    \
	"    end = f.x + f.w;\n"                                               \
	"  });\n"                                                              \
	"  note.textContent = low ? (sum * 100).toFixed(2) + ' % match' : "    \
	"'';\n"                                                                \
	"};\n"                                                                 \
	"frames.forEach(f => {\n"                                              \
	"  f.g.addEventListener('click', () => show(f.x, f.w, f.d));\n"        \
	"  f.g.addEventListener('keydown', e => {\n"                           \
	"    if (e.key === 'Enter') show(f.x, f.w, f.d);\n"                    \
	"  });\n"                                                              \
	"});\n"                                                                \
	"addEventListener('keydown', e => {\n"                                 \
	"  if (e.key === 'Escape') { whole(); find(''); }\n"                   \
	"  if (e.key === 'f' && (e.ctrlKey || e.metaKey)) {\n"                 \
	"    e.preventDefault();\n"                                            \
	"    search();\n"                                                      \
	"  }\n"                                                                \
	"});\n"                                                                \
	"document.getElementById('reset').addEventListener('click', whole);\n" \
	"document.getElementById('search').addEventListener('click', "         \
	"search);\n"                                                           \
	"whole();\n"                                                           \
	"})();\n"

#endif
