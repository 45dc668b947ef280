// SPDX-License-Identifier: Apache-2.0
// The same keys in a classic, a blocked and a split block filter of the same size, beside each other. A filter
// of 2,048 bits can be drawn, but its rate depends on its keys; so a filter of a million bits that is as full
// is measured with keys that were never added.

import type { Context } from "./context";
import { field, h, replace, s, scrolling, table } from "./dom";
import type { Engine, Filter } from "./engine";
import { ABSENT, interval, make, type MeasureJob } from "./measure";
import { formatCount, formatRate } from "./numbers";
import type { How } from "./state";

const BITS = 2048;
const BLOCK = 512;
const PROBES = 8;
const MOST = 500;
const START = 170;
/** The filter that is measured is 512 times larger. */
const LARGER = 512;
const QUERIES = 200_000;
const REST = 200;
const COLUMNS = 64;

interface Layout {
  name: string;
  about: string;
  filter: (bits: number) => MeasureJob["filter"];
  /** Bits of a block that is outlined. */
  block: number;
  reads: string;
}

const layouts: Layout[] = [
  {
    name: "Classic",
    about: "8 bits anywhere",
    filter: (bits) => ({ kind: "classic", bits, probes: PROBES }),
    block: BITS,
    reads: "8 bits, here in up to 4 cache lines",
  },
  {
    name: "Blocked",
    about: "8 bits in a block of 512",
    filter: (bits) => ({ kind: "blocked", bits, probes: PROBES, blocksPerKey: 1 }),
    block: BLOCK,
    reads: "1 cache line",
  },
  {
    name: "Split block",
    about: "8 bits in a block of 256",
    filter: (bits) => ({ dialect: "parquet", given: { variant: "raw" }, zeros: bits / 8 }),
    block: BLOCK / 2,
    reads: "half a cache line",
  },
];

function using<T>(engine: Engine, layout: Layout, bits: number, read: (filter: Filter) => T): T {
  const filter = make(engine, layout.filter(bits));
  try {
    return read(filter);
  } finally {
    filter.free();
  }
}

/** False positives of the larger filter. */
function measure(engine: Engine, layout: Layout, keys: number): number {
  return using(engine, layout, BITS * LARGER, (filter) => {
    filter.addNumbers(0, keys * LARGER);
    return filter.countNumbers(ABSENT, QUERIES);
  });
}

/** Dots of 0, squares of 1, and an outline for each block. */
function drawing({ name, block }: Layout, cells: Uint8Array): SVGElement {
  const rows = BITS / COLUMNS;
  const count = BITS / block;
  // All drawings are as high as the one with the most gaps.
  const pitch = 1 + (7 - (count - 1)) / rows;
  const top = (row: number) => row * pitch + Math.floor((row * COLUMNS) / block);
  let dots = "";
  let squares = "";
  cells.forEach((value, cell) => {
    const x = cell % COLUMNS;
    const y = top(Math.floor(cell / COLUMNS)).toFixed(2);
    if (value) squares += `M${x}.1,${y}h.8v.8h-.8z`;
    else dots += `M${x}.36,${y}m0,.26h.28v.28h-.28z`;
  });
  const outlines = Array.from({ length: count }, (_, i) => {
    const y = top((i * block) / COLUMNS);
    const height = ((block / COLUMNS) * pitch + 0.5).toFixed(2);
    return s("rect", {
      class: "line-of-cache",
      x: -0.4,
      y: (y - 0.35).toFixed(2),
      width: COLUMNS + 0.8,
      height,
      rx: 0.5,
    });
  });
  return s(
    "svg",
    {
      viewBox: `-1 -1 ${COLUMNS + 2} ${rows + 9}`,
      role: "img",
      "aria-label": `${name}: the bits of the filter`,
    },
    ...outlines,
    s("path", { class: "dots", d: dots }),
    s("path", { class: "squares", d: squares }),
  );
}

export function compare(host: HTMLElement, { engine, state }: Context): void {
  const slider = h("input", { type: "range", min: 0, max: MOST, step: 1 });
  const out = h("output", {});
  const pictures = layouts.map(() => h("div", { class: "compare-picture" }));
  const numbers = h("div");
  let seen: string | undefined;
  let waiting = 0;
  let near = false;
  const read = () => {
    const keys = Math.trunc(Number(state.get("same") ?? START));
    return keys >= 0 && keys <= MOST ? keys : START;
  };
  const show = () => {
    const keys = read();
    seen = state.get("same");
    slider.value = String(keys);
    slider.setAttribute("aria-valuetext", `${keys} keys`);
    out.textContent = `${keys} keys`;
    const rows = layouts.map((layout, i) =>
      using(engine, layout, BITS, (filter) => {
        filter.addNumbers(0, keys);
        replace(pictures[i]!, drawing(layout, filter.cells(0, 0, BITS)));
        return [
          layout.name,
          formatRate(filter.info(true).fill),
          formatRate(filter.expectedRate(keys)),
          "…",
          "…",
          layout.reads,
        ];
      }),
    );
    const list = table(
      `With ${keys} keys. Measured: a filter of ${formatCount(BITS * LARGER)} bits, as full, with ${formatCount(QUERIES)} keys that were never added.`,
      [
        "Layout",
        "Bits that are 1",
        "Expected error rate",
        "Measured",
        "95% interval",
        "A lookup reads",
      ],
      rows,
    );
    replace(numbers, scrolling("The three layouts", list, true));
    clearTimeout(waiting);
    if (near) waiting = window.setTimeout(() => fillIn(list, keys), REST);
  };
  /** The measured columns, when the slider rests. */
  const fillIn = (list: HTMLTableElement, keys: number) => {
    layouts.forEach((layout, i) => {
      const found = measure(engine, layout, keys);
      const [low, high] = interval(found, QUERIES);
      const cells = list.tBodies[0]!.rows[i]!.cells;
      cells[3]!.textContent = found === 0 ? "none found" : formatRate(found / QUERIES);
      cells[4]!.textContent =
        found === 0 ? `under ${formatRate(high)}` : `${formatRate(low)} to ${formatRate(high)}`;
    });
  };
  const change = (how: How) => {
    state.set({ same: slider.value === String(START) ? undefined : slider.value }, how);
    show();
  };
  slider.addEventListener("input", () => change("replace"));
  slider.addEventListener("change", () => change("push"));
  state.onChange(() => {
    if (state.get("same") !== seen) show();
  });
  host.append(
    h("h3", { id: "layouts" }, "The same keys in three layouts"),
    h(
      "p",
      {},
      "Three filters of 2,048 bits with the same keys. All have about as many bits set. But some " +
        "blocks are fuller than others, so the error rate is a little higher: that is the price of reading only one cache line.",
    ),
    h("div", { class: "curve-slider" }, field("Keys in each", slider), out),
    h(
      "div",
      { class: "compare" },
      ...layouts.map(({ name, about }, i) =>
        h("figure", {}, h("figcaption", {}, h("strong", {}, name), about), pictures[i]!),
      ),
    ),
    numbers,
  );
  show();
  // What is not looked at is not measured.
  new IntersectionObserver((entries, watcher) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    watcher.disconnect();
    near = true;
    show();
  }).observe(host);
}
