// SPDX-License-Identifier: Apache-2.0
import { amount, moment, shorten, visible } from './format.js';
import { announce, button, chooser, context, el, facts, fill, hideTip, showTip, soon } from './dom.js';
import { SMALL, drawAxis, spanText } from './axis.js';
import { barWidth } from './model.js';
import { color, onTheme } from './theme.js';

/**
 * The calls of one function: when they began and how long they took, as a heat
 * map with a histogram beside it, and a list of the slowest.
 */

/**
 * @typedef {{
 *   fn: number, begin: number, duration: number, stopped: number, thread: number, depth: number,
 *   unfinished: boolean, text: string, states: number[] | null,
 * }} Call  text: its arguments; states: on CPU, runnable, blocked; null: not known
 * @typedef {{ bucket: number, row: number, calls: number }} Cell
 * @typedef {{ bucket: number, row: number }} Place
 */

const HEAT_LEFT = 64;
const HEAT_AXIS = 18;
const BARS_RIGHT = 120;
const BARS_GAP = 8;
const ROWS_SHOWN = 100;

/** @param {import('./model.js').Recording} recording @returns {Map<number, Call[]>} the slowest calls of each function */
function readSlowest({ data, functions, threads }) {
  const begin = data.numbers('slow.begin');
  const count = begin.length;
  const fn = data.indices('slow.function', Math.max(1, functions), count);
  const thread = data.indices('slow.thread', Math.max(1, threads.length), count);
  const [duration, stopped, depth, unfinished] = ['duration', 'stopped', 'depth', 'unfinished'].map((name) => data.numbers(`slow.${name}`));
  const text = data.indices('slow.arguments', data.textCount(), count);
  const parts = ['on_cpu', 'runnable', 'blocked'].filter((name) => data.has(`slow.${name}`)).map((name) => data.numbers(`slow.${name}`));
  /** @type {Map<number, Call[]>} */
  const calls = new Map();
  for (let i = 0; i < count; i++) {
    const states = parts.map((part) => part[i] ?? 0);
    const call = {
      fn: fn[i], begin: begin[i], duration: duration[i] ?? 0, stopped: stopped[i] ?? 0, thread: thread[i], depth: depth[i] ?? 0,
      unfinished: Boolean(unfinished[i]), text: visible(data.text(text[i])), states: states.some((ns) => ns > 0) ? states : null,
    };
    const list = calls.get(fn[i]);
    if (list) list.push(call);
    else calls.set(fn[i], [call]);
  }
  return calls;
}

/** The view of the calls of a function. */
export class CallsView {
  /**
   * @param {import('./store.js').Store} store
   * @param {import('./timeline.js').TimelineView} timeline
   * @param {(fn: number) => void} onopen
   */
  constructor(store, timeline, onopen) {
    this.store = store;
    this.timeline = timeline;
    const { recording } = store;
    /** Read when the view is first seen. @type {Map<number, Call[]>} */
    this.slowest = new Map();
    this.isThere = Boolean(recording.data.columns.get('slow.begin')?.head.count);
    this.heat = recording.header.heat ?? { count: 0, first_ns: 0, width_ns: 1, exact: true };
    this.fn = -1;
    /** @type {Cell[]} */
    this.cells = [];
    /** @type {number[]} least durations of the rows, from the bottom */
    this.rows = [];
    /** @type {Place} */
    this.cursor = { bucket: 0, row: 0 };
    /** @type {Place} */
    this.anchor = this.cursor;
    /** @type {{ x: number, y: number, moved: boolean, inBars: boolean } | null} */
    this.drag = null;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.map = el('div', {
      class: 'heat', tabindex: 0, role: 'slider', 'aria-label': 'Durations over time', 'aria-valuenow': 0,
      'aria-description': 'Arrows move in time and duration, Shift with arrows chooses calls, Escape shows all.',
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onpointerdown: (/** @type {PointerEvent} */ event) => this.down(event),
      onpointermove: (/** @type {PointerEvent} */ event) => this.move(event),
      onpointerup: (/** @type {PointerEvent} */ event) => this.up(event),
      onpointerleave: () => hideTip(), onfocus: () => this.redraw(), onblur: () => this.redraw(),
    }, this.canvas);
    this.names = chooser('Function', [], '', (fn) => store.set({ fn: Number(fn), durations: null }));
    this.said = el('span', { class: 'muted' });
    this.clear = button('All durations', () => store.set({ durations: null }), { class: 'small', hidden: true });
    this.caption = el('caption');
    this.body = el('tbody');
    this.empty = el('p', { class: 'empty', hidden: true }, 'No call of this function has a time: none was recorded, or only counted. Choose another function.');
    this.parts = el('div', {}, this.map, el('div', { class: 'scroll' }, el('table', { class: 'calls' }, this.caption, this.header(), this.body)));
    this.element = el('div', { class: 'view' }, el('section', { class: 'panel', 'aria-label': 'Calls of a function' },
      el('div', { class: 'panel-head' }, this.names.field, this.said, el('span', { class: 'space' }), this.clear,
        button('Callers and callees', () => onopen(this.fn), { class: 'small' })), this.empty, this.parts));
    this.redraw = soon(() => this.draw());
    if (!this.isThere) return;
    onTheme(() => this.draw());
    new ResizeObserver(this.redraw).observe(this.map);
    store.follow(['fn', 'tab'], () => this.choose());
    store.follow(['durations', 'range', 'threads'], () => this.update());
  }

