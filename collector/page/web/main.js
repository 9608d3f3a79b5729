// SPDX-License-Identifier: Apache-2.0
import { CpuHeat } from './cpuheat.js';
import { BadData, readData } from './data.js';
import { Address, spanWord } from './address.js';
import { CallsView } from './calls.js';
import { addShared, announce, button, el, fill, hideTip } from './dom.js';
import { filterBar } from './filter.js';
import { head, titleOf } from './head.js';
import { helpDialog } from './help.js';
import { LinesView } from './lines.js';
import { lockTable } from './locks.js';
import { MemoryView } from './memory.js';
import { Recording } from './model.js';
import { Overview } from './overview.js';
import { pathPanel } from './path.js';
import { ProfileView, SandwichView } from './profile.js';
import { Store } from './store.js';
import { Palette, toggleTheme, watchTheme } from './theme.js';
import { TimelineView } from './timeline.js';

/** Puts the page together. */

/** @typedef {{ id: string, title: string, view: { element: HTMLElement } }} Tab */

/** All parts of the page, and the keys that serve everywhere. */
class Page {
  /** @param {Recording} recording */
  constructor(recording) {
    this.recording = recording;
    this.store = new Store(recording);
    const palette = new Palette(recording);
    const onopen = (/** @type {number} */ fn) => this.openFunction(fn);
    const { store } = this;
    this.profile = new ProfileView(store, palette, onopen);
    this.sandwich = new SandwichView(store, palette, onopen);
    this.timeline = new TimelineView(store, palette, onopen);
    this.calls = new CallsView(store, this.timeline, onopen);
    this.memory = new MemoryView(store, onopen, (key) => store.set({ value: key, tab: 'profile' }));
    this.lines = new LinesView(store);
    this.overview = new Overview(store);
    this.cpuHeat = new CpuHeat(store);
    this.bar = filterBar(store);
    this.help = helpDialog();
    /** @type {HTMLButtonElement[]} */
    this.buttons = [];
    /** @type {Tab[]} */
    this.tabs = [
      { id: 'profile', title: 'Profile', view: this.profile }, { id: 'callers', title: 'Callers and callees', view: this.sandwich },
      { id: 'threads', title: 'Threads', view: this.timeline }, { id: 'memory', title: 'Memory', view: this.memory },
      { id: 'lines', title: 'Source', view: this.lines }, { id: 'calls', title: 'Calls', view: this.calls },
    ];
    this.timeline.element.append(pathPanel(recording.header.path), lockTable(recording.header.locks?.locks) ?? '');
    const noTrace = recording.header.time ? '' : 'There is no trace: the page knows how much, but not when.';
    if (!this.timeline.isThere) this.drop('threads', noTrace || 'The trace has no calls, waits or switches of threads.');
    if (!this.calls.isThere) this.drop('calls', noTrace || 'No call was recorded with its time. Build the program with perfrec cc, or record it with --patch.');
    else this.sandwich.element.querySelector('.panel-head')?.append(button('Its calls', () => store.set({ tab: 'calls' }), { class: 'small', id: 'to-calls' }));
    if (!this.memory.isThere || recording.isDiff)
      this.drop('memory', recording.header.part ? 'The page of a part of a recording has no allocations.'
        : recording.header.summary?.alloc === 'off' ? 'Allocations were not recorded (--alloc=off).' : 'No allocation was recorded.');
    if (recording.isDiff) this.drop('lines', '');
  }

  /** @param {string} id of a view that has nothing to show, and says why; a comparison has no such view @param {string} why */
  drop(id, why) {
    if (this.recording.isDiff) this.tabs = this.tabs.filter((tab) => tab.id !== id);
    for (const tab of this.tabs)
      if (tab.id === id) tab.view = { element: el('div', { class: 'view' }, el('section', { class: 'panel' }, el('p', { class: 'empty' }, why))) };
  }

  /** @param {HTMLElement} place */
  show(place) {
    document.title = `${titleOf(this.recording).slice(0, 200)} – perfrec`;
    const controls = [
      button('◐', toggleTheme, { class: 'round', 'aria-label': 'Dark or light', title: 'Dark or light (l)', id: 'theme' }),
      button('?', () => this.help.showModal(), { class: 'round', 'aria-label': 'Keyboard and mouse', title: 'Keyboard and mouse (?)', id: 'help-button' }),
    ];
    fill(place, head(this.recording, controls),
      this.overview.isThere ? el('section', { class: 'panel', 'aria-label': 'Overview over time' }, this.overview.element, this.overview.more, this.cpuHeat.isThere ? this.cpuHeat.element : null) : null,
      el('main', {}, this.tabList(), this.bar.element, this.tabs.map((tab) => this.tabPanel(tab))), this.help);
    document.addEventListener('keydown', (event) => this.key(event));
    this.store.follow(['tab'], () => this.showTab());
    this.address();
  }

