// SPDX-License-Identifier: Apache-2.0
// The settings of the load curve, from an address and into one.

import { type Memory, shapes } from "./curve-filters";
import { parseCount, parseRate } from "./numbers";

export const KEYS = { least: 100, most: 1e6 };
export const RATE = { least: 1e-5, most: 0.3 };
export const QUERIES = [100_000, 300_000, 1_000_000];

export interface Settings {
  n: number;
  rate: number;
  /** Ids of shapes. */
  shown: string[];
  queries: number;
  memory: Memory;
  x: "linear" | "log";
  view: "rate" | "fill";
  /** The current number of keys; n unless it was moved. */
  now: number | undefined;
}

export const start: Settings = {
  n: 100_000,
  rate: 0.001,
  shown: ["classic", "L1", "L2", "split"],
  queries: 300_000,
  memory: "same",
  x: "linear",
  view: "rate",
  now: undefined,
};

export function clamp(value: number, { least, most }: { least: number; most: number }): number {
  return Math.min(most, Math.max(least, value));
}

export function readSettings(get: (name: string) => string | undefined): Settings {
  const n = clamp(parseCount(get("n") ?? "") ?? start.n, KEYS);
  const queries = Number(get("q"));
  const filters = get("f")?.split(",");
  const now = parseCount(get("now") ?? "");
  return {
    n,
    rate: clamp(parseRate(get("p") ?? "") ?? start.rate, RATE),
    shown: filters ? shapes.map(({ id }) => id).filter((id) => filters.includes(id)) : start.shown,
    queries: QUERIES.includes(queries) ? queries : start.queries,
    memory: get("m") === "own" ? "own" : "same",
    x: get("x") === "log" ? "log" : "linear",
    view: get("view") === "fill" ? "fill" : "rate",
    now: now === undefined ? undefined : clamp(now, { least: 1, most: 2 * n }),
  };
}

/** Only what differs from the start. */
export function writeSettings(settings: Settings): Record<string, string | undefined> {
  const shown = settings.shown.join(",");
  const unless = <T>(value: T, usual: T, text: string) => (value === usual ? undefined : text);
  return {
    n: unless(settings.n, start.n, String(settings.n)),
    p: unless(settings.rate, start.rate, String(settings.rate)),
    f: unless(shown, start.shown.join(","), shown || "none"),
    q: unless(settings.queries, start.queries, String(settings.queries)),
    m: unless(settings.memory, start.memory, settings.memory),
    x: unless(settings.x, start.x, settings.x),
    view: unless(settings.view, start.view, settings.view),
    now: settings.now === undefined ? undefined : String(settings.now),
  };
}

/** The least number of keys that is drawn. */
export function leastKeys({ n, x }: Settings): number {
  return Math.max(1, Math.round(n / (x === "log" ? 25 : 50)));
}

/** The numbers of keys at which is measured, n among them: 12, or fewer where these are few. */
export function measuredAt({ n, x }: Settings): number[] {
  const steps = Array.from({ length: 12 }, (_, i) =>
    x === "log" ? n * 2 ** ((i - 9) / 2) : ((i + 1) * n) / 6,
  );
  return [...new Set(steps.map((keys) => Math.max(1, Math.round(keys))))];
}
