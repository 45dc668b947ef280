// SPDX-License-Identifier: Apache-2.0
// From keys in JavaScript to keys in the module's memory, a portion at a time:
//
//     ["pear", "fig"]                      bytes  p e a r f i g        offsets  0 4 7
//     BigInt64Array, numbers alone         8 bytes each, and no offsets
//     Uint8Array with a width              as it is
//
// A portion is what fits in the staging memory, so that a million keys take no more than that.

import type { Engine, Filter as Inner } from "../page/engine";
import type { IntegerArray, Key, Keys } from "./types";

/** Hands on keys that are in the module's memory; of width 0: with offsets. */
type Send = (bytes: number, width: number, count: number) => void;

export interface Result {
  count: number;
  answers: Uint8Array;
}

const PORTION = 2048; // keys: more of them leave the processor's cache as they are joined
const STAGED = 1 << 18; // bytes of keys; a longer key makes it grow
const LAST = 2n ** 63n;

const encoder = new TextEncoder();

/** A value in a message: of a text its beginning, of an object that it is one. */
export function shown(value: unknown): string {
  if (typeof value === "string")
    return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === "object" && value !== null)
    return Array.isArray(value) ? "an array" : "an object";
  return typeof value === "function"
    ? "a function"
    : String(value) + (typeof value === "bigint" ? "n" : "");
}

function wholeNumber(value: number | bigint): bigint {
  if (typeof value === "number" && !Number.isSafeInteger(value))
    throw new TypeError(`a key that is a number must be whole and at most 2^53 - 1, not ${value}`);
  const number = BigInt(value);
  if (number < -LAST || number >= 2n * LAST)
    throw new TypeError(`a key that is a bigint has 64 bits, and ${number} has more`);
  return number;
}

/** A unit of UTF-16 is at most three bytes of UTF-8. */
const mostBytes = (key: Key): number =>
  typeof key === "string" ? 3 * key.length : key instanceof Uint8Array ? key.length : 8;

const isIntegers = (keys: Keys): keys is IntegerArray =>
  ArrayBuffer.isView(keys) && !(keys instanceof Uint8Array) && !(keys instanceof DataView);

export class Packer {
  readonly engine: Engine;
  private data = 0;
  private room = STAGED;
  private readonly offsets: number;
  private readonly answers: number;
  // Views of the module's memory; a memory that grew has another buffer.
  private buffer: ArrayBuffer | undefined;
  private bytes!: Uint8Array;
  private view!: DataView;
  private ends!: Int32Array;
  private found!: Uint8Array;

  constructor(engine: Engine) {
    this.engine = engine;
    this.data = engine.allocate(this.room);
    this.offsets = engine.allocate(4 * (PORTION + 1));
    this.answers = engine.allocate(PORTION);
    this.look();
  }

  private look(): void {
    const { buffer } = this.engine.exports.memory;
    if (buffer === this.buffer) return;
    this.buffer = buffer;
    this.bytes = new Uint8Array(buffer, this.data, this.room);
    this.view = new DataView(buffer, this.data, this.room);
    this.ends = new Int32Array(buffer, this.offsets, PORTION + 1);
    this.found = new Uint8Array(buffer, this.answers, PORTION);
  }

  /** Makes room for a key that is longer than all of the staging memory, which is empty. */
  private grow(bytes: number): void {
    const data = this.engine.allocate(bytes);
    this.engine.exports.web_release(this.data);
    this.data = data;
    this.room = bytes;
    this.buffer = undefined;
    this.look();
  }

  /** Adds (1), looks up (0) or removes (-1) many keys. */
  many(
    filter: Inner,
    what: number,
    keys: Keys,
    width: number | undefined,
    wanted: boolean,
  ): Result {
    if (keys === null || typeof keys !== "object" || !(Symbol.iterator in keys))
      throw new TypeError(
        "many keys are an array, another iterable, or a typed array; add and has take one key",
      );
    this.look();
    let count = 0;
    let done = 0;
    let answers = new Uint8Array(0);
    const send: Send = (bytes, each, some) => {
      const offsets = each > 0 ? 0 : this.offsets;
      count += filter.many(what, this.data, bytes, each, offsets, some, wanted ? this.answers : 0);
      this.look();
      if (!wanted) return;
      const end = done + some;
      if (end > answers.length) {
        const sized = Array.isArray(keys) || ArrayBuffer.isView(keys);
        const all = sized ? keys.length / (width ?? 1) : 2 * end;
        const more = new Uint8Array(Math.max(all, end));
        more.set(answers);
        answers = more;
      }
      answers.set(this.found.subarray(0, some), done);
      done = end;
    };
    if (keys instanceof Uint8Array) this.fixed(keys, width, send);
    else if (width !== undefined)
      throw new TypeError("a width is for the bytes of many keys in one Uint8Array");
    else if (isIntegers(keys)) this.integers(keys, send);
    else this.mixed(keys, send);
    return { count, answers: done < answers.length ? answers.slice(0, done) : answers };
  }