  /** Shows the state in the address of the page, and keeps the address up to date. */
  address() {
    const { timeline, profile: { flame } } = this;
    const address = new Address(this.store, this.tabs.map(({ id }) => id), {
      zoom: {
        get: () => (flame.tree?.path(flame.zoomed) ?? []).map((node) => flame.tree?.fn[node]).join('.'),
        set: (path) => flame.zoomTo(path ? path.split('.').map(Number) : []),
      },
      view: {
        get: () => (this.store.state.tab === 'threads' && !timeline.showsRange ? spanWord(timeline.span) : ''),
        set: (_, span) => (span ? timeline.look(span) : timeline.followRange()),
      },
    });
    flame.onzoom = timeline.onlook = () => address.touch();
  }

  tabList() {
    this.buttons = this.tabs.map(({ id, title }) => button(title, () => this.store.set({ tab: id }), {
      role: 'tab', id: `tab-${id}`, 'aria-controls': `view-${id}`,
    }));
    return el('div', { role: 'tablist', class: 'tabs', 'aria-label': 'Views',
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.tabKey(event) }, this.buttons);
  }

  /** @param {Tab} tab */
  tabPanel({ id, view }) {
    return el('div', { role: 'tabpanel', id: `view-${id}`, 'aria-labelledby': `tab-${id}` }, view.element);
  }

  showTab() {
    const { tab } = this.store.state;
    for (const [i, { id }] of this.tabs.entries()) {
      const element = this.buttons[i];
      element?.setAttribute('aria-selected', String(id === tab));
      element?.setAttribute('tabindex', id === tab ? '0' : '-1');
      const panel = document.getElementById(`view-${id}`);
      if (panel) panel.hidden = id !== tab;
    }
    hideTip();
  }

  /** @param {KeyboardEvent} event */
  tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = this.tabs.findIndex(({ id }) => id === this.store.state.tab);
    const next = (at + step + this.tabs.length) % this.tabs.length;
    this.store.set({ tab: this.tabs[next].id });
    this.buttons[next].focus();
  }

  /** @param {number} fn whose callers and callees are shown */
  openFunction(fn) {
    this.store.set({ fn, tab: 'callers' });
    this.sandwich.callees.scroller.focus();
    announce(`Callers and callees of ${this.recording.name(fn)}`);
  }

  /** @param {number} step to the next value, or the one before */
  nextValue(step) {
    const { values } = this.recording;
    const at = values.indexOf(this.store.value);
    const next = values[(at + step + values.length) % values.length];
    this.store.set({ value: next.key });
    announce(next.title);
  }

  /** Ends one of search, zoom and range, in this order. */
  escape() {
    const { store } = this;
    if (store.state.query) store.set({ query: '' });
    else if (store.state.tab === 'profile' && this.profile.flame.zoomed) this.profile.flame.zoom(0);
    else if (store.state.range) this.overview.clear();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const { target } = event;
    const typing = target instanceof HTMLInputElement && target.type === 'search';
    if (typing && event.key === 'Escape') {
      this.store.set({ query: '' });
      target.blur();
      return;
    }
    if (typing && event.key === 'Enter') return this.profile.flame.nextMatch(1);
    if (typing || target instanceof HTMLSelectElement) return;
    const action = this.actions()[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** @returns {Record<string, () => void>} */
  actions() {
    /** @type {Record<string, () => void>} */
    const actions = {
      '/': () => this.bar.search.focus(),
      '?': () => this.help.showModal(),
      n: () => this.profile.flame.nextMatch(1),
      N: () => this.profile.flame.nextMatch(-1),
      v: () => this.nextValue(1),
      V: () => this.nextValue(-1),
      t: () => document.getElementById('threads-button')?.click(),
      f: () => (this.store.state.tab === 'callers' ? this.sandwich.callees : this.profile.flame).scroller.focus(),
      o: () => this.overview.element.focus(),
      l: () => toggleTheme(),
      Escape: () => this.escape(),
    };
    for (const [i, { id }] of this.tabs.entries()) actions[String(i + 1)] = () => this.store.set({ tab: id });
    return actions;
  }
}

/** @param {HTMLElement} place @param {unknown} error */
function complain(place, error) {
  const known = error instanceof BadData;
  fill(place, el('div', { class: 'failed', role: 'alert' }, el('h1', {}, 'This page cannot show its recording'),
    el('p', {}, known ? error.message : `The page failed: ${error instanceof Error ? error.message : String(error)}`),
    el('p', {}, 'The recording itself is not touched by this. Make the page again: ', el('code', {}, 'perfrec report --html FILE DIR'),
      ', or read it as text: ', el('code', {}, 'perfrec report DIR'), '.')));
  document.documentElement.dataset.state = 'failed';
}

async function start() {
  const place = document.getElementById('page') ?? document.body;
  addShared(document.body);
  watchTheme();
  try {
    const element = document.getElementById('perfrec-data');
    const data = await readData(element?.textContent ?? '');
    element?.remove();
    const recording = new Recording(data);
    new Page(recording).show(place);
    document.documentElement.dataset.state = 'ready';
    performance.mark('perfrec-ready');
  } catch (error) {
    complain(place, error);
  }
}

start();
