// SPDX-License-Identifier: Apache-2.0

/**
 * The trees that flame graphs and tables of stacks show: from the outermost
 * frame in, or from the innermost out, of all stacks or of those of one
 * function. Node 0 holds all. children() makes the children of a node, the
 * largest first, so that a tree of callers costs only its shown frames.
 */

/** @typedef {import('./model.js').Recording} Recording */
/** @typedef {import('./model.js').Sums} Sums */
/**
 * The cuts of stacks. The constructor calls each once for a function.
 * @typedef {{
 *   fold?: (fn: number) => boolean, hide?: (fn: number) => boolean, only?: ((fn: number) => boolean)[],
 * }} Cut
 *   fold: the frames of these functions become part of their callers; hide: their frames disappear with
 *   all callees; only: a stack stays if it has a frame for each of these
 */

/** The stacks of a recording after the cuts, with some sums of each. */
export class Stacks {
  /**
   * @param {Recording} recording
   * @param {Sums[]} sums the shown one first
   * @param {Cut} cut
   */
  constructor(recording, sums, { fold, hide, only = [] } = {}) {
    const count = recording.nodes + 1;
    this.recording = recording;
    this.fn = new Int32Array(count);
    this.fn.set(recording.nodeFunction, 1);
    /** The caller of each frame, after the cuts. */
    this.parent = new Int32Array(count);
    this.firstChild = new Int32Array(count);
    this.nextChild = new Int32Array(count);
    this.own = new Int32Array(count); // the frame that a frame became part of, mostly itself
    this.cuts = recording.functions ? Array.from({ length: recording.functions }, (_, fn) =>
      (fold?.(fn) ? 1 : 0) | (hide?.(fn) ? 2 : 0) | only.reduce((bits, test, i) => bits | (test(fn) ? 4 << i : 0), 0)) : [];
    const wanted = ((1 << only.length) - 1) << 2;
    const bits = new Int32Array(count);
    for (let n = 1; n < count; n++) {
      const [above, cut] = [recording.parent[n], this.cuts[this.fn[n]]];
      this.parent[n] = this.own[above];
      this.own[n] = cut & 1 ? this.own[above] : n;
      bits[n] = bits[above] | cut;
    }
    for (let n = count - 1; n >= 1; n--) {
      if (this.own[n] !== n) continue;
      this.nextChild[n] = this.firstChild[this.parent[n]];
      this.firstChild[this.parent[n]] = n;
    }
    this.sums = sums.map((from) => {
      const self = new Float64Array(count);
      for (let n = 0; n < count; n++) if ((bits[n] & (wanted | 2)) === wanted) self[this.own[n]] += from.self[n];
      return { self, total: this.totals(self) };
    });
  }

  /** @param {Float64Array} self @returns {Float64Array} with those of all callees */
  totals(self) {
    const total = self.slice();
    for (let n = total.length - 1; n >= 1; n--) if (this.own[n] === n) total[this.parent[n]] += total[n];
    return total;
  }

  /** @param {number} fn @returns {number[]} its frames that have no caller of the same function */
  outermost(fn) {
    const nodes = [];
    for (let n = 1; n < this.fn.length; n++)
      if (this.fn[n] === fn && this.own[n] === n && !this.recording.recursive[n]) nodes.push(n);
    return nodes;
  }
}

/** A tree of frames. */
export class FlameTree {
  /**
   * @param {Stacks} stacks
   * @param {boolean} up callers are below their callees
   * @param {number} [fn] the only child of node 0: callers or callees of this function; without it, of all
   */
  constructor(stacks, up, fn) {
    this.stacks = stacks;
    this.up = up;
    /** @type {number[]} */
    this.fn = [];
    /** @type {number[]} */
    this.parent = [];
    /** @type {number[][]} for each of the sums */
    this.selfs = stacks.sums.map(() => []);
    /** @type {number[][]} */
    this.totals = stacks.sums.map(() => []);
    /** Frames of stacks that are one node here. With callers below: pairs of a frame and the frame whose sums count. @type {number[][]} */
    this.items = [];
    /** @type {Map<number, Int32Array>} */
    this.sorted = new Map();
    /** @type {Map<number, number[]>} */
    this.made = new Map();
    this.self = this.selfs[0];
    this.total = this.totals[0];
    /** The widths of frames. */
    this.width = this.total;
    this.ofAll = fn === undefined;
    const frames = fn === undefined ? [] : stacks.outermost(fn);
    if (fn !== undefined) {
      const items = up ? frames.flatMap((n) => [n, n]) : frames;
      this.add(0, 0, items);
      this.add(0, fn, items);
      this.sorted.set(0, Int32Array.of(1));
    } else if (up) {
      const items = [];
      for (let n = 1; n < stacks.fn.length; n++) if (stacks.sums.some(({ self }) => self[n])) items.push(n, n);
      this.add(0, 0, items);
    } else this.add(0, 0, [0]);
  }

