// SPDX-License-Identifier: Apache-2.0
import { amount, shorten } from './format.js';
import { announce, button, context, el, facts, hideTip, showTip, soon } from './dom.js';
import { color, onTheme } from './theme.js';
import { SMALL, drawAxis, hatch, spanText } from './axis.js';

/**
 * The whole recording over time, in buckets. A range of buckets is chosen by
 * dragging or by the keyboard, and all below follows it.
 */

/**
 * @typedef {{
 *   key: string, title: string, unit: string, color: string, numbers: Float64Array, most: number, isCounter: boolean,
 * }} Series  isCounter: a counter of the trace, which is shown only when it is asked for
 */

const STRIP = 34;
const STRIP_GAP = 6;
const OVERVIEW_AXIS = 18;
const TITLES_LEFT = 132;

/** @type {Record<string, { title: string, unit: string, color: string }>} */
const KNOWN_SERIES = {
  memory: { title: 'Memory in use', unit: 'bytes', color: '--memory' },
  lost: { title: 'Lost calls', unit: 'count', color: '--bad' },
  paused: { title: 'Calls in a pause', unit: 'count', color: '--other' },
  muted: { title: 'Functions not recorded', unit: 'count', color: '--other' },
};
/** Series that say that a bucket without calls need not be idle. */
const GAPS = ['lost', 'paused', 'muted'];
/** @type {Record<string, string>} */
const SERIES_COLORS = { calls: '--calls', cpu: '--cpu', wall: '--other' };

/** @param {import('./model.js').Recording} recording @returns {Series[]} the series that are not 0 everywhere */
export function seriesOf(recording) {
  const count = recording.header.buckets?.count ?? 0;
  /** @type {(Series & { isPassing: boolean, order: number })[]} */
  const series = [];
  for (const name of recording.data.columns.keys()) {
    if (!name.startsWith('overview.')) continue;
    const key = name.slice('overview.'.length);
    const numbers = recording.data.numbers(name);
    let most = 0;
    for (const number of numbers) most = Math.max(most, number);
    if (!most || numbers.length !== count) continue;
    const value = recording.value(key);
    const counter = recording.header.counters?.find((one) => one.key === key);
    const known = KNOWN_SERIES[key] ?? (counter && { title: counter.title, unit: counter.unit, color: '--other' }) ?? { title: value?.title ?? key, unit: value?.unit ?? 'count', color: SERIES_COLORS[key] ?? '--other' };
    // Time that passes in calls is as even as the number of threads.
    const isPassing = value?.unit === 'nanoseconds' && value.from === 'calls';
    const order = value ? recording.values.indexOf(value) : recording.values.length;
    series.push({ ...known, key, numbers, most, isCounter: !!counter, isPassing, order });
  }
  series.sort((a, b) => a.order - b.order);
  const others = series.filter((one) => !one.isPassing);
  return others.some((one) => !one.isCounter) ? others : series;
}

/** @param {Series[]} series @param {number} count of buckets @returns {boolean[]} true for buckets with calls that were not recorded */
function gapsOf(series, count) {
  const gaps = series.filter((one) => GAPS.includes(one.key));
  return Array.from({ length: count }, (_, i) => gaps.some((one) => one.numbers[i] > 0));
}

