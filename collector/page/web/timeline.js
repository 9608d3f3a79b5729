// SPDX-License-Identifier: Apache-2.0
import { amount, baseName, moment, shorten } from './format.js';
import { announce, button, context, el, facts, fill, hideTip, showTip, soon } from './dom.js';
import { color, onTheme } from './theme.js';
import { drawAxis, spanText } from './axis.js';

/**
 * The calls of each thread over time. The data has levels of detail: at each
 * zoom, the timeline draws the coarsest level whose parts are at most a pixel
 * wide, so that the longest call of each pixel is visible.
 */

/** @typedef {import('./axis.js').Span} Span */
/**
 * Calls of one thread and depth, sorted by begin: from `first` up to and
 * without `end` in the columns of its level.
 * @typedef {{ thread: number, depth: number, first: number, end: number }} Lane
 * @typedef {{
 *   width: number, begin: Float64Array, duration: Float64Array, fn: Int32Array, count: Float64Array,
 *   lanes: Map<string, Lane>, whole: boolean,
 * }} Level  whole: it has every call
 * @typedef {{ thread: number, y: number, depths: number, shown: number }} Track
 */

const CALL_ROW = 16;
const TRACK_GAP = 18;
const TIMELINE_AXIS = 20;
const NAME_ROW = 14; // above the calls, where there is no room on the left
const MOST_ROWS = 12; // of a thread, unless all are asked for
const NAMES_LEFT = 150;
const CALL_FONT = '10.5px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

/** @param {import('./model.js').Recording} recording @param {{ level: number, width_ns: number }} head @returns {Level} */
function readLevel({ data, functions, threads }, head) {
  const name = `timeline.${head.level}`;
  const begin = data.numbers(`${name}.begin`);
  const count = begin.length;
  const thread = data.indices(`${name}.thread`, Math.max(1, threads.length), count);
  const depth = data.numbers(`${name}.depth`);
  /** @type {Map<string, Lane>} */
  const lanes = new Map();
  for (let i = 0; i < count; i++) {
    const key = `${thread[i]} ${depth[i]}`;
    const lane = lanes.get(key);
    if (lane && lane.end === i) lane.end++;
    else lanes.set(key, { thread: thread[i], depth: depth[i], first: i, end: i + 1 });
  }
  const counts = data.numbers(`${name}.count`);
  return {
    width: head.width_ns, begin, duration: data.numbers(`${name}.duration`),
    fn: data.indices(`${name}.function`, Math.max(1, functions), count), count: counts, lanes,
    whole: counts.every((one) => one <= 1),
  };
}

/** The view of threads. */
export class TimelineView {
  /** @param {import('./store.js').Store} store @param {import('./theme.js').Palette} palette @param {(fn: number) => void} onopen */
  constructor(store, palette, onopen) {
    this.store = store;
    this.palette = palette;
    this.onopen = onopen;
    this.heads = [...(store.recording.header.timeline ?? [])].sort((a, b) => a.width_ns - b.width_ns);
    this.isThere = this.heads.length > 0;
    /** @type {Map<number, Level>} */
    this.levels = new Map();
    this.whole = this.wholeSpan();
    this.span = { ...this.whole };
    /** @type {Track[]} */
    this.tracks = [];
    /** @type {{ lane: Lane, index: number, level: Level } | null} */
    this.focused = null;
    /** A call that is outlined, although its level may lack it. @type {{ thread: number, depth: number, begin: number, duration: number } | null} */
    this.marked = null;
    /** @type {{ x: number, span: Span, moved: boolean } | null} */
    this.drag = null;
    /** @type {(() => void) | null} */
    this.onlook = null;
    this.height = 0;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.spacer = el('div', { class: 'spacer' }, this.canvas);
    this.item = el('div', { id: 'timeline-item', role: 'treeitem', class: 'unseen', 'aria-selected': 'true' }, 'No call is chosen');
    this.shown = el('span', { class: 'muted' });
    this.allRows = false;
    this.rowsButton = button('', () => this.toggleRows(), { class: 'small', hidden: true });
    this.details = el('div', { class: 'details' });
    this.scroller = this.makeScroller();
    this.element = this.makeElement();
    this.redraw = soon(() => this.draw());
    if (!this.isThere) return;
    onTheme(() => this.draw());
    new ResizeObserver(() => this.relayout()).observe(this.scroller);
    store.follow(['range'], () => this.followRange());
    store.follow(['threads', 'tab'], () => this.relayout());
    store.follow(['query', 'colors'], () => this.redraw());
  }

