// SPDX-License-Identifier: Apache-2.0
// Where files come from: a drop, a choice, the clipboard, or the page itself.

import { type Engine, keyOfText } from "./engine";
import type { Source } from "./inspect-open";
import { formatBytes, formatCount, visible } from "./numbers";

export interface Chosen {
  source: Source;
  /** What was not taken. */
  remark?: string;
}

const sourceOf = (file: File): Source => ({
  name: visible(file.name) || "pasted file",
  blob: file,
});

/** The first of several files. */
export function fromList(files: FileList | null): Chosen | undefined {
  const first = files?.[0];
  if (!first) return undefined;
  const source = sourceOf(first);
  if (files.length === 1) return { source };
  return {
    source,
    remark: `${formatCount(files.length)} files came at once: the page opens the first one.`,
  };
}

/** Throws a sentence for a folder. */
export function fromDrop(data: DataTransfer): Chosen | undefined {
  for (const item of data.items) {
    const entry = item.kind === "file" ? item.webkitGetAsEntry() : null;
    if (entry?.isDirectory)
      throw new Error(`“${visible(entry.name)}” is a folder. Drop a filter file out of it.`);
  }
  return fromList(data.files);
}

const EXAMPLE_KEYS = 1000;

/** Makes an example file, as `bloomery build` would make it. */
export function example(engine: Engine): Chosen {
  const plan = engine.plan({ kind: "blocked", keys: EXAMPLE_KEYS, rate: 0.01 });
  const { bits, probes, blocksPerKey, plannedKeys: keys, plannedRate: rate } = plan;
  const filter = engine.create({ kind: "blocked", bits, probes, blocksPerKey, keys, rate });
  try {
    for (let i = 1; i <= EXAMPLE_KEYS; i++) filter.add(keyOfText(`key ${i}`));
    return {
      source: {
        name: "example.bloom",
        blob: new Blob([filter.write() as Uint8Array<ArrayBuffer>]),
      },
      remark: `It was made here, from the keys “key 1” to “key ${EXAMPLE_KEYS}”. Look up one of them, and another key.`,
    };
  } finally {
    filter.free();
  }
}

/** The file that the command has put into the page. */
export function fromPage(): Chosen | undefined {
  const element = document.getElementById("given-file");
  const name = element?.dataset["name"];
  if (!element || !name) return undefined;
  const letters = atob(element.textContent?.trim() ?? "");
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  // The text takes more memory than the file.
  element.textContent = "";
  const remark = `It was put into this page (${formatBytes(bytes.length)}).`;
  return { source: { name: visible(name), blob: new Blob([bytes]) }, remark };
}
