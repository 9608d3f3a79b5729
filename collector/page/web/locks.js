// SPDX-License-Identifier: Apache-2.0
import { amount, visible } from './format.js';
import { el } from './dom.js';

/** @typedef {{ function: string, thread: string, tid: number, times: number, blocked_ns: number }} LockPart */
/** @typedef {{ lock: string, waits: number, blocked_ns: number, longest_hold_ns?: number, holders?: LockPart[], wakers?: LockPart[] } & Record<string, any>} Lock */

const REST = { hand_over_ns: 'hand-over', outside_ns: 'woken from outside', timed_out_ns: 'timed out', process_ended_ns: 'until the process ended', unknown_ns: 'unknown' };

/** @param {Lock} lock @returns {HTMLElement[]} whom threads waited for, with shares of the blocked time */
function parts(lock) {
  const word = lock.holders ? 'held' : 'woken';
  const list = (lock.holders ?? lock.wakers ?? []).map((part) => ({
    ns: part.blocked_ns,
    text: `${word}${part.function ? ` in ${visible(part.function)}` : ''}${part.tid ? `, thread ${part.tid}` : part.thread && ' by'} ${visible(part.thread)}`,
  })).slice(0, 5);
  for (const [key, text] of Object.entries(REST)) list.push({ ns: lock[key] ?? 0, text });
  return list.filter(({ ns }) => ns > 0).map(({ ns, text }) => el('div', {}, `${(100 * ns / lock.blocked_ns).toFixed(1)} % ${text}`));
}

/** @param {Lock[] | undefined} locks @returns {HTMLElement | null} the table of `perfrec report --view lock` */
export function lockTable(locks) {
  if (!locks?.length) return null;
  const time = (/** @type {number} */ ns) => el('td', { class: 'number', 'data-raw': ns }, ns ? amount(ns, 'nanoseconds') : '');
  return el('section', { class: 'panel', 'aria-label': 'Locks' },
    el('div', { class: 'panel-head' }, el('h2', {}, 'Locks')),
    el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table of locks' }, el('table', { id: 'locks' },
      el('thead', {}, el('tr', {}, ['Blocked', 'Waits', 'Longest hold', 'Lock', 'For whom threads waited'].map((title) => el('th', { scope: 'col' }, title)))),
      el('tbody', {}, locks.map((lock) => el('tr', {}, time(lock.blocked_ns), el('td', { class: 'number', 'data-raw': lock.waits }, amount(lock.waits, 'count')),
        time(lock.longest_hold_ns ?? 0), el('td', {}, visible(lock.lock)), el('td', {}, parts(lock))))))));
}
