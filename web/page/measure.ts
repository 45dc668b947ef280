// SPDX-License-Identifier: Apache-2.0
// Measuring a rate: a filter gets more and more keys, and after each portion absent ones are asked.

import type { Engine, Filter, Given, Info } from "./engine";
import { KIND, type KindName } from "./engine";

/** What is filled and asked. */
export interface MeasureJob {
  id: number;
  /** One filter, Bloomery's own or of a dialect. */
  filter:
    | {
        kind: KindName;
        bits: number;
        probes: number;
        blocksPerKey?: number;
        cellBits?: number;
      }
    /** With `zeros`: the dialect's filter that consists of this many empty bytes. */
    | { dialect: string; given: Given; zeros?: number };
  /** The numbers of keys after which the filter is queried, rising. */
  at: number[];
  /** Absent keys that are asked each time. */
  queries: number;
}

/** One measured point. */
export interface Measured {
  keys: number;
  queries: number;
  found: number;
  rate: number;
  /** A 95 % interval of the rate (Wilson's). */
  low: number;
  high: number;
  fill: number;
  liveRate: number | null;
}

/** Absent keys are numbers from here on; added ones are numbers from 0. */
export const ABSENT = 2 ** 40;

/** Wilson's interval: it stays within 0 and 1, and has a width even where nothing was found. */
export function interval(found: number, queries: number): [number, number] {
  const z = 1.959964;
  const rate = found / queries;
  const middle = rate + (z * z) / (2 * queries);
  const half = z * Math.sqrt((rate * (1 - rate)) / queries + (z * z) / (4 * queries * queries));
  const scale = 1 + (z * z) / queries;
  return [Math.max(0, (middle - half) / scale), Math.min(1, (middle + half) / scale)];
}

/** The empty filter of a job. */
export function make(engine: Engine, filter: MeasureJob["filter"]): Filter {
  if ("kind" in filter) return engine.create(filter);
  const { dialect, given, zeros } = filter;
  const found = engine.dialects().find(({ name }) => name === dialect);
  if (!found) throw new Error(`unknown dialect ${dialect}`);
  if (zeros === undefined) return engine.createDialect(found.id, given);
  return engine.loadDialect(found.id, new Uint8Array(zeros), given);
}

/** Yields a point for each number of `at`. */
export function* measure(engine: Engine, job: MeasureJob): Generator<Measured> {
  const filter = make(engine, job.filter);
  try {
    let added = 0;
    for (const keys of job.at) {
      filter.addNumbers(added, keys - added);
      added = keys;
      const found = filter.countNumbers(ABSENT, job.queries);
      const [low, high] = interval(found, job.queries);
      const info: Info = filter.info(true);
      yield {
        keys,
        queries: job.queries,
        found,
        rate: found / job.queries,
        low,
        high,
        fill: info.fill,
        liveRate: info.liveRate,
      };
    }
  } finally {
    filter.free();
  }
}

export const kindNames = Object.keys(KIND) as KindName[];
