// SPDX-License-Identifier: Apache-2.0

/**
 * The data of the page: base64 of a gzip stream, in it a header in JSON and
 * columns of numbers and texts (docs/PAGE.md). Columns are decoded on demand.
 * All of it comes from files of a recording, so anything invalid is a BadData
 * with one sentence.
 */

/** An error in the data, as a sentence for people. */
export class BadData extends Error {}

/**
 * @typedef {{ name: string, type: string, count: number, bytes: number }} ColumnHead
 * @typedef {{
 *   key: string, title: string, unit: string, from?: string, timed?: boolean,
 *   by_thread?: boolean, estimated?: boolean, judged?: string,
 * }} ValueHead
 * @typedef {{
 *   level: string, good: string, doubts?: { level: string, values: string, text: string, next?: string }[],
 * }} Trust
 * @typedef {{ name: string, summary?: any, trust?: Trust, runs?: number }} Side
 * @typedef {{
 *   version: number, made_by?: string, title?: string, host?: string,
 *   summary?: any, columns: ColumnHead[], values?: ValueHead[],
 *   buckets?: { count: number, first_ns: number, width_ns: number },
 *   time?: { first_ns: number, last_ns: number },
 *   part?: { whole_ns: number, range?: string, thread?: string },
 *   counters?: { key: string, title: string, unit: string }[],
 *   path?: import('./path.js').CriticalPath,
 *   locks?: { locks: import('./locks.js').Lock[], functions?: import('./locks.js').Waiter[] },
 *   cpu_heat?: { first_ns: number, width_ns: number },
 *   heat?: { count: number, first_ns: number, width_ns: number, exact: boolean },
 *   timeline?: { level: number, width_ns: number }[], waits?: { level: number, width_ns: number }[],
 *   heap?: { peak_ns?: number, peak_bytes?: number, peak_error_bytes?: number, resident_bytes?: number },
 *   trust?: Trust,
 *   diff?: { a: Side, b: Side },
 *   notes?: string[], losses?: string[], paths?: boolean, source?: boolean,
 * }} Header
 */

const MAGIC = 'PFPAGE1\n';
const VERSION = 1;

/**
 * @param {string} text base64; white space does not count
 * @returns {Uint8Array<ArrayBuffer>}
 */
