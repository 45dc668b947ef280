// SPDX-License-Identifier: Apache-2.0
// What the lab says: the verdict, memory beside memory and disk, and the cliff as a chart.

import type { Drawing } from "./chart";
import { h, replace, scrolling, table } from "./dom";
import type { Engine } from "./engine";
import {
  type Answer,
  bestRate,
  classicRate,
  COMMAND_BYTES,
  digitsDown,
  formatDecimal,
  formatUrls,
  outOf,
  type Question,
  TARGET,
} from "./lab-model";
import { formatCount, formatNumber, formatPercent, formatRate, formatSeconds } from "./numbers";

const million = formatCount(1 / TARGET);

/** A number of URLs that is expected: whole where there are some. */
function expected(count: number): string {
  return count >= 10 ? formatCount(Number(count.toPrecision(3))) : formatNumber(count);
}

/** What this memory can know, in a sentence or two. */
export function verdict(question: Question, found: Answer): string {
  const memory = formatDecimal(question.memory);
  const urls = formatUrls(question.urls);
  if (found.rate > TARGET) {
    const share = `With ${urls} in it, the best possible structure of ${memory} drops at least ${outOf(found.rate)} new URLs as if it had seen them.`;
    return found.rate >= 0.01
      ? `${share} Of the ${urls} themselves it drops at least ${expected(digitsDown(found.drops, 3))} while filling.`
      : `${share} One in ${million} takes ${formatDecimal(found.limitBytes)} at the least.`;
  }
  return question.memory >= found.filterBytes
    ? `${memory} are enough without a disk: a filter of ${formatDecimal(found.filterBytes)} holds ${urls} and drops at most one in ${million} new ones.`
    : `${memory} are enough for the best possible structure, which takes ${formatDecimal(found.limitBytes)} for one wrong drop in ${million}. A Bloomery filter takes ${formatDecimal(found.filterBytes)}.`;
}

/** Memory alone, and the sieve. */
export function drawComparison(host: HTMLElement, question: Question, found: Answer): void {
  const { sieve } = found;
  const planned = (text: (plan: NonNullable<typeof sieve>) => string) =>
    sieve ? text(sieve) : "not planned";
  const memory = formatDecimal(question.memory);
  const element = table(
    `The same ${memory}, without a disk and with one`,
    ["What", "Any structure, no disk", "The sieve, with a disk"],
    [
      ["Bits of memory for each URL", formatNumber(found.bitsPerUrl), "–"],
      [
        "Chance that a new URL is dropped, once all are added",
        found.rate === 0
          ? "practically none"
          : `at least ${outOf(found.rate)} (${formatRate(digitsDown(found.rate, 3))})`,
        planned((plan) => `about ${formatNumber(plan.wrongDrops / plan.keys)}`),
      ],
      [
        "Dropped while filling",
        `at least ${expected(digitsDown(found.drops, 3))}`,
        planned((plan) => `${expected(plan.wrongDrops)} expected`),
      ],
      ["Disk for what was seen", "none", planned((plan) => formatDecimal(plan.seenDisk))],
      ["Read and written in all", "none", planned((plan) => formatDecimal(plan.traffic))],
      [
        "Time on a disk of 500 MB/s",
        "none",
        planned((plan) => `${formatSeconds(plan.seconds)} in all`),
      ],
      ["Answers", "at once", planned(() => "in batches")],
    ],
  );
  const box = host.firstElementChild;
  if (box) replace(box, element);
  else host.append(scrolling("Memory alone, and the sieve", element, true));
}

/** What one wrong drop in a million takes in memory alone. */
export function drawNeeded(host: HTMLElement, found: Answer): void {
  replace(
    host,
    `For at most one wrong drop in ${million}, without a disk, any structure needs `,
    h("strong", {}, formatDecimal(found.limitBytes)),
    " of memory, and a Bloomery filter ",
    h("strong", {}, formatDecimal(found.filterBytes)),
    ".",
  );
}

/** The command that prints the plan of the sieve. */
export function commandOf(question: Question): string {
  const pushes = Math.round(question.urls * question.times);
  return [
    `bloomery plan --sieve -n ${question.urls} --memory ${question.memory + COMMAND_BYTES}`,
    pushes === question.urls ? "" : ` --pushes ${pushes}`,
    question.keyBytes === 50 ? "" : ` --key-bytes ${question.keyBytes}`,
  ].join("");
}

/** Draws the share of URLs that are dropped against memory. */
export function drawingOf(engine: Engine, question: Question, found: Answer): Drawing {
  const { memory, urls } = question;
  const low = 10 ** Math.floor(Math.log10(Math.min(memory, Math.max(64, urls / 1000))));
  // No power of ten, so that the last number below the axis has room beside it.
  const high = 4 * 10 ** Math.ceil(Math.log10(Math.max(memory, found.limitBytes) / 3));
  const steps = 160;
  const at = (i: number) => low * (high / low) ** (i / steps);
  const points = (rate: (memory: number) => number) =>
    Array.from({ length: steps + 1 }, (_, i) => ({ x: at(i), y: rate(at(i)) }));
  return {
    summary: `The share of new URLs that is wrongly dropped against memory, with ${formatUrls(urls)} in it. In ${formatDecimal(memory)} it is at least ${formatRate(digitsDown(found.rate, 3))}.`,
    x: { label: "Memory", domain: [low, high], log: true, format: formatDecimal },
    y: {
      label: "New URLs wrongly dropped",
      domain: [0, 1],
      format: (value) => `${Math.round(100 * value)}%`,
    },
    series: [
      {
        name: "Best possible, any structure",
        style: 0,
        kind: "line",
        points: points((bytes) => bestRate(bytes, urls)),
      },
      {
        name: "A classic Bloom filter with the best k",
        style: 1,
        kind: "line",
        points: points((bytes) => classicRate(engine, bytes, urls)),
      },
    ],
    marks: [
      { x: memory, label: "now", style: "now" },
      { x: found.limitBytes, label: "1 in a million", style: "limit" },
    ],
    table: {
      caption: `New URLs dropped, with ${formatUrls(urls)} in it`,
      head: ["Memory", "Best possible", "Classic Bloom filter"],
      rows: Array.from({ length: 17 }, (_, i) => {
        const bytes = at((i * steps) / 16);
        return [
          formatDecimal(bytes),
          formatPercent(bestRate(bytes, urls)),
          formatPercent(classicRate(engine, bytes, urls)),
        ];
      }),
    },
  };
}
