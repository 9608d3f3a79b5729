// SPDX-License-Identifier: Apache-2.0
import { amount, baseName, moment, shorten, visible } from './format.js';
import { announce, button, context, el, facts, fill, hideTip, showTip, soon } from './dom.js';
import { color, onTheme } from './theme.js';
import { drawAxis, hatch, spanText } from './axis.js';
import { seriesOf } from './overview.js';

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
 * @typedef {{ thread: number, strip: number, y: number, depths: number, shown: number }} Track
 *   strip: where its states are; y: where its calls begin
 * @typedef {{ thread: number, ns: number, name: string, text: string }} Instant  text: its arguments
 */

const CALL_ROW = 16;
const TRACK_GAP = 18;
const TIMELINE_AXIS = 20;
const COUNTER_ROW = 28;
const STATE_ROW = 13; // the strip of states above the calls
const NAME_ROW = 14; // above the calls, where there is no room on the left
const MOST_ROWS = 12; // of a thread, unless all are asked for
const NAMES_LEFT = 150;
const CALL_FONT = '10.5px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

/**
 * @param {import('./model.js').Recording} recording
 * @param {{ level: number, width_ns: number }} head
 * @param {'timeline' | 'waits'} from
 * @returns {Level}
 */
function readLevel({ data, functions, threads }, head, from) {
  const name = `${from}.${head.level}`;
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

/** When threads ran. A piece of time has one state, or is a sum of short ones. */
class States {
  /** @param {import('./model.js').Recording} recording */
  constructor({ data }) {
    const part = (/** @type {string} */ name) => data.numbers(`state.${name}`);
    this.begin = part('begin');
    this.duration = part('duration');
    this.parts = ['on_cpu', 'runnable', 'blocked'].map(part);
    /** Its pieces, from the first up to and without the last. @type {Map<number, [number, number]>} */
    this.of = new Map();
    for (const [i, thread] of part('thread').entries()) {
      const own = this.of.get(thread);
      if (own) own[1] = i + 1;
      else this.of.set(thread, [i, i + 1]);
    }
  }

  /** @param {number} thread @param {Span} span @param {(from: number, to: number, parts: number[]) => void} action for each piece */
  each(thread, span, action) {
    const [first, end] = this.of.get(thread) ?? [0, 0];
    let [low, high] = [first, end];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begin[middle] + this.duration[middle] <= span.from) low = middle + 1;
      else high = middle;
    }
    for (let i = low; i < end && this.begin[i] < span.to; i++)
      action(this.begin[i], this.begin[i] + this.duration[i], this.parts.map((part) => part[i]));
  }

  /** @param {number} thread @param {Span} span @returns {number[]} ns on CPU, runnable, blocked */
  sums(thread, span) {
    const sums = [0, 0, 0];
    this.each(thread, span, (from, to, parts) => {
      const share = (Math.min(to, span.to) - Math.max(from, span.from)) / (to - from);
      for (const [i, part] of parts.entries()) sums[i] += part * share;
    });
    return sums;
  }
}

const THREAD_STATES = /** @type {const} */ ([['on CPU', '--cpu'], ['runnable', '--bad'], ['blocked', '--rest']]);
const STOPPED = 'perfrec: waiting for collector';

