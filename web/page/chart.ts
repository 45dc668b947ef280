// SPDX-License-Identifier: Apache-2.0
// A chart of lines and of measured points with their intervals, as SVG, with a table behind it.
//
// Dashes and shapes distinguish states and series, as well as colour. The drawing is one
// image to a screen reader, named by a sentence; the table has the numbers.

import { ticks } from "d3-array";
import { takeAway } from "./chart-files";
import { h, replace, s, scrolling, table } from "./dom";

export interface Series {
  name: string;
  /** 0 to 5: colour and dash, or shape. */
  style: number;
  kind: "line" | "points";
  /** `upper`: nothing is known but that the value is below `high`. */
  points: { x: number; y: number; low?: number; high?: number; upper?: boolean }[];
  /** Of the points' shapes, where those of several series would hide each other. */
  size?: number;
}

export interface Axis {
  label: string;
  domain: [number, number];
  log?: boolean;
  format: (value: number) => string;
}

export interface Drawing {
  /** What the chart shows, in a sentence. */
  summary: string;
  x: Axis;
  y: Axis;
  series: Series[];
  /** Vertical lines with a word. */
  marks?: { x: number; label: string; style: "now" | "limit" }[];
  table: { caption: string; head: string[]; rows: (string | number)[][] };
}

export interface Chart {
  element: HTMLElement;
  draw(drawing: Drawing): void;
}

const LEFT = 74;
const RIGHT = 16;
const TOP = 34;
const BOTTOM = 50;

/** The drawing is as large as its box, so that text has one size on every screen. */
interface Frame {
  width: number;
  height: number;
}

type Scale = { (value: number): number; ticks: number[] };

/** Powers of ten within a domain; where there are fewer than two, twos and fives as well. */
function logTicks([from, to]: [number, number], about: number): number[] {
  const all = (factors: number[]) => {
    const found: number[] = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++)
      for (const factor of factors) {
        const value = Number(`${factor}e${power}`);
        if (value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9)) found.push(value);
      }
    return found;
  };
  const powers = all([1]);
  const chosen = powers.length >= 2 ? powers : all([1, 2, 5]);
  const step = Math.ceil(chosen.length / about);
  return chosen.filter((_, i) => i % step === 0);
}

/** From values to places; what is outside the domain lies at its border. */
function scaleOf(axis: Axis, range: [number, number], about: number): Scale {
  const turn = axis.log ? Math.log : (value: number) => value;
  const [from, to] = [turn(axis.domain[0]), turn(axis.domain[1])];
  const place = (value: number) => {
    const share =
      (turn(Math.max(value, axis.log ? Number.MIN_VALUE : -Infinity)) - from) / (to - from);
    return range[0] + Math.min(1, Math.max(0, share)) * (range[1] - range[0]);
  };
  const chosen = axis.log ? logTicks(axis.domain, about) : ticks(...axis.domain, about);
  return Object.assign(place, { ticks: chosen });
}

function path(points: { x: number; y: number }[], x: Scale, y: Scale): string {
  return points
    .map((point, i) => `${i === 0 ? "M" : "L"}${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`)
    .join("");
}

/** One shape for each style: circle, square, diamond, triangle, cross, bar. */
export function marker(style: number, x: number, y: number, size = 4): SVGElement {
  const a = size;
  const shapes = [
    `M${x - a},${y}a${a},${a} 0 1 0 ${2 * a},0a${a},${a} 0 1 0 ${-2 * a},0`,
    `M${x - a},${y - a}h${2 * a}v${2 * a}h${-2 * a}z`,
    `M${x},${y - a * 1.3}l${a * 1.3},${a * 1.3}l${-a * 1.3},${a * 1.3}l${-a * 1.3},${-a * 1.3}z`,
    `M${x},${y - a}l${a * 1.15},${2 * a}h${-2.3 * a}z`,
    `M${x - a},${y - a}l${2 * a},${2 * a}m0,${-2 * a}l${-2 * a},${2 * a}`,
    `M${x - a * 1.3},${y}h${2.6 * a}`,
  ];
  return s("path", { class: `shape style-${style}`, d: shapes[style % shapes.length]! });
}

/** A line and the points beside it share an entry. */
function legend(drawing: Drawing): HTMLElement {
  const entries: { name: string; swatch: SVGElement[] }[] = [];
  drawing.series.forEach((series, i) => {
    const { kind, style, name } = series;
    const before = drawing.series[i - 1];
    if (kind === "points" && before?.kind === "line" && before.style === style)
      return void entries.at(-1)!.swatch.push(marker(style, 14, 7));
    const shape =
      kind === "line"
        ? s("path", { class: `line style-${style}`, d: "M1,7H27" })
        : marker(style, 14, 7);
    entries.push({ name, swatch: [shape] });
  });
  return h(
    "ul",
    { class: "legend" },
    ...entries.map(({ name, swatch }) =>
      h(
        "li",
        {},
        s("svg", { width: 28, height: 14, viewBox: "0 0 28 14", "aria-hidden": "true" }, ...swatch),
        name,
      ),
    ),
  );
}

