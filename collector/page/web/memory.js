// SPDX-License-Identifier: Apache-2.0
import { amount, moment } from './format.js';
import { button, columnChart, context, el, fill, soon } from './dom.js';
import { ALL } from './model.js';
import { color, onTheme, theme } from './theme.js';
import { drawAxis, SMALL } from './axis.js';
import { FunctionTable } from './table.js';

/** Memory: the bytes in use over time, and the functions that allocated the remaining blocks. */

/** @typedef {import('./store.js').Store} Store */

const CURVE_HEIGHT = 190;
const CURVE_AXIS = 20;
const CURVE_LEFT = 70;

/** The curve, its peak, and a table of functions that allocate. */
export class MemoryView {
  /** @param {Store} store @param {(fn: number) => void} onopen @param {(key: string) => void} onvalue */
  constructor(store, onopen, onvalue) {
    this.store = store;
    const { recording } = store;
    this.times = recording.data.numbers('heap.ns');
    this.bytes = recording.data.numbers('heap.bytes');
    this.sites = recording.sites();
    this.legend = el('ul', { class: 'legend', 'aria-label': 'Most bytes in use, by function' });
    this.onopen = onopen;
    this.addPeak();
    this.values = recording.values.filter((value) => value.from === 'allocations');
    this.isThere = this.values.length > 0 || this.times.length > 1;
    this.canvas = el('canvas', { role: 'img' });
    this.curve = el('div', { class: 'curve' }, this.canvas);
    this.charts = el('div', { class: 'durations' });
    this.table = new FunctionTable(store, onopen, this.values);
    fill(this.table.panelHead, el('h2', {}, 'Who allocated it'),
      el('span', { class: 'muted' }, 'In use at the end: blocks that were never freed. Of the whole recording.'),
      el('span', { class: 'space' }),
      el('span', { class: 'muted' }, 'Flame graph:'), this.values.map((value) => button(value.title,
        () => onvalue(value.key), { class: 'small', 'aria-label': `Flame graph: ${value.title}` })));
    this.element = el('div', { class: 'view' },
      this.times.length > 1 ? el('section', { class: 'panel', 'aria-label': 'Memory over time' },
        el('div', { class: 'panel-head' }, el('h2', {}, 'Memory in use'), el('span', { class: 'muted' }, this.sentence())),
        this.resident(), this.curve, this.legend, this.charts) : null,
      this.values.length ? this.table.element : null);
    this.redraw = soon(() => this.draw());
    store.follow(['range'], () => fill(this.charts, this.rate(), this.sizes()));
    if (!this.isThere) return;
    this.canvas.setAttribute('aria-label', `Memory in use over time. ${this.sentence()}`);
    onTheme(() => this.draw());
    new ResizeObserver(this.redraw).observe(this.curve);
    store.follow(['range', 'tab'], this.redraw);
  }

  /** Puts the peak into the curve, which has a value every 10 ms only. */
  addPeak() {
    const { peak_ns: ns = Number.NaN, peak_bytes: bytes = 0 } = this.store.recording.header.heap ?? {};
    const at = this.times.findIndex((time) => time > ns);
    if (at < 1) return;
    const put = (/** @type {Float64Array} */ list, /** @type {number[]} */ ...values) =>
      Float64Array.of(...list.subarray(0, at), ...values, ...list.subarray(at));
    this.times = put(this.times, ns, ns);
    this.bytes = put(this.bytes, bytes, this.bytes[at - 1]);
  }

  /** @returns {HTMLElement | null} a warning, where malloc() has a small part of the memory */
  resident() {
    const { peak_bytes: peak = 0, resident_bytes: all = 0 } = this.store.recording.header.heap ?? {};
    return peak && all > 2 * peak ? el('p', { class: 'warning' }, el('b', {}, 'malloc only: '),
      `at most ${amount(peak, 'bytes')} of ${amount(all, 'bytes')} resident memory. The rest came by mmap() and the like, or is code.`) : null;
  }

