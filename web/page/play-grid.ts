// SPDX-License-Identifier: Apache-2.0
// The cells, drawn. A cell that is empty is a dot, one that is set a square; a counter has its
// number. What a query touches gets a ring where the cell is set and a cross where it is not, with
// the number of the probe. So no state is shown by colour alone.
//
// The grid is one stop of the keyboard: arrow keys move a cursor, whose cell is described in words.

import { h, replace, s } from "./dom";
import type { Probe } from "./play-model";

const PITCH = 12;
const BLOCK = 512;
const GAP = 9;
const MARGIN = 4;

interface Geometry {
  cells: number;
  columns: number;
  /** Room for the numbers of rows. */
  left: number;
  /** Cells of a block, 0: no blocks are drawn. */
  block: number;
}

export interface Grid {
  element: HTMLElement;
  /** Other cells: how many, whether lines of 512 are drawn, whether they are counters. */
  shape(cells: number, blocks: boolean, counters: boolean): void;
  /** The values of all cells, and which of them changed last. */
  update(values: Uint8Array, changed: Set<number>): void;
  /** The probes of a query; those from `shown` on are not drawn yet. */
  probe(probes: Probe[], shown: number): void;
  /** Frames a cell for a moment; undefined: none. */
  light(cell: number | undefined): void;
}

/** On a small screen half as many, so that cells and numbers can still be seen. */
function columnsFor(cells: number, narrow: boolean, counters: boolean): number {
  if (cells <= 16) return cells;
  if (cells <= 64) return 16;
  const columns = cells <= 256 || counters ? 32 : 64;
  return narrow ? columns / 2 : columns;
}

function place(geometry: Geometry, cell: number): [number, number] {
  const row = Math.floor(cell / geometry.columns);
  const gaps = geometry.block > 0 ? Math.floor(cell / geometry.block) : 0;
  return [
    geometry.left + (cell % geometry.columns) * PITCH + PITCH / 2,
    MARGIN + row * PITCH + PITCH / 2 + gaps * GAP,
  ];
}

/** The drawing of one cell's value: a dot, a square, or a square with a hole if it is just set. */
function drawCell(cell: SVGPathElement, value: number, fresh: boolean, at: [number, number]): void {
  const [x, y] = at;
  const hole = fresh ? `M${x - 1.6},${y - 1.6}v3.2h3.2v-3.2z` : "";
  const shape =
    value === 0 ? `M${x - 1},${y - 1}h2v2h-2z` : `M${x - 4.5},${y - 4.5}h9v9h-9z${hole}`;
  cell.setAttribute("d", shape);
  cell.setAttribute("class", value === 0 ? "cell empty" : fresh ? "cell set fresh" : "cell set");
}

/** A ring or a cross, and above it the number of the probe; larger where the cells are small. In one row of cells the
 * number is right above its cell; else beside it, at the left where the right is outside. */
function mark(
  probe: Probe,
  order: string,
  at: [number, number],
  scale: number,
  { cells, columns }: Geometry,
): [SVGElement, SVGElement] {
  const hit = probe.value > 0;
  const shape = hit
    ? s("rect", { x: -5.9, y: -5.9, width: 11.8, height: 11.8, rx: 2.4 })
    : s("path", { d: "M-4.8,-4.8l9.6,9.6m0,-9.6l-9.6,9.6" });
  const width = 5 + order.length * 4.6;
  const isRow = cells <= 16;
  const x = isRow ? -width / 2 : probe.cell % columns > columns - 3 ? -3.2 - width : 3.2;
  const y = isRow ? -17 : -11.5;
  const box = s(
    "g",
    { class: "order" },
    s("rect", { x, y, width, height: 9.5, rx: 2.5 }),
    s("text", { x: x + 2.5, y: y + 7.4 }, order),
  );
  const transform = `translate(${at[0]},${at[1]}) scale(${scale})`;
  return [
    s("g", { class: hit ? "probe hit" : "probe miss", transform }, shape),
    s("g", { class: "probe-order", transform }, box),
  ];
}