function axes(drawing: Drawing, x: Scale, y: Scale, { width, height }: Frame): SVGElement {
  const bottom = height - BOTTOM;
  // A label at the border ends there.
  const anchor = (tick: number) => (x(tick) > width - 2 * RIGHT ? "end" : "middle");
  return s(
    "g",
    { class: "axes" },
    ...y.ticks.flatMap((tick) => [
      s("path", { class: "grid", d: `M${LEFT},${y(tick)}H${width - RIGHT}` }),
      s("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, drawing.y.format(tick)),
    ]),
    ...x.ticks.flatMap((tick) => [
      s("path", { class: "tick", d: `M${x(tick)},${bottom}v5` }),
      s(
        "text",
        { x: x(tick), y: bottom + 20, "text-anchor": anchor(tick) },
        drawing.x.format(tick),
      ),
    ]),
    s("path", { class: "tick", d: `M${LEFT},${TOP}V${bottom}H${width - RIGHT}` }),
    s(
      "text",
      {
        class: "axis-label",
        x: (LEFT + width - RIGHT) / 2,
        y: height - 8,
        "text-anchor": "middle",
      },
      drawing.x.label,
    ),
    s("text", { class: "axis-label", x: 4, y: 13 }, drawing.y.label),
  );
}

/** Labels are above the lines and points, on their own line where there is room. One that would hit another is in the row
 * of the axis' name, beside it. */
function marks(drawing: Drawing, x: Scale, { width, height }: Frame): SVGElement[] {
  let taken = -Infinity;
  let last = 0;
  return (drawing.marks ?? []).map(({ x: value, label, style }) => {
    const at = x(value);
    const length = 7 * label.length;
    const least = (from: number) => Math.max(from, Math.min(at - length / 2, width - length));
    let from = least(LEFT);
    const hits = from < taken && last < from + length + 8;
    if (hits) from = least(7.5 * drawing.y.label.length + 14);
    else [last, taken] = [from, from + length + 8];
    const y = hits ? 13 : TOP - 5;
    return s(
      "g",
      { class: `mark ${style}` },
      s("path", { d: `M${at},${y + 4}V${height - BOTTOM}` }),
      s("text", { x: from + length / 2, y, "text-anchor": "middle" }, label),
    );
  });
}

function body(series: Series, x: Scale, y: Scale): SVGElement {
  if (series.kind === "line")
    return s("path", { class: `line style-${series.style}`, d: path(series.points, x, y) });
  return s(
    "g",
    { class: "points" },
    ...series.points.flatMap((point) => {
      if (point.upper) {
        // Beside those of other series, which are as high.
        const at = x(point.x) + 5 * (series.style - 1.5);
        const arrow = `M${at - 4},${y(point.high!)}h8m-4,0v18m-3.5,-5l3.5,5l3.5,-5`;
        return [s("path", { class: `upper interval style-${series.style}`, d: arrow })];
      }
      return [
        point.low !== undefined &&
          point.high !== undefined &&
          s("path", {
            class: `interval style-${series.style}`,
            d: `M${x(point.x)},${y(point.low)}V${y(point.high)}M${x(point.x) - 3},${y(point.low)}h6M${x(point.x) - 3},${y(point.high)}h6`,
          }),
        marker(series.style, x(point.x), y(point.y), series.size),
      ];
    }),
  );
}

/** `handles` are controls right below the drawing, in which they move something. */
export function chart(...handles: HTMLElement[]): Chart {
  const figure = h("div", { class: "chart-box" });
  const keys = h("div", { class: "chart-legend" });
  const numbers = h("details", { class: "numbers" }, h("summary", {}, "The same as a table"));
  const holder = h("div");
  numbers.append(holder);
  let last: Drawing | undefined;
  const takes = takeAway(figure, () => last);
  const foot = h("div", { class: "chart-foot" }, numbers, takes);
  const element = h("figure", { class: "chart" }, figure, keys, ...handles, foot);
  const drawTable = () => {
    if (!last || !numbers.open) return;
    const { caption, head, rows } = last.table;
    replace(holder, scrolling(caption, table(caption, head, rows)));
  };
  const drawFigure = (drawing: Drawing) => {
    const frame = { width: figure.clientWidth || 720, height: figure.clientHeight || 380 };
    const { width, height } = frame;
    const x = scaleOf(drawing.x, [LEFT, width - RIGHT], Math.max(2, Math.round(width / 130)));
    const y = scaleOf(drawing.y, [height - BOTTOM, TOP], 7);
    const { summary, series } = drawing;
    replace(
      figure,
      s(
        "svg",
        { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": summary },
        axes(drawing, x, y, frame),
        ...series.map((one) => body(one, x, y)),
        ...marks(drawing, x, frame),
      ),
    );
  };
  numbers.addEventListener("toggle", drawTable);
  let width = 0;
  new ResizeObserver(() => {
    if (last && Math.abs(figure.clientWidth - width) > 4) drawFigure(last);
    width = figure.clientWidth;
  }).observe(figure);
  return {
    element,
    draw(drawing) {
      last = drawing;
      drawFigure(drawing);
      replace(keys, legend(drawing));
      drawTable();
    },
  };
}
