// SPDX-License-Identifier: Apache-2.0
// From planned filters and measured points to a drawing, its table and its sentences. Lines are theory
// and points are measured: nothing here makes the one out of the other.

import type { Drawing, Series } from "./chart";
import type { Candidate } from "./curve-filters";
import { leastKeys, type Settings } from "./curve-settings";
import type { Measured } from "./measure";
import { formatBytes, formatCount, formatNumber, formatOneIn, formatPercent } from "./numbers";

export interface Line {
  candidate: Candidate;
  points: Measured[];
}

/** Places at which theory is computed for its line. */
export const SAMPLES = 48;

/** The lower edge: below the rate of a single false positive among `queries`. */
export function floorOf(queries: number): number {
  return 10 ** Math.floor(Math.log10(0.5 / queries));
}

export function formatInterval(point: Measured): string {
  if (point.found === 0) return `under ${formatPercent(point.high)}`;
  return `${formatPercent(point.low)} to ${formatPercent(point.high)}`;
}

function samples(settings: Settings, count: number): number[] {
  const { n, x } = settings;
  const least = leastKeys(settings);
  const keys = Array.from({ length: count + 1 }, (_, i) =>
    x === "log" ? least * ((2 * n) / least) ** (i / count) : least + ((2 * n - least) * i) / count,
  );
  return [...new Set(keys.map(Math.round))];
}

/** The line from where it comes over the lower edge. */
function theory(candidate: Candidate, keys: number[], floor: number): { x: number; y: number }[] {
  const all = keys.map((x) => ({ x, y: candidate.theory(x) }));
  const first = all.findIndex(({ y }) => y >= floor);
  if (first <= 0) return first < 0 ? [] : all;
  const [a, b] = [all[first - 1]!, all[first]!];
  const part = a.y > 0 ? (Math.log(floor) - Math.log(a.y)) / (Math.log(b.y) - Math.log(a.y)) : 1;
  return [{ x: a.x + part * (b.x - a.x), y: floor }, ...all.slice(first)];
}

function seriesOf(
  line: Line,
  settings: Settings,
  keys: number[],
  floor: number,
  i: number,
): Series[] {
  const { shape } = line.candidate;
  const isFill = settings.view === "fill";
  const measured: Series = {
    name: `${shape.label}: measured`,
    style: shape.style,
    kind: "points",
    // Of filters with the same fill each shape is seen around the next one.
    ...(isFill ? { size: Math.max(2, 8 - 2 * i) } : {}),
    points: line.points.map((point) =>
      isFill
        ? { x: point.keys, y: point.fill }
        : {
            x: point.keys,
            y: Math.max(floor, point.rate),
            low: Math.max(floor, point.low),
            high: point.high,
            upper: point.found === 0,
          },
    ),
  };
  const expected: Series = {
    name: shape.label,
    style: shape.style,
    kind: "line",
    points: isFill
      ? keys.map((x) => ({ x, y: line.candidate.fill(x) }))
      : theory(line.candidate, keys, floor),
  };
  return [expected, measured];
}

function tableOf(lines: Line[]): Drawing["table"] {
  return {
    caption: "Measured points, with the theory beside them",
    head: ["Filter", "Keys", "Theory", "Measured", "95% interval", "Found", "Queries", "Fill"],
    rows: lines.flatMap(({ candidate, points }) =>
      points.map((point) => [
        candidate.shape.label,
        formatCount(point.keys),
        formatPercent(candidate.theory(point.keys)),
        formatPercent(point.rate),
        formatInterval(point),
        formatCount(point.found),
        formatCount(point.queries),
        formatPercent(point.fill),
      ]),
    ),
  };
}

function summary(lines: Line[], settings: Settings, measured: number): string {
  const names = lines.map(({ candidate }) => candidate.shape.label).join("; ");
  const what = settings.view === "fill" ? "Fill" : "False-positive rate";
  return (
    `${what} against the number of keys, up to ${formatCount(2 * settings.n)}, ` +
    `for: ${names || "no filter"}. ${measured} measured points. The table below has the numbers.`
  );
}

function formatTick(value: number): string {
  if (value >= 1e9) return String(Number(value.toPrecision(3)).toExponential()).replace("+", "");
  if (value >= 1e6) return `${formatNumber(value / 1e6)}M`;
  return value >= 1e4 ? `${formatNumber(value / 1e3)}k` : formatCount(value);
}

/** 1 in 10k: short enough for the edge of a chart. */
export function formatOdds(rate: number): string {
  return rate > 0.99 ? "always" : `1 in ${formatTick(Math.round(1 / rate))}`;
}

export function drawingOf(lines: Line[], settings: Settings, now: number, count: number): Drawing {
  const { n, x, view, queries } = settings;
  const floor = floorOf(queries);
  const keys = samples(settings, count);
  const measured = lines.reduce((sum, { points }) => sum + points.length, 0);
  return {
    summary: summary(lines, settings, measured),
    x: {
      label: "Keys added",
      domain: [x === "log" ? leastKeys(settings) : 0, 2 * n],
      log: x === "log",
      format: formatTick,
    },
    y:
      view === "fill"
        ? { label: "Share of bits that are set", domain: [0, 1], format: formatPercent }
        : {
            label: "False-positive rate",
            domain: [floor, 1],
            log: true,
            format: formatOdds,
          },
    series: lines.flatMap((line, i) => seriesOf(line, settings, keys, floor, i)),
    marks:
      now === n
        ? [{ x: n, label: `planned and now: ${formatTick(n)}`, style: "now" }]
        : [
            { x: n, label: `planned: ${formatTick(n)}`, style: "limit" },
            { x: now, label: `now: ${formatTick(now)}`, style: "now" },
          ],
    table: tableOf(lines),
  };
}

/** The measured point whose number of keys is nearest. */
export function nearest(points: Measured[], keys: number): Measured | undefined {
  return points.reduce<Measured | undefined>(
    (best, point) =>
      best && Math.abs(best.keys - keys) <= Math.abs(point.keys - keys) ? best : point,
    undefined,
  );
}

/** The filters beside each other with `now` keys. Its rows do not grow when measurements come. */
export function nowTable(lines: Line[], n: number, now: number): Drawing["table"] {
  const first = lines[0] && nearest(lines[0].points, now);
  const measured = first ? ` Measured with ${formatCount(first.keys)}.` : "";
  return {
    caption: `With ${formatCount(now)} keys in each filter.${measured}`,
    head: ["Filter", "Memory", "Bits per key", "Expected rate", "Measured", "95% interval", "Fill"],
    rows: lines.map(({ candidate, points }) => {
      const point = nearest(points, now);
      return [
        candidate.shape.label,
        formatBytes(candidate.bytes),
        formatNumber((candidate.bytes * 8) / n),
        formatPercent(candidate.theory(now)),
        point ? (point.found === 0 ? "none found" : formatPercent(point.rate)) : "not yet",
        point ? formatInterval(point) : "–",
        point ? formatPercent(point.fill) : "–",
      ];
    }),
  };
}

/** What is read out when all points are there. */
export function sentence({ candidate, points }: Line, now: number): string {
  const point = nearest(points, now);
  const measured = point
    ? ` Measured with ${formatCount(point.keys)} keys: ${formatPercent(point.rate)}, 95% interval ${formatInterval(point)}.`
    : "";
  return `${candidate.shape.label}: the expected rate with ${formatCount(now)} keys is ${formatOneIn(candidate.theory(now))}.${measured}`;
}