  /** @returns {Span} */
  wholeSpan() {
    const { buckets, time } = /** @type {any} */ (this.store.recording.header);
    if (time?.last_ns > (time?.first_ns ?? 0)) return { from: time.first_ns ?? 0, to: time.last_ns };
    if (buckets?.count) return { from: buckets.first_ns, to: buckets.first_ns + buckets.count * buckets.width_ns };
    return { from: 0, to: 1 };
  }

  makeScroller() {
    return el('div', {
      class: 'timeline', role: 'tree', tabindex: 0, 'aria-label': 'Calls of each thread over time',
      'aria-activedescendant': 'timeline-item',
      'aria-description': 'Arrows move, plus and minus zoom, comma and full stop go to the call before and after, less and greater to caller and callee, Enter zooms to the call.',
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onscroll: () => this.redraw(),
      onwheel: (/** @type {WheelEvent} */ event) => this.wheel(event),
      onpointerdown: (/** @type {PointerEvent} */ event) => this.down(event),
      onpointermove: (/** @type {PointerEvent} */ event) => this.move(event),
      onpointerup: (/** @type {PointerEvent} */ event) => this.up(event),
      onpointerleave: () => hideTip(),
      onfocus: () => this.redraw(), onblur: () => this.redraw(),
    }, this.item, this.spacer);
  }

