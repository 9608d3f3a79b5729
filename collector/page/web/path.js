// SPDX-License-Identifier: Apache-2.0
import { amount, percent, visible } from './format.js';
import { el } from './dom.js';

/** @typedef {{ function: string, thread: string, tid: number, time_ns: number } & Record<string, any>} PathRow */
/** @typedef {{ object: string, function: string, from: string, from_tid: number, to: string, to_tid: number, times: number, hand_over_ns: number }} HandOver */
/** @typedef {{ text: string, unknown_ns: number }} PathStop */
/** @typedef {{ paths: number, length_ns: number, functions: PathRow[], hand_overs: HandOver[], stops: PathStop[] }} CriticalPath */

/** @type {Record<string, string>} */
const PATH_COLUMNS = { time_ns: 'Time', on_cpu_ns: 'On CPU', runnable_ns: 'Runnable', hand_over_ns: 'Hand-over', outside_ns: 'Outside', unknown_ns: 'Unknown' };
const HAND_OVERS_SHOWN = 10;
const pathTime = (/** @type {number} */ time) => amount(time, 'nanoseconds');

/** @param {CriticalPath} path @returns {HTMLElement} */
function pathTable({ functions, length_ns: whole, stops }) {
  const rest = [...functions.map((row) => row.time_ns), ...stops.map((stop) => stop.unknown_ns)].reduce((left, time) => left - time, whole);
  const cell = (/** @type {number | null} */ time) => el('td', { class: 'number', 'data-raw': time ?? '' }, time === null ? '?' : time ? pathTime(time) : '');
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table of the critical path' }, el('table', { id: 'path' },
    el('thead', {}, el('tr', {}, ['%', ...Object.values(PATH_COLUMNS), 'Thread', 'Function'].map((title, i) => el('th', { scope: 'col', class: i < 7 && 'number' }, title)))),
    el('tbody', {}, functions.map((row) => el('tr', {}, el('td', { class: 'number' }, percent(row.time_ns, whole)), Object.keys(PATH_COLUMNS).map((key) => cell(row[key])),
      el('td', {}, `${row.tid} ${visible(row.thread)}`), el('td', {}, visible(row.function) || '[no call]'))),
    rest > 0 ? el('tr', {}, el('td', { class: 'number' }, percent(rest, whole)), cell(rest), el('td', { colspan: 7 }, 'in other functions')) : null)));
}

/**
 * @param {CriticalPath | undefined} path
 * @returns {HTMLElement} the path of `perfrec report --view path`, or why there is none
 */
export function pathPanel(path) {
  const panel = (/** @type {import('./dom.js').Content[]} */ contents) => el('section', { class: 'panel', 'aria-label': 'Critical path', id: 'critical-path' },
    el('div', { class: 'panel-head' }, el('h2', {}, 'Critical path')), contents);
  if (!path) return panel([el('p', { class: 'caption' }, 'Not in the page of a large recording: perfrec report --view path has it.')]);
  if (!path.paths) return panel([el('p', { class: 'caption' }, 'No thread has a call here, so there is no path.')]);
  const { hand_overs: handOvers, stops, length_ns: whole } = path;
  return panel([
    el('p', { class: 'caption' }, `The chain of work that determined how long this took, ${pathTime(whole)}, followed back from its end through the threads that waited for each other.`),
    ...stops.map((stop) => el('p', { class: 'caption' }, `${pathTime(stop.unknown_ns)} (${percent(stop.unknown_ns, whole)}) is unknown: ${visible(stop.text)}.`)),
    path.functions[0]?.on_cpu_ns === null ? el('p', { class: 'caption' }, 'The trace has no switches of threads, so waits are not known.') : null,
    path.functions.length ? pathTable(path) : null,
    handOvers.length ? el('p', { class: 'caption' }, handOvers.length > HAND_OVERS_SHOWN ? 'The most frequent hand-overs:' : 'Hand-overs:') : null,
    handOvers.length ? el('ul', { class: 'caption' }, handOvers.slice(0, HAND_OVERS_SHOWN).map((one) => el('li', {},
      `${amount(one.times, 'count')} × ${one.from_tid} ${visible(one.from)}${one.function && ` in ${visible(one.function)}`} ended waits of ${one.to_tid} ${visible(one.to)} for ${visible(one.object)}, hand-over ${pathTime(one.hand_over_ns)}`))) : null,
  ]);
}
