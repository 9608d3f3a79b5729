// SPDX-License-Identifier: Apache-2.0
import { amount } from './format.js';
import { button, context, el, fill, soon } from './dom.js';
import { color, onTheme } from './theme.js';
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
    this.values = recording.values.filter((value) => value.from === 'allocations');
    this.isThere = this.values.length > 0 || this.times.length > 1;
    this.canvas = el('canvas', { role: 'img' });
    this.curve = el('div', { class: 'curve' }, this.canvas);
    this.table = new FunctionTable(store, onopen, this.values);
    fill(this.table.panelHead, el('h2', {}, 'Who allocated it'),
      el('span', { class: 'muted' }, 'In use at the end: blocks that were never freed. Of the whole recording.'),
      el('span', { class: 'space' }),
      el('span', { class: 'muted' }, 'Flame graph:'), this.values.map((value) => button(value.title,
        () => onvalue(value.key), { class: 'small', 'aria-label': `Flame graph: ${value.title}` })));
    this.element = el('div', { class: 'view' },
      this.times.length > 1 ? el('section', { class: 'panel', 'aria-label': 'Memory over time' },
        el('div', { class: 'panel-head' }, el('h2', {}, 'Memory in use'), el('span', { class: 'muted' }, this.sentence())), this.curve) : null,
      this.values.length ? this.table.element : null);
    this.redraw = soon(() => this.draw());
    if (!this.isThere) return;
    this.canvas.setAttribute('aria-label', `Memory in use over time. ${this.sentence()}`);
    onTheme(() => this.draw());
    new ResizeObserver(this.redraw).observe(this.curve);
    store.follow(['range', 'tab'], this.redraw);
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
    const { range } = this.store.state;
    const { buckets } = this.store.recording.header;
    if (range && buckets)
      return { from: buckets.first_ns + range.from * buckets.width_ns, to: buckets.first_ns + range.to * buckets.width_ns };
    return { from: Math.min(this.store.recording.header.time?.first_ns ?? 0, this.times[0]), to: Math.max(1, this.times[this.times.length - 1]) };
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
    g.fill();
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
