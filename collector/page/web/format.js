// SPDX-License-Identifier: Apache-2.0

/** Numbers, times, sizes and names as people read them. */

const grouped = new Intl.NumberFormat('en-US');

/** @param {number} value @returns {string} three digits that count */
function three(value) {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/**
 * @param {number} value
 * @param {[string, number][]} units from the smallest on
 * @returns {string}
 */
function scaled(value, units) {
  const size = Math.abs(value);
  let unit = units[0];
  for (const next of units) if (size >= next[1] * 0.9995) unit = next;
  const isWhole = unit === units[0] && (size >= 100 || Number.isInteger(size));
  const number = isWhole ? grouped.format(Math.round(size)) : three(size / unit[1]);
  return `${value < 0 ? '−' : ''}${number} ${unit[0]}`;
}

/** @type {[string, number][]} */
const TIME = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];
/** @type {[string, number][]} */
const BYTES = [['B', 1], ['KiB', 1024], ['MiB', 1024 ** 2], ['GiB', 1024 ** 3], ['TiB', 1024 ** 4]];

/**
 * @param {number} value
 * @param {string} unit of a value: nanoseconds, bytes, count
 * @returns {string} '' for NaN: not known
 */
export function amount(value, unit) {
  if (Number.isNaN(value)) return '';
  if (unit === 'nanoseconds') return value === 0 ? '0' : scaled(value, TIME);
  if (unit === 'bytes') return value === 0 ? '0' : scaled(value, BYTES);
  return grouped.format(Math.round(value)).replace('-', '−');
}

/** @param {number} value @param {string} unit @returns {string} with a sign */
export function change(value, unit) {
  return value > 0 ? `+${amount(value, unit)}` : amount(value, unit);
}

/** @param {number} part @param {number} whole @returns {string} */
export function percent(part, whole) {
  if (!whole) return '';
  const share = (part / whole) * 100;
  if (share !== 0 && Math.abs(share) < 0.05) return '<0.1 %';
  return `${share.toFixed(1).replace('-', '−')} %`;
}

/** @param {number} before @param {number} after @returns {string} */
export function changePercent(before, after) {
  if (before === after) return '';
  if (!before) return 'new';
  if (!after) return 'gone';
  const share = (after / before - 1) * 100;
  const text = Math.abs(share) >= 1000 ? grouped.format(Math.round(share)) : share.toFixed(1);
  return `${share > 0 ? '+' : ''}${text.replace('-', '−')} %`;
}

/**
 * All moments of the page are in seconds.
 * @param {number} ns since the first call, as options like --from count; negative: before it
 * @param {number} step digits are shown down to this
 * @returns {string}
 */
export function moment(ns, step) {
  const text = (ns / 1e9).toFixed(Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9)))));
  return `${Number(text) ? text : 0} s`;
}

/**
 * Marks that turn text around, hide or move the cursor, made visible: a name
 * that a hostile program chose must not look like another one.
 */
const HIDDEN = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff' +
  '\\ufff9-\\ufffb]', 'g');

/** @param {string} text @returns {string} */
export function visible(text) {
  return text.replace(HIDDEN, (mark) => {
    const code = mark.charCodeAt(0);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** @param {string} text @param {number} length @returns {string} cut in the middle, or at the end if it is short */
export function shorten(text, length) {
  if (text.length <= length) return text;
  if (length < 14) return `${text.slice(0, length - 1)}…`;
  const head = Math.ceil((length - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

/** @param {string} path @returns {string} its last part */
export function baseName(path) {
  return path.slice(path.lastIndexOf('/') + 1) || path;
}

/** @param {string} text @returns {number} the same on every machine, 32 bits */
export function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}
