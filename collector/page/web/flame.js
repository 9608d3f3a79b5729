// SPDX-License-Identifier: Apache-2.0
import { amount, change, changePercent, percent, shorten } from './format.js';
import { announce, context, el, facts, hideTip, showTip, soon } from './dom.js';
import { color, isPrinting, onTheme } from './theme.js';

/**
 * A flame graph on a canvas, widest frame first. It is one stop for the
 * keyboard: one of its frames has the focus, and is the active item of a tree
 * in the accessibility tree.
 */

/** @typedef {import('./tree.js').FlameTree} FlameTree */
/** @typedef {import('./model.js').Recording} Recording */
/** @typedef {import('./data.js').ValueHead} ValueHead */
/**
 * @typedef {{
 *   recording: Recording, palette: import('./theme.js').Palette, label: string, up?: boolean,
 *   onfocus: (view: FlameView, node: number) => void, onopen: (fn: number) => void,
 *   onmenu: (view: FlameView, node: number, x: number, y: number) => void,
 * }} FlameOptions
 *   up: callers are above their callees; onfocus: called when a frame gets the
 *   pointer or the focus; onopen: called to show callers and callees of a function;
 *   onmenu: called to show what else can be done with a frame, at this place of the window
 * @typedef {{ node: number, x: number, width: number, count: number }} Frame
 *   count: the number of frames that are drawn as one because each is too
 *   narrow; 0: a frame of its own
 */

const FRAME_ROW = 19;
const NARROW = 0.6;
const FRAME_CHAR = 6.63;
const FRAME_FONT = '11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

let views = 0;

/** One flame graph. */
export class FlameView {
  /** @param {FlameOptions} options */
  constructor(options) {
    this.options = options;
    this.recording = options.recording;
    this.id = `flame${++views}`;
    /** @type {FlameTree | null} */
    this.tree = null;
    /** @type {ValueHead | null} */
    this.value = null;
    this.top = 0;
    this.zoomed = 0;
    /** @type {(() => void) | null} */
    this.onzoom = null;
    this.focused = 0;
    this.hovered = -1;
    /** @type {Frame[][]} */
    this.rows = [];
    this.zoomRow = 0;
    /** @type {((text: string) => boolean) | null} */
    this.matcher = null;
    /** By function: 1 matches, 0 does not, -1 is not known. */
    this.matches = new Int8Array(0);
    /** @type {import('./theme.js').ColorBy} */
    this.colors = 'module';
    /** The values that colours are of, if the sums of the tree have them. @type {ValueHead[]} */
    this.states = [];
    this.whole = 0;
    this.wholeBase = 0;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.item = el('div', { id: `${this.id}-item`, role: 'treeitem', class: 'unseen' });
    this.spacer = el('div', { class: 'spacer' }, this.canvas);
    this.scroller = this.makeScroller();
    this.element = this.scroller;
    this.redraw = soon(() => this.draw());
    onTheme(() => (isPrinting() ? this.draw() : this.redraw()));
    new ResizeObserver(() => this.relayout()).observe(this.scroller);
  }

  makeScroller() {
    return el('div', {
      class: 'flame', role: 'tree', tabindex: 0, 'aria-label': this.options.label,
      'aria-activedescendant': this.item.id,
      'aria-description': 'Arrows: caller, callee, neighbours. Enter: zoom. Backspace: back. s: callers and callees. m: more.',
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onscroll: () => this.redraw(),
      onfocus: () => this.tell(),
      onmousemove: (/** @type {MouseEvent} */ event) => this.hover(event),
      onmouseleave: () => this.leave(),
      onclick: (/** @type {MouseEvent} */ event) => this.click(event),
      oncontextmenu: (/** @type {PointerEvent} */ event) => this.contextMenu(event),
    }, this.item, this.spacer);
  }

