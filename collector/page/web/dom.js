// SPDX-License-Identifier: Apache-2.0

/**
 * Elements of the page. Text is only ever textContent, so that no name of a
 * recorded program can become markup.
 */

/** @typedef {string | number | Node | null | undefined | false} Content */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} attributes; on…: a listener; class, data-… and
 *   others as in HTML; false, null: not there
 * @param {...(Content | Content[])} contents
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, attributes = {}, ...contents) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  fill(element, ...contents);
  return element;
}

/** @param {Element} element @param {...(Content | Content[])} contents its new contents */
export function fill(element, ...contents) {
  const nodes = contents.flat().filter((content) => content !== null && content !== undefined && content !== false);
  element.replaceChildren(...nodes.map((content) =>
    content instanceof Node ? content : document.createTextNode(String(content))));
}

/** @param {string} text @param {(event: Event) => void} onclick @param {Record<string, any>} attributes */
export function button(text, onclick, attributes = {}) {
  return el('button', { type: 'button', ...attributes, onclick }, text);
}

/**
 * @param {string} label
 * @param {[string, string][]} choices values and their texts
 * @param {string} chosen
 * @param {(value: string) => void} onchoice
 * @returns {{ field: HTMLLabelElement, select: HTMLSelectElement }}
 */
export function chooser(label, choices, chosen, onchoice) {
  const select = el('select', { onchange: () => onchoice(select.value) },
    choices.map(([value, text]) => el('option', { value, selected: value === chosen }, text)));
  return { field: el('label', { class: 'field' }, el('span', {}, label), select), select };
}

const live = el('div', { id: 'live', class: 'unseen', role: 'status', 'aria-live': 'polite' });

/** @param {string} text for screen readers */
export function announce(text) {
  live.textContent = text;
}

const tip = el('div', { id: 'tip', role: 'tooltip', hidden: true });

/** @param {number} x @param {number} y of the pointer @param {Content[]} contents */
export function showTip(x, y, contents) {
  fill(tip, ...contents);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 14 + width > innerWidth ? Math.max(4, x - width - 10) : x + 14;
  const top = y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18;
  tip.style.transform = `translate(${left}px, ${top}px)`;
}

export function hideTip() {
  tip.hidden = true;
}

/** @param {Element} body gets the elements that all parts of the page share */
export function addShared(body) {
  body.append(live, tip);
}

/**
 * @param {[string, Content][]} rows
 * @returns {HTMLElement} names and values, without the empty ones
 */
export function facts(rows) {
  return el('dl', { class: 'facts' },
    rows.filter(([, value]) => value !== '' && value !== null && value !== undefined)
      .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

/**
 * A canvas of the size of its element, in the pixels of the screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width @param {number} height in CSS pixels
 * @returns {CanvasRenderingContext2D} cleared, in CSS pixels
 */
export function context(canvas, width, height) {
  const scale = Math.min(3, devicePixelRatio || 1);
  const [w, h] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}

/**
 * @param {[string, number][]} columns titles and heights, 0 to 1
 * @param {string} label
 * @param {string} from @param {string} to below the first and the last column
 */
export function columnChart(columns, label, from, to) {
  return el('div', { class: 'histogram' },
    el('div', { class: 'bars', role: 'img', 'aria-label': label }, columns.map(([title, size]) => {
      const bar = el('i', { title });
      bar.style.setProperty('--share', `${(100 * size).toFixed(1)}%`);
      return bar;
    })),
    el('div', { class: 'ends' }, el('span', {}, from), el('span', {}, to)));
}

/** @param {() => void} action @returns {() => void} does it once before the next painting */
export function soon(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      action();
    });
  };
}
