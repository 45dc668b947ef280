// SPDX-License-Identifier: Apache-2.0
// How the numbers act on each other: the rate over k, and over the bits for each key, of one flat array.
// The exact rate is drawn beside the textbook's (1 - e^(-k n / m))^k, which is off for small filters. A
// handle under each chart reads both off at any place.

import { type Chart, chart, type Drawing } from "./chart";
import { field, h } from "./dom";
import { formatOdds } from "./curve-drawing";
import { type Engine, KIND } from "./engine";
import { formatBoth, formatCount, formatOneIn, formatPercent } from "./numbers";
import { classicRate, type Textbook } from "./textbook";

const PROBES_MOST = 64;
const LEAST = 1e-15;

interface Point {
  x: number;
  exact: number;
  textbook: number;
  probes: number;
}

class Curve {
  readonly element: HTMLElement;
  private readonly chart: Chart;
  private readonly handle = h("input", { type: "range", step: 1 });
  private readonly readout = h("p", { class: "curve-readout", "aria-live": "off" });
  private points: Point[] = [];
  private drawing: Omit<Drawing, "marks"> | undefined;
  private mark = (point: Point) => String(point.x);
  private best: Point | undefined;

  constructor(title: string, label: string) {
    this.chart = chart(field(label, this.handle), this.readout);
    this.element = h("div", { class: "calc-curve" }, h("h4", {}, title), this.chart.element);
    this.handle.addEventListener("input", () => this.show());
  }

  draw(
    points: Point[],
    at: number,
    drawing: Omit<Drawing, "marks" | "series">,
    mark: (point: Point) => string,
  ): void {
    this.points = points;
    this.mark = mark;
    this.best = points.reduce((least, point) => (point.exact < least.exact ? point : least));
    const line = (name: string, style: number, of: (point: Point) => number) => ({
      name,
      style,
      kind: "line" as const,
      points: points.map((point) => ({ x: point.x, y: of(point) })),
    });
    this.drawing = {
      ...drawing,
      series: [
        line("Exact", 0, ({ exact }) => exact),
        line("Textbook", 1, ({ textbook }) => textbook),
      ],
    };
    this.handle.max = String(points.length - 1);
    const nearest = points.reduce(
      (one, point, i) => (Math.abs(point.x - at) < Math.abs(points[one]!.x - at) ? i : one),
      0,
    );
    this.handle.value = String(nearest);
    this.show();
  }

  private show(): void {
    const point = this.points[Number(this.handle.value)];
    if (!point || !this.drawing) return;
    const { exact, textbook } = point;
    const off = Math.abs(textbook / exact - 1);
    const says =
      off < 0.005 ? "the textbook says the same" : `the textbook says ${formatOneIn(textbook)}`;
    this.readout.textContent = `${this.mark(point)}: ${formatBoth(exact)}; ${says}.`;
    this.handle.setAttribute("aria-valuetext", this.readout.textContent);
    const marks: Drawing["marks"] = [{ x: point.x, label: this.mark(point), style: "now" }];
    if (this.best && this.best.x !== point.x && this.best.x !== this.points.at(-1)!.x)
      marks.push({ x: this.best.x, label: `best: ${this.mark(this.best)}`, style: "limit" });
    this.chart.draw({ ...this.drawing, marks });
  }
}

/** From the highest rate of the points to the lowest, in whole powers of ten. */
function domainOf(points: Point[]): [number, number] {
  const rates = points.flatMap(({ exact, textbook }) => [exact, textbook]);
  const floor = Math.max(LEAST, Math.min(...rates));
  return [Math.min(0.1, 10 ** Math.floor(Math.log10(floor))), 1];
}

export class CurvesView {
  readonly element: HTMLElement;
  private readonly engine: Engine;
  private readonly overProbes = new Curve("The rate over k", "Move k");
  private readonly overBits = new Curve("The rate over bits per key", "Move the bits per key");
  private waiting = 0;

  constructor(engine: Engine) {
    this.engine = engine;
    this.element = h(
      "div",
      { class: "calc-curves" },
      this.overProbes.element,
      this.overBits.element,
    );
  }

  /** At rest: a drag elsewhere has the frames for itself. */
  draw(numbers: Textbook): void {
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => {
      this.probes(numbers);
      this.bits(numbers);
      this.element.dataset["done"] = `${numbers.keys} ${numbers.bits}`;
    }, 120);
    delete this.element.dataset["done"];
  }

  private exact(keys: number, bits: number, probes: number): number {
    const shape = { kind: KIND.classic, bits, probes, blocksPerKey: 0, cellBits: 1 };
    return this.engine.planRate(shape, keys);
  }

  private point(x: number, keys: number, bits: number, probes: number): Point {
    return {
      x,
      probes,
      exact: Math.max(Number.MIN_VALUE, this.exact(keys, bits, probes)),
      textbook: Math.max(Number.MIN_VALUE, classicRate(keys, bits, probes)),
    };
  }

  private probes({ keys, bits, probes }: Textbook): void {
    const best = Math.max(1, Math.round((bits / keys) * Math.LN2));
    const most = Math.min(PROBES_MOST, Math.max(12, 2 * best, probes + 2));
    const points = Array.from({ length: most }, (_, i) => this.point(i + 1, keys, bits, i + 1));
    const name = `${formatCount(keys)} keys in ${formatCount(bits)} bits`;
    this.overProbes.draw(
      points,
      Math.min(probes, most),
      {
        summary: `The false-positive rate of ${name} over k, from 1 to ${most}: exact, and by the textbook's formula.`,
        x: { label: "k, the bits that a key sets", domain: [1, most], format: String },
        y: {
          label: "False-positive rate",
          domain: domainOf(points),
          log: true,
          format: formatOdds,
        },
        table: {
          caption: `Rate over k, ${name}`,
          head: ["k", "Exact", "Textbook"],
          rows: points.map(({ x, exact, textbook }) => [
            x,
            formatPercent(exact),
            formatPercent(textbook),
          ]),
        },
      },
      ({ probes: k }) => `k = ${k}`,
    );
  }

  private bits({ keys, bits }: Textbook): void {
    const now = bits / keys;
    const most = Math.min(PROBES_MOST / Math.LN2, Math.max(20, Math.ceil(1.6 * now)));
    const steps = 60;
    const points = Array.from({ length: steps }, (_, i) => {
      const each = (most * (i + 1)) / steps;
      const all = Math.max(1, Math.round(each * keys));
      const best = Math.max(1, Math.floor((all / keys) * Math.LN2));
      const low = this.point(each, keys, all, best);
      const high = this.point(each, keys, all, best + 1);
      return high.exact < low.exact ? high : low;
    });
    this.overBits.draw(
      points,
      Math.min(now, most),
      {
        summary: `The false-positive rate of ${formatCount(keys)} keys over the bits for each, with the best k: exact, and by the textbook's formula.`,
        x: { label: "Bits per key", domain: [0, most], format: String },
        y: {
          label: "False-positive rate",
          domain: domainOf(points),
          log: true,
          format: formatOdds,
        },
        table: {
          caption: `Rate over bits per key, ${formatCount(keys)} keys`,
          head: ["Bits per key", "k", "Exact", "Textbook"],
          rows: points.map(({ x, probes, exact, textbook }) => [
            x.toFixed(2),
            probes,
            formatPercent(exact),
            formatPercent(textbook),
          ]),
        },
      },
      ({ x, probes }) => `${x.toFixed(1)} bits, k = ${probes}`,
    );
  }
}