  /**
   * @param {FlameTree} tree
   * @param {ValueHead} value
   * @param {{ top?: number, keep?: boolean, whole: number, wholeBase: number }} how
   *   top: the node at the bottom of the rows; keep: zoom and focus stay, if the
   *   tree has their stacks; whole: 100 %
   */
  show(tree, value, how) {
    const before = this.tree;
    const stay = (/** @type {number} */ node) =>
      (how.keep && before?.up === tree.up ? tree.find(before.path(node).map((n) => before.fn[n])) : 0);
    [this.zoomed, this.focused] = [stay(this.zoomed), stay(this.focused)];
    this.tree = tree;
    this.value = value;
    this.top = how.top ?? 0;
    this.whole = how.whole;
    this.wholeBase = how.wholeBase;
    if (!this.zoomed) this.zoomed = this.top;
    if (!this.focused) this.focused = this.zoomed;
    this.hovered = -1;
    this.describe();
    this.relayout();
  }

  /** @param {((text: string) => boolean) | null} matcher */
  search(matcher) {
    this.matcher = matcher;
    this.matches = new Int8Array(Math.max(1, this.recording.functions)).fill(-1);
    this.redraw();
  }

  /** @param {number} fn @returns {boolean} */
  matchesFunction(fn) {
    const { matcher, matches, recording } = this;
    if (!matcher) return false;
    if (matches[fn] < 0) matches[fn] = Number(matcher(recording.name(fn)) || matcher(recording.fullName(fn)));
    return matches[fn] > 0;
  }

  /** @param {number} node @returns {boolean} */
  isMatch(node) {
    return node > 0 && this.matchesFunction(/** @type {FlameTree} */ (this.tree).fn[node]);
  }

  /** @returns {{ sum: number, of: number }} the sum of stacks with a matching frame */
  matched() {
    const { tree, zoomed } = this;
    if (!tree) return { sum: 0, of: 0 };
    return { sum: tree.matching(zoomed, (fn) => this.matchesFunction(fn)), of: tree.width[zoomed] };
  }

  // --- where frames are ----------------------------------------------------

  relayout() {
    const { tree } = this;
    const width = this.scroller.clientWidth;
    if (!tree || !width) return;
    this.rows = [];
    for (const [depth, node] of [this.top, ...tree.path(this.zoomed)].entries())
      if (depth === 0 || node !== this.top) this.rows.push([{ node, x: 0, width, count: 0 }]);
    this.zoomRow = this.rows.length - 1;
    if (tree.width[this.zoomed] > 0) this.layout(width);
    this.spacer.style.height = `${this.rows.length * FRAME_ROW + 1}px`;
    this.draw();
  }

  /** @param {number} width of the zoomed frame */
  layout(width) {
    const tree = /** @type {FlameTree} */ (this.tree);
    const scale = width / tree.width[this.zoomed];
    let row = this.rows[this.rows.length - 1];
    for (;;) {
      /** @type {Frame[]} */
      const next = [];
      for (const frame of row) if (!frame.count) this.layoutChildren(frame, scale, next);
      if (!next.length) return;
      this.rows.push(next);
      row = next;
    }
  }

  /** @param {Frame} frame @param {number} scale @param {Frame[]} out */
  layoutChildren(frame, scale, out) {
    const tree = /** @type {FlameTree} */ (this.tree);
    let { x } = frame;
    const children = tree.children(frame.node);
    for (let i = 0; i < children.length; i++) {
      const width = tree.width[children[i]] * scale;
      if (width < NARROW) {
        let rest = 0;
        for (let j = i; j < children.length; j++) rest += tree.width[children[j]];
        if (rest * scale >= NARROW)
          out.push({ node: children[i], x, width: rest * scale, count: children.length - i });
        return;
      }
      out.push({ node: children[i], x, width, count: 0 });
      x += width;
    }
  }

  /** @param {number} row @returns {number} its y in the spacer */
  yOf(row) {
    return this.options.up ? (this.rows.length - 1 - row) * FRAME_ROW : row * FRAME_ROW;
  }

  /** @param {MouseEvent} event @returns {Frame | null} */
  frameAt(event) {
    const box = this.spacer.getBoundingClientRect();
    const line = Math.floor((event.clientY - box.top) / FRAME_ROW);
    const row = this.rows[this.options.up ? this.rows.length - 1 - line : line];
    const x = event.clientX - box.left;
    return row?.find((frame) => x >= frame.x && x < frame.x + frame.width) ?? null;
  }

  // --- painting ------------------------------------------------------------

