// SPDX-License-Identifier: Apache-2.0
import { amount, baseName, visible } from './format.js';
import { chooser, el, fill } from './dom.js';

/** Lines of source that have samples or allocations. */

/** @typedef {import('./data.js').ValueHead} ValueHead */
/** @typedef {{ value: ValueHead, numbers: Float64Array }} LineColumn */
/** @typedef {{ file: number, sum: number, isThere: boolean }} SourceFile  isThere: it was, when the page was made */

/** Where compilers and distributions put the sources of libraries. */
const SYSTEM_SOURCE = /^\/usr\/(include|lib|src)\//;

/** Source with figures beside it. */
export class LinesView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    const { recording } = store;
    const { data } = recording;
    this.store = store;
    this.file = data.has('source.file') ? data.indices('source.file', data.textCount()) : new Int32Array(0);
    this.line = data.numbers('source.line');
    this.text = data.numbers('source.text');
    /** @type {LineColumn[]} */
    this.columns = recording.values.filter((value) => data.has(`source.${value.key}`))
      .map((value) => ({ value, numbers: data.numbers(`source.${value.key}`) }));
    this.isThere = this.file.length > 0 && this.columns.length > 0;
    this.main = this.mainColumn();
    this.files = this.isThere ? this.filesOf() : [];
    this.chosen = this.files[0]?.file ?? 0;
    this.table = el('table', { class: 'source' });
    this.element = el('div', { class: 'view' }, el('section', { class: 'panel', 'aria-label': 'Lines of source' },
      el('div', { class: 'panel-head' }, el('h2', {}, 'Lines'), this.files.length ? this.chooser() : null),
      el('p', { class: 'muted note' },
        'Samples and allocations are known by line. Recorded calls know their function only: for their times see the profile.'),
      this.isThere ? el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Lines' }, this.table) : el('p', { class: 'empty' }, this.why())));
    if (this.isThere) this.show();
  }

  /** @returns {LineColumn} the column that sorts the files: the first with a figure in a readable line */
  mainColumn() {
    return this.columns.find(({ numbers }) => numbers.some((number, i) => number > 0 && this.text[i] > 0)) ?? this.columns[0];
  }

  why() {
    return this.store.recording.header.source === false
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
    for (let i = 0; i < this.file.length; i++) {
      const file = files.get(this.file[i]) ?? { file: this.file[i], sum: 0, isThere: false };
      file.sum += numbers[i] ?? 0;
      // Text 0 is "": an empty line, or one of a file that was not there.
      file.isThere ||= this.text[i] > 0;
      files.set(this.file[i], file);
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
    String(this.chosen), (file) => {
      this.chosen = Number(file);
      this.show();
    }).field;
  }

  show() {
    const { data } = this.store.recording;
    const rows = [];
    let last = 0;
    const columns = this.columns.map((column) => ({ ...column, most: this.most(column.numbers) })).filter(({ most }) => most);
    for (let i = 0; i < this.file.length; i++) {
      if (this.file[i] !== this.chosen) continue;
      if (last && this.line[i] > last + 1)
        rows.push(el('tr', { class: 'gap' }, el('td', { colspan: columns.length + 2 }, '⋯')));
      last = this.line[i];
      rows.push(this.row(i, columns));
    }
    fill(this.table, el('caption', {}, visible(data.text(this.chosen))),
      el('thead', {}, el('tr', {}, columns.map(({ value }) => el('th', { scope: 'col', class: 'number' }, value.title)),
        el('th', { scope: 'col', class: 'number' }, 'Line'), el('th', { scope: 'col' }, 'Source'))),
      el('tbody', {}, rows));
  }

  /** @param {Float64Array} numbers @returns {number} the largest in the chosen file */
  most(numbers) {
    let top = 0;
    for (let i = 0; i < this.file.length; i++) if (this.file[i] === this.chosen) top = Math.max(top, numbers[i] ?? 0);
    return top;
  }

  /** @param {number} i @param {{ value: ValueHead, numbers: Float64Array, most: number }[]} columns */
  row(i, columns) {
    const { data } = this.store.recording;
    return el('tr', {},
      columns.map(({ value, numbers, most }) => {
        const number = numbers[i] ?? 0;
        const cell = el('td', { class: 'number', 'data-raw': number }, number ? amount(number, value.unit) : '');
        if (number) {
          cell.classList.add('share');
          cell.style.setProperty('--share', `${((number / most) * 100).toFixed(1)}%`);
        }
        return cell;
      }),
      el('th', { scope: 'row', class: 'number' }, this.line[i]),
      el('td', {}, el('code', {}, visible(data.text(this.text[i]).replace(/\t/g, '    ')))));
  }
}