  /** @returns {HTMLElement | null} bytes allocated a second, over time */
  rate() {
    const { data, header } = this.store.recording;
    const sums = data.numbers('heap.allocated');
    const { width_ns: width = 1 } = header.buckets ?? {};
    const { from, to } = this.store.state.range ?? { from: 0, to: sums.length };
    // The counter has a value every 10 ms.
    const step = Math.max(1, Math.ceil(2e7 / width), Math.ceil((to - from) / 100));
    const rates = [];
    for (let i = from; i < to; i += step)
      rates.push((sums[Math.min(i + step, to) - 1] - (sums[i - 1] ?? 0)) / (Math.min(step, to - i) * width / 1e9));
    const most = Math.max(...rates);
    const at = (/** @type {number} */ i) => moment(Math.max(header.time?.first_ns ?? 0, (header.buckets?.first_ns ?? 0) + i * width), width);
    return most > 0 && rates.length > 2 ? el('div', {}, el('h3', {}, `Allocated a second: at most ${amount(most, 'bytes')}`),
      columnChart(rates.map((rate, i) => [`${at(from + i * step)}: ${amount(rate, 'bytes')} a second`, rate / most]),
        `Bytes allocated a second, at most ${amount(most, 'bytes')}`, at(from), at(to))) : null;
  }

  /** @returns {HTMLElement | null} blocks by size: of a stack the mean size is known */
  sizes() {
    const { recording } = this.store;
    const [space, objects] = ['alloc_space', 'alloc_objects'].map((key) => recording.value(key));
    if (!space || !objects) return null;
    const [{ self: bytes }, { self: blocks }] = [space, objects].map((value) => recording.nodeSums(value, ALL, 'self'));
    /** @type {number[]} */
    const counts = [];
    for (const [n, count] of blocks.entries()) {
      if (!count) continue;
      const octave = Math.floor(Math.log2(Math.max(1, bytes[n] / count)));
      while (counts.length <= octave) counts.push(0);
      counts[octave] += count;
    }
    const first = counts.findIndex((count) => count);
    const most = Math.max(0, ...counts);
    return most ? el('div', {}, el('h3', {}, 'Blocks by size (the mean of each stack)'),
      columnChart(counts.slice(first).map((count, i) =>
        [`${amount(2 ** (first + i), 'bytes')} to ${amount(2 ** (first + i + 1), 'bytes')}: ${amount(count, 'count')} blocks`, Math.log1p(count) / Math.log1p(most)]),
      'Blocks by the mean size of their stack', amount(2 ** first, 'bytes'), amount(2 ** counts.length, 'bytes'))) : null;
  }

  /** One standard error of the peak, where blocks were sampled. */
  error() {
    const error = this.store.recording.header.heap?.peak_error_bytes;
    return error ? ` ± ${amount(error, 'bytes')}` : '';
  }

  sentence() {
    const { heap } = this.store.recording.header;
    const end = this.bytes.length ? this.bytes[this.bytes.length - 1] : Number.NaN;
    const parts = [];
    if (heap?.peak_bytes) parts.push(`at most ${amount(heap.peak_bytes, 'bytes')}${this.error()}`);
    if (!Number.isNaN(end)) parts.push(`${amount(end, 'bytes')} at the end`);
    return parts.join(', ');
  }

  /** @returns {{ from: number, to: number }} */
  span() {
    return this.store.span ?? { from: Math.min(this.store.recording.header.time?.first_ns ?? 0, this.times[0]), to: Math.max(1, this.times[this.times.length - 1]) };
  }

