// SPDX-License-Identifier: Apache-2.0
import { amount, percent, visible } from './format.js';
import { el } from './dom.js';

/** The head of the page: the command of the recording, its figures and its notes. */

/** @typedef {import('./model.js').Recording} Recording */

/** @param {any} summary @returns {string} the command as it was typed */
export function commandOf(summary) {
  const words = Array.isArray(summary?.command) ? summary.command : [];
  return visible(words.map((/** @type {any} */ word) =>
    /^[\w@%+=:,./-]+$/.test(String(word)) ? String(word) : `'${String(word)}'`).join(' '));
}

/** @param {any} exit @returns {string} */
function exitOf(exit) {
  if (exit?.signal) return `ended by signal ${exit.signal}`;
  return exit?.status ? `exit status ${exit.status}` : '';
}

/** @param {any} started @returns {string} */
function dateOf(started) {
  const date = new Date(String(started ?? ''));
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}

/** @param {any} summary @returns {[string, string, string][]} name, value, explanation */
function figuresOf(summary) {
  const { totals = {}, cost = {} } = summary ?? {};
  const number = (/** @type {any} */ value, /** @type {string} */ unit) => (Number.isFinite(value) && value ? amount(value, unit) : '');
  const cpu = (summary?.user_ns ?? 0) + (summary?.sys_ns ?? 0);
  return [
    ['Wall time', number(summary?.wall_ns, 'nanoseconds'), ''],
    ['CPU time', number(cpu, 'nanoseconds'), `user ${amount(summary?.user_ns ?? 0, 'nanoseconds')}, system ${amount(summary?.sys_ns ?? 0, 'nanoseconds')}`],
    ['Recorded calls', number(totals.spans, 'count'), ''],
    ['Threads', number(totals.threads, 'count'), `${totals.processes ?? 0} processes`],
    ['Peak memory', number(totals.peak_bytes, 'bytes'), ''],
    ['Samples', number(totals.cpu_samples, 'count'), ''],
    ['Own cost', Number.isFinite(cost.share) ? percent(cost.share, 1) : '', `of the CPU time: what perfrec itself took (${amount(cost.total_ns ?? 0, 'nanoseconds')})`],
    ['Started', dateOf(summary?.started), ''],
    ['End', exitOf(summary?.exit), ''],
  ];
}

/** @param {[string, string, string][]} rows */
function figureList(rows) {
  return el('dl', { class: 'figures' }, rows.filter(([, value]) => value).map(([name, value, hint]) =>
    el('div', { title: hint || null }, el('dt', {}, name), el('dd', {}, value))));
}

/** @param {Recording} recording @returns {HTMLElement | null} which part of the recording the page shows */
function partOf({ header }) {
  const { part } = header;
  if (!part) return null;
  const text = [];
  if (part.range) text.push(`${visible(String(part.range))} of its ${amount(part.whole_ns, 'nanoseconds')}`);
  if (part.thread) text.push(`thread ${visible(String(part.thread))}`);
  return el('p', { class: 'part', role: 'note' }, el('b', {}, 'A part of the recording: '), text.join(', '),
    '. Times count from its first call; the figures above are of the whole.');
}

/**
 * The judgement of summary_trust.c: which figures a person may trust.
 * @param {import('./data.js').Trust | undefined} trust
 * @param {string} name of the side of a comparison, or ''
 * @returns {HTMLElement | null}
 */
function trustOf(trust, name) {
  if (!trust) return null;
  const doubts = trust.doubts ?? [];
  const next = [...new Set(doubts.map((doubt) => visible(String(doubt.next ?? ''))))].filter(Boolean);
  return el('p', { class: `trust ${['good', 'fair'].includes(trust.level) ? trust.level : 'poor'}`, role: 'note' },
    el('b', {}, `${name ? `${name}: t` : 'T'}rust ${visible(String(trust.level))}: `),
    doubts.length ? doubts.map((doubt) => visible(String(doubt.text))).join('; ') : visible(String(trust.good)), '.',
    next.length ? ` Next: ${next.join(', or ')}` : '');
}

/** @param {Recording} recording @returns {HTMLElement | null} a badge with a sentence for each loss */
function lossesOf(recording) {
  const losses = (recording.header.losses ?? []).map((text) => visible(String(text)));
  if (!losses.length) return null;
  return el('div', { class: 'lost', role: 'note' }, el('b', {}, 'Lost: '), losses.join(' · '));
}

/** @param {Recording} recording */
function holdings({ header }) {
  const text = [];
  if (header.paths !== undefined)
    text.push(header.paths ? 'It has paths of files and the words of the command.' : 'It has no paths of files.');
  if (header.source !== undefined) text.push(header.source ? 'It has lines of source.' : 'It has no lines of source.');
  return `This page is one file: it asks nothing of the network. It has the names of functions, threads and programs. ${text.join(' ')}`;
}

/** @param {Recording} recording */
function notesOf(recording) {
  const notes = (recording.header.notes ?? []).map((text) => visible(String(text)));
  return el('details', { class: 'notes' },
    el('summary', {}, notes.length ? `Notes (${notes.length}) and what this page holds` : 'What this page holds'),
    el('ul', {}, notes.map((note) => el('li', {}, note)), el('li', {}, holdings(recording)),
      recording.header.made_by ? el('li', {}, `Made by ${visible(String(recording.header.made_by))}.`) : null));
}

/** @param {Recording} recording @returns {string} */
export function titleOf(recording) {
  const { header } = recording;
  if (header.diff) return `${visible(String(header.diff.a?.name ?? 'A'))} → ${visible(String(header.diff.b?.name ?? 'B'))}`;
  return commandOf(header.summary) || visible(String(header.title ?? '')) || 'A recording';
}

/** @param {Recording} recording @returns {HTMLElement[]} */
function comparison(recording) {
  const { diff } = recording.header;
  if (!diff) return [];
  const side = (/** @type {string} */ name, /** @type {{ name: string, summary?: any }} */ one) =>
    el('div', { class: 'side' }, el('b', {}, `${name}: ${visible(String(one?.name ?? ''))}`),
      el('span', { class: 'muted' }, commandOf(one?.summary)), figureList(figuresOf(one?.summary)));
  return [el('div', { class: 'sides' }, side('A (before)', diff.a), side('B (after)', diff.b))];
}

/**
 * @param {Recording} recording
 * @param {Node[]} controls
 * @returns {HTMLElement}
 */
export function head(recording, controls) {
  const { header } = recording;
  const title = titleOf(recording);
  return el('header', {},
    el('div', { class: 'head-line' },
      el('span', { class: 'mark', 'aria-hidden': 'true' }, 'perfrec'),
      el('h1', { title: title.slice(0, 2000) }, title),
      header.title && !header.diff && title !== header.title ? el('span', { class: 'muted folder' }, visible(String(header.title))) : null,
      el('span', { class: 'space' }), controls),
    header.diff ? [trustOf(header.diff.a?.trust, 'A'), trustOf(header.diff.b?.trust, 'B')] : trustOf(header.trust, ''),
    header.diff ? comparison(recording) : figureList(figuresOf(header.summary)),
    partOf(recording),
    el('div', { class: 'head-notes' }, lossesOf(recording), notesOf(recording)));
}
