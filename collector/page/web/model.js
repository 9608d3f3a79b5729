// SPDX-License-Identifier: Apache-2.0
import { BadData } from './data.js';
import { baseName, visible } from './format.js';

/**
 * A recording: functions, one tree of stacks, and values. A value (wall time,
 * calls, bytes) has a figure for nodes of the tree: its own part, and if known
 * by bucket of time and by thread. This file does not know which values exist.
 */

/** @typedef {import('./data.js').Data} Data */
/** @typedef {import('./data.js').ValueHead} ValueHead */
/**
 * The selected part of the recording. Buckets from `from` up to and without
 * `to`; null: all. Threads by their number; null: all.
 * @typedef {{ range: { from: number, to: number } | null, threads: Set<number> | null }} Selection
 */
/**
 * Sums for each node or function: of it alone, and of all below it.
 * @typedef {{ self: Float64Array, total: Float64Array }} Sums
 */
/** @typedef {'self' | 'base'} Side  self: the recording; base: the recording before it, in a diff */

/** @type {Selection} */
export const ALL = { range: null, threads: null };

/** The entries of one value: columns of the same length. */
class Entries {
  /** @param {Data} data @param {ValueHead} head @param {number} nodes */
  constructor(data, head, nodes) {
    const column = `value.${head.key}`;
    this.node = data.indices(`${column}.node`, nodes);
    const count = this.node.length;
    this.self = this.sized(data, `${column}.self`, count);
    this.base = data.has(`${column}.base`) ? this.sized(data, `${column}.base`, count) : null;
    this.bucket = data.has(`${column}.bucket`) ? this.sized(data, `${column}.bucket`, count) : null;
    this.thread = data.has(`${column}.thread`) ? this.sized(data, `${column}.thread`, count) : null;
  }

  /** @param {Data} data @param {string} name @param {number} count */
  sized(data, name, count) {
    const numbers = data.numbers(name);
    if (numbers.length !== count) throw new BadData(`Column ${name} of the data is not as long as its nodes.`);
    return numbers;
  }

