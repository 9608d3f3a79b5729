// SPDX-License-Identifier: Apache-2.0
import { FlameView } from './flame.js';
import { FunctionTable } from './table.js';
import { StackTable } from './stacktable.js';
import { amount, percent, shorten, visible } from './format.js';
import { button, chooser, columnChart, el, facts, fill } from './dom.js';
import { barWidth } from './model.js';
import { waitedFor } from './locks.js';
import { copyText, showMenu } from './menu.js';
import { FlameTree, Stacks } from './tree.js';

/**
 * Where the values are: the flame graph of all stacks with the table of
 * functions, and the callers and callees of one function.
 */

/** @typedef {import('./store.js').Store} Store */
/** @typedef {import('./theme.js').Palette} Palette */
/** @typedef {import('./data.js').ValueHead} ValueHead */

/** Frames of libc, of the loader and of perfrec, which `Fold libc and perfrec` makes part of their callers. */
const FOLDED = /(^|\/)(libc|libpthread|ld-linux[^/]*|ld|libperfrec_preload)[.-][^/]*$/;
/** The ways to look at stacks. @type {[string, string][]} */
export const SHAPES = [['down', 'Flame graph'], ['up', 'Bottom-up graph'], ['tree', 'Call tree'], ['bottom', 'Bottom-up table']];
/** The values that colours by state are of. */
const STATES = ['on_cpu', 'runnable', 'blocked'];

/** @param {import('./model.js').Recording} recording @returns {[string, string][]} the ways to colour frames */
export function colorsOf(recording) {
  /** @type {[string, string][]} */
  const ways = [['module', 'by module'], ['function', 'by name']];
  if (['wall', ...STATES].every((key) => recording.value(key))) ways.push(['state', 'by state']);
  return ways;
}

/** @param {Store} store @returns {ValueHead[]} the states of the shown value, where they are known by stack */
function statesOf({ recording, value, selection, state }) {
  if (state.colors !== 'state' || value.key !== 'wall' || selection.range || selection.threads) return [];
  return STATES.map((key) => recording.value(key)).filter((one) => one !== undefined);
}

/**
 * @param {Store} store
 * @param {ValueHead[]} states whose sums follow
 * @returns {import('./model.js').Sums[]} of the value, and of the recording before it
 */
function sumsOf({ recording, value, selection }, states) {
  const sums = [recording.nodeSums(value, selection, 'self')];
  if (recording.isDiff) sums.push(recording.nodeSums(value, selection, 'base'));
  return [...sums, ...states.map((one) => recording.nodeSums(one, selection, 'self'))];
}

/**
 * @param {Store} store
 * @param {FlameTree} tree
 * @param {number} node
 * @param {(fn: number) => void} onopen
 * @returns {([string, () => void] | null)[]} what each frame has in its menu
 */
function frameItems(store, tree, node, onopen) {
  const { recording } = store;
  const fn = tree.fn[node];
  const path = tree.path(node).map((n) => recording.fullName(tree.fn[n]));
  return node ? [
    ['Callers and callees', () => onopen(fn)],
    recording.isDiff ? null : ['Source', () => store.set({ fn, tab: 'lines' })],
    ['Copy name', () => copyText(recording.fullName(fn), 'Name')],
    ['Copy stack', () => copyText((tree.up ? path.reverse() : path).join('\n'), 'Stack')],
  ] : [];
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
    columns.push(/** @type {[string, number]} */ ([`${range}: ${amount(calls, 'count')} ${calls === 1 ? 'call' : 'calls'}`, Math.log1p(calls) / most]));
  }
  const said = figures.map(([name, value]) => `${name} ${value}`).join(', ');
  return columnChart(columns, `How long calls took: ${said}`, amount(bars[0].ns, 'nanoseconds'), amount(last.ns + last.width, 'nanoseconds'));
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
    const { recording, selection } = this.store;
    const tree = view.tree;
    if (!tree) return;
    const fn = tree.fn[node];
    const where = node ? [recording.place(fn), recording.module(fn)].filter(Boolean).join(' · ') : '';
    fill(this.element,
      el('div', { class: 'frame-name' }, el('b', {}, shorten(node ? recording.fullName(fn) : 'all', 600)),
        where ? el('span', { class: 'muted' }, where) : null),
      facts(view.figures(node)),
      node ? this.durations(fn) : null,
      node && !selection.range && !selection.threads ? waitedFor(recording, fn) : null,
      node ? button('Callers and callees', () => this.onopen(fn), { class: 'small' }) : null,
      node && recording.place(fn) && !recording.isDiff ? button('Source', () => this.store.set({ fn, tab: 'lines' }), { class: 'small' }) : null);
  }
}