  draw() {
    const width = this.scroller.clientWidth;
    if (!this.tree || !width) return;
    const all = this.rows.length * FRAME_ROW + 1;
    const height = isPrinting() ? Math.min(all, 4000) : Math.min(all, this.scroller.clientHeight || all);
    const offset = isPrinting() ? 0 : Math.min(this.scroller.scrollTop, Math.max(0, all - height));
    this.canvas.style.top = `${offset}px`;
    const g = context(this.canvas, width, height);
    g.font = FRAME_FONT;
    g.textBaseline = 'middle';
    this.options.palette.prepare(this.colors);
    const ink = this.ink();
    for (let row = 0; row < this.rows.length; row++) {
      const y = this.yOf(row) - offset;
      if (y > -FRAME_ROW && y < height) for (const frame of this.rows[row]) this.drawFrame(g, frame, y, row < this.zoomRow, ink);
    }
  }

  ink() {
    return {
      text: color('--frame-text'), faint: color('--frame-faint'), match: color('--match'),
      matchText: color('--match-text'), focus: color('--focus'), rest: color('--rest'), top: color('--frame-top'),
      hover: color('--hover'), muted: color('--muted'),
    };
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {Frame} frame
   * @param {number} y
   * @param {boolean} above the zoomed frame
   * @param {ReturnType<FlameView['ink']>} ink
   */
  drawFrame(g, frame, y, above, ink) {
    const width = Math.max(0.5, frame.width - (frame.width > 3 ? 1 : 0.2));
    const matches = this.isMatch(frame.node);
    if (frame.count) g.fillStyle = ink.rest;
    else if (this.matcher) g.fillStyle = matches ? ink.match : ink.faint;
    else g.fillStyle = frame.node === 0 ? ink.top : this.fillOf(frame.node);
    g.globalAlpha = above ? 0.6 : 1;
    g.fillRect(frame.x, y, width, FRAME_ROW - 1);
    g.globalAlpha = 1;
    if (frame.node === this.hovered && !frame.count) {
      g.fillStyle = ink.hover;
      g.fillRect(frame.x, y, width, FRAME_ROW - 1);
    }
    if (frame.width > 28 && !frame.count) {
      g.fillStyle = !this.matcher ? ink.text : matches ? ink.matchText : ink.muted;
      g.fillText(this.labelFor(frame), frame.x + 5, y + FRAME_ROW / 2);
    }
    if (frame.node === this.focused && !frame.count && document.activeElement === this.scroller) {
      g.strokeStyle = ink.focus;
      g.lineWidth = 2;
      g.strokeRect(frame.x + 1, y + 1, Math.max(1, width - 2), FRAME_ROW - 3);
    }
  }

  /** @param {number} node @returns {string} */
  fillOf(node) {
    const tree = /** @type {FlameTree} */ (this.tree);
    if (this.colors === 'state' && tree.totals.length > 1)
      return this.options.palette.ofStates(tree.totals.slice(1).map((total) => total[node]));
    if (!tree.base) return this.options.palette.of(tree.fn[node]);
    const whole = Math.max(this.whole, this.wholeBase) || 1;
    const share = (tree.total[node] - tree.base.total[node]) / whole;
    return this.options.palette.ofChange(share, !tree.base.total[node]);
  }

  /** @param {Frame} frame @returns {string} cut to its width */
  labelFor(frame) {
    const tree = /** @type {FlameTree} */ (this.tree);
    const room = Math.floor((frame.width - 8) / FRAME_CHAR);
    const name = this.nameOf(frame.node);
    if (room < 3) return '';
    if (name.length >= room - 9) return shorten(name, room);
    const more = tree.base ? changePercent(tree.base.total[frame.node], tree.total[frame.node])
      : percent(tree.width[frame.node], this.whole);
    // Isolated: a name from right to left must not turn the figure around.
    return name.length + more.length + 3 <= room ? `\u2068${name}\u2069  ${more}` : name;
  }

  // --- what a frame says ---------------------------------------------------

  /** @param {number} node @returns {string} */
  nameOf(node) {
    return node === 0 ? 'all' : this.recording.name(/** @type {FlameTree} */ (this.tree).fn[node]);
  }

  /** @param {number} node @returns {[string, string][]} */
  figures(node) {
    const tree = /** @type {FlameTree} */ (this.tree);
    const { unit, estimated } = /** @type {ValueHead} */ (this.value);
    const about = estimated ? '~' : '';
    const sum = (/** @type {number} */ value, /** @type {number} */ of) =>
      `${about}${amount(value, unit)}${of ? ` (${percent(value, of)})` : ''}`;
    if (!tree.base) {
      /** @type {[string, string][]} */
      const rows = [['total', sum(tree.total[node], this.whole)]];
      for (const [i, { title }] of this.states.entries()) rows.push([title.toLowerCase(), amount(tree.totals[i + 1][node], unit)]);
      if (node && !tree.up) rows.push(['self', sum(tree.self[node], this.whole)]);
      return rows;
    }
    const [before, after] = [tree.base.total[node], tree.total[node]];
    return [
      ['A', sum(before, this.wholeBase)], ['B', sum(after, this.whole)],
      ['change', `${change(after - before, unit)} ${changePercent(before, after)}`.trim()],
      ['self', tree.up ? '' : `${amount(tree.base.self[node], unit)} → ${amount(tree.self[node], unit)}`],
    ];
  }

  /** @param {number} node @returns {string} for screen readers */
  sentence(node) {
    const tree = /** @type {FlameTree} */ (this.tree);
    const parts = this.figures(node).map(([name, text]) => `${name} ${text}`);
    const calls = tree.children(node).length;
    return `${this.nameOf(node)}, ${parts.join(', ')}, ${calls} ${tree.up ? 'caller' : 'callee'}${calls === 1 ? '' : 's'}`;
  }

  /** Says the focused frame in the accessibility tree. */
  describe() {
    const { tree, item } = this;
    if (!tree) return;
    const parent = tree.parent[this.focused];
    const siblings = tree.children(parent);
    item.textContent = this.sentence(this.focused);
    item.setAttribute('aria-level', String(tree.path(this.focused).length + 1));
    item.setAttribute('aria-posinset', String(Math.max(0, siblings.indexOf(this.focused)) + 1));
    item.setAttribute('aria-setsize', String(Math.max(1, this.focused ? siblings.length : 1)));
    item.setAttribute('aria-selected', 'true');
  }

  tell() {
    if (!this.tree) return;
    this.describe();
    announce(this.item.textContent ?? '');
    this.options.onfocus(this, this.focused);
    this.redraw();
  }

  // --- what a person does --------------------------------------------------

  /** @param {number} node */
  focus(node) {
    const tree = /** @type {FlameTree} */ (this.tree);
    this.focused = node;
    if (!tree.isBelow(node, this.zoomed) && !tree.isBelow(this.zoomed, node)) this.zoom(tree.parent[node]);
    const row = this.rows.findIndex((frames) => frames.some((frame) => frame.node === node && !frame.count));
    if (row >= 0) this.scrollTo(this.yOf(row));
    this.tell();
  }

  /** @param {number} y a row that shall be seen */
  scrollTo(y) {
    const { scroller } = this;
    if (y < scroller.scrollTop) scroller.scrollTop = y;
    else if (y + FRAME_ROW > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = y + FRAME_ROW - scroller.clientHeight;
  }

  /** @param {number} node becomes as wide as the graph */
  zoom(node) {
    const tree = /** @type {FlameTree} */ (this.tree);
    this.zoomed = tree.isBelow(node, this.top) ? node : this.top;
    if (!tree.isBelow(this.focused, this.zoomed)) this.focused = this.zoomed;
    this.relayout();
    this.tell();
    announce(`Zoomed to ${this.sentence(this.zoomed)}`);
    this.onzoom?.();
  }

  /** @param {number[]} path functions from the outermost on; the zoom ends before the first without a frame */
  zoomTo(path) {
    const { tree } = this;
    let node = this.top;
    for (const fn of tree ? path : []) {
      const next = tree?.children(node).find((child) => tree?.fn[child] === fn);
      if (!next) break;
      node = next;
    }
    if (tree && node !== this.zoomed) this.zoom(node);
  }

  /** Zooms out to the caller. @returns {boolean} false if the top is shown already */
  back() {
    if (!this.tree || this.zoomed === this.top) return false;
    this.zoom(this.tree.parent[this.zoomed]);
    return true;
  }

  /** @param {number} step 1: the next match; -1: the one before */
  nextMatch(step) {
    const list = this.rows.flat().filter(({ node, count }) => !count && this.isMatch(node))
      .sort((a, b) => a.x - b.x || b.width - a.width).map(({ node }) => node);
    if (!list.length) return;
    const at = list.indexOf(this.focused);
    const next = at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length;
    this.scroller.focus();
    this.focus(list[next]);
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const frame = this.frameAt(event);
    this.scroller.style.cursor = frame ? 'pointer' : 'default';
    const node = frame ? frame.node : -1;
    if (node !== this.hovered) {
      this.hovered = node;
      this.redraw();
      if (frame && !frame.count) this.options.onfocus(this, node);
    }
    if (frame) showTip(event.clientX, event.clientY, this.tipOf(frame));
    else hideTip();
  }

  /** @param {Frame} frame */
  tipOf(frame) {
    const { recording } = this;
    const fn = /** @type {FlameTree} */ (this.tree).fn[frame.node];
    if (frame.count) return [el('b', {}, `${frame.count} narrower frames`), el('p', {}, 'Zoom in to see them.')];
    if (!frame.node) return [el('b', {}, 'all'), facts(this.figures(0))];
    return [
      el('b', {}, shorten(recording.name(fn), 300)), facts(this.figures(frame.node)),
      el('p', {}, shorten(recording.place(fn) || recording.module(fn), 200)),
    ];
  }

  leave() {
    this.hovered = -1;
    hideTip();
    this.options.onfocus(this, this.focused);
    this.redraw();
  }

  /** @param {MouseEvent} event */
  click(event) {
    const frame = this.frameAt(event);
    if (!frame) return;
    hideTip();
    const tree = /** @type {FlameTree} */ (this.tree);
    const node = frame.count ? tree.parent[frame.node] : frame.node;
    this.focused = node;
    this.zoom(node);
  }

  /** @param {PointerEvent} event by mouse or keyboard */
  contextMenu(event) {
    const isKey = event.button !== 2 && !event.ctrlKey && event.pointerType !== 'touch';
    const frame = isKey ? null : this.frameAt(event);
    if (!isKey && (!frame || frame.count)) return;
    event.preventDefault();
    if (!frame) return this.menu();
    this.focused = frame.node;
    this.options.onmenu(this, frame.node, event.clientX, event.clientY);
  }

  /** The menu of the frame with the focus, beside it. */
  menu() {
    const box = this.spacer.getBoundingClientRect();
    for (const [row, frames] of this.rows.entries()) {
      const frame = frames.find(({ node, count }) => node === this.focused && !count);
      if (frame) this.options.onmenu(this, frame.node, box.left + frame.x + 12, box.top + this.yOf(row) + FRAME_ROW);
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.tree || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = this.actions()[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    hideTip();
    action();
  }

  /** @returns {Record<string, () => void>} */
  actions() {
    const tree = /** @type {FlameTree} */ (this.tree);
    const out = () => this.focused !== this.top && this.focus(tree.parent[this.focused]);
    const into = () => {
      const child = tree.children(this.focused)[0];
      if (child) this.focus(child);
    };
    const beside = (/** @type {number} */ step) => {
      if (this.focused === this.top) return;
      const siblings = tree.children(tree.parent[this.focused]);
      const next = siblings[siblings.indexOf(this.focused) + step];
      if (next) this.focus(next);
    };
    return {
      ArrowUp: this.options.up ? into : out,
      ArrowDown: this.options.up ? out : into,
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      Home: () => this.focus(this.top),
      Enter: () => this.zoom(this.focused),
      ' ': () => this.zoom(this.focused),
      Backspace: () => this.back(),
      0: () => this.zoom(this.top),
      m: () => this.menu(),
      s: () => this.focused && this.options.onopen(tree.fn[this.focused]),
      n: () => this.nextMatch(1),
      N: () => this.nextMatch(-1),
    };
  }
}
