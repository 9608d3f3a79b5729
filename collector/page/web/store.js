// SPDX-License-Identifier: Apache-2.0

/** The state of the page, in one object that all its parts share. */

/** @typedef {import('./model.js').Recording} Recording */
/** @typedef {import('./data.js').ValueHead} ValueHead */
/**
 * @typedef {{
 *   value: string, range: { from: number, to: number } | null, threads: Set<number> | null,
 *   query: string, widths: 'self' | 'base', colors: import('./theme.js').ColorBy,
 *   fn: number, tab: string, durations: { from: number, to: number } | null,
 *   shape: string, folds: boolean,
 * }} State
 *   value: its key; fn: whose callers, callees and calls are shown, -1: none;
 *   shape: how stacks are shown; folds: frames of libc and perfrec are part of their callers;
 *   durations: chosen calls took from so many ns to less than so many
 */

/** The value of a recording that has none. @type {ValueHead} */
const NO_VALUE = { key: '', title: '', unit: 'count' };

/** Tells listeners what has changed. */
export class Store {
  /** @param {Recording} recording */
  constructor(recording) {
    this.recording = recording;
    /** @type {State} */
    this.state = {
      value: recording.values[0]?.key ?? '', range: null, threads: null, query: '', widths: 'self',
      colors: 'module', fn: -1, tab: 'profile', durations: null, shape: 'down', folds: false,
    };
    /** @type {((changed: Set<string>) => void)[]} */
    this.listeners = [];
  }

  /** @param {Partial<State>} patch */
  set(patch) {
    const changed = new Set();
    for (const [name, value] of Object.entries(patch)) {
      if (/** @type {any} */ (this.state)[name] === value) continue;
      /** @type {any} */ (this.state)[name] = value;
      changed.add(name);
    }
    if (changed.size) for (const listener of this.listeners) listener(changed);
  }

  /**
   * @param {string[]} names of state; the action is done now, and after each change
   * @param {(changed: Set<string>) => void} action
   */
  follow(names, action) {
    this.listeners.push((changed) => {
      if (names.some((name) => changed.has(name))) action(changed);
    });
    action(new Set(names));
  }

  /** @returns {ValueHead} */
  get value() {
    return this.recording.value(this.state.value) ?? this.recording.values[0] ?? NO_VALUE;
  }

  /** @returns {import('./model.js').Selection} */
  get selection() {
    return { range: this.state.range, threads: this.state.threads };
  }

  /** @returns {{ from: number, to: number } | null} the chosen range, ns */
  get span() {
    const { range } = this.state;
    const { buckets } = this.recording.header;
    return range && buckets ? { from: buckets.first_ns + range.from * buckets.width_ns, to: buckets.first_ns + range.to * buckets.width_ns } : null;
  }

  /** @param {{ from: number, to: number } | null} span ns @returns {{ from: number, to: number } | null} the buckets that it touches */
  rangeOf(span) {
    const { buckets } = this.recording.header;
    if (!span || !buckets) return null;
    const at = (/** @type {number} */ ns) => (ns - buckets.first_ns) / buckets.width_ns;
    const range = { from: Math.max(0, Math.floor(at(span.from))), to: Math.min(buckets.count, Math.ceil(at(span.to))) };
    return range.from < range.to ? range : null;
  }

  /** @returns {((text: string) => boolean) | null} tests a name for the search; null: no search */
  get matcher() {
    return matcherOf(this.state.query);
  }
}

/**
 * @param {string} query text, or /a regular expression/
 * @returns {((text: string) => boolean) | null}
 */
export function matcherOf(query) {
  const text = query.trim();
  if (!text) return null;
  const regular = /^\/(.+)\/$/.exec(text);
  if (regular) {
    try {
      const pattern = new RegExp(regular[1], 'i');
      return (name) => pattern.test(name);
    } catch {
      return () => false;
    }
  }
  const lower = text.toLowerCase();
  return (name) => name.toLowerCase().includes(lower);
}
