// SPDX-License-Identifier: Apache-2.0
import { moment } from './format.js';
import { color } from './theme.js';

/** The time axis, from left to right, which the overview and the timeline share. */

/** @typedef {{ from: number, to: number }} Span  nanoseconds since the first event */

export const SMALL = '10.5px system-ui, sans-serif';

/**
 * @param {Span} span
 * @param {number} room for so many marks
 * @returns {{ step: number, at: number[] }} round moments
 */
export function ticks(span, room) {
  const rough = Math.max(1, (span.to - span.from) / Math.max(1, room));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? power * 10;
  const at = [];
  for (let n = Math.ceil(span.from / step); n * step <= span.to && at.length < 100; n++) at.push(n * step);
  return { step, at };
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {Span} span
 * @param {{ x: number, y: number, width: number, height: number }} box marks go
 *   through it, their times are below y
 */
export function drawAxis(g, span, box) {
  const { step, at } = ticks(span, box.width / 90);
  g.font = SMALL;
  g.textBaseline = 'top';
  for (const time of at) {
    const x = Math.round(box.x + ((time - span.from) / (span.to - span.from)) * box.width) + 0.5;
    g.fillStyle = color('--line');
    g.fillRect(x - 0.5, 0, 1, box.height);
    g.fillStyle = color('--muted');
    const text = moment(time, step);
    const room = g.measureText(text).width;
    g.fillText(text, Math.min(x + 4, box.x + box.width - room), box.y + 3);
  }
}

/** @param {Span} span @returns {string} */
export function spanText(span) {
  const step = (span.to - span.from) / 100;
  return `${moment(span.from, step)} – ${moment(span.to, step)}`;
}

/**
 * Hatches a box.
 * @param {CanvasRenderingContext2D} g
 * @param {number} x @param {number} y @param {number} width @param {number} height
 * @param {string} [ink] name of a colour
 * @param {number} [thick] of a line
 */
export function hatch(g, x, y, width, height, ink = '--text', thick = 1.5) {
  g.save();
  g.beginPath();
  g.rect(x, y, width, height);
  g.clip();
  g.beginPath();
  for (let at = x - height; at < x + width; at += 5) {
    g.moveTo(at, y + height);
    g.lineTo(at + height, y);
  }
  g.strokeStyle = color(ink);
  g.lineWidth = thick;
  g.stroke();
  g.restore();
}
