// SPDX-License-Identifier: Apache-2.0
// What a plan says, in words, in a list, and beside the other kinds and the textbook.

import { append, h, replace, scrolling, table } from "./dom";
import { type Engine, KIND, type KindName, type Plan, type PlanRequest } from "./engine";
import {
  formatBytes,
  formatCount,
  formatFixed,
  formatNumber,
  formatOneIn,
  formatRate,
} from "./numbers";

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
  return `${article} of ${formatBytes(plan.plannedBytes)} holds ${formatCount(plan.plannedKeys)} ${plan.plannedKeys === 1 ? "key" : "keys"} at a rate of ${formatOneIn(plan.plannedRate)}, with ${formatFixed(plan.bitsPerKey)} bits a key.`;
}

function shapeOf(kind: KindName, plan: Plan): [string, string] {
  const probes = `${plan.probes} ${plan.probes === 1 ? "probe" : "probes"}`;
  if (kind === "static") return ["Bits compared", `${plan.probes} for each query; no probes`];
  if (kind === "classic") return ["Probes (k)", `${probes} in one flat array`];
  const blocks = plan.blocksPerKey === 1 ? "1 block" : `${plan.blocksPerKey} blocks`;
  const cells = plan.cellBits === 1 ? "512 bits" : "512 counters";
  return ["Blocks × probes (L × k)", `${blocks} of ${cells} × ${probes}`];
}

function perDay(rate: number, queries: number | undefined): string {
  if (queries === undefined) return "not known";
  const many = rate * queries * 86400;
  if (many >= 10) return `about ${formatNumber(Number(many.toPrecision(3)))}`;
  if (many >= 1) return `about ${formatNumber(Number(many.toPrecision(2)))}`;
  const days = Number((1 / many).toPrecision(2));
  return days <= 1 ? "about one" : `one in ${formatNumber(days)} days`;
}

/** The list of a plan's numbers. */
export function drawFacts(
  list: HTMLDListElement,
  kind: KindName,
  plan: Plan,
  queries: number | undefined,
): void {
  const [shapeName, shape] = shapeOf(kind, plan);
  const facts: [string, string, string][] = [
    ["rate", "Rate", `${formatRate(plan.plannedRate)}, ${formatOneIn(plan.plannedRate)}`],
    ["wrong", "False positives a day", perDay(plan.plannedRate, queries)],
    [
      "memory",
      "Memory",
      `${formatBytes(plan.plannedBytes)} (${formatCount(plan.plannedBytes)} bytes)`,
    ],
    ["keys", "Keys", formatCount(plan.plannedKeys)],
    ["bits", "Bits a key", formatFixed(plan.bitsPerKey)],
    [
      "limit",
      "Against the least possible",
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
      h("div", { "data-fact": name }, h("dt", {}, label), h("dd", {}, value)),
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
      formatCount(plan.plannedKeys),
      formatOneIn(plan.plannedRate),
      formatFixed(plan.absentCacheLines),
      formatFixed(plan.presentCacheLines),
      abilities[kind],
    ];
  } catch {
    const why = kind === "scalable" && request.bytes !== undefined ? "not by memory" : "no plan";
    return [kind, why, "–", "–", "–", "–", "–", abilities[kind]];
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
      "Bits a key",
      "Keys",
      "Rate",
      "Cache misses per miss",
      "Cache misses per hit",
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
  else host.append(scrolling(name, element));
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

/** The textbook's m and k for the keys and the rate, beside the plan's. */
export function drawTextbook(
  host: HTMLElement,
  kind: KindName,
  plan: Plan,
  request: PlanRequest,
): void {
  const rate = request.rate ?? plan.plannedRate;
  const bits = (-plan.plannedKeys * Math.log(rate)) / Math.LN2 ** 2;
  const probes = (bits / plan.plannedKeys) * Math.LN2;
  const more = (8 * plan.plannedBytes) / bits - 1;
  const textbook = `The textbook has m = ${formatCount(Math.ceil(bits))} bits (${formatBytes(Math.ceil(bits / 8))}) and k = ${formatFixed(probes)} for these keys and this rate.`;
  const size =
    more > 10
      ? `${formatNumber(more + 1)} times as much`
      : `${percent.format(Math.abs(more) * 100)} % ${more > 0 ? "more" : "less"}`;
  const comparison =
    Math.abs(more) <= 0.005
      ? "The plan needs the same memory, within half a percent."
      : `The plan needs ${formatCount(8 * plan.plannedBytes)} bits, ${size}. ${reasonOf(kind, plan, request)}`;
  replace(host, h("p", {}, textbook), h("p", {}, comparison));
}
