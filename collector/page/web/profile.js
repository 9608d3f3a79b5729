// SPDX-License-Identifier: Apache-2.0
import { FlameView } from './flame.js';
import { FunctionTable } from './table.js';
import { amount, percent, shorten } from './format.js';
import { button, chooser, el, facts, fill } from './dom.js';
import { barWidth } from './model.js';
import { treeOfAll, treeOfCallees, treeOfCallers } from './tree.js';

/**
 * Where the values are: the flame graph of all stacks with the table of
 * functions, and the callers and callees of one function.
 */

/** @typedef {import('./store.js').Store} Store */
/** @typedef {import('./theme.js').Palette} Palette */

/** @param {Store} store @returns {{ sums: import('./model.js').Sums, base: import('./model.js').Sums | null }} */
function sumsOf(store) {
  const { recording, value, selection } = store;
  return {
    sums: recording.nodeSums(value, selection, 'self'),
    base: recording.isDiff ? recording.nodeSums(value, selection, 'base') : null,
  };
}

/**
 * Bars of a distribution: durations from left to right and calls upwards, both
 * as logarithms, so that one slow call of a million is to be seen.
 * @param {{ ns: number, width: number, calls: number }[]} bars
 * @param {[string, string][]} figures
 * @returns {HTMLElement}
 */
function histogram(bars, figures) {
  const most = Math.log1p(Math.max(...bars.map((bar) => bar.calls)));
  const last = bars[bars.length - 1];
  const known = new Map(bars.map((bar) => [bar.ns, bar]));
  const columns = [];
  for (let ns = bars[0].ns; ns <= last.ns && columns.length < 256; ns += barWidth(ns)) {
    const calls = known.get(ns)?.calls ?? 0;
    const range = `${amount(ns, 'nanoseconds')} – ${amount(ns + barWidth(ns), 'nanoseconds')}`;
    const bar = el('i', { title: `${range}: ${amount(calls, 'count')} ${calls === 1 ? 'call' : 'calls'}` });
    bar.style.setProperty('--share', `${((100 * Math.log1p(calls)) / most).toFixed(1)}%`);
    columns.push(bar);
  }
  const said = figures.map(([name, value]) => `${name} ${value}`).join(', ');
  return el('div', { class: 'histogram' },
    el('div', { class: 'bars', role: 'img', 'aria-label': `How long calls took: ${said}` }, columns),
    el('div', { class: 'ends' }, el('span', {}, amount(bars[0].ns, 'nanoseconds')), el('span', {}, amount(last.ns + last.width, 'nanoseconds'))));
}

/** Says all of one frame in a line below a flame graph. */
class Details {
  /** @param {Store} store @param {(fn: number) => void} onopen */
  constructor(store, onopen) {
    this.store = store;
    this.onopen = onopen;
    this.element = el('div', { class: 'details' });
  }

  /** @param {number} fn @returns {HTMLElement | null} how long its calls took, where that is known */
  durations(fn) {
    const { recording, selection } = this.store;
    const bars = recording.barsOf(fn);
    if (!bars.length || recording.isDiff || selection.range || selection.threads) return null;
    const figures = /** @type {const} */ (['median', 'p99', 'max']).map((which) =>
      /** @type {[string, string]} */ ([which, amount(recording.singleOf(which, fn), 'nanoseconds')]));
    return el('div', { class: 'durations' }, histogram(bars, figures), facts(figures));
  }

  /** @param {FlameView} view @param {number} node */
  show(view, node) {
    const { recording } = this.store;
    const tree = view.tree;
    if (!tree) return;
    const fn = tree.fn[node];
    const where = node ? [recording.place(fn), recording.module(fn)].filter(Boolean).join(' · ') : '';
    fill(this.element,
      el('div', { class: 'frame-name' }, el('b', {}, shorten(node ? recording.fullName(fn) : 'all', 600)),
        where ? el('span', { class: 'muted' }, where) : null),
      facts(view.figures(node)),
      node ? this.durations(fn) : null,
      node ? button('Callers and callees', () => this.onopen(fn), { class: 'small' }) : null);
  }
}