/** The overview; there is none in a recording without times. */
export class Overview {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.buckets = store.recording.header.buckets ?? { count: 0, first_ns: 0, width_ns: 1 };
    this.all = seriesOf(store.recording);
    this.series = this.all.filter((one) => !one.isCounter);
    this.gaps = gapsOf(this.all, this.buckets.count);
    this.isThere = this.buckets.count > 0 && this.series.length > 0;
    this.more = this.makeMore();
    this.cursor = 0;
    this.anchor = 0;
    this.dragging = false;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.element = el('div', {
      class: 'overview', tabindex: 0, role: 'slider', 'aria-label': 'Time range', 'aria-valuemin': 0,
      'aria-valuemax': Math.max(0, this.buckets.count - 1), 'aria-valuenow': 0,
      'aria-description': 'Arrows move, Shift with arrows chooses a range, Escape shows all.',
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onpointerdown: (/** @type {PointerEvent} */ event) => this.down(event),
      onpointermove: (/** @type {PointerEvent} */ event) => this.move(event),
      onpointerup: () => this.up(),
      onpointercancel: () => this.up(),
      onpointerleave: () => hideTip(),
      onfocus: () => this.redraw(),
      onblur: () => this.redraw(),
    }, this.canvas);
    this.redraw = soon(() => this.draw());
    if (!this.isThere) return;
    this.tell();
    onTheme(() => this.draw());
    new ResizeObserver(this.redraw).observe(this.element);
    store.follow(['range'], this.redraw);
  }

  /** @returns {HTMLElement} a button for the counters, and what the hatching says */
  makeMore() {
    const hatched = this.gaps.some((gap, i) => gap && !this.series.find((one) => one.key === 'calls')?.numbers[i]);
    const legend = hatched ? el('ul', { class: 'legend' }, el('li', {}, el('i', { class: 'stopped' }), 'Not all calls were recorded here, so a program without calls need not be idle')) : null;
    const count = this.all.length - this.series.length;
    if (!count) return el('div', { class: 'overview-more' }, legend);
    const what = count === 1 ? 'curve' : 'curves';
    const toggle = button(`${count} more ${what}`, () => {
      const isMore = this.series.length < this.all.length;
      this.series = isMore ? this.all : this.all.filter((one) => !one.isCounter);
      toggle.textContent = isMore ? 'Fewer curves' : `${count} more ${what}`;
      this.tell();
      this.draw();
    }, { class: 'small' });
    return el('div', { class: 'overview-more' }, legend, toggle);
  }

  get left() {
    return this.element.clientWidth < 560 ? 0 : TITLES_LEFT;
  }

  // --- painting ------------------------------------------------------------

  draw() {
    const width = this.element.clientWidth;
    if (!width) return;
    const { left, series } = this;
    const height = series.length * (STRIP + STRIP_GAP) + OVERVIEW_AXIS;
    const g = context(this.canvas, width, height);
    const box = { x: left, y: height - OVERVIEW_AXIS, width: width - left, height: height - OVERVIEW_AXIS };
    drawAxis(g, this.span(0, this.buckets.count), box);
    for (const [i, one] of series.entries()) this.drawStrip(g, one, i * (STRIP + STRIP_GAP), box);
    this.drawRange(g, box);
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {Series} series
   * @param {number} y
   * @param {{ x: number, width: number }} box
   */
  drawStrip(g, series, y, box) {
    const { count } = this.buckets;
    const step = box.width / count;
    g.fillStyle = color(series.color);
    for (let i = 0; i < count; i++) {
      const size = (series.numbers[i] / series.most) * (STRIP - 2);
      if (size > 0) g.fillRect(box.x + i * step, y + STRIP - Math.max(1, size), Math.max(0.6, step - (step > 3 ? 0.5 : 0)), Math.max(1, size));
    }
    if (series.key === 'calls') this.drawHatch(g, series, y, box);
    g.fillStyle = color('--line');
    g.fillRect(box.x, y + STRIP, box.width, 1);
    g.textBaseline = 'middle';
    g.font = `600 ${SMALL}`;
    g.fillStyle = color('--text');
    const most = `at most ${amount(series.most, series.unit)}`;
    if (box.x) {
      g.fillText(shorten(series.title, 20), 0, y + STRIP / 2 - 7);
      g.font = SMALL;
      g.fillStyle = color('--muted');
      g.fillText(most, 0, y + STRIP / 2 + 7);
    } else g.fillText(series.title, 4, y + 8);
  }

  /**
   * Hatches buckets without a call whose calls may not have been recorded.
   * @param {CanvasRenderingContext2D} g
   * @param {Series} series
   * @param {number} y
   * @param {{ x: number, width: number }} box
   */
  drawHatch(g, series, y, box) {
    const step = box.width / this.buckets.count;
    g.save();
    g.beginPath();
    for (let i = 0; i < this.buckets.count; i++)
      if (this.gaps[i] && !series.numbers[i]) g.rect(box.x + i * step, y + 2, step, STRIP - 2);
    g.clip();
    hatch(g, box.x, y, box.width, STRIP, '--muted', 1);
    g.restore();
  }

  /** @param {CanvasRenderingContext2D} g @param {{ x: number, width: number, height: number }} box */
  drawRange(g, box) {
    const { range } = this.store.state;
    const at = (/** @type {number} */ bucket) => box.x + (bucket / this.buckets.count) * box.width;
    if (range) {
      g.fillStyle = color('--veil');
      g.fillRect(box.x, 0, at(range.from) - box.x, box.height);
      g.fillRect(at(range.to), 0, box.x + box.width - at(range.to), box.height);
      g.fillStyle = color('--accent');
      g.fillRect(at(range.from) - 1, 0, 2, box.height);
      g.fillRect(at(range.to) - 1, 0, 2, box.height);
    }
    if (document.activeElement === this.element && !this.dragging) {
      g.strokeStyle = color('--focus');
      g.lineWidth = 1.5;
      g.strokeRect(at(this.cursor), 0.75, Math.max(2, box.width / this.buckets.count), box.height - 1.5);
    }
  }

  // --- what a person does --------------------------------------------------

  /** @param {number} from @param {number} to buckets @returns {import('./axis.js').Span} */
  span(from, to) {
    const { first_ns: first, width_ns: width } = this.buckets;
    return { from: first + from * width, to: first + to * width };
  }

  /** @param {PointerEvent} event @returns {number} */
  bucketAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - this.left) / (box.width - this.left);
    return Math.max(0, Math.min(this.buckets.count - 1, Math.floor(share * this.buckets.count)));
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button) return;
    this.element.setPointerCapture(event.pointerId);
    this.dragging = true;
    this.moved = false;
    this.anchor = this.cursor = this.bucketAt(event);
    this.start = event.clientX;
    hideTip();
  }

  /** @param {PointerEvent} event */
  move(event) {
    const bucket = this.bucketAt(event);
    if (!this.dragging) {
      showTip(event.clientX, event.clientY, this.tipOf(bucket));
      return;
    }
    if (Math.abs(event.clientX - (this.start ?? 0)) > 3) this.moved = true;
    if (!this.moved || (bucket === this.cursor && this.store.state.range)) return;
    this.cursor = bucket;
    this.choose();
  }

  up() {
    if (!this.dragging) return;
    this.dragging = false;
    if (this.moved) this.tell();
    else if (this.store.state.range) this.clear();
    else this.redraw();
  }

  choose() {
    const [from, last] = [Math.min(this.anchor, this.cursor), Math.max(this.anchor, this.cursor)];
    this.store.set({ range: { from, to: last + 1 } });
  }

  clear() {
    this.store.set({ range: null });
    announce('The whole recording is shown.');
    this.redraw();
  }

  /** @param {number} bucket */
  tipOf(bucket) {
    return [
      el('b', {}, spanText(this.span(bucket, bucket + 1))),
      facts(this.series.map((one) => [one.title, amount(one.numbers[bucket], one.unit)])),
      this.gapText(bucket),
    ];
  }

  /** @param {number} bucket @returns {string} the hint for a bucket that seems idle */
  gapText(bucket) {
    const calls = this.all.find((one) => one.key === 'calls');
    return this.gaps[bucket] && !calls?.numbers[bucket] ? 'It need not be idle: not all calls were recorded.' : '';
  }

  tell() {
    const { range } = this.store.state;
    const bucket = this.cursor;
    const parts = this.series.map((one) => `${one.title} ${amount(one.numbers[bucket], one.unit)}`);
    const chosen = range ? `Chosen: ${spanText(this.span(range.from, range.to))}. ` : '';
    const text = `${chosen}At ${spanText(this.span(bucket, bucket + 1))}: ${parts.join(', ')}. ${this.gapText(bucket)}`.trim();
    this.element.setAttribute('aria-valuenow', String(bucket));
    this.element.setAttribute('aria-valuetext', text);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const last = this.buckets.count - 1;
    const big = Math.max(1, Math.round(last / 20));
    /** @type {Record<string, number>} */
    const to = {
      ArrowLeft: this.cursor - 1, ArrowRight: this.cursor + 1, PageUp: this.cursor - big,
      PageDown: this.cursor + big, Home: 0, End: last,
    };
    const next = to[event.key];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.cursor = Math.max(0, Math.min(last, next));
    if (event.shiftKey) this.choose();
    else this.anchor = this.cursor;
    this.tell();
    this.redraw();
  }
}
