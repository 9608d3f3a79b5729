// SPDX-License-Identifier: Apache-2.0
import { amount, change, changePercent, percent } from './format.js';
import { button, el, fill } from './dom.js';

/** A tree of stacks as a table: its rows open and close. */

/** @typedef {import('./tree.js').FlameTree} FlameTree */

const ROWS_OF_ONE = 40; // children of one row at first
const OPEN_AT_FIRST = 12; // rows of the stack with the most

/** The call tree, or its reverse, with figures. */
export class StackTable {
  /**
   * @param {import('./model.js').Recording} recording
   * @param {{ onopen: (fn: number) => void, onmenu: (node: number, x: number, y: number) => void }} actions
   */
  constructor(recording, actions) {
    this.recording = recording;
    this.actions = actions;
    /** @type {FlameTree | null} */
    this.tree = null;
    /** Keys of the rows that are open, of both directions. @type {Set<string>} */
    this.open = new Set();
    /** Keys of the rows that show all their children. @type {Set<string>} */
    this.whole = new Set();
    this.head = el('thead');
    this.body = el('tbody');
    this.table = el('table', { role: 'treegrid' }, this.head, this.body);
    this.element = el('div', { class: 'scroll', tabindex: -1, onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      oncontextmenu: (/** @type {MouseEvent} */ event) => this.contextMenu(event) }, this.table);
  }

  /**
   * @param {FlameTree} tree
   * @param {import('./data.js').ValueHead} value
   * @param {number} whole 100 %
   */
  show(tree, value, whole) {
    this.tree = tree;
    this.table.setAttribute('aria-label', tree.up ? 'Bottom-up' : 'Call tree');
    const { base, self, total } = tree;
    const about = value.estimated ? '~' : '';
    const figure = (/** @type {number[]} */ of) => (/** @type {number} */ n) => (of[n] ? about + amount(of[n], value.unit) : '');
    const share = (/** @type {number[]} */ of) => (/** @type {number} */ n) => (of[n] ? percent(of[n], whole) : '');
    const name = tree.up ? 'Self' : 'Total';
    /** @type {[string, (n: number) => string, (n: number) => number][]} title, text, figure */
    this.columns = [[base ? `${name} B` : name, figure(total), (n) => total[n]]];
    if (base) this.columns.unshift([`${name} A`, figure(base.total), (n) => base.total[n]]);
    if (base) {
      this.columns.push(['Change', (n) => change(total[n] - base.total[n], value.unit), (n) => total[n] - base.total[n]],
        ['Change %', (n) => changePercent(base.total[n], total[n]), (n) => total[n] / base.total[n]]);
    } else {
      this.columns.push([`${name} %`, share(total), (n) => total[n]]);
      if (!tree.up) this.columns.push(['Self', figure(self), (n) => self[n]], ['Self %', share(self), (n) => self[n]]);
    }
    if (!this.open.size && !tree.up)
      for (let [n] = tree.children(0), i = 0; n && i < OPEN_AT_FIRST; i++, [n] = tree.children(n)) this.open.add(this.keyOf(n));
    this.rows();
  }

  /** @param {number} node @returns {string} the same in each tree of this direction */
  keyOf(node) {
    const tree = /** @type {FlameTree} */ (this.tree);
    return `${tree.up ? 'up' : ''}${tree.path(node).map((n) => tree.fn[n]).join(' ')}`;
  }

  rows() {
    const { columns = [] } = this;
    const tree = /** @type {FlameTree} */ (this.tree);
    /** @type {HTMLElement[]} */
    const rows = [];
    const add = (/** @type {number} */ parent, /** @type {number} */ level) => {
      const children = tree.children(parent);
      const shown = this.whole.has(this.keyOf(parent)) ? children : children.subarray(0, ROWS_OF_ONE);
      for (const node of shown) {
        const isOpen = this.open.has(this.keyOf(node));
        rows.push(this.row(node, level, isOpen));
        if (isOpen) add(node, level + 1);
      }
      if (shown.length < children.length)
        rows.push(el('tr', {}, el('th', { colspan: columns.length + 1 }, this.indent(level),
          button(`${amount(children.length - shown.length, 'count')} more`, () => {
            this.whole.add(this.keyOf(parent));
            this.rows();
          }, { class: 'small' }))));
    };
    add(0, 1);
    fill(this.head, el('tr', {}, el('th', { scope: 'col' }, tree.up ? 'Function, and its callers' : 'Stack'),
      columns.map(([title]) => el('th', { scope: 'col', class: 'number' }, title))));
    fill(this.body, rows);
  }

  /** @param {number} level */
  indent(level) {
    const space = el('span', { class: 'indent' });
    space.style.width = `${Math.min(level - 1, 40) * 12}px`;
    return space;
  }

  /** @param {number} node @param {number} level @param {boolean} isOpen */
  row(node, level, isOpen) {
    const { recording, columns = [] } = this;
    const tree = /** @type {FlameTree} */ (this.tree);
    const fn = tree.fn[node];
    const has = tree.children(node).length > 0;
    return el('tr', { 'data-node': node, 'aria-level': level, 'aria-expanded': has ? String(isOpen) : null },
      el('th', { scope: 'row' }, el('div', { class: 'stack-name' }, this.indent(level),
        has ? button(isOpen ? '▾' : '▸', () => this.toggle(node), { class: 'link fold', tabindex: -1, 'aria-label': isOpen ? 'Close' : 'Open' })
          : el('span', { class: 'fold' }),
        button(recording.name(fn), () => this.actions.onopen(fn), { class: 'link', title: recording.fullName(fn).slice(0, 1000) }))),
      columns.map(([title, text, raw]) => el('td', { class: 'number', 'data-id': title, 'data-raw': raw(node) }, text(node))));
  }

  /** @param {number} node */
  toggle(node) {
    const key = this.keyOf(node);
    if (!this.open.delete(key)) this.open.add(key);
    this.rows();
    this.focus(node);
  }

  /** @param {number} node */
  focus(node) {
    /** @type {HTMLElement | null} */ (this.body.querySelector(`[data-node="${node}"] button:last-child`))?.focus();
  }

  /** @param {EventTarget | Element | null} target @returns {HTMLTableRowElement | null} */
  rowOf(target) {
    const row = target instanceof Element ? target.closest('tr') : null;
    return row?.dataset.node ? row : null;
  }

  /** @param {MouseEvent} event */
  contextMenu(event) {
    const row = this.rowOf(event.target);
    if (!row) return;
    event.preventDefault();
    const box = row.getBoundingClientRect();
    this.actions.onmenu(Number(row.dataset.node), event.clientX || box.left + 20, event.clientY || box.bottom);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const row = this.rowOf(document.activeElement);
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const tree = /** @type {FlameTree} */ (this.tree);
    const node = Number(row.dataset.node);
    const isOpen = row.getAttribute('aria-expanded');
    const to = (/** @type {Element | null} */ next) => this.focus(Number(this.rowOf(next)?.dataset.node ?? node));
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowDown: () => to(row.nextElementSibling), ArrowUp: () => to(row.previousElementSibling),
      ArrowRight: () => (isOpen === 'false' ? this.toggle(node) : to(row.nextElementSibling)),
      ArrowLeft: () => (isOpen === 'true' ? this.toggle(node) : this.focus(tree.parent[node])),
      m: () => this.actions.onmenu(node, row.getBoundingClientRect().left + 20, row.getBoundingClientRect().bottom),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}
