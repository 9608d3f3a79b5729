// SPDX-License-Identifier: Apache-2.0
import { baseName, hash } from './format.js';
import { ALL } from './model.js';

/**
 * Dark and light, and the colours of frames. Style sheets have the colours of
 * the page; code that draws on a canvas asks for them here.
 */

/** @typedef {import('./model.js').Recording} Recording */

const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();
let printing = false;

/** @returns {'light' | 'dark'} the theme on the screen, or on paper */
export function theme() {
  if (printing) return 'light';
  return document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light';
}

/** @param {() => void} listener is called when colours are others */
export function onTheme(listener) {
  listeners.add(listener);
}

function changed() {
  for (const listener of listeners) listener();
}

let chosen = false;

export function toggleTheme() {
  chosen = true;
  document.documentElement.dataset.theme = theme() === 'dark' ? 'light' : 'dark';
  changed();
}

export function watchTheme() {
  const follow = () => {
    if (!chosen) document.documentElement.dataset.theme = dark.matches ? 'dark' : 'light';
    changed();
  };
  dark.addEventListener('change', follow);
  follow();
  const print = (/** @type {boolean} */ now) => {
    printing = now;
    changed();
  };
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
}

/** @returns {boolean} whether the page is painted for paper */
export function isPrinting() {
  return printing;
}

const PAPER = {
  '--text': '#1d232b', '--muted': '#5b6672', '--line': '#d5dae0', '--panel': '#ffffff', '--accent': '#1f6feb',
  '--calls': '#4c78b8', '--cpu': '#c8702a', '--memory': '#3d8f6a', '--other': '#8a63b0', '--bad': '#c0392b',
};

/** @param {string} name of a variable of page.css @returns {string} */
export function color(name) {
  if (printing && name in PAPER) return PAPER[/** @type {keyof PAPER} */ (name)];
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';
}

/** @typedef {'module' | 'function' | 'state'} ColorBy */

/** Hues of modules, away from the red and blue of differences; the module with most of the first value has the first. */
const MODULE_HUES = [78, 152, 205, 290, 118, 245, 48, 180];
/** Hues of on CPU, runnable, blocked. */
const STATE_HUES = [58, 110, 262];

/** Colours of functions: of the same name always the same. */
export class Palette {
  /** @param {Recording} recording */
  constructor(recording) {
    this.recording = recording;
    /** @type {ColorBy} */
    this.by = 'module';
    this.isDark = false;
    /** @type {string[]} */
    this.known = [];
    /** @type {Map<string, number> | null} */
    this.modules = null;
  }

  /** To be called before something is painted. @param {ColorBy} by */
  prepare(by) {
    const isDark = theme() === 'dark';
    if (by !== this.by || isDark !== this.isDark) this.known = [];
    this.by = by;
    this.isDark = isDark;
  }

  /** @param {number} fn @returns {string} */
  of(fn) {
    return (this.known[fn] ??= this.make(fn));
  }

  /** @param {number} fn @returns {string} */
  make(fn) {
    const { isDark } = this;
    if (fn === 0) return isDark ? '#3a424d' : '#d9dde3';
    const name = hash(this.recording.fullName(fn));
    const [step, shade] = [(name % 1000) / 1000 - 0.5, ((name >>> 12) % 1000) / 1000 - 0.5];
    const hue = ((name >>> 4) % 3600) / 10;
    if (this.by !== 'function') return this.ofModule(baseName(this.recording.module(fn)), step, shade);
    const [light, chroma] = isDark ? [0.46 + shade * 0.1, 0.075] : [0.845 + shade * 0.1, 0.078];
    return `oklch(${light.toFixed(3)} ${chroma} ${hue.toFixed(1)})`;
  }

  /**
   * @param {string} module its name
   * @param {number} [step] @param {number} [shade] of a function, each -0.5 to 0.5
   * @returns {string} grey for those behind the first eight
   */
  ofModule(module, step = 0, shade = 0) {
    this.modules ??= this.rankModules();
    const hue = MODULE_HUES[this.modules.get(module) ?? MODULE_HUES.length];
    const light = (this.isDark ? 0.46 : 0.845) + shade * 0.12;
    return `oklch(${light.toFixed(3)} ${hue === undefined ? 0.008 : 0.078} ${((hue ?? 250) + step * 24).toFixed(1)})`;
  }

  /** @returns {Map<string, number>} the names of modules, those with most of the first value first */
  rankModules() {
    const { recording } = this;
    const { self } = recording.values[0] ? recording.functionSums(recording.values[0], ALL, 'self') : { self: new Float64Array(0) };
    return new Map(this.modulesOf(self).map(([module], rank) => [module, rank]));
  }

  /** @param {Float64Array} self of each function @returns {[string, number][]} names of modules and their sums, the largest first */
  modulesOf(self) {
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const [fn, own] of self.entries()) {
      const module = own && baseName(this.recording.module(fn));
      if (module) sums.set(module, (sums.get(module) ?? 0) + own);
    }
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  /** @param {number[]} times on CPU, runnable and blocked @returns {string} the hue of the longest, the paler the less it is */
  ofStates(times) {
    const all = times.reduce((sum, time) => sum + time, 0);
    const most = Math.max(...times);
    const share = all ? Math.max(0, (most / all) * 1.5 - 0.5) : 0;
    const chroma = all ? 0.03 + share * 0.09 : 0;
    return `oklch(${this.isDark ? 0.48 : 0.84} ${chroma.toFixed(3)} ${STATE_HUES[times.indexOf(most)]})`;
  }

  /**
   * @param {number} share of the whole that is more (or less: below 0)
   * @param {boolean} isNew not in the other recording
   * @returns {string} red for more, blue for less
   */
  ofChange(share, isNew) {
    const { isDark } = this;
    const size = Math.min(1, Math.sqrt(Math.abs(share) / 0.15));
    if (size < 0.02 && !isNew) return isDark ? '#3d444e' : '#e4e7eb';
    const strength = 0.15 + 0.85 * size;
    const light = isDark ? 0.36 + strength * 0.16 : 0.93 - strength * 0.23;
    return `oklch(${light.toFixed(3)} ${(0.03 + strength * 0.13).toFixed(3)} ${share >= 0 ? 27 : 255})`;
  }
}
