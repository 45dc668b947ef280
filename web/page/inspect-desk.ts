// SPDX-License-Identifier: Apache-2.0
// The worker's side of Inspect: one file is read into the worker's module, opened, counted and asked
// there. A scan of a gigabyte takes seconds, in which the page goes on; and with the worker its memory
// goes back to the browser.

import {
  type Dialect,
  type Engine,
  type Filter,
  type Given,
  type Info,
  keyOfText,
  Refusal,
} from "./engine";
import { formatBytes } from "./numbers";
import { candidates } from "./recognise";

/** How a file is to be read. */
export type Form = { form: "ours" } | { form: "dialect"; dialect: Dialect; given: Given };

/** What the filter says of a line. */
export type Asked =
  | { refused: string }
  | {
      key: Uint8Array;
      found: boolean;
      /** Where counters can count. */
      count: number | undefined;
      hash: { lo: string; hi: string } | null;
      cells: number[];
    };

/** What the filter says of each line of a list: 0 no key, 1 definitely not, 2 possibly. */
export interface AskedAll {
  lines: string[];
  answers: Uint8Array;
}

export interface Damage {
  error: string;
  offset: number;
}

/** What the page may want, and what it gets. `bytes` is the size that the page was told. */
export interface Wishes {
  guess: { wish: { blob: Blob }; gets: string[] };
  open: { wish: { blob: Blob; bytes: number; form: Form }; gets: Info };
  info: { wish: object; gets: Info };
  verify: { wish: object; gets: Damage | undefined };
  fill: { wish: { layer: number; parts: number }; gets: number[] };
  ask: { wish: { text: string; layer: number }; gets: Asked };
  askAll: { wish: { text: string }; gets: AskedAll };
}

export type WishName = keyof Wishes;
export type Call = {
  [Name in WishName]: { id: number; wish: Name } & Wishes[Name]["wish"];
}[WishName];

export type Reply =
  | { id: number; value: unknown }
  | { id: number; progress: string }
  | { id: number; failure: string; status?: number; offset?: number };

/** Memory is too short for a file: the page then names the command that inspects it. */
export const NO_MEMORY = "no memory";
/** The file went, or became another. */
export const UNREADABLE = "cannot be read to its end";

const SLICE = 8 * 1024 ** 2;
/** A guess reads the file again and again. */
const MOST_TO_GUESS = 16 * 1024 ** 2;

type Progress = (sentence: string) => void;

/** Reads the bytes into memory of the module, which belongs to the caller. */
async function readInto(engine: Engine, blob: Blob, bytes: number, progress: Progress) {
  let at: number;
  try {
    at = engine.allocate(bytes);
  } catch {
    throw new Error(NO_MEMORY);
  }
  try {
    for (let from = 0; from < bytes; from += SLICE) {
      const end = Math.min(from + SLICE, bytes);
      const slice = await blob.slice(from, end).arrayBuffer();
      if (slice.byteLength !== end - from) throw new Error(UNREADABLE);
      new Uint8Array(engine.exports.memory.buffer, at + from, slice.byteLength).set(
        new Uint8Array(slice),
      );
      progress(`Reading: ${formatBytes(end)} of ${formatBytes(bytes)}.`);
    }
    return at;
  } catch {
    engine.exports.web_release(at);
    throw new Error(UNREADABLE);
  }
}

/** A Bloomery file stays as it was read; from another system's file the library makes a filter, and the bytes are freed. */
async function openFilter(
  engine: Engine,
  { blob, bytes, form }: Wishes["open"]["wish"],
  progress: Progress,
): Promise<Filter> {
  const at = await readInto(engine, blob, bytes, progress);
  if (form.form === "ours") return engine.view(at, bytes);
  try {
    return engine.loadDialectAt(form.dialect.id, at, bytes, form.given);
  } catch (error) {
    if (error instanceof Refusal && error.message.includes("memory")) throw new Error(NO_MEMORY);
    throw error;
  } finally {
    engine.exports.web_release(at);
  }
}

/** What the file looks like, which is not enough to open it so. */
async function looksLike(engine: Engine, blob: Blob): Promise<string[]> {
  if (blob.size > MOST_TO_GUESS) return [];
  return candidates(engine, new Uint8Array(await blob.arrayBuffer())).map(({ name }) => name);
}

/** Does what the page wants of one file. */
export class Desk {
  private readonly engine: Engine;
  private filter: Filter | undefined;
  private info: Info | undefined;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  private opened(): Filter {
    if (!this.filter) throw new Error("no file is open");
    return this.filter;
  }

  async answer(call: Call, progress: Progress): Promise<unknown> {
    switch (call.wish) {
      case "guess":
        return looksLike(this.engine, call.blob);
      case "open":
        this.filter = await openFilter(this.engine, call, progress);
        return (this.info = this.filter.info(false));
      case "info":
        return (this.info = this.opened().info(true));
      case "verify":
        return this.opened().verify();
      case "fill":
        return this.opened().fill(call.layer, call.parts);
      case "ask":
        return this.ask(call.text, call.layer);
      case "askAll":
        return this.askAll(call.text);
    }
  }

  /** A newline at the end ends the last line: it does not begin another. */
  private askAll(text: string): AskedAll {
    const filter = this.opened();
    const lines = text.split(/\r\n|\r|\n/);
    if (lines.at(-1) === "") lines.pop();
    const answers = new Uint8Array(lines.length);
    lines.forEach((line, i) => {
      const key = filter.keyOf(keyOfText(line));
      if (typeof key !== "string") answers[i] = filter.mayContain(key) ? 2 : 1;
    });
    return { lines, answers };
  }

  private ask(text: string, layer: number): Asked {
    const filter = this.opened();
    const key = filter.keyOf(keyOfText(text));
    if (typeof key === "string") return { refused: key };
    return {
      key,
      found: filter.mayContain(key),
      count: this.info?.canRemove ? filter.count(key) : undefined,
      hash: filter.hash(key),
      cells: this.info?.hasBits ? filter.positions(key, layer) : [],
    };
  }
}
