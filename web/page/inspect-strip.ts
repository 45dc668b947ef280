// SPDX-License-Identifier: Apache-2.0
// The heat strip: how full the parts of a layer are, as columns, and where a key's cells lie.

import { h, replace, s, scrolling, table } from "./dom";
import type { Info } from "./engine";
import { formatCount, formatRate } from "./numbers";

export const PARTS = 256;
const WIDTH = 768;
const HEIGHT = 100;
const BELOW = 12;

export interface Strip {
  element: HTMLElement;
  /** Draws a layer by the fill of its parts. */
  show(fill: number[], info: Info, layer: number): void;
  /** Marks cells of that layer. */
  mark(cells: number[]): void;
}

function describe(fill: number[]): string {
  const mean = fill.reduce((sum, part) => sum + part, 0) / fill.length;
  // A loop: an array of arguments has a limit.
  const least = fill.reduce((a, b) => Math.min(a, b), 1);
  const most = fill.reduce((a, b) => Math.max(a, b), 0);
  const parts = fill.length === 1 ? "1 part" : `${fill.length} equal parts`;
  return (
    `Fill of ${parts}, from the first cell to the last: least ${formatRate(least)}, ` +
    `mean ${formatRate(mean)}, most ${formatRate(most)}. The dashed line is one half.`
  );
}

function columns(fill: number[]): SVGElement[] {
  const width = WIDTH / fill.length;
  return fill.map((part, i) =>
    s("rect", {
      class: "inspect-part",
      x: (i * width).toFixed(2),
      y: (HEIGHT * (1 - part)).toFixed(2),
      width: width.toFixed(2),
      height: (HEIGHT * part).toFixed(2),
    }),
  );
}

export function strip(): Strip {
  const words = h("p", { class: "inspect-fill" });
  const box = h("div", { class: "inspect-strip" });
  const holder = h("div");
  const numbers = h(
    "details",
    { class: "numbers" },
    h("summary", {}, "The fill as a table"),
    holder,
  );
  const marks = s("g", { class: "inspect-marks" });
  let fill: number[] = [];
  let cells = 0;
  const drawTable = () => {
    if (!numbers.open) return;
    const start = (i: number) => Math.floor((cells * i) / fill.length);
    const rows = fill.map((part, i) => [
      `${formatCount(start(i))} to ${formatCount(start(i + 1) - 1)}`,
      formatRate(part),
    ]);
    replace(
      holder,
      scrolling("Fill of each part", table("Fill of each part", ["Cells, about", "Fill"], rows)),
    );
  };
  numbers.addEventListener("toggle", drawTable);
  return {
    element: h("div", {}, words, box, numbers),
    show(now, info, layer) {
      fill = now;
      cells = info.layerList[layer - info.firstLayer]?.bits ?? info.bits;
      words.textContent = describe(fill);
      marks.replaceChildren();
      replace(
        box,
        s(
          "svg",
          {
            viewBox: `0 0 ${WIDTH} ${HEIGHT + BELOW}`,
            preserveAspectRatio: "none",
            role: "img",
            "aria-label": words.textContent,
          },
          ...columns(fill),
          s("path", { class: "inspect-floor", d: `M0,${HEIGHT}H${WIDTH}` }),
          s("path", { class: "inspect-half", d: `M0,${HEIGHT / 2}H${WIDTH}` }),
          marks,
        ),
      );
      drawTable();
    },
    mark(positions) {
      marks.replaceChildren(
        ...positions.map((position) => {
          const x = (((position + 0.5) / Math.max(1, cells)) * WIDTH).toFixed(1);
          return s("path", { d: `M${x},${HEIGHT}V${HEIGHT + BELOW}` });
        }),
      );
    },
  };
}