  /**
   * @param {{ from: number, to: number } | null} range
   * @returns {[number, number]} the entries of these buckets: sorted by bucket
   */
  within(range) {
    const { bucket } = this;
    if (!bucket || !range) return [0, this.node.length];
    const first = (/** @type {number} */ limit) => {
      let [low, high] = [0, bucket.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (bucket[middle] < limit) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    return [first(range.from), first(range.to)];
  }
}

/** @param {Data} data @param {Float64Array} column @param {number} i @returns {string} */
function textOf(data, column, i) {
  return visible(data.text(column[i] ?? 0));
}

/**
 * @param {Data} data
 * @returns {{ pid: number, name: string, command: string }[]}
 */
function readProcesses(data) {
  const names = data.numbers('process.name');
  const commands = data.numbers('process.command');
  return Array.from(data.numbers('process.pid'), (pid, i) => ({
    pid, name: textOf(data, names, i) || `process ${pid}`, command: textOf(data, commands, i),
  }));
}

/**
 * @param {Data} data
 * @returns {{ tid: number, name: string, process: number, first: number, last: number }[]}
 */
function readThreads(data) {
  const names = data.numbers('thread.name');
  const owners = data.numbers('thread.process');
  const first = data.numbers('thread.first_ns');
  const last = data.numbers('thread.last_ns');
  return Array.from(data.numbers('thread.tid'), (tid, i) => ({
    tid, name: textOf(data, names, i) || `thread ${tid}`, process: owners[i] ?? 0, first: first[i] ?? 0, last: last[i] ?? 0,
  }));
}

/** @param {number} ns where a bar begins @returns {number} a fourth of its octave */
export function barWidth(ns) {
  return ns < 4 ? 1 : 2 ** (Math.floor(Math.log2(ns)) - 2);
}

/** A recording, or two that are compared. */
export class Recording {
  /** @param {Data} data */
  constructor(data) {
    this.data = data;
    this.header = data.header;
    this.values = (data.header.values ?? []).filter((head) => data.has(`value.${head.key}.node`));
    this.isDiff = Boolean(data.header.diff);
    this.functions = data.numbers('function.name').length;
    this.fullNames = data.indices('function.name', data.textCount());
    const texts = (/** @type {string} */ name) =>
      data.has(name) ? data.indices(name, data.textCount(), this.functions) : null;
    this.shortNames = texts('function.short');
    this.modules = texts('function.module');
    this.files = texts('function.file');
    this.recorded = data.numbers('function.recorded');
    // How long single calls took: plus 1, and 0 if that is not known.
    this.single = { median: data.numbers('function.median'), p99: data.numbers('function.p99'), max: data.numbers('function.max') };
    this.barNs = data.numbers('bar.ns');
    this.barCalls = data.numbers('bar.calls');
    this.firstBar = this.bars(data.numbers('function.bars'));
    this.lineNumbers = data.numbers('function.line');
    const parents = data.numbers('node.parent');
    this.nodes = parents.length;
    this.nodeFunction = data.indices('node.function', Math.max(1, this.functions), this.nodes);
    // Node n is n + 1 here, and 0 is the parent of the top nodes.
    this.parent = new Int32Array(this.nodes + 1);
    this.firstChild = new Int32Array(this.nodes + 1);
    this.nextChild = new Int32Array(this.nodes + 1);
    this.recursive = new Uint8Array(this.nodes + 1);
    this.link(parents);
    this.findRecursion();
    this.processes = readProcesses(data);
    this.threads = readThreads(data);
    /** @type {Map<string, Entries>} */
    this.entries = new Map();
    /** @type {Map<string, Sums>} */
    this.known = new Map();
    /** @type {string[]} */
    this.names = [];
  }

  /** @param {Float64Array} counts of each function @returns {Float64Array} where its bars begin; where all end */
  bars(counts) {
    const first = new Float64Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) first[i + 1] = first[i] + counts[i];
    if (first[counts.length] !== this.barNs.length || this.barCalls.length !== this.barNs.length)
      throw new BadData('The columns of bars are not as long as functions have bars.');
    return first;
  }

  /** @param {'median' | 'p99' | 'max'} which @param {number} fn @returns {number} ns; NaN: not known */
  singleOf(which, fn) {
    const ns = this.single[which][fn] ?? 0;
    return ns ? ns - 1 : Number.NaN;
  }

  /** @returns {boolean} whether it is known of any function how long single calls took */
  get knowsSingle() {
    return this.single.max.some((ns) => ns > 0);
  }

  /**
   * @param {number} fn
   * @returns {{ ns: number, width: number, calls: number }[]} how many calls took from ns to less than ns + width
   */
  barsOf(fn) {
    const list = [];
    for (let i = this.firstBar[fn] ?? 0; i < (this.firstBar[fn + 1] ?? 0); i++)
      list.push({ ns: this.barNs[i], width: barWidth(this.barNs[i]), calls: this.barCalls[i] });
    return list;
  }

  /** @param {Float64Array} parents as the data has them */
  link(parents) {
    for (let n = this.nodes; n >= 1; n--) {
      const parent = parents[n - 1];
      if (!(parent >= 0 && parent < n)) throw new BadData(`Node ${n} of the data stands before its parent.`);
      this.parent[n] = parent;
      this.nextChild[n] = this.firstChild[parent];
      this.firstChild[parent] = n;
    }
  }

  /** Marks the nodes whose function is also among their callers. */
  findRecursion() {
    const { parent, firstChild, nextChild, recursive } = this;
    const onStack = new Int32Array(this.functions + 1);
    let n = firstChild[0];
    while (n) {
      const callee = this.nodeFunction[n - 1];
      if (onStack[callee]++) recursive[n] = 1;
      if (firstChild[n]) {
        n = firstChild[n];
        continue;
      }
      while (n) {
        onStack[this.nodeFunction[n - 1]]--;
        if (nextChild[n]) break;
        n = parent[n];
      }
      n = n && nextChild[n];
    }
  }

  /** @param {number} fn @returns {string} the name that is shown */
  name(fn) {
    let name = this.names[fn];
    if (name === undefined) {
      const text = this.data.text(this.shortNames?.[fn] ?? 0) || this.data.text(this.fullNames[fn] ?? 0);
      name = visible(text) || (fn === 0 ? '(too small to show)' : '(no name)');
      this.names[fn] = name;
    }
    return name;
  }

  /** @param {number} fn @returns {string} */
  fullName(fn) {
    return visible(this.data.text(this.fullNames[fn] ?? 0)) || this.name(fn);
  }

  /** @param {number} fn @returns {string} the path of its program or library */
  module(fn) {
    return this.modules ? visible(this.data.text(this.modules[fn] ?? 0)) : '';
  }

  /** @param {number} fn @returns {string} file and line, if known */
  place(fn) {
    const file = this.files ? visible(this.data.text(this.files[fn] ?? 0)) : '';
    const line = this.lineNumbers[fn];
    return file && line ? `${file}:${line}` : file;
  }

  /** @param {number} fn @param {number} calls @returns {number} so many of its calls have times */
  recordedOf(fn, calls) {
    return this.recorded.length ? Math.min(calls, this.recorded[fn] ?? calls) : calls;
  }

  /** @param {number} thread @returns {string} with its process, if there are several */
  threadName(thread) {
    const { name, tid, process } = this.threads[thread] ?? { name: '?', tid: 0, process: 0 };
    const owner = this.processes.length > 1 ? ` · ${baseName(this.processes[process]?.name ?? '')}` : '';
    return `${name} ${tid}${owner}`;
  }

  /** @returns {{ times: Float64Array, list: { fn: number, name: string, bytes: Float64Array }[] }} the bytes in use by function, all others last */
  sites() {
    const { data } = this;
    return {
      times: data.numbers('heap.site_ns'),
      list: Array.from(data.numbers('heap.site_name'), (text, i) => {
        const fn = this.fullNames.indexOf(text);
        return { fn, name: fn > 0 ? this.name(fn) : visible(data.text(text)), bytes: data.numbers(`heap.site.${i}`) };
      }),
    };
  }

  /** @param {string} key @returns {ValueHead | undefined} */
  value(key) {
    return this.values.find((head) => head.key === key);
  }

  /** @param {ValueHead} head @returns {string[]} reasons not to trust its figures */
  doubtsOf(head) {
    const { trust, diff } = this.header;
    const doubts = diff ? [...(diff.a?.trust?.doubts ?? []), ...(diff.b?.trust?.doubts ?? [])] : trust?.doubts ?? [];
    return [...new Set(doubts.filter((doubt) => String(doubt.values).split(' ').includes(head.key))
      .map((doubt) => visible(String(doubt.text))))];
  }

  /** @param {ValueHead} head @returns {Entries} */
  entriesOf(head) {
    let entries = this.entries.get(head.key);
    if (!entries) {
      entries = new Entries(this.data, head, this.nodes);
      this.entries.set(head.key, entries);
    }
    return entries;
  }

  /** @param {ValueHead} head @param {Selection} selection @returns {boolean} whether it can be obeyed in all */
  obeys(head, selection) {
    const entries = this.entriesOf(head);
    return (!selection.range || Boolean(entries.bucket)) && (!selection.threads || Boolean(entries.thread));
  }

  /**
   * @param {ValueHead} head
   * @param {Selection} selection parts that the value does not know do not count
   * @param {Side} side
   * @returns {Sums} for each node; node n at n + 1, the sum of all at 0
   */
  nodeSums(head, selection, side) {
    const threads = selection.threads ? [...selection.threads].sort((a, b) => a - b).join(' ') : '*';
    const range = selection.range ? `${selection.range.from}-${selection.range.to}` : '*';
    const key = `${head.key} ${side} ${range} ${threads}`;
    let sums = this.known.get(key);
    if (!sums) {
      sums = this.addUp(this.entriesOf(head), selection, side);
      if (this.known.size > 12) this.known.clear();
      this.known.set(key, sums);
    }
    return sums;
  }

  /** @param {Entries} entries @param {Selection} selection @param {Side} side @returns {Sums} */
  addUp(entries, selection, side) {
    const self = new Float64Array(this.nodes + 1);
    const from = side === 'base' ? entries.base : entries.self;
    const [begin, end] = entries.within(selection.range);
    const { node, thread } = entries;
    const threads = thread && selection.threads;
    if (from)
      for (let i = begin; i < end; i++)
        if (!threads || threads.has(/** @type {Float64Array} */ (thread)[i])) self[node[i] + 1] += from[i];
    const total = self.slice();
    for (let n = this.nodes; n >= 1; n--) total[this.parent[n]] += total[n];
    return { self, total };
  }

  /**
   * @param {ValueHead} head
   * @param {Selection} selection
   * @param {Side} side
   * @returns {Sums & { exact: boolean }} for each function, recursion once.
   *   exact: the figures of `perfrec report --json`, for the whole recording;
   *   otherwise sums over the tree, which groups functions below 0.1 % into one
   */
  functionSums(head, selection, side) {
    const all = !selection.range && !selection.threads;
    const prefix = `function.${head.key}.${side === 'base' ? 'base_' : ''}`;
    if (all && this.data.has(`${prefix}self`)) {
      const self = this.data.numbers(`${prefix}self`);
      const total = this.data.has(`${prefix}total`) ? this.data.numbers(`${prefix}total`)
        : this.fromTree(head, selection, side).total;
      if (self.length === this.functions && total.length === this.functions) return { self, total, exact: true };
    }
    return { ...this.fromTree(head, selection, side), exact: false };
  }

  /** @param {ValueHead} head @param {Selection} selection @param {Side} side @returns {Sums} */
  fromTree(head, selection, side) {
    const sums = this.nodeSums(head, selection, side);
    const self = new Float64Array(this.functions);
    const total = new Float64Array(this.functions);
    for (let n = 1; n <= this.nodes; n++) {
      const fn = this.nodeFunction[n - 1];
      self[fn] += sums.self[n];
      if (!this.recursive[n]) total[fn] += sums.total[n];
    }
    return { self, total };
  }
}