  /** Reads the calls, and lists their functions, that with the slowest call first. */
  read() {
    const { recording } = this.store;
    const slowest = [...readSlowest(recording)].sort(([, a], [, b]) => b[0].duration - a[0].duration);
    this.slowest = new Map(slowest);
    fill(this.names.select, slowest.map(([fn, calls]) =>
      el('option', { value: fn }, `${shorten(recording.name(fn), 90)} · at most ${amount(calls[0].duration, 'nanoseconds')}`)));
  }

  header() {
    const number = ['Took', 'On CPU', 'Runnable', 'Blocked'].map((title) => el('th', { scope: 'col', class: 'number' }, title));
    return el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Begins at'), number,
      el('th', { scope: 'col' }, 'Thread'), el('th', { scope: 'col' }, 'Arguments')));
  }

  /** @returns {number} of the functions with the most slow calls in the data, the one with the most time: roots are called once */
  usual() {
    const { data } = this.store.recording;
    const most = Math.max(...[...this.slowest.values()].map((calls) => calls.length));
    const totals = data.numbers('function.wall.total');
    return [...this.slowest].filter(([, calls]) => calls.length === most)
      .reduce((best, [fn]) => ((totals[fn] ?? 0) > (totals[best] ?? 0) || best < 0 ? fn : best), -1);
  }

  /** Shows the chosen function, or a usual one. */
  choose() {
    const { state, recording } = this.store;
    if (state.tab !== 'calls') return;
    if (!this.slowest.size) this.read();
    const fn = state.fn >= 0 ? state.fn : this.usual();
    if (fn !== this.fn) {
      this.fn = fn;
      this.readHeat();
      this.map.hidden = !this.rows.length;
      this.names.select.value = String(fn);
      this.map.setAttribute('aria-label', `Durations of ${shorten(recording.name(fn), 200)} over time`);
    }
    const calls = this.slowest.has(fn);
    this.empty.hidden = calls;
    this.parts.hidden = !calls;
    this.update();
  }

  /** Reads the cells of the function. */
  readHeat() {
    const { data, functions } = this.store.recording;
    const ns = data.numbers('heat.ns');
    const fns = data.indices('heat.function', Math.max(1, functions), ns.length);
    const [bucket, calls] = [data.numbers('heat.bucket'), data.numbers('heat.calls')];
    let [low, high] = [Number.POSITIVE_INFINITY, -1];
    for (let i = 0; i < ns.length; i++)
      if (fns[i] === this.fn) [low, high] = [Math.min(low, ns[i]), Math.max(high, ns[i])];
    this.rows = [];
    for (let at = low; at <= high && this.rows.length < 256; at += barWidth(at)) this.rows.push(at);
    const row = new Map(this.rows.map((at, i) => [at, i]));
    this.cells = [];
    for (let i = 0; i < ns.length; i++)
      if (fns[i] === this.fn) this.cells.push({ bucket: bucket[i] ?? 0, row: row.get(ns[i]) ?? 0, calls: calls[i] ?? 0 });
    this.cursor = this.anchor = { bucket: 0, row: Math.max(0, this.rows.length - 1) };
  }

  // --- the selection -------------------------------------------------------

  /** @returns {import('./axis.js').Span} the chosen time */
  get span() {
    return this.store.span ?? { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
  }

  /** @param {number} bucket @returns {number} when it begins */
  timeOf(bucket) {
    return this.heat.first_ns + bucket * this.heat.width_ns;
  }

  /** @returns {Cell[]} the cells that begin in the chosen time */
  inTime() {
    const { from, to } = this.span;
    return this.cells.filter(({ bucket }) => this.timeOf(bucket + 1) > from && this.timeOf(bucket) < to);
  }

  /** @param {number} ns @returns {boolean} whether this duration is chosen */
  isChosen(ns) {
    const { durations } = this.store.state;
    return !durations || (ns >= durations.from && ns < durations.to);
  }

  /** @returns {Call[]} the chosen calls that the page has, the slowest first */
  calls() {
    const { from, to } = this.span;
    const { threads } = this.store.state;
    const calls = [...this.slowest.get(this.fn) ?? []];
    const known = new Set(calls.map(({ thread, begin, depth }) => `${thread} ${depth} ${begin}`));
    for (const call of this.timeline.callsOf(this.fn))
      if (!known.has(`${call.thread} ${call.depth} ${call.begin}`)) calls.push({ ...call, stopped: 0, unfinished: false, text: '', states: null });
    return calls.filter((call) => this.isChosen(call.duration) && call.begin >= from && call.begin < to && (!threads || threads.has(call.thread)))
      .sort((a, b) => b.duration - a.duration || a.begin - b.begin);
  }

  update() {
    if (this.store.state.tab !== 'calls' || !this.isThere) return;
    const { durations, range, threads } = this.store.state;
    const calls = this.calls();
    const shown = calls.slice(0, ROWS_SHOWN);
    const cells = this.inTime().filter(({ row }) => this.isChosen(this.rows[row]));
    const count = cells.reduce((sum, cell) => sum + cell.calls, 0);
    const what = [durations && `from ${amount(durations.from, 'nanoseconds')} to ${amount(durations.to, 'nanoseconds')}`, range && `that begin ${spanText(this.span)}`];
    this.clear.hidden = !durations;
    this.said.textContent = this.cells.length
      ? `${amount(count, 'count')} ${this.heat.exact ? '' : 'of the longest '}${count === 1 ? 'call' : 'calls'} ${what.filter(Boolean).join(', ')}` : '';
    this.caption.textContent = `${shown.length} of ${amount(Math.max(count, calls.length), 'count')} calls, the slowest first${threads ? ', in the chosen threads' : ''}. Durations are as measured, with perfrec’s own time${this.heat.exact ? '' : ' and its stops'}.`;
    fill(this.body, shown.map((call) => this.row(call)));
    this.redraw();
  }

  /** @param {Call} call */
  row(call) {
    const { recording } = this.store;
    const ns = (/** @type {number} */ time) => amount(time, 'nanoseconds');
    const states = (call.states ?? [Number.NaN, Number.NaN, Number.NaN]).map((time) => el('td', { class: 'number', 'data-raw': time }, ns(time)));
    const stopped = call.stopped ? el('span', { class: 'badge' }, `perfrec stopped it for ${ns(call.stopped)}`) : null;
    return el('tr', {}, el('th', { scope: 'row' },
      button(moment(call.begin, 1e3), () => this.timeline.reveal(call), { class: 'link', title: 'Show it in the threads' })),
    el('td', { class: 'number', 'data-raw': call.duration }, call.unfinished ? `> ${ns(call.duration)}` : ns(call.duration)), states,
    el('td', {}, recording.threadName(call.thread)), el('td', { class: 'arguments' }, shorten(call.text, 400), stopped));
  }

  // --- painting ------------------------------------------------------------

  get right() {
    return this.map.clientWidth < 560 ? 60 : BARS_RIGHT;
  }

  /** @returns {{ width: number, height: number, step: number, high: number }} of the map; of a bucket and of a row */
  box() {
    const width = Math.max(1, this.map.clientWidth - HEAT_LEFT - this.right - BARS_GAP);
    const high = Math.max(4, Math.min(14, 180 / Math.max(1, this.rows.length)));
    return { width, height: high * Math.max(1, this.rows.length), step: width / Math.max(1, this.heat.count), high };
  }

  draw() {
    if (this.store.state.tab !== 'calls' || !this.map.clientWidth || !this.rows.length) return;
    const { width, height, step, high } = this.box();
    const g = context(this.canvas, this.map.clientWidth, height + HEAT_AXIS);
    drawAxis(g, { from: this.timeOf(0), to: this.timeOf(this.heat.count) }, { x: HEAT_LEFT, y: height, width, height });
    const most = Math.log1p(Math.max(...this.cells.map((cell) => cell.calls)));
    g.fillStyle = color('--heat');
    for (const { bucket, row, calls } of this.cells) {
      g.globalAlpha = 0.3 + (0.7 * Math.log1p(calls)) / most;
      g.fillRect(HEAT_LEFT + bucket * step, height - (row + 1) * high, Math.max(1.5, step), Math.max(1, high - 0.5));
    }
    g.globalAlpha = 1;
    this.drawBars(g, height, high);
    this.drawChosen(g);
  }

  /** @param {CanvasRenderingContext2D} g @param {number} height @param {number} high  labels of rows, and the histogram */
  drawBars(g, height, high) {
    const sums = new Float64Array(this.rows.length);
    for (const { row, calls } of this.inTime()) sums[row] += calls;
    const most = Math.log1p(Math.max(1, ...sums));
    const x = this.map.clientWidth - this.right;
    g.font = SMALL;
    g.textBaseline = 'middle';
    let labelled = Number.POSITIVE_INFINITY;
    for (const [row, ns] of this.rows.entries()) {
      const y = height - (row + 1) * high;
      const size = (Math.log1p(sums[row]) / most) * this.right;
      g.fillStyle = color(this.isChosen(ns) ? '--calls' : '--rest');
      if (sums[row]) g.fillRect(x, y, Math.max(1, size), high - 0.5);
      g.fillStyle = color('--muted');
      if (y + high > labelled - 13) continue;
      labelled = y + high;
      g.fillText(amount(ns, 'nanoseconds'), 0, Math.max(6, y + high / 2));
    }
  }

  /** @param {CanvasRenderingContext2D} g */
  drawChosen(g) {
    const { durations, range } = this.store.state;
    const { width, height, step, high } = this.box();
    const x = (/** @type {number} */ time) => HEAT_LEFT + Math.max(0, Math.min(width, ((time - this.heat.first_ns) / this.heat.width_ns) * step));
    const y = (/** @type {number} */ ns) => height - this.rows.filter((at) => at < ns).length * high;
    if (range || durations) {
      const [from, to] = [x(this.span.from), x(this.span.to)];
      const [top, bottom] = durations ? [y(durations.to), y(durations.from)] : [0, height];
      g.strokeStyle = color('--accent');
      g.lineWidth = 2;
      g.strokeRect(from, top, Math.max(2, to - from), Math.max(2, bottom - top));
    }
    if (document.activeElement === this.map) {
      g.strokeStyle = color('--focus');
      g.lineWidth = 1.5;
      g.strokeRect(HEAT_LEFT + this.cursor.bucket * step, height - (this.cursor.row + 1) * high, Math.max(3, step), high);
    }
  }

  // --- what a person does --------------------------------------------------

  /** @param {PointerEvent} event @returns {Place & { inBars: boolean }} */
  placeAt(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const { width, height, step, high } = this.box();
    const x = event.clientX - left - HEAT_LEFT;
    const row = Math.floor((height - (event.clientY - top)) / high);
    return { bucket: Math.max(0, Math.min(this.heat.count - 1, Math.floor(x / step))), row: Math.max(0, Math.min(this.rows.length - 1, row)), inBars: x > width };
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button || !this.rows.length) return;
    this.map.setPointerCapture(event.pointerId);
    const place = this.placeAt(event);
    this.anchor = this.cursor = place;
    this.drag = { x: event.clientX, y: event.clientY, moved: false, inBars: place.inBars };
    hideTip();
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.rows.length) return;
    const place = this.placeAt(event);
    if (!this.drag) return this.tip(event, place);
    if (Math.abs(event.clientX - this.drag.x) + Math.abs(event.clientY - this.drag.y) > 3) this.drag.moved = true;
    if (!this.drag.moved) return;
    this.cursor = place;
    this.select(!this.drag.inBars);
  }

  /** @param {PointerEvent} event */
  up(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag || drag.moved) return;
    this.cursor = this.anchor = this.placeAt(event);
    if (this.store.state.durations) this.store.set({ durations: null });
    else this.select(!drag.inBars);
  }

  /** @param {boolean} inTime the time is chosen, too  Chooses what lies between anchor and cursor. */
  select(inTime) {
    const [a, b] = [this.anchor, this.cursor];
    const top = this.rows[Math.max(a.row, b.row)];
    /** @type {Partial<import('./store.js').State>} */
    const patch = { durations: { from: this.rows[Math.min(a.row, b.row)], to: top + barWidth(top) } };
    if (inTime) patch.range = this.store.rangeOf({ from: this.timeOf(Math.min(a.bucket, b.bucket)), to: this.timeOf(Math.max(a.bucket, b.bucket) + 1) });
    this.store.set(patch);
  }

  /** @param {PointerEvent} event @param {Place & { inBars: boolean }} place */
  tip(event, place) {
    const sum = this.callsAt(place, place.inBars);
    showTip(event.clientX, event.clientY, [facts([
      ['took', this.rowText(place.row)], ['begin', place.inBars ? '' : spanText({ from: this.timeOf(place.bucket), to: this.timeOf(place.bucket + 1) })],
      ['calls', amount(sum, 'count')]])]);
  }

  /** @param {Place} place @param {boolean} any of all buckets that are chosen @returns {number} */
  callsAt({ bucket, row }, any) {
    return (any ? this.inTime() : this.cells).reduce((sum, cell) => sum + (cell.row === row && (any || cell.bucket === bucket) ? cell.calls : 0), 0);
  }

  /** @param {number} row */
  rowText(row) {
    const ns = this.rows[row] ?? 0;
    return `${amount(ns, 'nanoseconds')} – ${amount(ns + barWidth(ns), 'nanoseconds')}`;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.rows.length) return;
    if (event.key === 'Escape' && this.store.state.durations) {
      this.store.set({ durations: null });
      event.stopPropagation();
      return;
    }
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], PageUp: [0, 4], PageDown: [0, -4],
      Home: [-this.heat.count, 0], End: [this.heat.count, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const clamp = (/** @type {number} */ n, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, n));
    this.cursor = { bucket: clamp(this.cursor.bucket + step[0], this.heat.count), row: clamp(this.cursor.row + step[1], this.rows.length) };
    if (event.shiftKey) this.select(true);
    else this.anchor = this.cursor;
    this.map.setAttribute('aria-valuenow', String(this.cursor.row));
    this.map.setAttribute('aria-valuetext', `${this.rowText(this.cursor.row)}, at ${spanText({ from: this.timeOf(this.cursor.bucket), to: this.timeOf(this.cursor.bucket + 1) })}: ${amount(this.callsAt(this.cursor, false), 'count')} calls`);
    announce(this.map.getAttribute('aria-valuetext') ?? '');
    this.redraw();
  }
}
