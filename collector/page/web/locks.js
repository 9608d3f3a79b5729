// SPDX-License-Identifier: Apache-2.0
import { amount, visible } from './format.js';
import { el } from './dom.js';

/** @typedef {{ function: string, thread: string, tid: number, times: number, blocked_ns: number }} LockPart */
/** @typedef {{ waits: number, blocked_ns: number, holders?: LockPart[], wakers?: LockPart[] } & Record<string, any>} Waits */
/** @typedef {{ lock: string, longest_hold_ns?: number } & Waits} Lock */
/** @typedef {{ function: string } & Waits} Waiter */

const REST = { hand_over_ns: 'hand-over', outside_ns: 'woken from outside', timed_out_ns: 'timed out', process_ended_ns: 'until the process ended', unknown_ns: 'unknown' };
const PARTS_SHOWN = 5;

/** @param {Waits} waits @returns {HTMLElement[]} whom threads waited for, with shares of the blocked time */
function parts(waits) {
  const of = (/** @type {string} */ word, /** @type {LockPart[]} */ list = []) => list.map((part) => ({
    ns: part.blocked_ns,
    text: `${word}${part.function ? ` in ${visible(part.function)}` : ''}${part.tid ? `, thread ${part.tid}` : part.thread && ' by'} ${visible(part.thread)}`,
  }));
  const all = [...of('held', waits.holders), ...of('woken', waits.wakers)].filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
  const more = all.splice(PARTS_SHOWN);
  all.push({ ns: more.reduce((sum, { ns }) => sum + ns, 0), text: `by ${more.length} more` });
  for (const [key, text] of Object.entries(REST)) all.push({ ns: waits[key] ?? 0, text });
  return all.filter(({ ns }) => ns > 0).map(({ ns, text }) => el('div', { 'data-raw': ns }, `${(100 * ns / waits.blocked_ns).toFixed(1)} % ${text}`));
}

/**
 * @param {import('./model.js').Recording} recording @param {number} fn
 * @returns {HTMLElement | null} whom its calls and their callees waited for, as `perfrec report --view lock --stacks`; null: not known
 */
export function waitedFor(recording, fn) {
  const name = recording.fullName(fn);
  const waits = recording.header.locks?.functions?.find((one) => visible(one.function) === name);
  if (!waits) return null;
  const same = Array.from({ length: recording.functions }, (_, i) => recording.fullName(i)).filter((one) => one === name).length;
  return el('div', { class: 'waited-for', 'data-raw': waits.blocked_ns },
    `Blocked ${amount(waits.blocked_ns, 'nanoseconds')} in ${amount(waits.waits, 'count')} waits of 10 us and longer${same > 1 ? ', of all functions with this name' : ''}:`, parts(waits));
}

/** @param {Lock[] | undefined} locks @returns {HTMLElement | null} the table of `perfrec report --view lock` */
export function lockTable(locks) {
  if (!locks?.length) return null;
  const time = (/** @type {number} */ ns) => el('td', { class: 'number', 'data-raw': ns }, ns ? amount(ns, 'nanoseconds') : '');
  return el('section', { class: 'panel', 'aria-label': 'Locks' },
    el('div', { class: 'panel-head' }, el('h2', {}, 'Locks')),
    el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table of locks' }, el('table', { id: 'locks' },
      el('thead', {}, el('tr', {}, ['Blocked', 'Waits', 'Longest hold', 'Lock', 'For whom threads waited'].map((title, i) => el('th', { scope: 'col', class: i < 3 && 'number' }, title)))),
      el('tbody', {}, locks.map((lock) => el('tr', {}, time(lock.blocked_ns), el('td', { class: 'number', 'data-raw': lock.waits }, amount(lock.waits, 'count')),
        time(lock.longest_hold_ns ?? 0), el('td', {}, visible(lock.lock)), el('td', {}, parts(lock))))))));
}