  /** @returns {{ self: number[], total: number[] } | null} of the other recording, in a tree of two */
  get base() {
    return this.stacks.recording.isDiff ? { self: this.selfs[1], total: this.totals[1] } : null;
  }

  /** @param {number} index of the sums that are the widths of frames */
  widthsOf(index) {
    this.width = this.totals[index];
    this.sorted.clear();
    if (!this.ofAll) this.sorted.set(0, Int32Array.of(1));
  }

  /** @param {number} parent @param {number} fn @param {number[]} items @returns {number} the new node */
  add(parent, fn, items) {
    const node = this.fn.length;
    this.fn.push(fn);
    this.parent.push(parent);
    this.items.push(items);
    for (const [k, sums] of this.stacks.sums.entries()) {
      let [self, total] = [0, 0];
      if (!this.up) for (const n of items) [self, total] = [self + sums.self[n], total + sums.total[n]];
      else for (let i = 1; i < items.length; i += 2) total += (this.ofAll ? sums.self : sums.total)[items[i]];
      this.selfs[k].push(self);
      this.totals[k].push(total);
    }
    return node;
  }

  /** @param {number} node @returns {Map<number, number[]>} the frames next to it, by function */
  next(node) {
    const { stacks, up } = this;
    /** @type {Map<number, number[]>} */
    const groups = new Map();
    const put = (/** @type {number} */ n, /** @type {number[]} */ ...items) => {
      const list = groups.get(stacks.fn[n]);
      if (list) list.push(...items);
      else groups.set(stacks.fn[n], items);
    };
    const items = this.items[node];
    for (let i = 0; i < items.length; i += up ? 2 : 1) {
      if (!up) for (let n = stacks.firstChild[items[i]]; n; n = stacks.nextChild[n]) put(n, n);
      else {
        const caller = node || !this.ofAll ? stacks.parent[items[i]] : items[i];
        if (caller) put(caller, caller, items[i + 1]);
      }
    }
    return groups;
  }

  /** @param {number} node @returns {Int32Array} with a width, the widest first */
  children(node) {
    let children = this.sorted.get(node);
    if (!children) {
      const list = this.known(node).filter((n) => this.width[n] > 0);
      children = Int32Array.from(list.sort((a, b) => this.width[b] - this.width[a] || a - b));
      this.sorted.set(node, children);
    }
    return children;
  }

  /** @param {number} node @returns {number[]} all its children */
  known(node) {
    const list = this.made.get(node) ?? [...this.next(node)].map(([fn, items]) => this.add(node, fn, items));
    this.made.set(node, list);
    return list;
  }

  /** @param {number} node @returns {number[]} from the top down to it, without 0 */
  path(node) {
    const path = [];
    for (let n = node; n; n = this.parent[n]) path.push(n);
    return path.reverse();
  }

  /** @param {number[]} functions from the top down @returns {number} the node that they lead to; 0: none */
  find(functions) {
    let node = 0;
    for (const fn of functions) {
      const next = this.children(node).find((n) => this.fn[n] === fn);
      if (!next) return 0;
      node = next;
    }
    return node;
  }

  /** @param {number} node @param {number} ancestor @returns {boolean} */
  isBelow(node, ancestor) {
    let n = node;
    while (n && n !== ancestor) n = this.parent[n];
    return n === ancestor;
  }

  /**
   * @param {number} node
   * @param {(fn: number) => boolean} matches
   * @returns {number} the sum over those stacks of the node that have a matching frame
   */
  matching(node, matches) {
    const { stacks, up } = this;
    const { self } = stacks.sums[this.totals.indexOf(this.width)];
    const hit = new Uint8Array(stacks.fn.length);
    const own = self.map((sum, n) => {
      hit[n] = n && (hit[stacks.parent[n]] || matches(stacks.fn[n])) ? 1 : 0;
      return hit[n] ? sum : 0;
    });
    const sum = up ? own : stacks.totals(own);
    return this.items[node].reduce((all, n, i) => all + (up && i % 2 === 0 ? 0 : sum[n]), 0);
  }
}
