// SPDX-License-Identifier: Apache-2.0
// What a file is by its first bytes, and what it is called in words.

import { formatBytes } from "./numbers";

export interface Source {
  name: string;
  blob: Blob;
  /** What was done to the file on the way, in a sentence. */
  remark?: string;
}

const MAGIC = [0x89, 0x42, 0x4c, 0x4f, 0x4f, 0x4d, 0x0d, 0x0a];
/** What no address of 32 bits reaches. */
const MOST = 2 ** 32;

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

/** Unpacks gzip, as long as it is `wanted`; undefined if it does not unpack. */
export async function unpack(source: Source, wanted: () => boolean): Promise<Source | undefined> {
  let bytes = 0;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes >= MOST || !wanted()) controller.error(new Error("too large"));
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
    return { name, blob, remark: "The file was compressed with gzip and is decompressed here." };
  } catch {
    if (bytes >= MOST) throw tooLarge(source);
    return undefined;
  }
}

export function tooLarge({ name, blob }: Source): Error {
  return new Error(
    `The browser has no memory for “${name}” (${formatBytes(blob.size)}). ` +
      `The command reads it without loading it: bloomery inspect ${quoted(name)}`,
  );
}
