// SPDX-License-Identifier: Apache-2.0
import { amount, percent } from './format.js';
import { button, context, el, facts, hideTip, showTip, soon } from './dom.js';
import { drawAxis, spanText } from './axis.js';
import { color, onTheme } from './theme.js';

/**
 * CPU use as a heat map, to find bursts that curves hide: a cell has 20 ms, or
 * more in a long recording, a column has the cells of one stretch of time from
 * top to bottom. Dragging chooses a range from one cell to another.
 */

const CELL_HIGH = 6;
const CPU_AXIS = 18;

export class CpuHeat {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.cells = store.recording.data.numbers('cpu_heat.ns');
    const { first_ns: first, width_ns: width } = store.recording.header.cpu_heat ?? { first_ns: 0, width_ns: 0 };
    this.first = first;
    this.width = width;
    this.isThere = this.width > 0 && this.cells.length > 1;
    this.rows = [50, 25, 10, 5].find((rows) => this.cells.length >= 8 * rows) ?? 5;
    this.columns = Math.ceil(this.cells.length / this.rows);
    this.most = this.cells.reduce((most, ns) => Math.max(most, ns), 1);
    this.cursor = 0;
    this.anchor = 0;
    this.dragging = false;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.map = el('div', {
      class: 'cpu-heat', hidden: true, tabindex: 0, role: 'slider', 'aria-label': 'CPU use', 'aria-valuemin': 0, 'aria-valuenow': 0,
      'aria-valuemax': Math.max(0, this.cells.length - 1),
      'aria-description': 'Up and down: a cell. Left and right: a column. With Shift they choose a range.',
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      onpointerdown: (/** @type {PointerEvent} */ event) => this.down(event),
      onpointermove: (/** @type {PointerEvent} */ event) => this.move(event),
      onpointerup: () => { this.dragging = false; }, onpointerleave: () => hideTip(),
      onfocus: () => this.redraw(), onblur: () => this.redraw(),
    }, this.canvas);
    const title = `CPU use per ${this.width / 1e6} ms`;
    const toggle = button(title, () => {
      this.map.hidden = !this.map.hidden;
      toggle.setAttribute('aria-expanded', String(!this.map.hidden));
      this.draw();
    }, { class: 'small', 'aria-expanded': 'false', id: 'cpu-heat-button', title: `A column has ${amount(this.width * this.rows, 'nanoseconds')}` });
    this.element = el('div', { class: 'overview-more' }, toggle, this.map);
    this.redraw = soon(() => this.draw());
    if (!this.isThere) return;
    onTheme(() => this.draw());
    new ResizeObserver(this.redraw).observe(this.element);
    store.follow(['range'], this.redraw);
  }

  /** @returns {number} width of a column in pixels */
  get step() {
    return Math.min(24, this.map.clientWidth / this.columns);
  }

  draw() {
    if (!this.map.clientWidth) return;
    const { rows, columns, step } = this;
    const height = rows * CELL_HIGH;
    const g = context(this.canvas, this.map.clientWidth, height + CPU_AXIS);
    drawAxis(g, { from: this.first, to: this.first + columns * rows * this.width }, { x: 0, y: height, width: columns * step, height });
    const { span } = this.store;
    g.fillStyle = color('--cpu');
    for (const [i, ns] of this.cells.entries()) {
      const { from, to } = this.spanOf(i);
      const isOut = span && (to <= span.from || from >= span.to);
      g.globalAlpha = (ns ? 0.12 + (0.88 * ns) / this.most : 0.04) * (isOut ? 0.3 : 1);
      g.fillRect(Math.floor(i / rows) * step, (i % rows) * CELL_HIGH, Math.max(1, step - 0.5), CELL_HIGH - 0.5);
    }
    g.globalAlpha = 1;
    if (document.activeElement !== this.map) return;
    g.strokeStyle = color('--focus');
    g.lineWidth = 1.5;
    g.strokeRect(Math.floor(this.cursor / rows) * step, (this.cursor % rows) * CELL_HIGH, Math.max(3, step), CELL_HIGH);
  }

  /** @param {PointerEvent} event @returns {number} */
  cellAt(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const column = Math.max(0, Math.min(this.columns - 1, Math.floor((event.clientX - left) / this.step)));
    const row = Math.max(0, Math.min(this.rows - 1, Math.floor((event.clientY - top) / CELL_HIGH)));
    return Math.min(this.cells.length - 1, column * this.rows + row);
  }

  /** @param {number} cell @returns {import('./axis.js').Span} */
  spanOf(cell) {
    return { from: this.first + cell * this.width, to: this.first + (cell + 1) * this.width };
  }

  choose() {
    const [from, to] = [Math.min(this.anchor, this.cursor), Math.max(this.anchor, this.cursor)];
    this.store.set({ range: this.store.rangeOf({ from: this.spanOf(from).from, to: this.spanOf(to).to }) });
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button) return;
    this.map.setPointerCapture(event.pointerId);
    this.dragging = true;
    this.anchor = this.cursor = this.cellAt(event);
    hideTip();
    this.choose();
  }

  /** @param {PointerEvent} event */
  move(event) {
    const cell = this.cellAt(event);
    if (!this.dragging) showTip(event.clientX, event.clientY, [el('b', {}, spanText(this.spanOf(cell))), facts([['CPU use', this.use(cell)]])]);
    else if (cell !== this.cursor) {
      this.cursor = cell;
      this.choose();
    }
  }

  /** @param {number} cell @returns {string} 100 %: one CPU */
  use(cell) {
    return `${percent(this.cells[cell], this.width) || '0 %'} of a CPU`;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -this.rows, ArrowRight: this.rows, Home: -this.cells.length, End: this.cells.length }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.cursor = Math.max(0, Math.min(this.cells.length - 1, this.cursor + step));
    if (event.shiftKey) this.choose();
    else this.anchor = this.cursor;
    this.map.setAttribute('aria-valuenow', String(this.cursor));
    this.map.setAttribute('aria-valuetext', `${spanText(this.spanOf(this.cursor))}: ${this.use(this.cursor)}`);
    this.redraw();
  }
}