  draw() {
    const width = this.curve.clientWidth;
    if (this.times.length < 2 || !width) return;
    const g = context(this.canvas, width, CURVE_HEIGHT);
    const span = this.span();
    let most = this.store.recording.header.heap?.peak_bytes ?? 0;
    for (const bytes of this.bytes) most = Math.max(most, bytes);
    const box = { x: CURVE_LEFT, y: CURVE_HEIGHT - CURVE_AXIS, width: width - CURVE_LEFT, height: CURVE_HEIGHT - CURVE_AXIS };
    drawAxis(g, span, box);
    const x = (/** @type {number} */ time) => box.x + ((time - span.from) / (span.to - span.from)) * box.width;
    const y = (/** @type {number} */ bytes) => box.height - (bytes / (most || 1)) * (box.height - 14);
    g.font = SMALL;
    g.textBaseline = 'middle';
    for (const share of [0, 0.5, 1]) {
      g.fillStyle = color('--line');
      g.fillRect(box.x, Math.round(y(most * share)), box.width, 1);
      g.fillStyle = color('--muted');
      g.fillText(amount(most * share, 'bytes'), 4, Math.min(y(most * share), box.height - 6));
    }
    this.drawCurve(g, box, x, y);
    this.drawPeak(g, box, x, y);
    fill(this.legend, this.sites.list.map(({ fn, name, bytes }, i) => {
      const { times } = this.sites;
      const seen = bytes.filter((_, at) => times[at] <= span.to && (times[at + 1] ?? span.to) >= span.from);
      const most = Math.max(0, ...seen);
      if (!most && i === this.sites.list.length - 1) return null;
      const swatch = el('i');
      swatch.style.background = this.hue(i);
      return el('li', {}, swatch, fn > 0 ? button(name, () => this.onopen(fn), { class: 'link' }) : name, `: at most ${amount(most, 'bytes')}`);
    }));
  }

  /** @param {number} i of a function @returns {string} grey for the others */
  hue(i) {
    return i === this.sites.list.length - 1 ? color('--rest') : `oklch(${theme() === 'dark' ? 0.5 : 0.78} 0.09 ${(i * 137.5 + 20) % 360})`;
  }

  /**
   * Stacks the bytes in use by function, the others on top.
   * @param {CanvasRenderingContext2D} g
   * @param {(time: number) => number} x
   * @param {(bytes: number) => number} y
   */
  drawSites(g, x, y) {
    const { times, list } = this.sites;
    let below = new Float64Array(times.length);
    const end = x(this.times[this.times.length - 1]);
    for (const [n, { bytes }] of list.entries()) {
      const above = below.map((sum, i) => sum + bytes[i]);
      g.fillStyle = this.hue(n);
      for (let i = 0; i < times.length; i++) {
        const [from, to] = [x(times[i]), i + 1 < times.length ? x(times[i + 1]) : end];
        g.fillRect(from, y(above[i]), to - from + 0.4, y(below[i]) - y(above[i]));
      }
      below = above;
    }
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {{ x: number, width: number, height: number }} box
   * @param {(time: number) => number} x
   * @param {(bytes: number) => number} y
   */
  drawCurve(g, box, x, y) {
    g.save();
    g.beginPath();
    g.rect(box.x, 0, box.width, box.height);
    g.clip();
    g.beginPath();
    g.moveTo(x(this.times[0]), box.height);
    for (let i = 0; i < this.times.length; i++) {
      if (i) g.lineTo(x(this.times[i]), y(this.bytes[i - 1]));
      g.lineTo(x(this.times[i]), y(this.bytes[i]));
    }
    g.lineTo(Math.max(x(this.times[this.times.length - 1]), box.x), box.height);
    g.fillStyle = color('--memory-fill');
    if (this.sites.list.length) this.drawSites(g, x, y);
    else g.fill();
    g.strokeStyle = color('--memory');
    g.lineWidth = 1.5;
    g.stroke();
    g.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {{ x: number, width: number }} box
   * @param {(time: number) => number} x
   * @param {(bytes: number) => number} y
   */
  drawPeak(g, box, x, y) {
    const { heap } = this.store.recording.header;
    if (!heap?.peak_bytes || heap.peak_ns === undefined) return;
    const at = x(heap.peak_ns);
    if (at < box.x || at > box.x + box.width) return;
    g.fillStyle = color('--bad');
    g.beginPath();
    g.arc(at, y(heap.peak_bytes), 4, 0, 7);
    g.fill();
    const text = `peak ${amount(heap.peak_bytes, 'bytes')}${this.error()}`;
    const room = g.measureText(text).width;
    g.fillStyle = color('--text');
    g.fillText(text, at + 8 + room > box.x + box.width ? at - 8 - room : at + 8, y(heap.peak_bytes) + 1);
  }
}
