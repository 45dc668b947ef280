// SPDX-License-Identifier: Apache-2.0
// What the calculator is asked: two of keys, rate and memory as the texts that were typed, and what is
// forced. Read from the address, or from the query string of a link.

import { KIND, type KindName, type PlanRequest } from "./engine";
import {
  formatCount,
  parseBits,
  parseBytes,
  parseCount,
  parseRate,
  visible,
  whyNoBits,
  whyNoCount,
} from "./numbers";
import { type Slice, uncleared } from "./state";

export type Quantity = "n" | "p" | "m";

export interface Asked {
  /** Of the given ones; those of the computed one are not read. */
  text: Record<Quantity, string>;
  /** The one that was edited longest ago comes first: it is freed next. */
  given: [Quantity, Quantity];
  kind: KindName;
  k: string;
  L: string;
  q: string;
}

/** A sentence about one of the boxes. */
export interface Trouble {
  box: Quantity | "k" | "L" | "q";
  sentence: string;
}

const names: Quantity[] = ["n", "p", "m"];
export const quantityNames: Record<Quantity, string> = { n: "keys", p: "rate", m: "memory" };

export function defaults(): Asked {
  return {
    text: { n: "1000000", p: "0.01", m: "" },
    given: ["p", "n"],
    kind: "blocked",
    k: "",
    L: "",
    q: "",
  };
}

/** The third of the three. */
export function computedOf(asked: Asked): Quantity {
  return names.find((name) => !asked.given.includes(name))!;
}

/** Editing one makes it the newest; one that was computed frees the oldest. */
export function edit(asked: Asked, name: Quantity, text: string): void {
  asked.text[name] = text;
  const [oldest, newest] = asked.given;
  asked.given =
    oldest === name ? [newest, name] : newest === name ? [oldest, name] : [newest, name];
}

const isKind = (text: string): text is KindName => Object.hasOwn(KIND, text);

export const bitsOf = parseBits;

export const readers: Record<Quantity, (text: string) => number | undefined> = {
  n: parseCount,
  p: parseRate,
  m: parseBytes,
};

const examples: Record<Quantity, string> = {
  n: "1000000, 1,000,000, 1e6, 20M or 20 million",
  p: "0.01, 1%, 1e-6 or 1 in 1000",
  m: "64KiB, 18 MB, 18 Mbit, or a bare number of bits",
};

export function quoted(text: string): string {
  return `“${visible(text.length > 40 ? `${text.slice(0, 40)}…` : text)}”`;
}

/** Why a text is not a value: it is out of range, may mean two things, or is not a number. */
function unread(name: Quantity, text: string): string {
  const why =
    name === "n"
      ? whyNoCount(text, "keys")
      : name === "m"
        ? whyNoBits(text)
        : /^\s*(?:[01](?:[.,]0*)?|(?:0|1[0-9]{2})\s*%)\s*$/.test(text)
          ? "A rate is above 0 and below 1."
          : undefined;
  return why ?? `It takes ${examples[name]}.`;
}

/** Undefined for an empty text: the library chooses. */
function small(text: string): number | undefined {
  if (text.trim() === "") return undefined;
  return /^\s*[0-9]{1,6}\s*$/.test(text) ? Number(text) : NaN;
}

/** Probes are forced in filters of one layer, as the command has it, and not in a static one, which has
 * none. Blocks only where there are blocks. */
export const takesProbes = (kind: KindName): boolean => kind !== "static" && kind !== "scalable";
export const takesBlocks = (kind: KindName): boolean => kind !== "static" && kind !== "classic";

/** What the library is to plan, or what could not be read. */
export function requestOf(asked: Asked): PlanRequest | Trouble {
  const values: Partial<Record<Quantity, number>> = {};
  for (const name of asked.given) {
    const text = asked.text[name];
    const value = readers[name](text);
    if (value === undefined)
      return {
        box: name,
        sentence:
          text.trim() === ""
            ? `Give two of keys, rate and memory: the ${quantityNames[name]} box is empty.`
            : `The ${quantityNames[name]} box has ${quoted(text)}. ${unread(name, text)}`,
      };
    values[name] = value;
  }
  const probes = takesProbes(asked.kind) ? small(asked.k) : undefined;
  const blocks = takesBlocks(asked.kind) ? small(asked.L) : undefined;
  if (Number.isNaN(probes) || probes === 0)
    return {
      box: "k",
      sentence: `The probes box has ${quoted(asked.k)}. It takes a whole number of at least 1, or nothing.`,
    };
  if (Number.isNaN(blocks))
    return { box: "L", sentence: `Blocks per key must be 1 to 4, not ${quoted(asked.L)}.` };
  return {
    kind: asked.kind,
    keys: values.n,
    rate: values.p,
    bytes: values.m,
    probes,
    blocksPerKey: blocks,
  };
}