  /** The same with one key. */
  one(filter: Inner, what: number, key: Key): boolean {
    this.look();
    const most = mostBytes(key);
    if (most > this.room) this.grow(most);
    const bytes = this.key(key, 0);
    this.ends[0] = 0;
    this.ends[1] = bytes;
    return filter.many(what, this.data, bytes, 0, this.offsets, 1, 0) === 1;
  }

  private fixed(keys: Uint8Array, width: number | undefined, send: Send): void {
    if (width === undefined || !Number.isInteger(width) || width < 1 || keys.length % width !== 0)
      throw new TypeError(
        `say how many bytes a key has: { width: ... }, of which ${keys.length} bytes are a multiple. One key of bytes is [key]`,
      );
    if (width > this.room) this.grow(width);
    const each = Math.min(PORTION, Math.floor(this.room / width));
    for (let at = 0; at < keys.length; at += each * width) {
      const part = keys.subarray(at, at + each * width);
      this.bytes.set(part);
      send(part.length, width, part.length / width);
    }
  }

  private integers(keys: IntegerArray, send: Send): void {
    const whole = keys instanceof BigInt64Array || keys instanceof BigUint64Array;
    for (let first = 0; first < keys.length; first += PORTION) {
      const count = Math.min(PORTION, keys.length - first);
      if (whole)
        this.bytes.set(new Uint8Array(keys.buffer, keys.byteOffset + 8 * first, 8 * count));
      else for (let i = 0; i < count; i++) this.number(8 * i, keys[first + i] as number);
      send(8 * count, 8, count);
    }
  }

  /** A whole number as 8 bytes, least significant first. */
  private number(at: number, value: number): void {
    if (!Number.isSafeInteger(value)) wholeNumber(value); // which says why
    const high = Math.floor(value / 4294967296);
    this.view.setInt32(at, value - high * 4294967296, true);
    this.view.setInt32(at + 4, high, true);
  }

  private mixed(keys: Iterable<Key>, send: Send): void {
    if (Array.isArray(keys)) {
      for (let at = 0; at < keys.length; at += PORTION)
        this.portion(keys, at, Math.min(at + PORTION, keys.length), send);
      return;
    }
    const some: Key[] = [];
    for (const key of keys) {
      some.push(key);
      if (some.length === PORTION) {
        this.portion(some, 0, PORTION, send);
        some.length = 0;
      }
    }
    if (some.length > 0) this.portion(some, 0, some.length, send);
  }

  private portion(keys: Key[], from: number, to: number, send: Send): void {
    const bytes = this.ascii(keys, from, to);
    if (bytes >= 0) send(bytes, 0, to - from);
    else this.oneByOne(keys, from, to, send);
  }

  /** Writes texts of ASCII as one text, which is the fastest way out of JavaScript; returns its
   * length. -1: one of the keys is something else, or there is no room. */
  private ascii(keys: Key[], from: number, to: number): number {
    let text = "";
    const { ends } = this;
    ends[0] = 0;
    for (let i = from; i < to; i++) {
      const key = keys[i];
      if (typeof key !== "string") return -1;
      text += key;
      ends[i - from + 1] = text.length;
    }
    const { read, written } = encoder.encodeInto(text, this.bytes);
    return read === text.length && written === text.length ? read : -1;
  }

  private oneByOne(keys: Key[], from: number, to: number, send: Send): void {
    let count = 0;
    let end = 0;
    const flush = () => {
      if (count > 0) send(end, 0, count);
      count = 0;
      end = 0;
    };
    for (let i = from; i < to; i++) {
      const key = keys[i]!;
      const most = mostBytes(key);
      if (end + most > this.room) flush();
      if (most > this.room) this.grow(most);
      this.ends[0] = 0;
      end += this.key(key, end);
      this.ends[++count] = end;
    }
    flush();
  }

  /** Writes a key, and returns how many bytes it has. */
  private key(key: Key, at: number): number {
    if (typeof key === "string") {
      const { bytes } = this;
      for (let i = 0; i < key.length; i++) {
        const unit = key.charCodeAt(i);
        if (unit > 127) return encoder.encodeInto(key, bytes.subarray(at)).written;
        bytes[at + i] = unit;
      }
      return key.length;
    }
    if (key instanceof Uint8Array) {
      this.bytes.set(key, at);
      return key.length;
    }
    if (typeof key === "number") this.number(at, key);
    else if (typeof key === "bigint")
      this.view.setBigUint64(at, BigInt.asUintN(64, wholeNumber(key)), true);
    else
      throw new TypeError(
        `a key is a string, a Uint8Array, a whole number or a bigint, not ${shown(key)}`,
      );
    return 8;
  }
}