function fromBase64(text) {
  const fast = /** @type {any} */ (Uint8Array).fromBase64;
  try {
    if (fast) return fast.call(Uint8Array, text);
    const chars = atob(text);
    const bytes = new Uint8Array(chars.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = chars.charCodeAt(i);
    return bytes;
  } catch {
    throw new BadData('The data in this page is not base64: the file was cut or changed.');
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} packed a gzip stream
 * @returns {Promise<Uint8Array>}
 */
async function gunzip(packed) {
  if (typeof DecompressionStream === 'undefined')
    throw new BadData('This browser is too old for the page: it has no DecompressionStream (2023 or later).');
  try {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new BadData('The data in this page cannot be unpacked: the file was cut or changed.');
  }
}

/** Numbers of one column, one after the other. */
class Numbers {
  /** @param {Uint8Array} bytes @param {ColumnHead} head */
  constructor(bytes, head) {
    this.bytes = bytes;
    this.head = head;
    this.at = 0;
  }

  /** @returns {number} the next unsigned LEB128 */
  next() {
    const { bytes } = this;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let scale = 128;
    do {
      byte = bytes[this.at++];
      if (byte === undefined || scale > 2 ** 63)
        throw new BadData(`Column ${this.head.name} of the data has a bad number.`);
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }

  /** @returns {number} the next zigzag LEB128 */
  nextSigned() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}

/** The data of a page. */
export class Data {
  /** @param {Header} header @param {Uint8Array} bytes @param {number} start of the columns */
  constructor(header, bytes, start) {
    this.header = header;
    this.bytes = bytes;
    /** @type {Map<string, { head: ColumnHead, start: number }>} */
    this.columns = new Map();
    let at = start;
    for (const head of header.columns) {
      if (!Number.isSafeInteger(head.count) || !Number.isSafeInteger(head.bytes) || head.bytes < 0 ||
          head.count < 0 || head.count > head.bytes || at + head.bytes > bytes.length)
        throw new BadData(`Column ${head.name} of the data goes beyond its end: the file was cut or changed.`);
      this.columns.set(head.name, { head, start: at });
      at += head.bytes;
    }
    /** @type {Float64Array | null} */
    this.textStarts = null;
    /** @type {Map<number, string>} */
    this.texts = new Map();
    this.decoder = new TextDecoder();
  }

  /** @param {string} name @returns {boolean} */
  has(name) {
    return this.columns.has(name);
  }

  /**
   * @param {string} name
   * @returns {Float64Array} its numbers; empty, if there is no such column
   */
  numbers(name) {
    const column = this.columns.get(name);
    if (!column) return new Float64Array(0);
    const { head, start } = column;
    const numbers = new Numbers(this.bytes.subarray(start, start + head.bytes), head);
    const out = new Float64Array(head.count);
    if (head.type === 'u') for (let i = 0; i < out.length; i++) out[i] = numbers.next();
    else if (head.type === 'z') for (let i = 0; i < out.length; i++) out[i] = numbers.nextSigned();
    else if (head.type === 'd') {
      let last = 0;
      for (let i = 0; i < out.length; i++) out[i] = last += numbers.nextSigned();
    } else throw new BadData(`Column ${head.name} of the data has the unknown type ${head.type}.`);
    return out;
  }

  /**
   * @param {string} name
   * @param {number} limit all numbers must be below it
   * @param {number} [count] as many must there be
   * @returns {Int32Array} numbers of entries in another column
   */
  indices(name, limit, count) {
    const numbers = this.numbers(name);
    if (count !== undefined && numbers.length !== count)
      throw new BadData(`Column ${name} of the data has ${numbers.length} entries in place of ${count}.`);
    const out = new Int32Array(numbers.length);
    for (let i = 0; i < out.length; i++) {
      if (!(numbers[i] >= 0 && numbers[i] < limit))
        throw new BadData(`Column ${name} of the data names entry ${numbers[i]}, and there are ${limit}.`);
      out[i] = numbers[i];
    }
    return out;
  }

  /** @returns {number} how many texts there are */
  textCount() {
    return this.columns.get('text')?.head.count ?? 0;
  }

  /** @param {number} index @returns {string} a text; '' if there is none */
  text(index) {
    const column = this.columns.get('text');
    if (!column || !(index >= 0 && index < column.head.count)) return '';
    const known = this.texts.get(index);
    if (known !== undefined) return known;
    this.textStarts ??= this.findTexts(column.start, column.head);
    const text = this.decoder.decode(
      this.bytes.subarray(this.textStarts[index], this.textStarts[index + 1] - 1));
    this.texts.set(index, text);
    return text;
  }

  /** @param {number} start @param {ColumnHead} head @returns {Float64Array} */
  findTexts(start, head) {
    const starts = new Float64Array(head.count + 1);
    let at = start;
    for (let i = 0; i < head.count; i++) {
      starts[i] = at;
      at = this.bytes.indexOf(0, at) + 1;
      if (!at || at > start + head.bytes) throw new BadData('The texts of the data end too early.');
    }
    starts[head.count] = at;
    return starts;
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {Data}
 */
function parse(bytes) {
  const magic = String.fromCharCode(...bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw new BadData('The data in this page is not that of perfrec.');
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const start = MAGIC.length + 4;
  const size = bytes.length < start ? Number.POSITIVE_INFINITY : view.getUint32(MAGIC.length, true);
  if (start + size > bytes.length) throw new BadData('The data in this page is cut.');
  /** @type {Header} */
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(start, start + size)));
  } catch {
    throw new BadData('The header of the data is not JSON.');
  }
  if (!header || !Array.isArray(header.columns)) throw new BadData('The header of the data names no columns.');
  if (header.version !== VERSION)
    throw new BadData(`The data has version ${header.version}, and this page reads version ${VERSION}.`);
  return new Data(header, bytes, start + size);
}

/**
 * @param {string} base64 the text of the data's element
 * @returns {Promise<Data>}
 */
export async function readData(base64) {
  const text = base64.trim();
  if (!text) throw new BadData('There is no data in this page: the file was cut or changed.');
  return parse(await gunzip(fromBase64(text)));
}