/** As names of the address; the computed one is left out. */
export function addressOf(asked: Asked): Record<string, string | undefined> {
  const computed = computedOf(asked);
  const kept = (name: Quantity) => (name === computed ? undefined : asked.text[name]);
  return {
    n: kept("n"),
    p: kept("p"),
    m: kept("m"),
    given: asked.given.join(""),
    kind: asked.kind === "blocked" ? undefined : asked.kind,
    k: asked.k,
    L: asked.L,
    q: asked.q,
  };
}

/** The state in the address, or undefined if the address has no parameter of the page. */
export function fromAddress(state: Slice): Asked | undefined {
  const given = state.get("given");
  if (given === undefined) return undefined;
  const asked = defaults();
  const [oldest, newest] = [...given] as Quantity[];
  if (given.length === 2 && oldest !== newest && names.includes(oldest!) && names.includes(newest!))
    asked.given = [oldest!, newest!];
  for (const name of names) asked.text[name] = state.get(name) ?? "";
  const kind = state.get("kind") ?? "blocked";
  if (isKind(kind)) asked.kind = kind;
  asked.k = state.get("k") ?? "";
  asked.L = state.get("L") ?? "";
  asked.q = uncleared(state.get("q") ?? "");
  return asked;
}

/** The quantities that a link gives, and sentences about what it gives in vain. */
function quantitiesOfLink(query: URLSearchParams, notes: string[]): Partial<Asked["text"]> {
  const found: Partial<Asked["text"]> = {};
  for (const name of names) {
    const text = (query.get(name) ?? "").trim();
    if (text === "") continue;
    if (readers[name](text) !== undefined) found[name] = text;
    else if (name === "m" && readers.m(`${text}B`) !== undefined) {
      found.m = `${text}B`;
      notes.push(
        `The link has ${quoted(text)} for the memory, here taken as bytes. For bits write ${quoted(`${text}bit`)}.`,
      );
    } else
      notes.push(
        `The link has ${quoted(text)} for the ${quantityNames[name]}, which is ignored. ${unread(name, text)}`,
      );
  }
  return found;
}

function completed(asked: Asked, found: Partial<Asked["text"]>, notes: string[]): void {
  if (found.n && found.p && found.m) {
    notes.push(
      "The link gives keys, rate and memory. The plan uses keys and rate, and computes the memory.",
    );
    delete found.m;
  }
  const have = names.filter((name) => found[name] !== undefined);
  if (have.length === 1)
    notes.push(
      found.p === undefined
        ? `The link gives one number of three. The plan uses a rate of ${asked.text.p}.`
        : `The link gives one number of three. The plan uses ${formatCount(Number(asked.text.n))} keys.`,
    );
  const given = [...have];
  for (const name of ["p", "n"] as const)
    if (given.length < 2 && !given.includes(name)) given.push(name);
  asked.given = given.includes("n") && given.includes("p") ? ["p", "n"] : (given as Asked["given"]);
  for (const name of have) asked.text[name] = found[name]!;
}

function probesOfLink(asked: Asked, query: URLSearchParams, notes: string[]): void {
  const k = (query.get("k") ?? "").trim();
  const probes = small(k);
  if (Number.isNaN(probes) || probes === 0)
    notes.push(
      `The link has ${quoted(k)} for the probes. It takes a whole number of at least 1, so this is ignored.`,
    );
  else asked.k = k;
  const L = (query.get("L") ?? "").trim();
  if (/^[1-4]$/.test(L)) asked.L = L;
  else if (L !== "")
    notes.push(
      `The link has ${quoted(L)} for the blocks per key. It must be 1 to 4, so it is ignored.`,
    );
}

/** ?n=&p=&m=&k= of other calculators means their filter: one flat array. `bloomery plan --url` names the
 * kind, or L, which only blocks have. */
function kindOfLink(asked: Asked, query: URLSearchParams, notes: string[]): void {
  const kind = (query.get("kind") ?? "").trim();
  if (isKind(kind)) asked.kind = kind;
  else if (kind !== "")
    notes.push(
      `The link has ${quoted(kind)} for the kind. Bloomery does not have this kind, so it is ignored.`,
    );
  if (isKind(kind) || asked.L !== "") return;
  asked.kind = "classic";
  notes.push(
    "The link does not name a kind: this is one flat array, as in other calculators. Choose blocked to compare.",
  );
}

/** ?n=&p=&m=&k= as in links to other calculators, and kind and L as `bloomery plan --url` writes. */
export function fromLink(search: string): { asked: Asked; notes: string[] } | undefined {
  const query = new URLSearchParams(search);
  if (!["n", "p", "m", "k", "kind", "L"].some((name) => query.get(name))) return undefined;
  const asked = defaults();
  const notes: string[] = [];
  completed(asked, quantitiesOfLink(query, notes), notes);
  probesOfLink(asked, query, notes);
  kindOfLink(asked, query, notes);
  return { asked, notes };
}