/** All stacks, as a graph or as a table, and the table of functions. */
export class ProfileView {
  /** @param {Store} store @param {Palette} palette @param {(fn: number) => void} onopen */
  constructor(store, palette, onopen) {
    this.store = store;
    this.palette = palette;
    this.onopen = onopen;
    this.onlyMatches = false;
    /** Functions from the menu, each with its action. @type {Map<number, 'only' | 'hide' | 'fold'>} */
    this.cuts = new Map();
    this.details = new Details(store, onopen);
    this.flame = new FlameView({
      recording: store.recording, palette, label: 'Flame graph of all stacks', onopen,
      onfocus: (view, node) => this.details.show(view, node), onmenu: (_view, node, x, y) => this.menu(node, x, y),
    });
    this.stacks = new StackTable(store.recording, { onopen, onmenu: (node, x, y) => this.menu(node, x, y) });
    this.table = new FunctionTable(store, onopen);
    this.found = el('span', { class: 'muted', id: 'found' });
    this.back = button('Back', () => this.flame.back(), { class: 'small', title: 'Zoom to the caller (Backspace)' });
    this.reset = button('Reset zoom', () => this.flame.zoom(0), { class: 'small', title: 'Show all (0)' });
    this.title = el('h2', {}, 'Flame graph');
    this.chips = el('div', { class: 'chips' });
    this.legend = el('ul', { class: 'legend', 'aria-label': 'Colours' });
    this.only = this.check('Only matches', (on) => { this.onlyMatches = on; });
    this.empty = el('p', { class: 'empty', hidden: true }, store.value.key
      ? 'This value is 0 here: choose another value, range or thread.'
      : 'This recording has no call, no CPU sample and no allocation.');
    this.graph = el('div', {}, this.flame.element, this.legend, this.details.element);
    const folds = el('input', { type: 'checkbox', id: 'fold', onchange: () => store.set({ folds: folds.checked }) });
    this.holder = el('div');
    this.colorField = this.colors();
    this.element = el('div', { class: 'view' },
      el('section', { class: 'panel stacks', 'aria-label': 'Stacks' },
        el('div', { class: 'panel-head' }, this.title, this.found, el('span', { class: 'space' }), this.only, this.back, this.reset,
          this.choice('Show', SHAPES, 'shape'), el('label', { class: 'check' }, folds, 'Fold libc and perfrec'),
          this.widths(), this.colorField),
        this.chips, this.empty, this.graph, this.holder),
      this.table.element);
    store.follow(['folds'], () => { folds.checked = store.state.folds; });
    store.follow(['value', 'range', 'threads', 'widths', 'colors', 'shape', 'folds'], () => this.update());
    store.follow(['query'], () => this.search());
  }

  /** @param {string} text @param {(on: boolean) => void} action before all is shown again */
  check(text, action) {
    const box = el('input', { type: 'checkbox', onchange: () => { action(box.checked); this.update(); } });
    return el('label', { class: 'check' }, box, text);
  }

  /** @param {string} label @param {[string, string][]} ways @param {'shape' | 'colors' | 'widths'} name of the state */
  choice(label, ways, name) {
    const { store } = this;
    const { field, select } = chooser(label, ways, store.state[name], (way) => store.set({ [name]: way }));
    store.follow([name], () => { select.value = store.state[name]; });
    return field;
  }

  colors() {
    const { recording } = this.store;
    return recording.isDiff ? null : this.choice('Colours', colorsOf(recording), 'colors');
  }

  widths() {
    return this.store.recording.isDiff ? this.choice('Widths', [['self', 'B (after)'], ['base', 'A (before)']], 'widths') : null;
  }

  /** @returns {import('./tree.js').Cut} */
  cut() {
    const { recording } = this.store;
    const is = (/** @type {string} */ what) => (/** @type {number} */ fn) => this.cuts.get(fn) === what;
    const folds = (/** @type {number} */ fn) => FOLDED.test(recording.module(fn)) || recording.name(fn) === '[perfrec]';
    const only = [...this.cuts].filter(([, what]) => what === 'only').map(([chosen]) => (/** @type {number} */ fn) => fn === chosen);
    if (this.onlyMatches && this.store.matcher) only.push((fn) => this.flame.matchesFunction(fn));
    return { fold: (fn) => is('fold')(fn) || (this.store.state.folds && folds(fn)), hide: is('hide'), only };
  }

  update() {
    const { value, state } = this.store;
    const states = statesOf(this.store);
    const stacks = new Stacks(this.store.recording, sumsOf(this.store, states), this.cut());
    const isTable = state.shape === 'tree' || state.shape === 'bottom';
    const tree = new FlameTree(stacks, state.shape === 'up' || state.shape === 'bottom');
    if (tree.base && state.widths === 'base') tree.widthsOf(1);
    const shape = SHAPES.find(([id]) => id === state.shape)?.[1];
    this.title.textContent = `${shape}${value.key ? ' · ' : ''}${value.title}${value.estimated ? ' (estimated from samples)' : ''}`;
    this.flame.colors = state.colors;
    this.flame.states = states;
    this.empty.hidden = tree.width[0] > 0;
    this.graph.hidden = isTable;
    for (const one of [this.back, this.reset, this.colorField]) if (one) one.hidden = isTable;
    fill(this.holder, isTable ? this.stacks.element : null);
    this.showCuts();
    const [{ total }] = stacks.sums;
    this.flame.show(tree, value, { keep: true, whole: total[0], wholeBase: tree.base?.total[0] ?? 0 });
    if (isTable) this.stacks.show(tree, value, total[0]);
    this.showLegend(stacks, states);
    this.details.show(this.flame, this.flame.focused);
    this.tellFound();
  }

