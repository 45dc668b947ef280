// SPDX-License-Identifier: Apache-2.0
// What a plan says, in words, in a list, and beside the other kinds and the textbook.

import { append, h, inParts, replace, scrolling, table } from "./dom";
import { type Engine, KIND, type KindName, type Plan, type PlanRequest } from "./engine";
import {
  formatBoth,
  formatBytes,
  formatCount,
  formatFixed,
  formatNumber,
  formatOneIn,
} from "./numbers";
import { textbook } from "./textbook";

const kinds = Object.keys(KIND) as KindName[];

const abilities: Record<KindName, string> = {
  blocked: "add later, merge",
  classic: "add later, merge",
  counting: "add later, remove, count, merge",
  scalable: "add later, grows, merge",
  static: "built once from all keys",
};

/** The numbers of a plan in one sentence. */
export function sentenceOf(kind: KindName, plan: Plan): string {
  const article = `A ${kind} filter`;
  return `${article} of ${formatBytes(plan.plannedBytes)} holds ${formatCount(plan.plannedKeys)} ${plan.plannedKeys === 1 ? "key" : "keys"} at a rate of ${formatOneIn(plan.plannedRate)}, with ${formatFixed(plan.bitsPerKey)} bits per key.`;
}

function shapeOf(kind: KindName, plan: Plan): [string, string] {
  const probes = `${plan.probes} ${plan.probes === 1 ? "probe" : "probes"}`;
  if (kind === "static") return ["Bits compared", `${plan.probes} for each query; no probes`];
  if (kind === "classic") return ["Probes (k)", `${probes} in one flat array`];
  const blocks = plan.blocksPerKey === 1 ? "1 block" : `${plan.blocksPerKey} blocks`;
  const cells = plan.cellBits === 1 ? "512 bits" : "512 counters";
  return ["Blocks × probes (L × k)", `${blocks} of ${cells} × ${probes}`];
}

function perDay(rate: number, queries: number): string {
  const many = rate * queries * 86400;
  if (many >= 10) return `about ${formatNumber(Number(many.toPrecision(3)))}`;
  if (many >= 1) return `about ${formatNumber(Number(many.toPrecision(2)))}`;
  const days = Number((1 / many).toPrecision(2));
  return days <= 1 ? "about one" : `one in ${formatNumber(days)} days`;
}

type Fact = [name: string, label: string, value: string];

/** The list of a plan's numbers. */
export function drawFacts(
  list: HTMLDListElement,
  kind: KindName,
  plan: Plan,
  queries: number | undefined,
): void {
  const [shapeName, shape] = shapeOf(kind, plan);
  const facts: Fact[] = [
    ["rate", "Rate", formatBoth(plan.plannedRate)],
    ...(queries === undefined
      ? []
      : ([["wrong", "False positives per day", perDay(plan.plannedRate, queries)]] as Fact[])),
    [
      "memory",
      "Memory",
      `${formatBytes(plan.plannedBytes)} (${formatCount(plan.plannedBytes)} bytes, ${formatCount(8 * plan.plannedBytes)} bits)`,
    ],
    ["keys", "Keys", formatCount(plan.plannedKeys)],
    ["bits", "Bits per key", formatFixed(plan.bitsPerKey)],
    [
      "limit",
      "Compared with the theoretical minimum",
      `${formatNumber(plan.limitRatio)} times n log₂(1/p) bits`,
    ],
    [
      "lines",
      "Cache lines read",
      `${formatFixed(plan.absentCacheLines)} for an absent key, ${formatFixed(plan.presentCacheLines)} for a present one`,
    ],
    ["shape", shapeName, shape],
    ["hash", "Hash", plan.hashName],
  ];
  replace(
    list,
    ...facts.map(([name, label, value]) =>
      h(
        "div",
        { "data-fact": name },
        h("dt", {}, ...inParts(label)),
        h("dd", {}, ...inParts(value)),
      ),
    ),
  );
}

function rowOf(engine: Engine, kind: KindName, request: PlanRequest): string[] {
  try {
    const plan = engine.plan(request);
    return [
      kind,
      formatBytes(plan.plannedBytes),
      formatFixed(plan.bitsPerKey),
      kind === "static"
        ? "–"
        : plan.blocksPerKey > 1
          ? `${plan.blocksPerKey} × ${plan.probes}`
          : String(plan.probes),
      formatCount(plan.plannedKeys),
      formatOneIn(plan.plannedRate),
      formatFixed(plan.absentCacheLines),
      formatFixed(plan.presentCacheLines),
      abilities[kind],
    ];
  } catch {
    const why = kind === "scalable" && request.bytes !== undefined ? "not by memory" : "no plan";
    return [kind, why, "–", "–", "–", "–", "–", "–", abilities[kind]];
  }
}

