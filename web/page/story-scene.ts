// SPDX-License-Identifier: Apache-2.0
// The drawing of the story: a word at the top, lines from it to its cells, and the cells. A cell of 0 is
// an outline, a cell of 1 is filled; what a lookup reads gets a ring, or a cross where the cell is 0. The
// drawing is as large as its box, so that text has one size on every screen.

import { replace, s } from "./dom";

export interface Scene {
  values: Uint8Array;
  /** The cells that the word has just set. */
  fresh?: number[];
  /** A word and its cells, in the order of its probes. */
  word?: { text: string; positions: number[] };
  /** What is in the place of a word. */
  ghost?: string;
  /** Cells of a block; 0 where there are none. */
  block?: number;
  /** The drawing in words. */
  label: string;
}

interface Frame {
  width: number;
  columns: number;
  pitch: number;
  /** From one row to the next. */
  step: number;
  left: number;
  top: number;
  block: number;
}

const PILL = 32;
const MANY = 64;
/** Cells from this size on have their numbers below them; of smaller ones the rows have. */
const NUMBERED = 26;

/** The largest cells that fit: 8 or 16 in a row, 64 where there are thousands. */
function frameOf(scene: Scene, width: number, height: number): Frame {
  const cells = scene.values.length;
  const few = cells <= MANY;
  const columns = cells <= 16 ? 8 : few ? 16 : 64;
  const rows = Math.ceil(cells / columns);
  const groups = scene.block ? cells / scene.block : 1;
  const room = height - PILL - Math.min(90, height * 0.22);
  const wide = (width - (few ? 34 : 12)) / columns;
  // Below a row are the numbers of its cells; between blocks is a gap.
  const numbered = room / rows - 20;
  const high = !few
    ? (room - (groups - 1) * 10) / rows
    : numbered >= NUMBERED
      ? numbered
      : Math.min(room / rows - 6, NUMBERED - 0.1);
  const pitch = Math.max(3, Math.min(wide, high, 62));
  const step = few ? pitch + (pitch >= NUMBERED ? 20 : 6) : pitch;
  const used = rows * step + (groups - 1) * 10;
  return {
    width,
    columns,
    pitch,
    step,
    left: (width - columns * pitch) / 2 + (few && pitch < NUMBERED ? 10 : 0),
    top: height - used - (height - PILL - used) * 0.25,
    block: scene.block ?? 0,
  };
}

/** The upper left corner of a cell. */
function cornerOf(frame: Frame, cell: number): [number, number] {
  const gaps = frame.block > 0 ? Math.floor(cell / frame.block) : 0;
  return [
    frame.left + (cell % frame.columns) * frame.pitch,
    frame.top + Math.floor(cell / frame.columns) * frame.step + gaps * 10,
  ];
}

function fewCells(scene: Scene, frame: Frame): SVGElement[] {
  const { pitch, columns, left } = frame;
  const side = pitch * 0.84;
  const size = Math.max(10, Math.min(22, pitch * 0.45));
  return [...scene.values].flatMap((value, cell) => {
    const [x, y] = cornerOf(frame, cell);
    const isFresh = scene.fresh?.includes(cell) ?? false;
    const state = value === 0 ? "zero" : isFresh ? "one fresh" : "one";
    const parts: SVGElement[] = [
      s("rect", {
        class: `bit ${state}`,
        x: x + (pitch - side) / 2,
        y,
        width: side,
        height: side,
        rx: pitch * 0.14,
      }),
      s(
        "text",
        {
          class: `digit ${state}`,
          x: x + pitch / 2,
          y: y + side / 2 + size * 0.36,
          "font-size": size,
        },
        value,
      ),
    ];
    if (pitch >= NUMBERED)
      parts.push(s("text", { class: "place", x: x + pitch / 2, y: y + side + 13 }, cell));
    else if (cell % columns === 0)
      parts.push(s("text", { class: "place", x: left - 11, y: y + side * 0.75 }, cell));
    return parts;
  });
}

