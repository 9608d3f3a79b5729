// SPDX-License-Identifier: Apache-2.0
import { amount, baseName, change, changePercent, percent, visible } from './format.js';
import { announce, button, el, fill } from './dom.js';
import { ALL } from './model.js';

/**
 * The table of functions. It is a table of the document, so that its figures,
 * unlike those of a canvas, can be read, copied and printed.
 */

/** @typedef {import('./store.js').Store} Store */
/** @typedef {import('./data.js').ValueHead} ValueHead */
/**
 * @typedef {{
 *   id: string, title: string, hint: string, raw: (fn: number) => number, text: (fn: number) => string,
 *   bar?: (fn: number) => number, size?: (fn: number) => number, isChange?: (fn: number) => boolean,
 * }} Column
 *   raw: the figure; size: the key for sorting, if it is not the figure; bar: a share, drawn behind the text;
 *   isChange: the runs show that it is no chance
 */

const FIRST_ROWS = 60;
/** The values that wall time is the sum of, from switches or from samples. */
const PARTS = ['on_cpu', 'runnable', 'blocked'];

/** Names, sorted by what a column says. */
export class FunctionTable {
  /**
   * @param {Store} store
   * @param {(fn: number) => void} onopen
   * @param {ValueHead[]} [values] the columns, of the whole recording; without it they follow the chosen value
   */
  constructor(store, onopen, values) {
    this.store = store;
    this.onopen = onopen;
    this.values = values;
    /** The column that somebody has chosen; '': none. */
    this.chosen = '';
    this.sort = 'self';
    this.descending = true;
    this.limit = FIRST_ROWS;
    /** The share of wall time without a CPU, if it is above a half. */
    this.waiting = 0;
    /** Functions with less time on CPUs are sorted by self time then. */
    this.leastBusy = 0;
    this.allValues = false;
    /** @type {Column[]} */
    this.columns = [];
    /** @type {Float64Array | null} */
    this.counts = null;
    this.exact = true;
    this.caption = el('p', { class: 'caption' });
    this.head = el('thead');
    this.body = el('tbody', { onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) });
    this.more = el('div', { class: 'more' });
    const every = el('input', { type: 'checkbox', onchange: () => this.showAllValues(every.checked) });
    this.panelHead = el('div', { class: 'panel-head' }, el('h2', {}, 'Functions'),
      store.recording.values.length > 1 && !store.recording.isDiff && !values
        ? el('label', { class: 'check' }, every, 'All values') : null);
    this.element = el('section', { class: 'panel functions', 'aria-label': 'Functions' }, this.panelHead, this.caption,
      el('div', { class: 'scroll', tabindex: -1 }, el('table', { 'aria-label': 'Functions' }, this.head, this.body)), this.more);
    store.follow(values ? [] : ['value', 'range', 'threads'], () => this.update());
    store.follow(['query'], () => this.rows());
  }

  /** @param {boolean} all */
  showAllValues(all) {
    this.allValues = all;
    this.update();
  }

  update() {
    const { recording, value } = this.store;
    const calls = this.callsValue();
    this.counts = calls ? this.sums(calls).self : null;
    this.exact = true;
    if (this.values) this.columns = [...this.values.map((one) => this.brief(one, ALL)[0]), ...this.temporary()];
    else if (recording.isDiff) this.columns = this.diffColumns(value);
    else {
      this.columns = [...this.columnsOf(value), ...this.partsOf(value)];
      if (this.allValues)
        for (const other of recording.values)
          this.columns.push(...this.brief(other).filter(({ id }) => other !== value && !this.columns.some((one) => one.id === id)));
    }
    const usual = this.usualSort();
    this.sort = this.chosen === 'name' || this.columns.some(({ id }) => id === this.chosen) ? this.chosen : usual;
    this.header();
    this.rows();
  }

  /** @returns {Column[]} the blocks that lived shortly, where their number is known */
  temporary() {
    const blocks = this.store.recording.data.numbers('function.temporary');
    return blocks.some((count) => count) ? [{ id: 'temporary', title: 'Temporary blocks',
      hint: 'Freed before the thread allocated the next one', raw: (fn) => blocks[fn], text: (fn) => (blocks[fn] ? amount(blocks[fn], 'count') : '') }] : [];
  }

  /** @returns {string} the column that sorts if nobody has chosen: threads that sleep shall not be on top */
  usualSort() {
    const sum = (/** @type {Column | undefined} */ column) => {
      let all = 0;
      for (let fn = 0; column && fn < this.store.recording.functions; fn++) all += column.raw(fn);
      return all;
    };
    this.waiting = 0;
    if (this.values) {
      const known = this.columns.filter(sum);
      return (known.find(({ id }) => id.startsWith('inuse')) ?? known[0] ?? this.columns[0])?.id ?? 'name';
    }
    if (this.store.recording.isDiff) return 'self.change';
    if (this.store.value.key !== 'wall') return 'self';
    const busy = this.columns.find(({ id }) => id === 'on_cpu.self' || id === 'cpu.self');
    const [on, all] = [sum(busy), sum(this.columns[0])];
    // As the text: a busy machine makes functions runnable, and only blocked ones sleep.
    const waiting = busy?.id === 'on_cpu.self' ? sum(this.columns.find(({ id }) => id === 'blocked.self')) : all - on;
    if (!busy || !on || waiting <= all / 2) return 'self';
    this.waiting = waiting / all;
    // A function of one sample does not hide one that blocked, as in the text (find_least_busy()).
    const { time_from: from, cpu_samples: samples } = this.store.recording.header.summary?.totals ?? {};
    this.leastBusy = on * Math.max(0.02, from === 'samples' && samples ? 1.5 / samples : 0);
    return busy.id;
  }

  /** @param {ValueHead} value @param {'self' | 'base'} side @param {import('./model.js').Selection} selection */
  sums(value, side = 'self', selection = this.store.selection) {
    const { recording } = this.store;
    const sums = recording.functionSums(value, selection, side);
    if (!sums.exact) this.exact = false;
    return sums;
  }

  /** @returns {ValueHead | undefined} how often functions were called */
  callsValue() {
    return this.store.recording.values.find((value) => value.unit === 'count' && value.from === 'calls');
  }

  /** @param {ValueHead} value @returns {Column[]} */
  columnsOf(value) {
    const { self, total } = this.sums(value);
    const whole = this.whole(value);
    const calls = this.callsValue();
    const isCalls = value === calls;
    const about = value.estimated ? '~' : '';
    const own = isCalls ? 'Calls' : 'Self';
    const share = (/** @type {Float64Array} */ of) => (/** @type {number} */ fn) => percent(of[fn], whole);
    /** @type {Column[]} */
    const columns = [
      { id: 'self', title: own, hint: `${value.title} in the function itself`,
        raw: (fn) => self[fn], text: (fn) => about + amount(self[fn], value.unit), bar: (fn) => self[fn] / whole },
      { id: 'self%', title: `${own} %`, hint: 'Share of all', raw: (fn) => self[fn], text: share(self) },
      { id: 'total', title: 'Total', hint: `${value.title} in the function and all it calls`,
        raw: (fn) => total[fn], text: (fn) => about + amount(total[fn], value.unit), bar: (fn) => total[fn] / whole },
      { id: 'total%', title: 'Total %', hint: 'Share of all', raw: (fn) => total[fn], text: share(total) },
    ];
    if (isCalls || !calls) return columns;
    const { self: count, exact } = this.sums(calls);
    columns.push({ id: 'calls', title: 'Calls', hint: 'How often it was called', raw: (fn) => count[fn],
      text: (fn) => (count[fn] ? (calls.estimated ? '~' : '') + amount(count[fn], 'count') : '') });
    if (value.unit === 'nanoseconds' && value.from === 'calls') {
      // For the whole recording, the number of calls includes calls that were only counted. They have no time.
      const timed = (/** @type {number} */ fn) => (exact ? this.store.recording.recordedOf(fn, count[fn]) : count[fn]);
      const mean = (/** @type {number} */ fn) => (timed(fn) ? total[fn] / timed(fn) : 0);
      columns.push({ id: 'mean', title: 'Mean', hint: `Total ${value.title.toLowerCase()} a call`, raw: mean,
        text: (fn) => (timed(fn) ? amount(mean(fn), value.unit) : '') });
    }
    if (value.key === 'wall') columns.push(...this.singleColumns());
    return columns;
  }

  /** @returns {Column[]} how long single calls took, where it is known: of the whole recording */
  singleColumns() {
    const { recording, selection } = this.store;
    if (!recording.knowsSingle || selection.range || selection.threads) return [];
    const column = (/** @type {'median' | 'p99' | 'max'} */ id, /** @type {string} */ title, /** @type {string} */ hint) => ({
      id, title, hint: `${hint} took no longer, from begin to end, as it was measured`,
      raw: (/** @type {number} */ fn) => recording.singleOf(id, fn) || 0,
      text: (/** @type {number} */ fn) => amount(recording.singleOf(id, fn), 'nanoseconds'),
    });
    return [column('median', 'Median', 'Half of the calls'), column('p99', 'p99', '99 of 100 calls'), column('max', 'Max', 'All calls')];
  }

  /** @param {ValueHead} value @returns {Column[]} the parts of a time; where they are not known, its CPU time */
  partsOf(value) {
    const { recording, selection } = this.store;
    if (value.key !== 'wall') return [];
    const parts = recording.values.filter((part) => PARTS.includes(part.key));
    const known = parts.length && !selection.range && !selection.threads ? parts
      : recording.values.filter((one) => one.key === 'cpu' && recording.obeys(one, selection));
    return known.map((part) => ({ ...this.brief(part)[0], title: part.title,
      hint: `Of the time in the function itself: ${part.title.toLowerCase()}` }));
  }

  /** @param {ValueHead} value @param {import('./model.js').Selection} [selection] @returns {Column[]} */
  brief(value, selection) {
    const { self, total } = this.sums(value, 'self', selection);
    const about = value.estimated ? '~' : '';
    const text = (/** @type {Float64Array} */ of) => (/** @type {number} */ fn) =>
      of[fn] ? about + amount(of[fn], value.unit) : '';
    const columns = [{ id: `${value.key}.self`, title: this.values ? value.title : `${value.title}, self`, hint: `${value.title} in the function itself`,
      raw: (/** @type {number} */ fn) => self[fn], text: text(self) }];
    if (value !== this.callsValue())
      columns.push({ id: `${value.key}.total`, title: `${value.title}, total`, hint: `${value.title} with all it calls`,
        raw: (/** @type {number} */ fn) => total[fn], text: text(total) });
    return columns;
  }

  /** @param {ValueHead} value @returns {Column[]} of two recordings: A, B, change */
  diffColumns(value) {
    const after = this.sums(value);
    const before = this.sums(value, 'base');
    const { unit } = value;
    const { data } = this.store.recording;
    /** @param {'self' | 'total'} part @param {string} title @returns {Column[]} */
    const three = (part, title) => {
      const [a, b] = [before[part], after[part]];
      const prefix = `function.${value.key}.${part === 'total' ? 'total_' : ''}`;
      const [verdict, spread] = [data.numbers(`${prefix}verdict`), data.numbers(`${prefix}spread`)];
      /** @type {Column[]} */
      const spreads = spread.length ? [{ id: `${part}.spread`, title: `${title} ±%`, hint: 'Half of the distance between the runs of a side',
        raw: (fn) => spread[fn], text: (fn) => (a[fn] || b[fn] ? (spread[fn] / 10).toFixed(1) : '') }] : [];
      return [
        { id: `${part}.a`, title: `${title} A`, hint: `${value.title} before`, raw: (fn) => a[fn], text: (fn) => amount(a[fn], unit) },
        { id: part, title: `${title} B`, hint: `${value.title} after`, raw: (fn) => b[fn], text: (fn) => amount(b[fn], unit) },
        { id: `${part}.change`, title: `${title} change`, hint: 'B without A', raw: (fn) => b[fn] - a[fn],
          size: (fn) => Math.abs(b[fn] - a[fn]) + (verdict[fn] ?? 0) * 2 ** 60, isChange: (fn) => verdict[fn] === 2,
          text: (fn) => (b[fn] === a[fn] ? '' : `${['', '? ', '* '][verdict[fn] ?? 0]}${change(b[fn] - a[fn], unit)}`) },
        { id: `${part}.percent`, title: `${title} %`, hint: 'Change in percent of A',
          raw: (fn) => (a[fn] ? b[fn] / a[fn] : b[fn] ? Number.POSITIVE_INFINITY : 1), text: (fn) => changePercent(a[fn], b[fn]) },
        ...spreads,
      ];
    };
    return [...three('self', 'Self'), ...three('total', 'Total')];
  }

  /** @param {ValueHead} value @returns {number} 100 %: the sum of self over all functions */
  whole(value) {
    let sum = 0;
    for (const self of this.sums(value).self) sum += self;
    return sum;
  }

  // --- the document --------------------------------------------------------

  header() {
    const cells = this.columns.map((column) => {
      const sorted = column.id === this.sort;
      return el('th', { scope: 'col', class: 'number', 'data-id': column.id,
        'aria-sort': sorted ? (this.descending ? 'descending' : 'ascending') : 'none' },
      button(column.title, () => this.sortBy(column.id), { title: column.hint, 'aria-label': `${column.title}: ${column.hint}` }));
    });
    const byName = this.sort === 'name' ? (this.descending ? 'descending' : 'ascending') : 'none';
    fill(this.head, el('tr', {}, el('th', { scope: 'col', 'data-id': 'name', 'aria-sort': byName },
      button('Function', () => this.sortBy('name'))), cells, el('th', { scope: 'col' }, 'Module')));
  }

  /** @param {string} id */
  sortBy(id) {
    this.descending = this.sort === id ? !this.descending : id !== 'name';
    this.chosen = this.sort = id;
    this.limit = FIRST_ROWS;
    this.header();
    this.rows();
    /** @type {HTMLElement | null} */ (this.head.querySelector(`[data-id="${CSS.escape(id)}"] button`))?.focus();
    announce(`Sorted by ${id}, ${this.descending ? 'largest' : 'smallest'} first`);
  }

  /** @returns {number[]} the functions that are shown, in their order */
  order() {
    const { recording, matcher } = this.store;
    const list = [];
    for (let fn = 0; fn < recording.functions; fn++)
      if (this.columns.some((column) => column.raw(fn) !== 0 && column.text(fn) !== '') &&
          (!matcher || matcher(recording.name(fn)) || matcher(recording.fullName(fn)))) list.push(fn);
    const sign = this.descending ? -1 : 1;
    const column = this.columns.find((one) => one.id === this.sort);
    const byName = (/** @type {number} */ a, /** @type {number} */ b) =>
      recording.name(a) < recording.name(b) ? -1 : recording.name(a) > recording.name(b) ? 1 : a - b;
    if (!column) return list.sort((a, b) => sign * byName(a, b));
    const own = this.columns.find(({ id }) => id === 'self');
    const least = this.waiting && !this.chosen ? this.leastBusy : Number.NEGATIVE_INFINITY;
    const raw = new Map(list.map((fn) => [fn, (column.size ?? column.raw)(fn)]).map(([fn, size]) => [fn, size > least ? size : 0]));
    return list.sort((a, b) => {
      const [x, y] = [raw.get(a) ?? 0, raw.get(b) ?? 0];
      return x < y ? -sign : x > y ? sign : (own?.raw(b) ?? 0) - (own?.raw(a) ?? 0) || byName(a, b);
    });
  }

  rows() {
    const order = this.order();
    const shown = order.slice(0, this.limit);
    fill(this.body, shown.map((fn) => this.row(fn)));
    this.describe(order.length);
    const rest = order.length - shown.length;
    fill(this.more, rest > 0 ? [
      button(`Show ${Math.min(200, rest)} more`, () => this.showMore(this.limit + 200)),
      rest > 200 ? button(`Show all ${amount(order.length, 'count')}`, () => this.showMore(Number.POSITIVE_INFINITY)) : null,
    ] : []);
  }

  /** @param {number} limit */
  showMore(limit) {
    const first = this.limit;
    this.limit = limit;
    this.rows();
    /** @type {HTMLElement | null} */ (this.body.rows[first]?.querySelector('button'))?.focus();
  }

  /** @param {number} count */
  describe(count) {
    const { value, state } = this.store;
    const parts = [`${amount(count, 'count')} ${count === 1 ? 'function' : 'functions'}`];
    if (!this.values && value.key) parts.push(value.title);
    const { diff } = this.store.recording.header;
    if (diff && !this.values) {
      const [a, b] = [diff.a?.runs ?? 1, diff.b?.runs ?? 1];
      if (a > 1 || b > 1) parts.push(`medians of ${a} and ${b} runs`);
      parts.push(value.judged ? visible(value.judged) : a > 1 || b > 1 ? 'not judged' : 'one run each: unproven');
    }
    if (this.waiting && !this.chosen)
      parts.push(`most on a CPU first, as ${percent(this.waiting, 1)} of the time is waiting; below 2 % of it or one sample by self time`);
    if (state.query.trim()) parts.push(`that match “${state.query.trim()}”`);
    if (!this.exact && value.key) parts.push('added up from stacks; those below 0.1 % at all times are “(too small to show)”');
    this.caption.textContent = parts.join(' · ');
  }

  /** @param {number} fn */
  row(fn) {
    const { recording } = this.store;
    const module = recording.module(fn);
    const name = recording.name(fn);
    return el('tr', { 'data-name': recording.fullName(fn) },
      el('th', { scope: 'row' },
        button(name, () => this.onopen(fn), { class: 'link', title: `${recording.fullName(fn).slice(0, 1000)}\n${recording.place(fn)}`.trim() }),
        this.badges(fn)),
      this.columns.map((column) => this.cell(column, fn)),
      el('td', { class: 'module', title: module }, baseName(module)));
  }

  /** @param {number} fn @returns {HTMLElement[]} says what its figures leave out, or that it mostly waits */
  badges(fn) {
    const { recording, selection } = this.store;
    const badge = (/** @type {string} */ text, /** @type {string} */ title) => el('span', { class: 'badge', title }, text);
    const badges = [];
    const blocked = this.columns.find(({ id }) => id === 'blocked.self');
    const [waits, own] = [blocked?.raw(fn) ?? 0, this.columns[0].raw(fn)];
    if (this.waiting && blocked && waits > own / 2) badges.push(badge(`waits ${percent(waits, own)}`, 'So much of its own time is blocked'));
    if (!this.counts || this.values || recording.isDiff || selection.range || selection.threads) return badges;
    const count = this.counts[fn];
    const recorded = recording.recordedOf(fn, count);
    if (recorded < count)
      badges.push(badge(`${amount(recorded, 'count')} of ${amount(count, 'count')} calls recorded`,
        'The others were counted: they have no time, and no place in the tree of stacks'));
    return badges;
  }

  /** @param {Column} column @param {number} fn */
  cell(column, fn) {
    const raw = column.raw(fn);
    const cell = el('td', { class: 'number', 'data-id': column.id, 'data-raw': raw }, column.text(fn));
    const share = column.bar?.(fn) ?? 0;
    if (share > 0.001) {
      cell.classList.add('share');
      cell.style.setProperty('--share', `${Math.min(100, share * 100).toFixed(1)}%`);
    }
    if (column.isChange?.(fn)) cell.classList.add(raw > 0 ? 'more-of-it' : 'less-of-it');
    return cell;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = document.activeElement?.closest('tr');
    if (!step || !row) return;
    event.preventDefault();
    const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
    /** @type {HTMLElement | null} */ (next?.querySelector('button'))?.focus();
  }
}