  makeElement() {
    const small = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ action) =>
      button(text, action, { class: 'small', title, 'aria-label': title });
    return el('div', { class: 'view' }, el('section', { class: 'panel', 'aria-label': 'Threads' },
      el('div', { class: 'panel-head' }, el('h2', {}, 'Threads over time'), this.shown, el('span', { class: 'space' }), this.rowsButton,
        small('−', 'Zoom out', () => this.zoom(2)), small('+', 'Zoom in', () => this.zoom(0.5)),
        small('All', 'Show the whole time', () => this.look(this.whole))),
      this.scroller, this.details));
  }

  /** @returns {Span} the range of the overview */
  get range() {
    const { range } = this.store.state;
    const { buckets } = this.store.recording.header;
    if (!range || !buckets) return this.whole;
    return this.within({ from: buckets.first_ns + range.from * buckets.width_ns, to: buckets.first_ns + range.to * buckets.width_ns });
  }

  get showsRange() {
    const { from, to } = this.range;
    return this.span.from === from && this.span.to === to;
  }

  followRange() {
    this.look(this.range);
  }

  /** @returns {Level} for a pixel of so many nanoseconds */
  level() {
    const pixel = (this.span.to - this.span.from) / Math.max(1, this.width());
    let index = 0;
    for (const [i, head] of this.heads.entries()) if (head.width_ns <= pixel) index = i;
    return this.levelAt(index);
  }

  /** @param {number} index of a level @returns {Level} */
  levelAt(index) {
    let level = this.levels.get(index);
    if (!level) {
      level = readLevel(this.store.recording, this.heads[index]);
      this.levels.set(index, level);
    }
    return level;
  }

  /** @param {number} fn @returns {{ fn: number, thread: number, depth: number, begin: number, duration: number }[]} its calls on the finest level */
  callsOf(fn) {
    if (!this.isThere) return [];
    const level = this.levelAt(0);
    const calls = [];
    for (const { thread, depth, first, end } of level.lanes.values())
      for (let i = first; i < end; i++)
        if (level.fn[i] === fn) calls.push({ fn, thread, depth, begin: level.begin[i], duration: level.duration[i] });
    return calls;
  }

  // --- where things are ----------------------------------------------------

  get left() {
    return this.scroller.clientWidth < 560 ? 0 : NAMES_LEFT;
  }

  width() {
    return Math.max(1, this.scroller.clientWidth - this.left);
  }

  relayout() {
    if (this.store.state.tab !== 'threads' || !this.scroller.clientWidth) return;
    const { threads } = this.store.state;
    const depths = new Map();
    for (const lane of this.level().lanes.values())
      depths.set(lane.thread, Math.max(depths.get(lane.thread) ?? 0, lane.depth + 1));
    this.tracks = [];
    let y = 4;
    for (let thread = 0; thread < this.store.recording.threads.length; thread++) {
      const count = depths.get(thread);
      if (!count || (threads && !threads.has(thread))) continue;
      const shown = this.allRows ? count : Math.min(count, MOST_ROWS);
      if (!this.left) y += NAME_ROW;
      this.tracks.push({ thread, y, depths: count, shown });
      y += shown * CALL_ROW + TRACK_GAP;
    }
    this.height = y;
    this.spacer.style.height = `${y + TIMELINE_AXIS}px`;
    this.scroller.style.height = `${Math.max(120, y + TIMELINE_AXIS)}px`;
    this.tellRows();
    this.draw();
  }

  /** Says how deep the calls go, where not all of their rows are shown. */
  tellRows() {
    let deepest = 0;
    for (const { depths } of this.tracks) deepest = Math.max(deepest, depths);
    this.rowsButton.hidden = deepest <= MOST_ROWS;
    this.rowsButton.textContent = this.allRows ? `Show ${MOST_ROWS} rows of each thread` : `Only ${MOST_ROWS} rows of each thread: show all ${deepest}`;
  }

  toggleRows() {
    this.allRows = !this.allRows;
    this.relayout();
  }

  /** @param {Level} level @param {Lane} lane @param {number} time @returns {number} the first call that ends behind it */
  firstAt(level, lane, time) {
    let [low, high] = [lane.first, lane.end];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (level.begin[middle] + level.duration[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param {number} time @returns {number} */
  xOf(time) {
    return this.left + ((time - this.span.from) / (this.span.to - this.span.from)) * this.width();
  }

  // --- painting ------------------------------------------------------------

  draw() {
    const full = this.scroller.clientWidth;
    if (this.store.state.tab !== 'threads' || !full) return;
    const height = this.scroller.clientHeight;
    const offset = Math.min(this.scroller.scrollTop, Math.max(0, this.height + TIMELINE_AXIS - height));
    this.canvas.style.top = `${Math.max(0, offset)}px`;
    const g = context(this.canvas, full, height);
    drawAxis(g, this.span, { x: this.left, y: height - TIMELINE_AXIS, width: this.width(), height: height - TIMELINE_AXIS });
    this.palette.prepare(this.store.state.colors);
    g.save();
    g.beginPath();
    g.rect(0, 0, full, height - TIMELINE_AXIS);
    g.clip();
    const ink = { text: color('--frame-text'), muted: color('--muted'), name: color('--text'), line: color('--line'), faint: color('--frame-faint'), match: color('--match') };
    const level = this.level();
    for (const track of this.tracks) this.drawTrack(g, level, track, track.y - offset, ink);
    g.restore();
    this.shown.textContent = `${spanText(this.span)}${level.whole ? '' : ' · the longest call of each pixel; zoom in for more'}`;
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {Level} level
   * @param {Track} track
   * @param {number} y
   * @param {Record<string, string>} ink
   */
  drawTrack(g, level, track, y, ink) {
    if (y - NAME_ROW > this.scroller.clientHeight || y + track.shown * CALL_ROW + TRACK_GAP < 0) return;
    const { recording } = this.store;
    const rest = track.depths - track.shown;
    const { name, tid, process } = recording.threads[track.thread];
    const owner = recording.processes.length > 2 ? `${baseName(recording.processes[process]?.name ?? '')} ` : '';
    for (let depth = 0; depth < track.shown; depth++) {
      const lane = level.lanes.get(`${track.thread} ${depth}`);
      if (lane) this.drawLane(g, level, lane, y + depth * CALL_ROW, ink);
    }
    if (this.marked?.thread === track.thread) {
      const from = Math.max(this.left, this.xOf(this.marked.begin));
      g.strokeStyle = color('--focus');
      g.lineWidth = 2;
      g.strokeRect(from, y + this.marked.depth * CALL_ROW + 0.5, Math.max(2, this.xOf(this.marked.begin + this.marked.duration) - from), CALL_ROW - 2);
    }
    g.fillStyle = ink.line;
    g.fillRect(0, y + track.shown * CALL_ROW + TRACK_GAP / 2 - 1, this.scroller.clientWidth, 1);
    g.textBaseline = 'middle';
    g.font = '600 11.5px system-ui, sans-serif';
    g.fillStyle = ink.name;
    const title = shorten(name, 20);
    g.fillText(title, 4, this.left ? y + CALL_ROW / 2 : y - NAME_ROW / 2);
    const after = 4 + g.measureText(title).width + 8;
    g.font = '10px system-ui, sans-serif';
    g.fillStyle = ink.muted;
    const number = shorten(`${owner}${tid}`, 24);
    const deeper = rest > 0 ? `${rest} deeper rows hidden` : '';
    if (this.left) {
      g.fillText(number, 4, y + CALL_ROW * 1.4);
      g.fillText(deeper, 4, y + CALL_ROW * 2.3);
    } else g.fillText(deeper ? `${number} · ${deeper}` : number, after, y - NAME_ROW / 2);
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {Level} level
   * @param {Lane} lane
   * @param {number} y
   * @param {Record<string, string>} ink
   */
  drawLane(g, level, lane, y, ink) {
    const { recording, matcher } = this.store;
    const right = this.left + this.width();
    let painted = -1;
    g.font = CALL_FONT;
    g.textBaseline = 'middle';
    for (let i = this.firstAt(level, lane, this.span.from); i < lane.end && level.begin[i] < this.span.to; i++) {
      const from = Math.max(this.left, this.xOf(level.begin[i]));
      const to = Math.min(right, this.xOf(level.begin[i] + level.duration[i]));
      const isFocused = this.focused?.lane.thread === lane.thread && this.focused.lane.depth === lane.depth &&
        this.focused.level.begin[this.focused.index] === level.begin[i];
      if (to < painted && !isFocused) continue;
      const fn = level.fn[i];
      const matches = matcher && (matcher(recording.name(fn)) || matcher(recording.fullName(fn)));
      const width = Math.max(0.8, to - from - (to - from > 4 ? 0.7 : 0));
      g.fillStyle = matcher ? (matches ? ink.match : ink.faint) : this.palette.of(fn);
      g.fillRect(from, y, width, CALL_ROW - 1.5);
      painted = Math.max(to, from + 0.5);
      if (width > 34) {
        g.fillStyle = matcher && !matches ? ink.muted : ink.text;
        g.fillText(shorten(recording.name(fn), Math.floor((width - 6) / 6.35)), from + 4, y + CALL_ROW / 2);
      }
      if (isFocused) {
        g.strokeStyle = color('--focus');
        g.lineWidth = 2;
        g.strokeRect(from, y + 0.5, Math.max(2, width), CALL_ROW - 2);
      }
    }
  }

  // --- what a person does --------------------------------------------------

  /** @param {Span} span @returns {Span} as near to it as there is time, at least 10 ns */
  within(span) {
    const whole = this.whole.to - this.whole.from;
    const width = Math.max(Math.min(whole, 10), Math.min(whole, span.to - span.from));
    const from = Math.max(this.whole.from, Math.min(this.whole.to - width, span.from));
    return { from, to: from + width };
  }

  /** @param {Span} span */
  look(span) {
    this.span = this.within(span);
    this.relayout();
    this.onlook?.();
  }

  /** @param {number} factor @param {number} [at] the time that stays where it is */
  zoom(factor, at = (this.span.from + this.span.to) / 2) {
    this.look({ from: at - (at - this.span.from) * factor, to: at + (this.span.to - at) * factor });
  }

  /** @param {number} share of the visible range */
  pan(share) {
    const step = (this.span.to - this.span.from) * share;
    this.look({ from: this.span.from + step, to: this.span.to + step });
  }

  /** @param {MouseEvent} event @returns {number} */
  timeAt(event) {
    const x = event.clientX - this.spacer.getBoundingClientRect().left - this.left;
    return this.span.from + (x / this.width()) * (this.span.to - this.span.from);
  }

  /** @param {MouseEvent} event */
  callAt(event) {
    const y = event.clientY - this.spacer.getBoundingClientRect().top;
    const track = this.tracks.find((one) => y >= one.y && y < one.y + one.shown * CALL_ROW);
    const level = this.level();
    const lane = track && level.lanes.get(`${track.thread} ${Math.floor((y - track.y) / CALL_ROW)}`);
    if (!lane) return null;
    const pixel = (this.span.to - this.span.from) / this.width();
    const time = this.timeAt(event);
    const index = this.firstAt(level, lane, time - pixel);
    return index < lane.end && level.begin[index] <= time + pixel ? { level, lane, index } : null;
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan(event.deltaX / this.width());
    }
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button) return;
    this.drag = { x: event.clientX, span: this.span, moved: false };
    this.scroller.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { drag } = this;
    if (drag) {
      const by = event.clientX - drag.x;
      if (Math.abs(by) > 3) drag.moved = true;
      const time = (by / this.width()) * (drag.span.to - drag.span.from);
      if (drag.moved) this.look({ from: drag.span.from - time, to: drag.span.to - time });
      return;
    }
    const call = this.callAt(event);
    if (call) showTip(event.clientX, event.clientY, this.tipOf(call));
    else hideTip();
  }

  /** @param {PointerEvent} event */
  up(event) {
    const { drag } = this;
    this.drag = null;
    if (drag && !drag.moved) this.focus(this.callAt(event));
  }

  /** @param {{ level: Level, lane: Lane, index: number }} call @returns {[string, string][]} */
  figures({ level, lane, index }) {
    return [
      ['lasts', amount(level.duration[index], 'nanoseconds')],
      ['begins', moment(level.begin[index], (this.span.to - this.span.from) / 1000)],
      ['thread', this.store.recording.threadName(lane.thread)], ['depth', String(lane.depth)],
      ['stands for', level.count[index] > 1 ? `${amount(level.count[index], 'count')} calls` : ''],
    ];
  }

  /** @param {{ level: Level, lane: Lane, index: number }} call */
  tipOf(call) {
    const fn = call.level.fn[call.index];
    return [el('b', {}, shorten(this.store.recording.name(fn), 300)), facts(this.figures(call))];
  }

  /** @param {{ level: Level, lane: Lane, index: number } | null} call */
  focus(call) {
    this.focused = call;
    this.marked = null;
    this.redraw();
    if (!call) return fill(this.details);
    const { recording } = this.store;
    const fn = call.level.fn[call.index];
    const figures = this.figures(call);
    this.item.textContent = `${recording.name(fn)}, ${figures.filter(([, text]) => text).map(([name, text]) => `${name} ${text}`).join(', ')}`;
    announce(this.item.textContent);
    fill(this.details, el('div', { class: 'frame-name' }, el('b', {}, shorten(recording.fullName(fn), 600))),
      facts(figures), button('Callers and callees', () => this.onopen(fn), { class: 'small' }));
  }

  /** @param {{ fn: number, thread: number, depth: number, begin: number, duration: number, stopped?: number }} call to show, from another view */
  reveal(call) {
    const { store } = this;
    const duration = call.duration + (call.stopped ?? 0);
    if (store.state.threads && !store.state.threads.has(call.thread)) store.set({ threads: null });
    if (call.depth >= MOST_ROWS) this.allRows = true;
    store.set({ tab: 'threads' });
    this.look({ from: call.begin - duration * 0.1, to: call.begin + duration * 1.1 });
    const level = this.level();
    const lane = level.lanes.get(`${call.thread} ${call.depth}`);
    const index = lane ? this.firstAt(level, lane, call.begin) : 0;
    const isThere = lane && index < lane.end && level.begin[index] === call.begin;
    this.focus(isThere ? { level, lane, index } : null);
    this.marked = { ...call, duration };
    const track = this.tracks.find((one) => one.thread === call.thread);
    if (track) this.scroller.scrollTop = Math.max(0, track.y + call.depth * CALL_ROW - this.scroller.clientHeight / 2);
    if (!isThere) announce(`${store.recording.name(call.fn)}, lasts ${amount(call.duration, 'nanoseconds')}`);
    this.scroller.focus();
  }

  /** @param {number} by calls of the same row */
  step(by) {
    const call = this.focused;
    if (!call) return this.focusFirst();
    const index = call.index + by;
    if (index >= call.lane.first && index < call.lane.end) this.show({ ...call, index });
  }

  /** @param {number} by rows down, to the call at the same time */
  deeper(by) {
    const call = this.focused;
    if (!call) return this.focusFirst();
    const lane = call.level.lanes.get(`${call.lane.thread} ${call.lane.depth + by}`);
    if (!lane) return;
    const begin = call.level.begin[call.index];
    const index = this.firstAt(call.level, lane, begin);
    if (index < lane.end) this.show({ ...call, lane, index });
  }

  focusFirst() {
    const level = this.level();
    const lane = this.tracks.length ? level.lanes.get(`${this.tracks[0].thread} 0`) : undefined;
    if (lane) this.show({ level, lane, index: Math.min(lane.end - 1, this.firstAt(level, lane, this.span.from)) });
  }

  /** @param {{ level: Level, lane: Lane, index: number }} call brought into sight */
  show(call) {
    const begin = call.level.begin[call.index];
    const end = begin + call.level.duration[call.index];
    const width = this.span.to - this.span.from;
    if (end < this.span.from || begin > this.span.to) this.look({ from: begin - width / 3, to: begin + (width * 2) / 3 });
    this.focus(call);
  }

  zoomToFocused() {
    if (!this.focused) return this.focusFirst();
    const { level, index } = this.focused;
    const [begin, width] = [level.begin[index], level.duration[index]];
    this.look({ from: begin - width * 0.1, to: begin + width * 1.1 });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5), '-': () => this.zoom(2), 0: () => this.look(this.whole),
      ',': () => this.step(-1), '.': () => this.step(1), '<': () => this.deeper(-1), '>': () => this.deeper(1),
      Enter: () => this.zoomToFocused(), Backspace: () => this.zoom(4),
      s: () => this.focused && this.onopen(this.focused.level.fn[this.focused.index]),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}
