// SPDX-License-Identifier: Apache-2.0
import { colorsOf, SHAPES } from './profile.js';

/**
 * Keeps the state of the page in the fragment of its address, so a link shows
 * the same view, and the browser's "back" works. Wrong and unknown words count
 * as missing: a link may belong to another recording.
 */

/** A state is put into the address after so many ms without another: a browser refuses many. */
const ADDRESS_MS = 200;

/** @param {string | null} text @returns {{ from: number, to: number } | null} "FROM-TO" */
function spanOf(text) {
  const found = /^(-?\d{1,15})-(-?\d{1,15})$/.exec(text ?? '');
  return found && Number(found[1]) < Number(found[2]) ? { from: Number(found[1]), to: Number(found[2]) } : null;
}

/** @param {{ from: number, to: number }} span @returns {string} */
export function spanWord({ from, to }) {
  return `${Math.round(from)}-${Math.round(to)}`;
}

export class Address {
  /**
   * @param {import('./store.js').Store} store
   * @param {string[]} tabs
   * @param {Record<string, { get: () => string, set: (text: string, span: { from: number, to: number } | null) => void }>} others
   *   parts of the state that views have
   */
  constructor(store, tabs, others) {
    this.store = store;
    this.tabs = tabs;
    this.others = others;
    this.initial = { ...store.state };
    this.timer = 0;
    addEventListener('popstate', () => this.read());
    this.read();
    store.listeners.push(() => this.touch());
  }

  /** To be called when a state has changed. */
  touch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), ADDRESS_MS);
  }

  write() {
    const words = this.words();
    if (words !== location.hash.slice(1)) history.pushState(null, '', `#${words}`);
  }

  /** @returns {string} the state, without values that are as at the start */
  words() {
    const { state, recording } = this.store;
    const words = new URLSearchParams();
    for (const name of /** @type {const} */ (['tab', 'value', 'query', 'shape', 'colors', 'widths']))
      if (state[name] !== this.initial[name]) words.set(name, state[name]);
    if (state.folds) words.set('folds', '1');
    if (state.fn >= 0) words.set('function', `${state.fn} ${recording.fullName(state.fn)}`);
    if (state.threads) words.set('threads', [...state.threads].join('.'));
    if (this.store.span) words.set('range', spanWord(this.store.span));
    if (state.durations) words.set('durations', spanWord(state.durations));
    for (const [name, other] of Object.entries(this.others)) if (other.get()) words.set(name, other.get());
    return words.toString();
  }

  /** Shows what the address says. */
  read() {
    const { store, initial } = this;
    const { recording } = store;
    const words = new URLSearchParams(location.hash.slice(1));
    const one = (/** @type {string} */ name, /** @type {string[]} */ all, /** @type {string} */ otherwise) =>
      all.find((word) => word === words.get(name)) ?? otherwise;
    const chosen = words.get('threads');
    const threads = chosen?.split('.').filter((word) => word && Number(word) in recording.threads).map(Number);
    store.set({
      tab: one('tab', this.tabs, initial.tab), value: one('value', recording.values.map(({ key }) => key), initial.value),
      shape: one('shape', SHAPES.map(([shape]) => shape), initial.shape), folds: words.has('folds'),
      colors: /** @type {any} */ (one('colors', colorsOf(recording).map(([way]) => way), initial.colors)),
      widths: /** @type {any} */ (one('widths', ['self', 'base'], initial.widths)),
      query: words.get('query') ?? '', fn: this.functionOf(words.get('function')),
      threads: threads?.length || chosen === '' ? new Set(threads) : null, range: store.rangeOf(spanOf(words.get('range'))), durations: spanOf(words.get('durations')),
    });
    for (const [name, other] of Object.entries(this.others)) other.set(words.get(name) ?? '', spanOf(words.get(name)));
    clearTimeout(this.timer);
  }

  /** @param {string | null} text "NUMBER NAME"; the number tells equal names apart @returns {number} */
  functionOf(text) {
    const { recording } = this.store;
    const name = text?.slice(text.indexOf(' ') + 1);
    const number = Number.parseInt(text ?? '', 10);
    if (number in recording.fullNames && recording.fullName(number) === name) return number;
    return name ? recording.fullNames.findIndex((_, fn) => recording.fullName(fn) === name) : -1;
  }
}