/** Draws all five kinds with the same two numbers. Forced k and L apply only to the chosen kind. */
export function drawKinds(host: HTMLElement, engine: Engine, chosen: PlanRequest): void {
  const rows = kinds.map((kind) => {
    const plain = { kind, keys: chosen.keys, rate: chosen.rate, bytes: chosen.bytes };
    return rowOf(engine, kind, kind === chosen.kind ? chosen : plain);
  });
  const element = table(
    "The five kinds with the same two numbers",
    [
      "Kind",
      "Memory",
      "Bits per key",
      "k",
      "Keys",
      "Rate",
      "Cache lines (absent)",
      "Cache lines (present)",
      "Abilities",
    ],
    rows,
  );
  const row = element.tBodies[0]!.rows[kinds.indexOf(chosen.kind)]!;
  row.className = "chosen";
  append(row.cells[0]!, [" ", h("span", { class: "badge" }, "chosen")]);
  const name = "Table of the five kinds";
  const box = host.firstElementChild;
  // The same box, so that it stays scrolled and focused.
  if (box) replace(box, element);
  else host.append(scrolling(name, element, true));
}

const percent = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

/** Why a plan of this kind is not the textbook's. */
function reasonOf(kind: KindName, plan: Plan, request: PlanRequest): string {
  if (kind === "static")
    return "A static filter is not a Bloom filter. It stores the bits that a query compares, and little else.";
  if (kind === "scalable")
    return "A scalable filter plans its first layer for a quarter of the rate, so that all its layers together stay under it. Its blocks also fill unevenly.";
  if (kind === "counting")
    return `Each cell is a counter of ${plan.cellBits} bits, so that keys can be removed. Its blocks also fill unevenly.`;
  if (kind === "blocked")
    return `The bits of a key lie in ${plan.blocksPerKey === 1 ? "one block" : `${plan.blocksPerKey} blocks`} of 512. Some blocks get more keys than others and answer wrongly more often, which takes more memory. In return a query for an absent key reads ${plan.absentCacheLines === 1 ? "one cache line" : `${formatFixed(plan.absentCacheLines)} cache lines on average`}.`;
  if (request.probes !== undefined)
    return `You set the probes to ${request.probes}. The textbook chooses them for the least memory.`;
  return "The textbook lets k be a fraction, and its rate is an approximation that is off for small filters. The plan has a whole k, whole cache lines, and the exact rate.";
}

/** How much more or less a number is, in a word. */
export const compared = (more: number): string =>
  more > 10
    ? `${formatNumber(Math.round(more))} times more`
    : `${percent.format(Math.abs(more) * 100)}% ${more > 0 ? "more" : "less"}`;

/** What the textbook has for the same two numbers, beside the plan's. */
export function drawTextbook(
  host: HTMLElement,
  kind: KindName,
  plan: Plan,
  request: PlanRequest,
): void {
  const { keys, rate, bytes } = request;
  const book = textbook({ keys, rate, bits: bytes && 8 * bytes })!;
  const best = (book.bits / book.keys) * Math.LN2;
  const k = `k\u00a0=\u00a0${book.probes} (${formatFixed(best)} before rounding)`;
  const size = `m = ${formatCount(book.bits)} bits (${formatBytes(Math.ceil(book.bits / 8))})`;
  const more =
    bytes === undefined
      ? (8 * plan.plannedBytes) / book.bits - 1
      : keys === undefined
        ? plan.plannedKeys / book.keys - 1
        : plan.plannedRate / book.rate - 1;
  const [has, needs] =
    bytes === undefined
      ? [`${size} and ${k}`, `The plan needs ${formatCount(8 * plan.plannedBytes)} bits`]
      : keys === undefined
        ? [
            `${formatCount(book.keys)} keys and ${k}`,
            `The plan holds ${formatCount(plan.plannedKeys)} keys`,
          ]
        : [
            `a rate of ${formatOneIn(book.rate)} and ${k}`,
            `The plan's rate is ${formatOneIn(plan.plannedRate)}`,
          ];
  const comparison =
    Math.abs(more) <= 0.005
      ? "The plan has the same, within half a percent."
      : `${needs}, ${compared(more)}. ${reasonOf(kind, plan, request)}`;
  replace(
    host,
    h("p", {}, `For the same two numbers the textbook has ${has}.`),
    h("p", {}, comparison),
  );
}
