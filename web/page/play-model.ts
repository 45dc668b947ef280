// SPDX-License-Identifier: Apache-2.0
// What is played with: a small filter in the module, beside it the truth that the filter itself does
// not know (which keys are in, and which of them set a cell), and the list of what was done.
//
// The list is the state: undo removes its last entry and does the rest again. In an address it is one
// text, "a:KEY,r:KEY,g:10", in which a key's % and , are escaped.

import { type Engine, type Filter, type Info, keyOfText } from "./engine";
import { formatCount, visible } from "./numbers";
import { findFalsePositive, type Search } from "./words";

export type PlayKind = "classic" | "blocked" | "counting" | "chain-counting";

export interface Settings {
  kind: PlayKind;
  cells: number;
  probes: number;
  blocksPerKey: number;
}

export type Act =
  | { do: "add"; key: string }
  | { do: "add-all"; keys: string[] }
  | { do: "remove"; key: string }
  | { do: "generate"; count: number };

export interface Probe {
  cell: number;
  /** The cell's value: 0, 1, or a count. */
  value: number;
  /** The keys that set it. */
  owners: string[];
}

export interface Verdict {
  answer: boolean;
  truth: boolean;
  probes: Probe[];
  /** "no", "true", "false-positive" or "false-negative". */
  outcome: "no" | "true" | "false-positive" | "false-negative";
  sentence: string;
}

export const MAX_KEYS = 5000;
/** Words that are tried for a false positive at once. */
export const MAX_TRIED = 20_000;
const SHOWN_OWNERS = 5;

const countKeys = (count: number): string =>
  `${formatCount(count)} ${count === 1 ? "key" : "keys"}`;

const quote = (key: string): string => `“${visible(key)}”`;

/** “a”, “b” and 3 others */
export function listKeys(keys: string[]): string {
  const shown = keys.slice(0, SHOWN_OWNERS).map(quote);
  const rest = keys.length - shown.length;
  if (rest > 0) return `${shown.join(", ")} and ${rest} ${rest === 1 ? "other" : "others"}`;
  const last = shown.pop() ?? "";
  return shown.length === 0 ? last : `${shown.join(", ")} and ${last}`;
}

/** Text that has no UTF-8 (half a surrogate pair) becomes text that has. */
export function wellFormed(text: string): string {
  return new TextDecoder().decode(keyOfText(text));
}

export function writeActs(acts: Act[]): string {
  const escape = (key: string) => key.replace(/[%,]/g, encodeURIComponent);
  return acts
    .flatMap((act) => {
      if (act.do === "generate") return `g:${act.count}`;
      if (act.do === "add-all") return act.keys.map((key) => `a:${escape(key)}`);
      return `${act.do === "add" ? "a" : "r"}:${escape(act.key)}`;
    })
    .join(",");
}

/** How many keys the acts add or remove. */
export function countActs(acts: Act[]): number {
  return acts.reduce(
    (sum, act) =>
      sum + (act.do === "generate" ? act.count : act.do === "add-all" ? act.keys.length : 1),
    0,
  );
}

/** What cannot be read is left out: an address may come from anybody. */
export function readActs(text: string): Act[] {
  const acts: Act[] = [];
  let keys = 0;
  for (const part of text.split(",")) {
    const what = part.slice(0, 2);
    const rest = part.slice(2);
    if (what === "g:") {
      const count = Number(rest);
      if (Number.isInteger(count) && count >= 1 && keys + count <= MAX_KEYS) {
        acts.push({ do: "generate", count });
        keys += count;
      }
    } else if ((what === "a:" || what === "r:") && keys < MAX_KEYS) {
      const key = wellFormed(rest.replace(/%25|%2C/gi, (code) => decodeURIComponent(code)));
      acts.push({ do: what === "a:" ? "add" : "remove", key });
      keys++;
    }
  }
  return acts;
}

export class Model {
  readonly settings: Settings;
  private readonly filter: Filter;
  /** How often each key is in, in the order in which they came. */
  readonly keys = new Map<string, number>();
  private readonly ownersOf: Set<string>[];
  private generated = 0;
  /** Keys that were in at any time. */
  private readonly ever = new Set<string>();
  /** The cells that the last act changed. */
  changed = new Set<number>();
  /** Removed although never added: they can take cells of others. */
  wronglyRemoved = 0;

  constructor(engine: Engine, settings: Settings) {
    this.settings = settings;
    this.filter = Model.make(engine, settings);
    this.ownersOf = Array.from({ length: settings.cells }, () => new Set<string>());
  }

  private static make(engine: Engine, settings: Settings): Filter {
    const { kind, cells, probes, blocksPerKey } = settings;
    if (kind === "classic") return engine.create({ kind, bits: cells, probes });
    if (kind === "blocked") return engine.create({ kind, bits: cells, probes, blocksPerKey });
    if (kind === "counting")
      return engine.create({ kind, bits: cells, probes, blocksPerKey, cellBits: 4 });
    const chain = engine.dialects().find(({ name }) => name === "md5-chain")!;
    return engine.createDialect(chain.id, {
      variant: "b",
      bits: cells,
      probes,
      cell_bits: 4,
    });
  }

  free(): void {
    this.filter.free();
  }

  get counts(): boolean {
    return this.settings.kind === "counting" || this.settings.kind === "chain-counting";
  }

  positions(key: string): number[] {
    return this.filter.positions(keyOfText(key));
  }

  hash(key: string): string | undefined {
    const hash = this.filter.hash(keyOfText(key));
    if (!hash) return undefined;
    return /^0+$/.test(hash.lo) ? hash.hi : `${hash.hi} ${hash.lo}`;
  }

  cells(): Uint8Array {
    return this.filter.cells(0, 0, this.settings.cells);
  }

