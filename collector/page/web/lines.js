// SPDX-License-Identifier: Apache-2.0
import { amount, baseName, shorten, visible } from './format.js';
import { button, chooser, el, fill } from './dom.js';

/** Lines of source that have samples or allocations, and the machine code of hot functions. */

/** @typedef {import('./data.js').ValueHead} ValueHead */
/** @typedef {{ value: ValueHead, numbers: Float64Array }} LineColumn */
/** @typedef {{ file: number, sum: number, isThere: boolean }} SourceFile  isThere: it was, when the page was made */
/**
 * @typedef {{ file: Float64Array, line: Float64Array, text: Float64Array, columns: LineColumn[], table: HTMLTableElement }} Side
 *   lines of source, or instructions with their lines
 */

/** Where compilers and distributions put the sources of libraries. */
const SYSTEM_SOURCE = /^\/usr\/(include|lib|src)\//;

/** Source with figures beside it, and the instructions of a function beside that. */
export class LinesView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    const { recording } = store;
    const { data } = recording;
    const numbers = (/** @type {string} */ name) => data.numbers(name);
    /** @type {(of: string) => Side} */
    const side = (of) => ({
      file: numbers(`${of}.file`), line: numbers(`${of}.line`), text: numbers(`${of}.text`), table: el('table', { class: 'source' }),
      columns: recording.values.filter(({ key }) => data.has(`${of}.${key}`)).map((value) => ({ value, numbers: numbers(`${of}.${value.key}`) })),
    });
    this.store = store;
    this.source = side('source');
    this.code = side('instruction');
    this.bytes = numbers('instruction.bytes');
    /** Lines that have instructions. */
    this.keys = new Set(Array.from(this.code.line, (line, i) => line && `${this.code.file[i]}:${line}`));
    this.isThere = this.source.file.length > 0 && this.source.columns.length > 0;
    this.main = this.mainColumn();
    this.files = this.isThere ? this.filesOf() : [];
    this.chosen = this.files[0]?.file ?? 0;
    const [symbol, why, count] = ['code.symbol', 'code.why', 'code.count'].map(numbers);
    let end = 0;
    this.parts = Array.from(numbers('code.function'), (fn, i) =>
      ({ fn, symbol: visible(data.text(symbol[i])), why: visible(data.text(why[i])), first: end, end: end += count[i] }));
    this.part = 0;
    /** The line that is marked, as "FILE:LINE". */
    this.picked = '';
    this.fn = -1;
    this.reason = el('p', { class: 'empty' });
    this.note = el('p', { class: 'muted note' });
    this.fileChooser = this.files.length ? this.chooser() : null;
    this.partChooser = this.parts.length ? this.codeChooser() : null;
    const pane = (/** @type {string} */ name, /** @type {Node[]} */ ...inside) => el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': name }, inside);
    this.element = el('div', { class: 'view' }, el('section', { class: 'panel', 'aria-label': 'Source and machine code' },
      el('div', { class: 'panel-head' }, el('h2', {}, 'Source'), this.fileChooser?.field, this.partChooser?.field), this.note,
      el('div', { class: 'panes', onmouseover: (/** @type {any} */ { target }) => this.mark(target.closest('tr')?.dataset.key ?? this.picked), onmouseleave: () => this.mark(this.picked) },
        this.isThere ? pane('Source', this.source.table) : el('p', { class: 'empty' }, this.why()),
        this.partChooser ? pane('Machine code', this.code.table, this.reason) : null)));
    store.follow(['value', 'fn', 'tab'], () => this.update());
  }

  /** Shows the chosen value, and the function that another view has chosen. */
  update() {
    const { recording, state: { fn, tab } } = this.store;
    if (tab !== 'lines') return;
    if (fn >= 0 && fn !== this.fn) {
      const part = this.parts.findIndex((one) => one.fn === fn);
      if (part >= 0) this.part = part;
      this.picked = `${recording.files?.[fn]}:${recording.lineNumbers[fn]}`;
    }
    this.fn = fn;
    this.pick(this.picked);
  }

  /** @param {string} key of the rows to mark */
  mark(key) {
    for (const row of this.element.querySelectorAll('.marked')) row.classList.remove('marked');
    for (const row of this.element.querySelectorAll(`[data-key="${key}"]`)) row.classList.add('marked');
  }

  /** @param {string} key of a line that stays marked; its rows are shown */
  pick(key) {
    const file = Number.parseInt(key, 10);
    this.picked = key;
    if (this.files.some((one) => one.file === file)) this.chosen = file;
    this.show();
    for (const { table } of [this.source, this.code]) {
      const row = table.querySelector('.marked');
      const holder = table.parentElement;
      if (row instanceof HTMLElement && holder) holder.scrollTop = row.offsetTop - holder.clientHeight / 3;
    }
  }

  /** @returns {LineColumn} the column that sorts the files: the first with a figure in a readable line */
  mainColumn() {
    return this.source.columns.find(({ numbers }) => numbers.some((number, i) => number > 0 && this.source.text[i] > 0)) ?? this.source.columns[0];
  }

  why() {
    const { values, header } = this.store.recording;
    if (!values.some(({ from }) => from === 'samples' || from === 'allocations'))
      return 'The recording has no samples and no allocations, so no line has a figure.';
    return header.source === false
      ? 'This page was made without lines of source (--no-source), or their files were not there.'
      : 'No line has samples or allocations, or the files of the source were not there when the page was made.';
  }

  /**
   * @returns {SourceFile[]} files of the program first, then of the system, then missing files;
   *   within these groups, the largest figures first
   */
  filesOf() {
    /** @type {Map<number, SourceFile>} */
    const files = new Map();
    const { numbers } = this.main;
    for (let i = 0; i < this.source.file.length; i++) {
      const file = files.get(this.source.file[i]) ?? { file: this.source.file[i], sum: 0, isThere: false };
      file.sum += numbers[i] ?? 0;
      // Text 0 is "": an empty line, or one of a file that was not there.
      file.isThere ||= this.source.text[i] > 0;
      files.set(this.source.file[i], file);
    }
    return [...files.values()].sort((a, b) => this.rank(a) - this.rank(b) || b.sum - a.sum);
  }

  /** @param {SourceFile} file @returns {number} 0 for a file of the program, as its folder suggests */
  rank({ file, isThere }) {
    if (!isThere) return 2;
    return SYSTEM_SOURCE.test(this.store.recording.data.text(file)) ? 1 : 0;
  }

  chooser() {
    const { value } = this.main;
    const { data } = this.store.recording;
    return chooser('File', this.files.map(({ file, sum, isThere }) =>
      [String(file), `${baseName(visible(data.text(file)))}${sum ? ` — ${amount(sum, value.unit)} ${value.title}` : ''}${isThere ? '' : ' (source not there)'}`]),
    '', (file) => {
      this.chosen = Number(file);
      this.show();
    });
  }

  codeChooser() {
    const { recording } = this.store;
    return chooser('Machine code', this.parts.map(({ fn, symbol }, i) => [String(i), shorten(
      symbol && symbol !== recording.fullName(fn) ? `${recording.name(fn)} in ${symbol}` : recording.name(fn), 60)]), '', (part) => {
      this.part = Number(part);
      this.show();
    });
  }

  show() {
    const { value, recording: { data } } = this.store;
    const main = (this.source.columns.find((column) => column.value === value) ?? this.main ?? this.code.columns[0])?.value;
    const [left] = data.numbers('code.left_out');
    this.note.textContent = [
      !main || main === value ? '' : `${value.title} is not known by line, so this is ${main?.title}.`,
      main && 'Samples and allocations are those of the whole recording. Recorded calls know their function only: for their times see the profile.',
      this.parts.length ? 'A sample stands at the instruction that was to run next, often the one after the slow one.' : '',
      left ? `perfrec annotate --asm has ${left} more functions.` : '',
    ].filter(Boolean).join(' ');
    const rows = Array.from(this.source.file.keys()).filter((i) => this.source.file[i] === this.chosen);
    this.fill(this.source, main, visible(data.text(this.chosen)), ['Line', 'Source'], rows, (i) => String(this.source.line[i]));
    if (this.fileChooser) this.fileChooser.select.value = String(this.chosen);
    if (this.partChooser) {
      const { fn, first, end, why } = this.parts[this.part];
      let offset = 0;
      this.partChooser.select.value = String(this.part);
      this.reason.textContent = why;
      this.fill(this.code, main, this.store.recording.name(fn), ['Offset', 'Instruction'], Array.from(this.code.file.keys()).slice(first, end), (i) => {
        const at = offset;
        offset += this.bytes[i];
        return `+0x${at.toString(16)}`;
      });
    }
    this.mark(this.picked);
  }

  /**
   * @param {Side} side @param {ValueHead | undefined} value @param {string} caption @param {string[]} titles @param {number[]} rows
   * @param {(i: number) => string} head of a row
   */
  fill({ table, file, line, text, columns }, value, caption, titles, rows, head) {
    const { data } = this.store.recording;
    const numbers = columns.find((column) => column.value === value)?.numbers;
    const most = rows.reduce((top, i) => Math.max(top, numbers?.[i] ?? 0), 1);
    fill(table, el('caption', {}, caption),
      el('thead', {}, el('tr', {}, [...titles, value?.title].map((title, i) => el('th', { scope: 'col', class: i === 1 ? '' : 'number' }, title)))),
      el('tbody', {}, rows.flatMap((i, at) => {
        const number = numbers?.[i] ?? 0;
        const key = `${file[i]}:${line[i]}`;
        const cell = el('td', { class: number ? 'number share' : 'number', 'data-raw': number }, number && value ? amount(number, value.unit) : '');
        cell.style.setProperty('--share', `${((number / most) * 100).toFixed(1)}%`);
        return [
          table === this.source.table && at && line[i] > line[i - 1] + 1 ? el('tr', { class: 'gap' }, el('td', { colspan: 3 }, '⋯')) : null,
          el('tr', { 'data-key': key }, el('th', { scope: 'row', class: 'number' }, this.keys.has(key) ? button(head(i), () => this.pick(key), { class: 'link' }) : head(i)),
            el('td', { class: 'text' }, el('code', {}, visible(data.text(text[i]).replace(/\t/g, '    ')))), cell),
        ];
      })));
  }
}