/** @param {import('./model.js').Recording} recording @returns {Instant[]} sorted by time */
function readInstants({ data, threads }) {
  const ns = data.numbers('instant.ns');
  const thread = data.indices('instant.thread', Math.max(1, threads.length), ns.length);
  const [name, text] = ['name', 'arguments'].map((part) => data.indices(`instant.${part}`, data.textCount(), ns.length));
  return Array.from(ns, (at, i) => ({ ns: at, thread: thread[i], name: visible(data.text(name[i])), text: visible(data.text(text[i])) }))
    .sort((a, b) => a.ns - b.ns);
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
    this.waitHeads = (store.recording.header.waits ?? []).filter(({ level }) => store.recording.data.columns.get(`waits.${level}.begin`)?.head.count)
      .sort((a, b) => a.width_ns - b.width_ns);
    this.states = new States(store.recording);
    this.counters = seriesOf(store.recording).filter((one) => one.isCounter);
    this.showsCounters = false;
    this.instants = readInstants(store.recording);
    this.stopped = store.recording.fullNames.findIndex((_, fn) => store.recording.fullName(fn) === STOPPED);
    /** @type {Map<string, Level>} */
    this.levels = new Map();
    this.whole = this.wholeSpan();
    this.span = { ...this.whole };
    /** @type {Track[]} */
    this.tracks = [];
    /** @type {{ lane: Lane, index: number, level: Level } | null} */
    this.focused = null;
    /** A call that is outlined, although its level may lack it. @type {{ thread: number, depth: number, begin: number, duration: number } | null} */
    this.marked = null;
    /** @type {Instant | null} */
    this.instant = null;
    /** @type {{ x: number, span: Span, moved: boolean } | null} */
    this.drag = null;
    /** @type {(() => void) | null} */
    this.onlook = null;
    this.height = 0;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.spacer = el('div', { class: 'spacer' }, this.canvas);
    this.item = el('div', { id: 'timeline-item', role: 'treeitem', class: 'unseen', 'aria-selected': 'true' }, 'No call is chosen');
    this.shown = el('span', { class: 'muted' });
    this.empty = el('p', { class: 'empty', hidden: true }, 'No thread has calls or known states here: choose other threads. Recordings without hooks and switches have neither.');
    this.allRows = false;
    this.rowsButton = button('', () => this.toggleRows(), { class: 'small', hidden: true });
    this.details = el('div', { class: 'details' });
    this.scroller = this.makeScroller();
    this.element = this.makeElement();
    this.redraw = soon(() => this.draw());
    if (!this.isThere) return;
    onTheme(() => this.draw());
    document.addEventListener('scroll', () => this.redraw(), { passive: true });
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
      el('div', { class: 'panel-head' }, el('h2', {}, 'Threads over time'), this.shown, el('span', { class: 'space' }), this.rowsButton, this.countersButton(),
        small('−', 'Zoom out', () => this.zoom(2)), small('+', 'Zoom in', () => this.zoom(0.5)),
        small('All', 'All: show the whole time', () => this.look(this.whole))),
      this.legend(), this.empty, this.scroller, this.details));
  }

  countersButton() {
    if (!this.counters.length) return null;
    const toggle = button('Counters', () => {
      this.showsCounters = !this.showsCounters;
      toggle.setAttribute('aria-pressed', String(this.showsCounters));
      this.relayout();
    }, { class: 'small', 'aria-pressed': 'false', id: 'thread-counters' });
    return toggle;
  }

  /** @param {CanvasRenderingContext2D} g @param {number} offset  the counters above the threads, each bucket as high as its largest value */
  drawCounters(g, offset) {
    const { buckets } = this.store.recording.header;
    for (const [row, { title, unit, numbers, most }] of this.showsCounters && buckets ? this.counters.entries() : []) {
      const bottom = TIMELINE_AXIS + (row + 1) * COUNTER_ROW - offset;
      g.fillStyle = color('--other');
      for (const [i, number] of numbers.entries()) {
        const at = /** @type {NonNullable<typeof buckets>} */ (buckets);
        const [x, end] = [i, i + 1].map((n) => Math.max(this.left, Math.min(this.left + this.width(), this.xOf(at.first_ns + n * at.width_ns))));
        const size = (number / most) * (COUNTER_ROW - 6);
        if (size && end > x) g.fillRect(x, bottom - size, Math.max(0.7, end - x - 0.3), size);
      }
      g.textBaseline = 'middle';
      g.font = '11px system-ui, sans-serif';
      g.fillStyle = color('--text');
      g.fillText(`${shorten(title, 14)} ≤ ${amount(most, unit)}`, 4, bottom - COUNTER_ROW / 2);
    }
  }

  legend() {
    const entry = (/** @type {string} */ text, /** @type {string} */ name) => {
      const swatch = el('i', { class: name.startsWith('--') ? '' : name });
      if (name.startsWith('--')) swatch.style.background = `var(${name})`;
      return el('span', {}, swatch, text);
    };
    return el('div', { class: 'legend muted' },
      this.states.of.size ? THREAD_STATES.map(([text, name]) => entry(text, name)) : null,
      this.waitHeads.length ? el('span', {}, 'a blocked thread has the name of what it waits for') : null,
      this.stopped >= 0 ? entry('stopped by perfrec', 'stopped') : null,
      this.instants.length ? entry('instant', 'instant') : null);
  }

  /** @returns {Span} the range of the overview */
  get range() {
    return this.store.span ? this.within(this.store.span) : this.whole;
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
    return this.levelFor('timeline', this.heads);
  }

  /** @param {'timeline' | 'waits'} from @param {{ level: number, width_ns: number }[]} heads @returns {Level} */
  levelFor(from, heads) {
    const pixel = (this.span.to - this.span.from) / Math.max(1, this.width());
    return this.levelAt(heads.filter((head) => head.width_ns <= pixel).pop() ?? heads[0], from);
  }

  /** @param {{ level: number, width_ns: number }} head @param {'timeline' | 'waits'} from @returns {Level} */
  levelAt(head, from) {
    const key = `${from} ${head.level}`;
    const level = this.levels.get(key) ?? readLevel(this.store.recording, head, from);
    this.levels.set(key, level);
    return level;
  }

  /** @param {number} fn @returns {{ fn: number, thread: number, depth: number, begin: number, duration: number }[]} its calls on the finest level */
  callsOf(fn) {
    if (!this.isThere) return [];
    const level = this.levelAt(this.heads[0], 'timeline');
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
    const waits = this.waitHeads.length ? this.levelFor('waits', this.waitHeads).lanes : new Map();
    this.tracks = [];
    let y = TIMELINE_AXIS + 4 + (this.showsCounters ? this.counters.length * COUNTER_ROW : 0);
    for (let thread = 0; thread < this.store.recording.threads.length; thread++) {
      const count = depths.get(thread) ?? 0;
      const strip = this.states.of.has(thread) || waits.has(`${thread} 0`) ? STATE_ROW : 0;
      if ((!count && !strip) || (threads && !threads.has(thread))) continue;
      const shown = Math.max(1, this.allRows ? count : Math.min(count, MOST_ROWS));
      if (!this.left) y += NAME_ROW;
      this.tracks.push({ thread, strip: y, y: y + strip, depths: count, shown });
      y += strip + shown * CALL_ROW + TRACK_GAP;
    }
    this.empty.hidden = this.tracks.length > 0;
    this.height = y;
    this.spacer.style.height = `${y}px`;
    this.scroller.style.height = `${Math.max(120, y)}px`;
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
    const offset = Math.min(this.scroller.scrollTop, Math.max(0, this.height - height));
    this.canvas.style.top = `${Math.max(0, offset)}px`;
    const g = context(this.canvas, full, height);
    const axis = { x: this.left, y: this.axisTop(height), width: this.width(), height };
    drawAxis(g, this.span, axis);
    this.palette.prepare(this.store.state.colors);
    const ink = { text: color('--frame-text'), muted: color('--muted'), name: color('--text'), line: color('--line'), faint: color('--frame-faint'), match: color('--match') };
    const level = this.level();
    this.drawCounters(g, offset);
    for (const track of this.tracks) this.drawTrack(g, level, track, track.y - offset, ink);
    g.fillStyle = color('--panel');
    g.fillRect(0, axis.y, full, TIMELINE_AXIS);
    drawAxis(g, this.span, { ...axis, height: axis.y + TIMELINE_AXIS });
    this.shown.textContent = `${spanText(this.span)}${level.whole ? '' : ' · the longest call of each pixel; zoom in for more'}`;
  }

  /** @param {number} height @returns {number} the top of the axis: it stays at the top of the visible part */
  axisTop(height) {
    const bar = document.querySelector('.bar-holder')?.getBoundingClientRect().bottom ?? 0;
    return Math.max(0, Math.min(height - TIMELINE_AXIS, bar - this.scroller.getBoundingClientRect().top));
  }

  /** Draws the states of a thread, the objects that blocked it, and its instants. @param {CanvasRenderingContext2D} g @param {Track} track @param {number} y */
  drawStates(g, { thread }, y) {
    const right = this.left + this.width();
    const box = (/** @type {number} */ from, /** @type {number} */ to) => [Math.max(this.left, this.xOf(from)), Math.min(right, this.xOf(to))];
    const high = STATE_ROW - 2;
    let begin = Number.NaN;
    let sums = [0, 0, 0];
    this.states.each(thread, this.span, (from, to, parts) => {
      if (Number.isNaN(begin)) begin = from;
      sums = sums.map((sum, i) => sum + parts[i]);
      const [x, end] = box(begin, to);
      if (end - x < 1) return;
      let top = y + high;
      for (const [i, sum] of sums.entries()) {
        const size = (sum / (to - begin)) * high;
        g.fillStyle = color(THREAD_STATES[i][1]);
        g.fillRect(x, top - size, end - x, size);
        top -= size;
      }
      begin = Number.NaN;
      sums = [0, 0, 0];
    });
    const lane = this.waitHeads.length && this.levelFor('waits', this.waitHeads).lanes.get(`${thread} 0`);
    if (lane) this.drawWaits(g, lane, y, high);
    this.drawInstants(g, thread, y, high);
  }

  /** Draws the instants of a thread, with their names where there is room. @param {CanvasRenderingContext2D} g @param {number} thread @param {number} y @param {number} high */
  drawInstants(g, thread, y, high) {
    const right = this.left + this.width();
    const list = this.instants.filter((one) => one.thread === thread && this.xOf(one.ns) >= this.left && this.xOf(one.ns) <= right);
    g.font = CALL_FONT;
    g.textBaseline = 'middle';
    for (const [i, { ns, name }] of list.entries()) {
      const x = this.xOf(ns);
      const room = (i + 1 < list.length ? this.xOf(list[i + 1].ns) - 4 : right) - x - 8;
      const text = room > 28 ? shorten(name, Math.min(40, Math.floor(room / 6.35))) : '';
      if (text) {
        g.fillStyle = color('--panel');
        g.fillRect(x + 4, y, g.measureText(text).width + 4, high);
        g.fillStyle = color('--text');
        g.fillText(text, x + 6, y + high / 2 + 0.5);
      }
      g.fillStyle = color('--accent');
      g.beginPath();
      g.moveTo(x - 4, y - 1);
      g.lineTo(x + 4, y - 1);
      g.lineTo(x, y + high);
      g.fill();
    }
  }

  /** @param {CanvasRenderingContext2D} g @param {Lane} lane @param {number} y @param {number} high */
  drawWaits(g, lane, y, high) {
    const level = this.levelFor('waits', this.waitHeads);
    g.font = CALL_FONT;
    g.textBaseline = 'middle';
    for (let i = this.firstAt(level, lane, this.span.from); i < lane.end && level.begin[i] < this.span.to; i++) {
      const x = Math.max(this.left, this.xOf(level.begin[i]));
      const width = Math.min(this.left + this.width(), this.xOf(level.begin[i] + level.duration[i])) - x;
      if (width < 3) continue;
      g.globalAlpha = 0.4;
      g.fillStyle = this.palette.of(level.fn[i]);
      g.fillRect(x, y, width - 0.7, high);
      g.globalAlpha = 1;
      g.fillStyle = color('--frame-text');
      if (width > 34) g.fillText(shorten(this.store.recording.name(level.fn[i]), Math.floor((width - 6) / 6.35)), x + 3, y + high / 2 + 0.5);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {Level} level
   * @param {Track} track
   * @param {number} y
   * @param {Record<string, string>} ink
   */
  drawTrack(g, level, track, y, ink) {
    if (y - NAME_ROW - STATE_ROW > this.scroller.clientHeight || y + track.shown * CALL_ROW + TRACK_GAP < 0) return;
    const { recording } = this.store;
    const rest = track.depths - track.shown;
    const top = y - (track.y - track.strip);
    if (top < y) this.drawStates(g, track, top);
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
    g.fillText(title, 4, this.left ? top + CALL_ROW / 2 : top - NAME_ROW / 2);
    const after = 4 + g.measureText(title).width + 8;
    g.font = '10px system-ui, sans-serif';
    g.fillStyle = ink.muted;
    const number = shorten(`${owner}${tid}`, 24);
    const deeper = rest > 0 ? `${rest} deeper rows hidden` : '';
    if (this.left) {
      g.fillText(number, 4, top + CALL_ROW * 1.4);
      g.fillText(deeper, 4, top + CALL_ROW * 2.3);
    } else g.fillText(deeper ? `${number} · ${deeper}` : number, after, top - NAME_ROW / 2);
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
      if (fn === this.stopped) hatch(g, from, y, width, CALL_ROW - 1.5);
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

  /** @param {MouseEvent} event @returns {Node[] | null} what the strip of states has there */
  stateTip(event) {
    const y = event.clientY - this.spacer.getBoundingClientRect().top;
    const track = this.tracks.find((one) => y >= one.strip && y < one.y);
    if (!track) return null;
    const time = this.timeAt(event);
    const pixel = (this.span.to - this.span.from) / this.width();
    const instant = this.instants.find((one) => one.thread === track.thread && Math.abs(one.ns - time) < 4 * pixel);
    if (instant) return this.instantFacts(instant);
    const level = this.waitHeads.length ? this.levelFor('waits', this.waitHeads) : null;
    const lane = level?.lanes.get(`${track.thread} 0`);
    const wait = level && lane ? this.firstAt(level, lane, time) : 0;
    if (level && lane && wait < lane.end && level.begin[wait] <= time)
      return [el('b', {}, `blocked on ${this.store.recording.name(level.fn[wait])}`), facts([['for', amount(level.duration[wait], 'nanoseconds')]])];
    /** @type {Node[] | null} */
    let tip = null;
    this.states.each(track.thread, { from: time, to: time + 1 }, (from, to, parts) => {
      tip = [facts([...parts.map((part, i) => /** @type {[string, string]} */ ([THREAD_STATES[i][0], part ? amount(part, 'nanoseconds') : ''])),
        ['from', spanText({ from, to })]])];
    });
    return tip;
  }

  /** @param {Instant} instant */
  instantFacts({ name, text, ns, thread }) {
    return [el('b', {}, shorten(name, 300)), facts([['at', moment(ns, 1e3)], ['thread', this.store.recording.threadName(thread)], ['', shorten(text, 400)]])];
  }

  /** @param {1 | -1} by to the next instant, or the one before */
  stepInstant(by) {
    const shown = this.tracks.map(({ thread }) => thread);
    const list = this.instants.filter(({ thread }) => shown.includes(thread));
    const middle = (this.span.from + this.span.to) / 2;
    const width = this.span.to - this.span.from;
    const at = this.instant && list.includes(this.instant) ? list.indexOf(this.instant) : -1;
    const before = list.filter(({ ns }) => ns < middle).length;
    const instant = list[at >= 0 ? at + by : by > 0 ? before : before - 1];
    if (!instant) return;
    this.look({ from: instant.ns - width / 2, to: instant.ns + width / 2 });
    this.focus(null);
    this.instant = instant;
    fill(this.details, ...this.instantFacts(instant));
    announce(`${instant.name}, at ${moment(instant.ns, 1e3)}, ${this.store.recording.threadName(instant.thread)}, ${instant.text}`);
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
    const tip = call ? this.tipOf(call) : this.stateTip(event);
    if (tip) showTip(event.clientX, event.clientY, tip);
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
      ...this.states.sums(lane.thread, { from: level.begin[index], to: level.begin[index] + level.duration[index] })
        .map((ns, i) => /** @type {[string, string]} */ ([THREAD_STATES[i][0], ns >= 1 ? amount(ns, 'nanoseconds') : ''])),
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
    this.instant = null;
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
      i: () => this.stepInstant(1), I: () => this.stepInstant(-1), Enter: () => this.zoomToFocused(), Backspace: () => this.zoom(4),
      s: () => this.focused && this.onopen(this.focused.level.fn[this.focused.index]),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}