  /** Lists the cuts; a button for each ends it. */
  showCuts() {
    const words = { only: 'Only stacks with', hide: 'Without', fold: 'Folded' };
    fill(this.chips, [...this.cuts].map(([fn, what]) => el('span', { class: 'chip' },
      `${words[what]} ${shorten(this.store.recording.name(fn), 60)}`,
      button('×', () => this.setCut(fn, null), { 'aria-label': `Leave: ${words[what]} ${this.store.recording.name(fn)}` }))));
  }

  /** @param {Stacks} stacks @param {ValueHead[]} states */
  showLegend(stacks, states) {
    const { recording, state, value } = this.store;
    const item = (/** @type {string} */ color, /** @type {string} */ text) => {
      const swatch = el('i');
      swatch.style.background = color;
      return el('li', {}, swatch, text);
    };
    this.palette.prepare(state.colors);
    /** @type {HTMLElement[]} */
    let items = [];
    if (recording.isDiff) {
      const { diff } = recording.header;
      items = [item(this.palette.ofChange(0.1, false), 'more in B'), item(this.palette.ofChange(-0.1, false), 'less in B')];
      if ((diff?.a?.runs ?? 1) > 1 || (diff?.b?.runs ?? 1) > 1)
        items.push(el('li', { class: 'muted' }, `The run of each side with the median wall time: ${visible(diff?.a.name ?? '')}, ${visible(diff?.b.name ?? '')}.`));
    } else if (states.length) {
      items = states.map(({ title }, i) => item(this.palette.ofStates(states.map((_, k) => Number(k === i))),
        `${title} ${percent(stacks.sums[i + 1].total[0], stacks.sums[0].total[0])}`));
      items.push(el('li', { class: 'muted' }, 'A frame has the colour of its longest state, the paler the less of its time that is.'));
    } else if (state.colors === 'state') items.push(el('li', {}, `States are known of ${recording.value('wall')?.title.toLowerCase()} of the whole recording only.`));
    else if (state.colors === 'module') {
      const self = new Float64Array(recording.functions);
      for (const [n, own] of stacks.sums[0].self.entries()) self[stacks.fn[n]] += own;
      const modules = this.palette.modulesOf(self);
      items = modules.slice(0, 10).map(([module, sum]) =>
        item(this.palette.ofModule(module), `${shorten(module, 40)} ${percent(sum, stacks.sums[0].total[0])}`));
      if (modules.length > 10) items.push(el('li', { class: 'muted' }, `and ${modules.length - 10} more`));
    }
    this.legend.hidden = !items.length || !value.key;
    fill(this.legend, items);
  }

  /** @param {number} fn @param {'only' | 'hide' | 'fold' | null} what */
  setCut(fn, what) {
    if (what) this.cuts.set(fn, what);
    else this.cuts.delete(fn);
    this.update();
  }

  /** @param {number} node of the shown tree @param {number} x @param {number} y */
  menu(node, x, y) {
    const tree = /** @type {FlameTree} */ (this.flame.tree);
    const fn = tree.fn[node];
    if (!node) return;
    const name = shorten(this.store.recording.name(fn), 40);
    showMenu(x, y, [
      this.graph.hidden ? null : ['Zoom', () => this.flame.zoom(node)],
      [`Only stacks with ${name}`, () => this.setCut(fn, 'only')],
      [`Hide ${name} and its callees`, () => this.setCut(fn, 'hide')],
      [`Fold ${name} into its callers`, () => this.setCut(fn, 'fold')],
      ...frameItems(this.store, tree, node, this.onopen),
    ]);
  }

  search() {
    this.flame.search(this.store.matcher);
    this.only.hidden = !this.store.matcher;
    if (this.onlyMatches) this.update();
    else this.tellFound();
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
      onmenu: (flame, node, x, y) => showMenu(x, y, frameItems(store, /** @type {FlameTree} */ (flame.tree), node, onopen)),
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
    const states = statesOf(this.store);
    const stacks = new Stacks(recording, sumsOf(this.store, states));
    this.title.textContent = `${shorten(recording.name(state.fn), 200)} · ${value.title}`;
    const how = { top: 1, whole: stacks.sums[0].total[0], wholeBase: recording.isDiff ? stacks.sums[1].total[0] : 0 };
    for (const flame of [this.callers, this.callees]) {
      flame.colors = state.colors;
      flame.states = states;
      flame.show(new FlameTree(stacks, flame === this.callers, state.fn), value, how);
    }
    this.details.show(this.callees, 1);
  }
}