/** The flame graph of all and the table. */
export class ProfileView {
  /** @param {Store} store @param {Palette} palette @param {(fn: number) => void} onopen */
  constructor(store, palette, onopen) {
    this.store = store;
    this.details = new Details(store, onopen);
    this.flame = new FlameView({
      recording: store.recording, palette, label: 'Flame graph of all stacks', onopen,
      onfocus: (view, node) => this.details.show(view, node),
    });
    this.table = new FunctionTable(store, onopen);
    this.found = el('span', { class: 'muted', id: 'found' });
    this.back = button('Back', () => this.flame.back(), { class: 'small', title: 'Zoom to the caller (Backspace)' });
    this.reset = button('Reset zoom', () => this.flame.zoom(0), { class: 'small', title: 'Show all (0)' });
    this.title = el('h2', {}, 'Flame graph');
    this.empty = el('p', { class: 'empty', hidden: true }, 'Nothing of this value is known here: take another value, range or thread.');
    this.element = el('div', { class: 'view' },
      el('section', { class: 'panel', 'aria-label': 'Flame graph' },
        el('div', { class: 'panel-head' }, this.title, this.found, el('span', { class: 'space' }), this.back, this.reset,
          this.widths(), this.colors()),
        this.empty, this.flame.element, this.details.element),
      this.table.element);
    store.follow(['value', 'range', 'threads', 'widths', 'colors'], () => this.update());
    store.follow(['query'], () => this.search());
  }

  colors() {
    if (this.store.recording.isDiff) return null;
    return chooser('Colours', [['module', 'by module'], ['function', 'by name']], this.store.state.colors,
      (by) => this.store.set({ colors: /** @type {any} */ (by) })).field;
  }

  widths() {
    if (!this.store.recording.isDiff) return null;
    return chooser('Widths', [['self', 'B (after)'], ['base', 'A (before)']], this.store.state.widths,
      (side) => this.store.set({ widths: /** @type {any} */ (side) })).field;
  }

  update() {
    const { recording, value, state } = this.store;
    const { sums, base } = sumsOf(this.store);
    const tree = treeOfAll(recording, sums, base);
    if (base && state.widths === 'base') tree.widthsOf(base.total);
    this.title.textContent = `Flame graph · ${value.title}${value.estimated ? ' (estimated from samples)' : ''}`;
    this.flame.colors = state.colors;
    this.empty.hidden = tree.width[0] > 0;
    this.flame.show(tree, value, { keep: true, whole: sums.total[0], wholeBase: base?.total[0] ?? 0 });
    this.details.show(this.flame, this.flame.focused);
    this.tellFound();
  }

  search() {
    this.flame.search(this.store.matcher);
    this.tellFound();
  }

  tellFound() {
    if (!this.store.matcher) {
      this.found.textContent = '';
      return;
    }
    const { sum, of } = this.flame.matched();
    this.found.textContent = `${percent(sum, of) || '0 %'} matched (${amount(sum, this.store.value.unit)})`;
  }
}

/** Callers above a function, callees below it. */
export class SandwichView {
  /** @param {Store} store @param {Palette} palette @param {(fn: number) => void} onopen */
  constructor(store, palette, onopen) {
    this.store = store;
    this.details = new Details(store, onopen);
    const view = (/** @type {string} */ label, /** @type {boolean} */ up) => new FlameView({
      recording: store.recording, palette, label, up, onopen,
      onfocus: (flame, node) => this.details.show(flame, node),
    });
    this.callers = view('Callers of the function', true);
    this.callees = view('Callees of the function', false);
    this.title = el('h2', {}, 'Callers and callees');
    this.hint = el('p', { class: 'empty' }, 'Choose a function: click its name in the table of functions, or press s on a frame.');
    this.body = el('div', {}, el('h3', {}, 'Callers'), this.callers.element, el('h3', {}, 'Callees'),
      this.callees.element, this.details.element);
    this.element = el('div', { class: 'view' }, el('section', { class: 'panel sandwich', 'aria-label': 'Callers and callees' },
      el('div', { class: 'panel-head' }, this.title), this.hint, this.body));
    store.follow(['value', 'range', 'threads', 'fn', 'tab', 'colors'], () => this.update());
    store.follow(['query'], () => [this.callers, this.callees].forEach((flame) => flame.search(store.matcher)));
  }

  update() {
    const { recording, value, state } = this.store;
    if (state.tab !== 'callers') return;
    this.hint.hidden = state.fn >= 0;
    this.body.hidden = state.fn < 0;
    if (state.fn < 0) return;
    const { sums, base } = sumsOf(this.store);
    this.title.textContent = `${shorten(recording.name(state.fn), 200)} · ${value.title}`;
    const how = { top: 1, whole: sums.total[0], wholeBase: base?.total[0] ?? 0 };
    for (const [flame, make] of /** @type {const} */ ([[this.callers, treeOfCallers], [this.callees, treeOfCallees]])) {
      const tree = make(recording, state.fn, sums, base);
      flame.colors = state.colors;
      flame.matcher = this.store.matcher;
      flame.show(tree, value, how);
    }
    this.details.show(this.callees, 1);
  }
}