/** Thousands of cells are two paths: dots and squares. The blocks that a word's cells are in have a bold frame. */
function manyCells(scene: Scene, frame: Frame): SVGElement[] {
  const { pitch, columns, block, left } = frame;
  const read = scene.word?.positions.map((cell) => Math.floor(cell / block)) ?? [];
  let dots = "";
  let squares = "";
  scene.values.forEach((value, cell) => {
    const [x, y] = cornerOf(frame, cell);
    const side = value ? pitch * 0.78 : pitch * 0.26;
    const at = (pitch - side) / 2;
    const shape = `M${(x + at).toFixed(1)},${(y + at).toFixed(1)}h${side.toFixed(1)}v${side.toFixed(1)}h${(-side).toFixed(1)}z`;
    if (value) squares += shape;
    else dots += shape;
  });
  const lines: SVGElement[] = [];
  for (let cell = 0; block > 0 && cell < scene.values.length; cell += block)
    lines.push(
      s("rect", {
        class: read.includes(cell / block) ? "line-of-cache read" : "line-of-cache",
        x: left - 3,
        y: cornerOf(frame, cell)[1] - 3,
        width: columns * pitch + 6,
        height: (block / columns) * pitch + 6,
        rx: 4,
      }),
    );
  return [
    ...lines,
    s("path", { class: "dots", d: dots }),
    s("path", { class: "squares", d: squares }),
  ];
}

/** The lines from the word, behind the cells; and rings and crosses, before them. A line to a lower row goes down the
 * gap between two columns, so that no cell hides it. */
function probes(scene: Scene, frame: Frame): [SVGElement[], SVGElement[]] {
  const { word, values } = scene;
  const wires: SVGElement[] = [];
  const marks: SVGElement[] = [];
  if (!word) return [wires, marks];
  const orders = new Map<number, number[]>();
  word.positions.forEach((cell, i) => orders.set(cell, [...(orders.get(cell) ?? []), i + 1]));
  const few = values.length <= MANY;
  const side = frame.pitch * 0.84;
  const middle = frame.width / 2;
  const top = cornerOf(frame, 0)[1];
  const tall = frame.pitch < NUMBERED ? 11 : 18;
  for (const [cell, order] of orders) {
    const [left, y] = cornerOf(frame, cell);
    const x = left + frame.pitch / 2;
    const hit = values[cell]! > 0;
    // Above a small cell the badge leaves its digit free.
    const bottom = frame.pitch < NUMBERED ? y - 1 : y + 6;
    const at = few ? bottom - tall / 2 : y + frame.pitch / 2;
    const isLower = few && y > top;
    const to = isLower ? x + (x < middle ? frame.pitch : -frame.pitch) / 2 : x;
    const end = isLower ? top : at;
    const half = (PILL + end) / 2;
    const turn = isLower ? `V${at - 8}Q${to},${at} ${x},${at}` : "";
    const wire = `M${middle},${PILL}C${middle},${half} ${to},${half} ${to},${end}${turn}`;
    const look = few ? "wire" : "wire thin";
    wires.push(s("path", { class: hit ? look : `${look} to-zero`, d: wire }));
    if (!few) {
      marks.push(s("circle", { class: "ring", cx: x, cy: y + frame.pitch / 2, r: 5 }));
      continue;
    }
    const box = { x: x - side / 2 - 3, y: y - 3, width: side + 6, height: side + 6 };
    marks.push(s("rect", { class: "ring", ...box, rx: frame.pitch * 0.18 }));
    if (!hit) {
      // Its middle is free, so that the 0 is seen.
      const [a, b, arm, gap] = [x - side / 2, y, side * 0.28, side * 0.44];
      const cross = `M${a},${b}l${arm},${arm}m${gap},${gap}l${arm},${arm}m0,${-side}l${-arm},${arm}m${-gap},${gap}l${-arm},${arm}`;
      marks.push(s("path", { class: "cross", d: cross }));
    }
    const text = order.join(" ");
    const badge = tall / 2 + (text.length - 1) * 3;
    marks.push(
      s("rect", {
        class: "badge",
        x: x - badge,
        y: bottom - tall,
        width: 2 * badge,
        height: tall,
        rx: tall / 2,
      }),
      s("text", { class: `badge-text of-${tall}`, x, y: bottom - tall * 0.25 }, text),
    );
  }
  return [wires, marks];
}

