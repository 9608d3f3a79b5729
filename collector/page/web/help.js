// SPDX-License-Identifier: Apache-2.0
import { button, el } from './dom.js';

/** The dialog that lists the keys. */

/** @type {[string, [string, string][]][]} */
const KEYS = [
  ['Everywhere', [
    ['1 … 6', 'the views: profile, callers, threads, memory, source, calls'], ['/', 'search'], ['n  N', 'next match, match before'],
    ['v  V', 'next value, value before'], ['t', 'choose threads'], ['f', 'to the flame graph'], ['o', 'to the overview'],
    ['l', 'dark or light'], ['Escape', 'leave the search, the zoom, the range'], ['?', 'this list'],
  ]],
  ['Overview', [
    ['← →', 'one part of the time before, after'], ['Shift ← →', 'choose a range'], ['Page ↑ ↓', 'a twentieth'],
    ['Home  End', 'begin, end'], ['Escape', 'the whole time'],
  ]],
  ['Flame graph', [
    ['↑ ↓', 'caller, callee'], ['← →', 'neighbours'], ['Enter', 'zoom to the frame'], ['Backspace', 'zoom to its caller'],
    ['0', 'show all'], ['s', 'callers and callees of the function'], ['m', 'more, as the right button does'],
  ]],
  ['Threads', [
    ['← →', 'move in time'], ['+  −', 'zoom'], [',  .', 'call before, call after'], ['<  >', 'caller, callee'],
    ['i  I', 'next instant, instant before'], ['Enter', 'zoom to the call'], ['0', 'the whole time'], ['s', 'callers and callees'],
  ]],
  ['CPU use', [['↑ ↓', 'a cell'], ['← →', 'a column'], ['Shift ↑ ↓ ← →', 'choose a range']]],
  ['Calls', [['← → ↑ ↓', 'move in time and duration'], ['Shift ← → ↑ ↓', 'choose calls'], ['Escape', 'all durations']]],
  ['Table', [['↑ ↓', 'function before, after'], ['← →', 'close, open a row of stacks'], ['Enter', 'its callers and callees; on a title: sort']]],
];

/** @returns {HTMLDialogElement} */
export function helpDialog() {
  /** @type {HTMLDialogElement} */
  const dialog = el('dialog', { id: 'help', 'aria-labelledby': 'help-title' },
    el('div', { class: 'panel-head' }, el('h2', { id: 'help-title' }, 'Keyboard and mouse'), el('span', { class: 'space' }),
      button('Close', () => dialog.close(), { class: 'small' })),
    el('div', { class: 'help-lists' }, KEYS.map(([title, keys]) => el('section', {}, el('h3', {}, title),
      el('dl', {}, keys.map(([key, what]) => el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, what))))))),
    el('p', { class: 'muted' }, 'Mouse: drag over the overview to choose a range, a click there shows all again; over the durations of calls to choose calls. ' +
      'A click on a frame zooms. In the threads a drag moves, Ctrl with the wheel zooms.'));
  return dialog;
}
