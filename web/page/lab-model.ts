// SPDX-License-Identifier: Apache-2.0
// The numbers of the lab. Plans come from the library; each other number is explained where it is computed.

import { type Engine, Refusal, type SievePlan } from "./engine";
import { formatCount } from "./numbers";

export interface Question {
  memory: number;
  urls: number;
  keyBytes: number;
  /** How often each URL is found. */
  times: number;
}

export interface Answer {
  /** The best possible rate of any structure in that memory, with all URLs in it. */
  rate: number;
  /** New URLs that any structure drops on the way there, at least. */
  drops: number;
  bitsPerUrl: number;
  limitBytes: number;
  filterBytes: number;
  /** Undefined where the sieve needs more memory; `refusal` is the library's sentence then. */
  sieve: SievePlan | undefined;
  refusal: string | undefined;
}

export const TARGET = 1e-6;
/** What `bloomery sieve` takes for the command itself of its --memory. */
export const COMMAND_BYTES = 4.3e6;

/** To tell n keys from others at the rate p takes n log2(1/p) bits, whatever the structure: the sum that
 * the library does too (budget_rate), for memory that it plans no sieve in. */
export function bestRate(memory: number, urls: number): number {
  return 2 ** ((-8 * memory) / urls);
}

/** The exponential integral E1(x), x > 0: a series below 1, a continued fraction from there on. */
function exponentialIntegral(x: number): number {
  if (x < 1) {
    let term = 1;
    let sum = -0.5772156649015329 - Math.log(x);
    for (let i = 1; i < 30; i++) {
      term *= -x / i;
      sum -= term / i;
    }
    return sum;
  }
  let fraction = 0;
  for (let i = 100; i > 0; i--) fraction = i / (1 + i / (x + fraction));
  return Math.exp(-x) / (x + fraction);
}

/** When i of n URLs have come, the next new one is dropped with 2^(-8 M / i) at the least. Their sum
 * over i is n (exp(-a) - a E1(a)) with a = 8 M ln 2 / n. */
export function dropsOnTheWay(memory: number, urls: number): number {
  const a = (8 * memory * Math.LN2) / urls;
  return a > 700 ? 0 : urls * Math.max(0, Math.exp(-a) - a * exponentialIntegral(a));
}

export function answer(engine: Engine, question: Question): Answer {
  const { memory, urls, keyBytes, times } = question;
  const pushes = Math.round(urls * times);
  let sieve: SievePlan | undefined;
  let refusal: string | undefined;
  try {
    sieve = engine.sievePlan(urls, pushes, memory, keyBytes, TARGET);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refusal = error.message;
  }
  // What a rate takes in memory does not depend on the memory of the sieve.
  const { limitBytes, filterBytes } = sieve ?? engine.sievePlan(urls, 0, 2 ** 40, 0, TARGET);
  return {
    rate: sieve?.budgetRate ?? bestRate(memory, urls),
    drops: dropsOnTheWay(memory, urls),
    bitsPerUrl: (8 * memory) / urls,
    limitBytes,
    filterBytes,
    sieve,
    refusal,
  };
}

/** A classic Bloom filter in that memory, with the best number of probes, by the library's sum. */
export function classicRate(engine: Engine, memory: number, urls: number): number {
  const bits = Math.floor(memory / 64) * 512;
  const probes = Math.min(64, Math.max(1, Math.round((bits / urls) * Math.LN2)));
  return engine.planRate({ kind: 2, bits, probes, blocksPerKey: 0, cellBits: 1 }, urls);
}

const powerOf = (value: number, digits: number) =>
  10 ** (Math.floor(Math.log10(value)) + 1 - digits);

/** Rounds down to `digits` digits, so that "at least" is true. */
export function digitsDown(value: number, digits: number): number {
  if (value <= 0) return 0;
  const power = powerOf(value, digits);
  return Number((Math.floor(value / power) * power).toPrecision(digits));
}

function digitsUp(value: number, digits: number): number {
  const power = powerOf(value, digits);
  return Number((Math.ceil(value / power) * power).toPrecision(digits));
}

/** "90 of 100", "1 in 3,200": rounded down, so that "at least" stays true. */
export function outOf(rate: number): string {
  if (rate >= 1) return "all";
  if (rate < 1e-15) return `1 in ${(1 / rate).toExponential(1).replace("+", "")}`;
  if (rate < 0.01) return `1 in ${formatCount(digitsUp(1 / rate, 2))}`;
  let base = rate < 0.1 ? 1000 : 100;
  while (Math.floor(rate * base) < base && 1 / base > (1 - rate) * 1.001) base *= 10;
  while (Math.floor(rate * base) >= base) base *= 10;
  return `${formatCount(Math.floor(rate * base))} of ${formatCount(base)}`;
}

export const formatUrls = (count: number): string =>
  `${formatCount(count)} ${count === 1 ? "URL" : "URLs"}`;

const names = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** 18 MB: in powers of ten, as the claim has it. */
export function formatDecimal(bytes: number): string {
  let value = bytes;
  let step = 0;
  while (Number(value.toPrecision(3)) >= 1000 && step < names.length - 1) {
    value /= 1000;
    step++;
  }
  return value === 1 && step === 0 ? "1 byte" : `${three.format(value)} ${names[step]}`;
}
