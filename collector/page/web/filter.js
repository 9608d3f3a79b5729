// SPDX-License-Identifier: Apache-2.0
import { button, chooser, el, fill } from './dom.js';
import { spanText } from './axis.js';

/** The bar that selects a value, threads, a range and a search. */

/** @typedef {import('./store.js').Store} Store */

/** @param {Store} store @returns {HTMLElement | null} a button and the list of threads behind it */
function threadFilter(store) {
  const { recording } = store;
  const threads = recording.threads.map((thread, index) => ({ ...thread, index }))
    .filter(({ tid, last }) => tid || last);
  if (threads.length < 2) return null;
  /** @type {Map<number, HTMLInputElement>} */
  const boxes = new Map();
  const choose = () => {
    const chosen = [...boxes].filter(([, box]) => box.checked).map(([index]) => index);
    store.set({ threads: chosen.length === boxes.size ? null : new Set(chosen) });
  };
  const all = (/** @type {boolean} */ checked, /** @type {number | null} */ process) => {
    for (const [index, box] of boxes)
      if (process === null || recording.threads[index].process === process) box.checked = checked;
    choose();
  };
  const list = el('div', { class: 'popup', id: 'threads', hidden: true, role: 'group', 'aria-label': 'Threads' });
  const toggle = button('Threads: all', () => open(list.hidden), { 'aria-expanded': 'false', 'aria-controls': 'threads', id: 'threads-button' });
  const open = (/** @type {boolean} */ show) => {
    if (show && !boxes.size) addBoxes();
    list.hidden = !show;
    toggle.setAttribute('aria-expanded', String(show));
    if (show) list.querySelector('button')?.focus();
    else toggle.focus();
  };
  // The boxes of ten thousand threads took most of the time until the page was ready.
  const addBoxes = () => fill(list, el('div', { class: 'row' }, button('All', () => all(true, null), { class: 'small' }), button('None', () => all(false, null), { class: 'small' })),
    recording.processes.map((process, number) => {
      const own = threads.filter((thread) => thread.process === number);
      if (!own.length) return null;
      return el('fieldset', {}, el('legend', { title: process.command }, `${process.name} ${process.pid} `,
        button('only', () => { all(false, null); all(true, number); }, { class: 'small', 'aria-label': `Only process ${process.name} ${process.pid}` })),
      own.map((thread) => {
        const box = el('input', { type: 'checkbox', checked: store.state.threads?.has(thread.index) ?? true, onchange: choose });
        boxes.set(thread.index, box);
        return el('label', { class: 'check' }, box, `${thread.name} `, el('span', { class: 'muted' }, thread.tid));
      }));
    }));
  list.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    open(false);
  });
  document.addEventListener('pointerdown', (event) => {
    if (!list.hidden && event.target instanceof Node && !list.contains(event.target) && event.target !== toggle) {
      list.hidden = true;
      toggle.setAttribute('aria-expanded', 'false');
    }
  });
  store.follow(['threads'], () => {
    const { threads: chosen } = store.state;
    toggle.textContent = chosen ? `Threads: ${chosen.size} of ${threads.length}` : 'Threads: all';
    toggle.classList.toggle('on', Boolean(chosen));
    for (const [index, box] of boxes) box.checked = !chosen || chosen.has(index);
  });
  return el('div', { class: 'popup-holder' }, toggle, list);
}

/** @param {Store} store @returns {HTMLElement} the range, and a button to leave it */
function rangeChip(store) {
  const chip = el('span', { class: 'chip', hidden: true });
  store.follow(['range'], () => {
    const { span } = store;
    chip.hidden = !span;
    if (!span) return;
    fill(chip, spanText(span),
      button('×', () => store.set({ range: null }), { 'aria-label': 'Show the whole time', title: 'Escape' }));
  });
  return chip;
}

/** @param {Store} store @returns {HTMLElement} doubts about the value, and the note that it has no figures by range or thread */
function warning(store) {
  const text = el('p', { class: 'warning', role: 'status' });
  store.follow(['value', 'range', 'threads'], () => {
    const { recording, value, selection } = store;
    const [hasTime, hasThread] = [recording.obeys(value, { ...selection, threads: null }), recording.obeys(value, { ...selection, range: null })];
    const missing = [hasTime ? '' : 'when', hasThread ? '' : 'in which thread'].filter(Boolean).join(' and ');
    const doubts = recording.doubtsOf(value);
    text.textContent = [missing ? `It is not known ${missing} this value came about: ${value.title} is shown of the whole recording.` : '',
      doubts.length ? `${value.title}: ${doubts.join('; ')}.` : ''].filter(Boolean).join(' ');
  });
  return text;
}

/** @param {Store} store @returns {{ element: HTMLElement, search: HTMLInputElement }} */
export function filterBar(store) {
  const { recording } = store;
  const value = chooser('Value', recording.values.map((head) => [head.key, head.title]), store.state.value,
    (key) => store.set({ value: key }));
  value.select.id = 'value';
  store.follow(['value'], () => { value.select.value = store.state.value; });
  const search = el('input', {
    type: 'search', id: 'search', placeholder: 'Search functions', 'aria-label': 'Search functions', autocomplete: 'off',
    spellcheck: 'false', title: 'Text, or /a regular expression/   (press /)', oninput: () => store.set({ query: search.value }),
  });
  store.follow(['query'], () => {
    if (search.value !== store.state.query) search.value = store.state.query;
  });
  const element = el('div', { class: 'bar', role: 'toolbar', 'aria-label': 'What is shown' },
    recording.values.length ? value.field : null, threadFilter(store), rangeChip(store), el('span', { class: 'space' }), search);
  return { element: el('div', { class: 'bar-holder' }, element, recording.values.length ? warning(store) : null), search };
}
