// SPDX-License-Identifier: Apache-2.0

/**
 * The trees that a flame graph shows: all stacks, or the callers or callees of
 * one function. Node 0 holds all. Children are sorted when they are asked for,
 * the largest first.
 */

/** @typedef {import('./model.js').Recording} Recording */
/** @typedef {import('./model.js').Sums} Sums */

/** A tree of frames with the sums of one or of two recordings. */
export class FlameTree {
  /**
   * @param {{ fn: Int32Array, parent: Int32Array, firstChild: Int32Array, nextChild: Int32Array }} shape
   * @param {Sums} sums
   * @param {Sums | null} base of the other recording
   */
  constructor(shape, sums, base) {
    this.fn = shape.fn;
    this.parent = shape.parent;
    this.firstChild = shape.firstChild;
    this.nextChild = shape.nextChild;
    this.self = sums.self;
    this.total = sums.total;
    this.base = base;
    /** The widths of frames; widthsOf() changes them to those of the other recording. */
    this.width = sums.total;
    /** @type {Map<number, Int32Array>} */
    this.sorted = new Map();
  }

  /** @param {Float64Array} width a sum for each node */
  widthsOf(width) {
    this.width = width;
    this.sorted.clear();
  }

  /** @param {number} node @returns {Int32Array} with a width, the widest first */
  children(node) {
    let children = this.sorted.get(node);
    if (!children) {
      const list = [];
      for (let n = this.firstChild[node]; n; n = this.nextChild[n]) if (this.width[n] > 0) list.push(n);
      children = Int32Array.from(list);
      if (children.length > 1) children.sort((a, b) => this.width[b] - this.width[a] || a - b);
      this.sorted.set(node, children);
    }
    return children;
  }

  /** @param {number} node @returns {number[]} from the top down to it, without 0 */
  path(node) {
    const path = [];
    for (let n = node; n; n = this.parent[n]) path.push(n);
    return path.reverse();
  }

  /** @param {number} node @param {number} ancestor @returns {boolean} */
  isBelow(node, ancestor) {
    let n = node;
    while (n && n !== ancestor) n = this.parent[n];
    return n === ancestor;
  }
}

/** @param {Recording} recording @param {Sums} sums @param {Sums | null} base @returns {FlameTree} */
export function treeOfAll(recording, sums, base) {
  const fn = new Int32Array(recording.nodes + 1);
  fn.set(recording.nodeFunction, 1);
  const { parent, firstChild, nextChild } = recording;
  return new FlameTree({ fn, parent, firstChild, nextChild }, sums, base);
}

/** Makes a tree node by node. */
class Builder {
  /** @param {number} fn of the top */
  constructor(fn) {
    this.fn = [fn];
    this.parent = [0];
    this.self = [0];
    this.total = [0];
    this.baseSelf = [0];
    this.baseTotal = [0];
  }

  /** @param {number} parent @param {number} fn @returns {number} */
  add(parent, fn) {
    this.fn.push(fn);
    this.parent.push(parent);
    for (const sums of [this.self, this.total, this.baseSelf, this.baseTotal]) sums.push(0);
    return this.fn.length - 1;
  }

  /** @param {boolean} hasBase @returns {FlameTree} */
  tree(hasBase) {
    const count = this.fn.length;
    const firstChild = new Int32Array(count);
    const nextChild = new Int32Array(count);
    for (let n = count - 1; n >= 1; n--) {
      nextChild[n] = firstChild[this.parent[n]];
      firstChild[this.parent[n]] = n;
    }
    const shape = { fn: Int32Array.from(this.fn), parent: Int32Array.from(this.parent), firstChild, nextChild };
    const sums = { self: Float64Array.from(this.self), total: Float64Array.from(this.total) };
    const base = { self: Float64Array.from(this.baseSelf), total: Float64Array.from(this.baseTotal) };
    return new FlameTree(shape, sums, hasBase ? base : null);
  }
}

/**
 * The nodes of a function that have no caller of the same function.
 * @param {Recording} recording @param {number} fn @returns {number[]}
 */
function outermost(recording, fn) {
  const nodes = [];
  for (let n = 1; n <= recording.nodes; n++)
    if (recording.nodeFunction[n - 1] === fn && !recording.recursive[n]) nodes.push(n);
  return nodes;
}

/**
 * @param {Recording} recording
 * @param {number} fn
 * @param {Sums} sums of nodes
 * @param {Sums | null} base
 * @returns {FlameTree} below node 1, which is the function, whoever called it
 */
export function treeOfCallers(recording, fn, sums, base) {
  const builder = new Builder(0);
  builder.add(0, fn);
  /** @type {Map<number, number>[]} */
  const known = [new Map(), new Map()];
  for (const node of outermost(recording, fn)) {
    const [total, baseTotal] = [sums.total[node], base?.total[node] ?? 0];
    if (!total && !baseTotal) continue;
    let at = 1;
    for (let n = node; ; n = recording.parent[n]) {
      builder.total[at] += total;
      builder.baseTotal[at] += baseTotal;
      const caller = recording.parent[n];
      if (!caller) break;
      const name = recording.nodeFunction[caller - 1];
      let next = known[at].get(name);
      if (next === undefined) {
        next = builder.add(at, name);
        known[at].set(name, next);
        known.push(new Map());
      }
      at = next;
    }
    builder.self[at] += total;
    builder.baseSelf[at] += baseTotal;
  }
  builder.total[0] = builder.total[1];
  builder.baseTotal[0] = builder.baseTotal[1];
  return builder.tree(Boolean(base));
}

/**
 * @param {Recording} recording
 * @param {number} fn
 * @param {Sums} sums of nodes
 * @param {Sums | null} base
 * @returns {FlameTree} below node 1, which is the function with all it calls
 */
export function treeOfCallees(recording, fn, sums, base) {
  const builder = new Builder(0);
  const merged = [[], outermost(recording, fn)];
  builder.add(0, fn);
  for (let at = 1; at < merged.length; at++) {
    /** @type {Map<number, number[]>} */
    const byFunction = new Map();
    for (const node of merged[at]) {
      builder.self[at] += sums.self[node];
      builder.total[at] += sums.total[node];
      builder.baseSelf[at] += base?.self[node] ?? 0;
      builder.baseTotal[at] += base?.total[node] ?? 0;
      for (let n = recording.firstChild[node]; n; n = recording.nextChild[n]) {
        if (!sums.total[n] && !base?.total[n]) continue;
        const callee = recording.nodeFunction[n - 1];
        const list = byFunction.get(callee);
        if (list) list.push(n);
        else byFunction.set(callee, [n]);
      }
    }
    for (const [callee, nodes] of byFunction) {
      builder.add(at, callee);
      merged.push(nodes);
    }
    merged[at] = [];
  }
  builder.total[0] = builder.total[1];
  builder.baseTotal[0] = builder.baseTotal[1];
  return builder.tree(Boolean(base));
}
