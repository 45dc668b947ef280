// SPDX-License-Identifier: Apache-2.0
// From a file to a filter: its bytes go straight into the module's memory, in slices.

import { type Dialect, type Engine, type Filter, type Given, Refusal } from "./engine";
import { formatBytes } from "./numbers";

export interface Source {
  name: string;
  blob: Blob;
  /** What was done to the file on the way, in a sentence. */
  remark?: string;
}

/** How a file is to be read. */
export type Form = { form: "ours" } | { form: "dialect"; dialect: Dialect; given: Given };

/** Says how far it is; throws Superseded where nobody waits for it any more. */
export type Progress = (sentence: string) => Promise<void>;

export class Superseded extends Error {}

const SLICE = 8 * 1024 ** 2;
const MAGIC = [0x89, 0x42, 0x4c, 0x4f, 0x4f, 0x4d, 0x0d, 0x0a];
/** What no address of 32 bits reaches. */
const MOST = 2 ** 32;
/** A guess reads the file again and again. */
const MOST_TO_GUESS = 16 * 1024 ** 2;

const startsWith = (bytes: Uint8Array, start: number[]) =>
  bytes.length > 0 && start.slice(0, bytes.length).every((byte, i) => bytes[i] === byte);

/** Of our magic a shorter file has a part. */
export const isOurs = (head: Uint8Array) => startsWith(head, MAGIC);
export const isGzip = (head: Uint8Array) => head.length > 2 && startsWith(head, [0x1f, 0x8b, 8]);

export function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

/** A word of a command line. */
export function quoted(name: string): string {
  const safe = name.startsWith("-") ? `./${name}` : name;
  return /^[\w./+,:@%-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", "'\\''")}'`;
}

/** The first bytes. A folder, or a file that has gone, cannot be read. */
export async function headOf({ name, blob }: Source): Promise<Uint8Array> {
  try {
    return new Uint8Array(await blob.slice(0, 64).arrayBuffer());
  } catch {
    throw new Error(`“${name}” cannot be read: it is a folder, or the browser may not read it.`);
  }
}

/** Unpacks gzip; undefined if it does not unpack. */
export async function unpack(source: Source): Promise<Source | undefined> {
  let bytes = 0;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes >= MOST) controller.error(new Error("too large"));
      else controller.enqueue(chunk);
    },
  });
  const gunzip = new DecompressionStream("gzip") as unknown as TransformStream<
    Uint8Array,
    Uint8Array
  >;
  try {
    const stream = source.blob.stream().pipeThrough(gunzip).pipeThrough(bounded);
    const blob = await new Response(stream).blob();
    const name = source.name.replace(/\.gz$/i, "");
    return { name, blob, remark: "The file was compressed by gzip, and is unpacked here." };
  } catch {
    if (bytes >= MOST) throw tooLarge(source);
    return undefined;
  }
}

function tooLarge({ name, blob }: Source): Error {
  return new Error(
    `The browser gives no memory for “${name}” (${formatBytes(blob.size)}). ` +
      `The command reads it without loading it: bloomery inspect ${quoted(name)}`,
  );
}

/** Reads the bytes into memory of the module, which belongs to the caller. */
async function readInto(engine: Engine, source: Source, progress: Progress): Promise<number> {
  const { blob, name } = source;
  let at: number;
  try {
    at = engine.allocate(blob.size);
  } catch {
    throw tooLarge(source);
  }
  try {
    for (let from = 0; from < blob.size; from += SLICE) {
      const slice = await blob.slice(from, from + SLICE).arrayBuffer();
      new Uint8Array(engine.exports.memory.buffer, at + from, slice.byteLength).set(
        new Uint8Array(slice),
      );
      const done = Math.min(from + SLICE, blob.size);
      await progress(`Reading: ${formatBytes(done)} of ${formatBytes(blob.size)}.`);
    }
    return at;
  } catch (error) {
    engine.exports.web_release(at);
    if (error instanceof Superseded) throw error;
    throw new Error(`“${name}” cannot be read to its end.`);
  }
}

/** Opens a file. A file of ours stays as it was read; of another system's the library makes a
 * filter, and the bytes go. */
export async function openFilter(
  engine: Engine,
  source: Source,
  form: Form,
  progress: Progress,
): Promise<Filter> {
  const at = await readInto(engine, source, progress);
  if (form.form === "ours") return engine.view(at, source.blob.size);
  try {
    return engine.loadDialectAt(form.dialect.index, at, source.blob.size, form.given);
  } catch (error) {
    if (error instanceof Refusal && error.message.includes("memory")) throw tooLarge(source);
    throw error;
  } finally {
    engine.exports.web_release(at);
  }
}

/** The dialects that take these bytes by themselves, but not as many bytes of noise: what the file
 * looks like, and not enough to open it so. */
export async function looksLike(engine: Engine, { blob }: Source): Promise<Dialect[]> {
  if (blob.size > MOST_TO_GUESS) return [];
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let state = 1;
  const noise = bytes.map(() => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24);
  const takes = (dialect: Dialect, data: Uint8Array) => {
    try {
      engine.loadDialect(dialect.index, data, {}).free();
      return true;
    } catch {
      return false;
    }
  };
  return engine
    .dialects()
    .filter(
      (dialect) =>
        dialect.reads && dialect.needed === null && takes(dialect, bytes) && !takes(dialect, noise),
    );
}
