// SPDX-License-Identifier: Apache-2.0
import { announce, button, el, fill } from './dom.js';

/** The menu of a frame, and the clipboard. */

const menuElement = el('div', { class: 'popup menu', role: 'menu', hidden: true, 'aria-label': 'What to do with the frame',
  onkeydown: (/** @type {KeyboardEvent} */ event) => menuKey(event) });
/** @type {Element | null} had the focus before the menu */
let menuOwner = null;

document.addEventListener('pointerdown', (event) => {
  if (event.target instanceof Node && !menuElement.contains(event.target)) menuElement.hidden = true;
});
addEventListener('blur', () => { menuElement.hidden = true; });

function closeMenu() {
  menuElement.hidden = true;
  if (menuOwner instanceof HTMLElement) menuOwner.focus();
}

/** @param {KeyboardEvent} event */
function menuKey(event) {
  event.stopPropagation();
  const items = [...menuElement.querySelectorAll('button')];
  const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
  if (event.key === 'Escape' || event.key === 'Tab') closeMenu();
  else if (to === undefined) return;
  else items[(to + items.length) % items.length].focus();
  event.preventDefault();
}

/**
 * @param {number} x @param {number} y of the window
 * @param {([string, () => void] | null)[]} items texts and actions; null: not there
 */
export function showMenu(x, y, items) {
  menuOwner = document.activeElement;
  document.body.append(menuElement);
  fill(menuElement, items.filter((item) => item !== null).map(([text, action]) => button(text, () => {
    closeMenu();
    action();
  }, { role: 'menuitem' })));
  menuElement.hidden = false;
  const { width, height } = menuElement.getBoundingClientRect();
  menuElement.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
  menuElement.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
  menuElement.querySelector('button')?.focus();
}

/** @param {string} text @param {string} what names the text for screen readers */
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} copied`);
  } catch {
    announce(`${what} not copied: the browser did not allow it`);
  }
}