/** The word, in a pill as wide as its letters. */
function pill(text: string, width: number, look: "box" | "ghost"): SVGElement[] {
  const shown = text.length > 24 ? `${text.slice(0, 23)}…` : text;
  const half = Math.min(width / 2 - 2, 18 + shown.length * 5);
  const box = { x: width / 2 - half, y: 1, width: 2 * half, height: PILL - 2, rx: PILL / 2 - 1 };
  return [
    s("rect", { class: `pill-${look}`, ...box }),
    s("text", { class: `pill-text ${look}`, x: width / 2, y: PILL / 2 + 5 }, shown || "(empty)"),
  ];
}

export function stage(): { element: HTMLElement; draw(scene: Scene): void } {
  const element = document.createElement("div");
  element.className = "scene";
  let last: Scene | undefined;
  let size = "";
  const draw = (scene: Scene) => {
    last = scene;
    size = `${element.clientWidth} ${element.clientHeight}`;
    const [width, height] = [element.clientWidth || 340, element.clientHeight || 220];
    const frame = frameOf(scene, width, height);
    const [wires, marks] = probes(scene, frame);
    replace(
      element,
      s(
        "svg",
        { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": scene.label },
        ...wires,
        ...(scene.values.length <= MANY ? fewCells(scene, frame) : manyCells(scene, frame)),
        ...marks,
        ...(scene.word ? pill(scene.word.text, width, "box") : []),
        ...(scene.ghost ? pill(scene.ghost, width, "ghost") : []),
      ),
    );
  };
  new ResizeObserver(() => {
    if (last && size !== `${element.clientWidth} ${element.clientHeight}`) draw(last);
  }).observe(element);
  return { element, draw };
}

/** A small curve with a point for now, and another for the best. */
export function smallCurve(
  points: { x: number; y: number }[],
  now: { x: number; y: number },
  best: { x: number; y: number } | undefined,
  words: { label: string; x: (value: number) => string; y: string },
): SVGElement {
  const [width, height, left, right, bottom, top] = [360, 160, 34, 8, 24, 26];
  const last = points.at(-1)!.x;
  const first = points[0]!.x;
  const most = Math.max(...points.map(({ y }) => y));
  const x = (value: number) =>
    left + ((value - first) / Math.max(1, last - first)) * (width - left - right);
  const y = (value: number) => height - bottom - (value / most) * (height - bottom - top);
  const step = [0.02, 0.05, 0.1].find((one) => most / one < 5) ?? 0.2;
  const levels = Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
  const line = points.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`);
  return s(
    "svg",
    {
      class: "small-curve",
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": words.label,
    },
    ...levels.flatMap((level) => [
      s("path", {
        class: level ? "grid" : "small-axis",
        d: `M${left},${y(level)}H${width - right}`,
      }),
      s(
        "text",
        { class: "tick-text", x: left - 5, y: y(level) + 4 },
        `${Math.round(level * 100)}%`,
      ),
    ]),
    s("path", { class: "small-line", d: `M${line.join("L")}` }),
    best && s("path", { class: "small-best", d: `M${x(best.x)},${height - bottom}V${y(best.y)}` }),
    best &&
      s("text", { x: x(best.x), y: y(best.y) - 12, "text-anchor": "middle" }, `best: ${best.x}`),
    s("circle", { class: "small-now", cx: x(now.x), cy: y(now.y), r: 6 }),
    s("text", { x: 0, y: 12 }, words.y),
    s("text", { x: left, y: height - 7 }, words.x(first)),
    s("text", { x: width - right, y: height - 7, "text-anchor": "end" }, words.x(last)),
  );
}