export function grid(describe: (cell: number) => string): Grid {
  const field = h("div", {
    class: "cells",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "grid of cells",
  });
  const told = h(
    "p",
    { class: "cell-told", id: "cell-told", "aria-live": "polite" },
    "Click a cell, or use the arrow keys, to see which keys set it.",
  );
  field.setAttribute("aria-describedby", told.id);
  const element = h("div", { class: "grid-box" }, field, told);
  let geometry: Geometry = { cells: 0, columns: 1, left: MARGIN, block: 0 };
  let counting = false;
  let squares: SVGPathElement[] = [];
  let numbers: SVGTextElement[] = [];
  let values = new Uint8Array(0);
  let fresh = new Set<number>();
  let cursor = -1;
  let narrow = false;
  /** Draws anew what is shown, in a box of another width. */
  let again = () => {};
  let asked: { list: Probe[]; shown: number } = { list: [], shown: 0 };
  const isNarrow = () => field.clientWidth > 0 && field.clientWidth < 420;
  const probes = s("g", { class: "probes" });
  const pointer = s("rect", { class: "cursor", width: PITCH, height: PITCH, rx: 2 });
  const lit = s("rect", { class: "cursor", width: PITCH + 4, height: PITCH + 4, rx: 3 });

  const point = (cell: number) => {
    cursor = Math.max(0, Math.min(geometry.cells - 1, cell));
    const [x, y] = place(geometry, cursor);
    pointer.setAttribute("x", String(x - PITCH / 2));
    pointer.setAttribute("y", String(y - PITCH / 2));
    pointer.setAttribute("class", "cursor shown");
    told.textContent = describe(cursor);
  };
  field.addEventListener("keydown", (event) => {
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -geometry.columns,
      ArrowDown: geometry.columns,
    };
    const step = steps[event.key];
    if (step !== undefined && cursor >= 0 && cursor + step >= 0 && cursor + step < geometry.cells)
      point(cursor + step);
    else if (step !== undefined && cursor < 0) point(0);
    else if (event.key === "Home") point(0);
    else if (event.key === "End") point(geometry.cells - 1);
    else if (step === undefined) return;
    event.preventDefault();
  });
  field.addEventListener("click", (event) => {
    const { clientX, clientY } = event;
    const near = squares.findIndex((square) => {
      const box = square.getBoundingClientRect();
      const half = (PITCH / 2) * (field.clientWidth / Math.max(1, geometry.columns * PITCH + 20));
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      return Math.abs(clientX - x) <= half && Math.abs(clientY - y) <= half;
    });
    if (near >= 0) point(near);
  });

  const lines = () => {
    const parts: SVGElement[] = [];
    for (let first = 0; geometry.block > 0 && first < geometry.cells; first += geometry.block) {
      const [x, y] = place(geometry, first);
      parts.push(
        s("rect", {
          class: "block",
          x: x - PITCH / 2 - 2,
          y: y - PITCH / 2 - 2,
          width: geometry.columns * PITCH + 4,
          height: (geometry.block / geometry.columns) * PITCH + 4,
          rx: 3,
        }),
      );
    }
    return parts;
  };

  new ResizeObserver(() => {
    if (isNarrow() !== narrow) again();
  }).observe(field);

  const drawings: Grid = {
    element,
    shape(cells, blocks, counters) {
      again = () => {
        const [shown, changed] = [values, fresh];
        drawings.shape(cells, blocks, counters);
        drawings.update(shown, changed);
        drawings.probe(asked.list, asked.shown);
      };
      narrow = isNarrow();
      counting = counters && cells <= BLOCK;
      const columns = columnsFor(cells, narrow, counting);
      // Numbers of every other row, where cells are small.
      const isSmall = columns > (narrow ? 16 : 32);
      const size = isSmall ? 11 : 7;
      const left = cells <= 16 ? MARGIN : 2 * MARGIN + 0.6 * size * String(cells).length;
      geometry = { cells, columns, left, block: blocks ? BLOCK : 0 };
      const [, lastY] = place(geometry, cells - 1);
      const width = left + columns * PITCH + MARGIN;
      squares = [];
      numbers = [];
      values = new Uint8Array(cells);
      fresh = new Set();
      const all: SVGElement[] = [];
      for (let cell = 0; cell < cells; cell++) {
        const [x, y] = place(geometry, cell);
        const square = s("path", {});
        drawCell(square, 0, false, [x, y]);
        squares.push(square);
        all.push(square);
        const row = cell / columns;
        if (cells <= 16) all.push(s("text", { class: "index", x, y: y + 15 }, cell));
        else if (Number.isInteger(isSmall ? row / 2 : row))
          all.push(
            s(
              "text",
              {
                class: isSmall ? "row-index large" : "row-index",
                x: left - 3,
                y: y + size / 3,
              },
              cell,
            ),
          );
        if (counting) {
          const number = s("text", { class: "count", x, y: y + 3, "text-anchor": "middle" });
          numbers.push(number);
          all.push(number);
        }
      }
      cursor = -1;
      pointer.setAttribute("class", "cursor");
      const drawing = s(
        "svg",
        {
          viewBox: `0 ${-MARGIN - 6} ${width} ${lastY + PITCH + 2 * MARGIN + (cells <= 16 ? 10 : 2)}`,
          "aria-hidden": "true",
        },
        ...lines(),
        ...all,
        probes,
        pointer,
        lit,
      );
      drawing.setAttribute("class", cells <= 64 ? "few" : cells <= 256 ? "some" : "many");
      replace(field, drawing);
      field.setAttribute("aria-label", `${cells} cells. Arrow keys move.`);
    },
    update(next, changed) {
      for (let cell = 0; cell < next.length; cell++) {
        const square = squares[cell]!;
        const value = next[cell]!;
        const isFresh = changed.has(cell) && value > 0;
        if (value === values[cell] && isFresh === fresh.has(cell)) continue;
        drawCell(square, value, isFresh && !counting, place(geometry, cell));
        square.classList.toggle("fresh", isFresh);
        if (counting) numbers[cell]!.textContent = value > 0 ? String(value) : "";
      }
      fresh = new Set([...changed].filter((cell) => (next[cell] ?? 0) > 0));
      values = next.slice();
      if (cursor >= 0) told.textContent = describe(cursor);
    },
    probe(list, shown) {
      asked = { list, shown };
      // Several probes of one cell share a mark: "1 3".
      const orders = new Map<number, number[]>();
      list.forEach(({ cell }, i) => {
        if (i < shown) orders.set(cell, [...(orders.get(cell) ?? []), i + 1]);
      });
      const scale = geometry.columns > (narrow ? 16 : 32) ? 1.8 : 1;
      const marks = [...orders].map(([cell, order]) => {
        const text = order.length > 3 ? `${order[0]}…${order.at(-1)}` : order.join(" ");
        const drawn = mark(list[order[0]! - 1]!, text, place(geometry, cell), scale, geometry);
        for (const part of drawn) part.style.setProperty("--turn", String(order[0]! - 1));
        return drawn;
      });
      // No ring or cross covers a number.
      replace(probes, ...marks.map(([shape]) => shape), ...marks.map(([, order]) => order));
    },
    light(cell) {
      const [x, y] = cell === undefined ? [0, 0] : place(geometry, cell);
      lit.setAttribute("x", String(x - PITCH / 2 - 2));
      lit.setAttribute("y", String(y - PITCH / 2 - 2));
      lit.setAttribute("class", cell === undefined ? "cursor" : "cursor shown");
    },
  };
  return drawings;
}