  owners(cell: number): string[] {
    return [...(this.ownersOf[cell] ?? [])];
  }

  info(): Info {
    return this.filter.info(true);
  }

  /** Does it, and says what happened. */
  act(act: Act): string {
    if (act.do === "remove") {
      this.changed = new Set();
      return this.remove(act.key);
    }
    const before = this.cells();
    if (act.do === "add") return this.add(act.key, before);
    this.put(act);
    this.changed = new Set();
    this.cells().forEach((value, cell) => {
      if (value !== before[cell]) this.changed.add(cell);
    });
    return act.do === "add-all"
      ? `${countKeys(act.keys.length)} added.`
      : `${countKeys(act.count)} added, up to “key ${this.generated}”.`;
  }

  /** Does the acts of a list, and says nothing: what undo and another shape need. */
  replay(acts: Act[]): void {
    for (const act of acts)
      if (act.do === "remove") this.remove(act.key);
      else this.put(act);
    this.changed = new Set();
  }

  private put(act: Exclude<Act, { do: "remove" }>): void {
    if (act.do === "add") this.insert(act.key);
    else if (act.do === "add-all") for (const key of act.keys) this.insert(key);
    else
      for (let i = 0; i < act.count; i++) {
        this.generated++;
        this.insert(`key ${this.generated}`);
      }
  }

  /** Whether the filter took it for a new key. */
  private insert(key: string, known?: number[]): boolean {
    const bytes = keyOfText(key);
    const positions = known ?? this.filter.positions(bytes);
    for (const cell of positions) this.ownersOf[cell]!.add(key);
    this.keys.set(key, (this.keys.get(key) ?? 0) + 1);
    this.ever.add(key);
    return this.filter.add(bytes);
  }

  private add(key: string, before: Uint8Array): string {
    const positions = this.positions(key);
    const isNew = this.insert(key, positions);
    this.changed = new Set(positions.filter((cell) => before[cell] === 0 || this.counts));
    const fresh = new Set(positions.filter((cell) => before[cell] === 0)).size;
    if (isNew)
      return `${quote(key)} is added: ${fresh} ${fresh === 1 ? "cell was" : "cells were"} not set before.`;
    return (this.keys.get(key) ?? 0) > 1
      ? `${quote(key)} was already in the set.`
      : `${quote(key)} is added, but all its cells were set before: the filter took it for an old key.`;
  }

  /** Looks for a false positive among ordinary words, from a place in their list on. */
  find(from: number): Search {
    return findFalsePositive(
      (word) => this.filter.mayContain(keyOfText(word)),
      (word) => this.keys.has(word),
      from,
      MAX_TRIED,
    );
  }

  private remove(key: string): string {
    if (!this.counts)
      return `Bits cannot be removed, so ${quote(key)} stays: others may have set them too.`;
    const shared = this.sharing(key);
    const removed = this.filter.remove(keyOfText(key));
    if (!removed) return `${quote(key)} is definitely not in the set, so nothing is removed.`;
    for (const cell of this.positions(key)) this.changed.add(cell);
    const times = this.keys.get(key) ?? 0;
    if (times === 0) this.wronglyRemoved++;
    if (times > 1) {
      this.keys.set(key, times - 1);
      return `${quote(key)} was added ${times} times and is removed once: it is still in the set.`;
    } else {
      this.keys.delete(key);
      for (const cell of this.positions(key)) this.ownersOf[cell]!.delete(key);
    }
    if (times === 0)
      return `${quote(key)} was never added, but seemed to be: removing it lowered counters of ${listKeys(shared)}. One of these keys may be lost now.`;
    if (shared.length === 0) return `${quote(key)} is removed. It shared no cell with another key.`;
    return `${quote(key)} is removed, and the others stay. Plain bits would have lost ${listKeys(shared)}: clearing the bits of ${quote(key)} clears some of their bits too, a false negative each.`;
  }

  /** The other keys that have a cell of this one. */
  sharing(key: string): string[] {
    const found = new Set<string>();
    for (const cell of this.positions(key))
      for (const owner of this.ownersOf[cell]!) if (owner !== key) found.add(owner);
    return [...found];
  }

  verdict(key: string): Verdict {
    const cells = this.cells();
    const probes = this.positions(key).map((cell) => ({
      cell,
      value: cells[cell] ?? 0,
      owners: this.owners(cell),
    }));
    const answer = this.filter.mayContain(keyOfText(key));
    const truth = this.keys.has(key);
    if (!answer) {
      const missing = probes.find(({ value }) => value === 0);
      const cell = this.counts ? "counter" : "bit";
      const why = missing ? `${cell} ${missing.cell} is 0` : "its counters are too low";
      return truth
        ? {
            answer,
            truth,
            probes,
            outcome: "false-negative",
            sentence: `False negative: ${quote(key)} was added, but a wrong removal lowered its counters (${why}).`,
          }
        : {
            answer,
            truth,
            probes,
            outcome: "no",
            sentence: `${quote(key)} is definitely not in the set: ${why}.`,
          };
    }
    if (truth)
      return {
        answer,
        truth,
        probes,
        outcome: "true",
        sentence: `Possibly in the set (and it is: you added ${quote(key)}).`,
      };
    const blamed = [...new Set(probes.flatMap(({ owners }) => owners.slice(0, 1)))];
    const was = this.ever.has(key) ? "was removed" : "was never added";
    const why =
      blamed.length > 0
        ? `Its cells were set by ${listKeys(blamed)}.`
        : "Its counters are at their maximum, where a removal leaves them.";
    return {
      answer,
      truth,
      probes,
      outcome: "false-positive",
      sentence: `False positive: ${quote(key)} ${was}. ${why}`,
    };
  }
}
