// SPDX-License-Identifier: Apache-2.0
// The load curve: the rate of planned filters against the number of their keys, in theory (lines) and
// measured by the worker (points).

import { chart } from "./chart";
import type { Context, Section } from "./context";
import { drawingOf, type Line, nowTable, SAMPLES, sentence } from "./curve-drawing";
import { type Candidate, type Memory, plan, shapes } from "./curve-filters";
import { Measurer, type Wanted } from "./curve-measure";
import {
  clamp,
  KEYS,
  leastKeys,
  measuredAt,
  QUERIES,
  RATE,
  readSettings,
  type Settings,
  writeSettings,
} from "./curve-settings";
import { choice, complain, field, h, replace, scrolling, table } from "./dom";
import { formatCount, formatRate, parseCount, parseRate } from "./numbers";
import type { How } from "./state";

/** How long settings must rest before they are measured. */
const REST = 300;
/** Places of each line while something is dragged, when a frame has 16 ms for all of it. */
const COARSE = 8;

const round = (value: number) => Number(value.toPrecision(2));

class Curve {
  private readonly context: Context;
  private settings: Settings;
  private candidates: Candidate[] = [];
  private refused = "";
  private planned = "";
  private near = false;
  private waiting = 0;
  private frame = 0;
  private announced = "";
  private readonly measurer: Measurer;

  private readonly keysBox = h("input", { type: "text", inputmode: "numeric", name: "keys" });
  private readonly keysSlider = h("input", { type: "range", min: 2, max: 6, step: 0.01 });
  private readonly rateBox = h("input", { type: "text", name: "rate" });
  private readonly rateSlider = h("input", {
    type: "range",
    min: -5,
    max: Math.log10(RATE.most).toFixed(2),
    step: 0.01,
  });
  private readonly queriesBox = h(
    "select",
    {},
    ...QUERIES.map((count) => h("option", { value: count }, formatCount(count))),
  );
  private readonly nowSlider = h("input", { type: "range", class: "curve-now" });
  private readonly nowOut = h("output", {});
  private readonly boxes = shapes.map((shape) => ({
    shape,
    input: h("input", { type: "checkbox", value: shape.id }),
  }));
  private readonly problem = h("p", { class: "curve-problem" });
  private readonly progress = h("p", { class: "curve-progress quiet-text" });
  private readonly told = scrolling("The filters with this number of keys", h("table"), true);
  private samples = COARSE;
  private readonly chart = chart(
    h("div", { class: "curve-slider" }, field("Keys now", this.nowSlider), this.nowOut),
  );
  private readonly memoryChoice = choice(
    "Memory of each filter",
    [
      { value: "same", label: "The same: what classic needs" },
      { value: "own", label: "What each filter needs" },
    ],
    (memory) => this.change({ memory: memory as Memory }),
  );
  private readonly viewChoice = choice(
    "Shown",
    [
      { value: "rate", label: "Rate" },
      { value: "fill", label: "Fill" },
    ],
    (view) => this.change({ view: view as Settings["view"] }),
  );
  private readonly xChoice = choice(
    "Axis of keys",
    [
      { value: "linear", label: "Linear" },
      { value: "log", label: "Logarithmic" },
    ],
    (x) => this.change({ x: x as Settings["x"] }),
  );

  constructor(host: HTMLElement, context: Context) {
    this.context = context;
    this.settings = readSettings(context.state.get);
    this.measurer = new Measurer(context.worker, () => this.drawSoon());
    host.append(this.layout());
    this.listen();
    context.state.onChange(() => {
      this.settings = readSettings(context.state.get);
      this.show();
    });
    this.show();
    // Draws at once, coarsely, because what is below would move; finely once the page is laid out.
    this.draw();
    // Measuring takes processor time, so it waits until the chart is nearly in view.
    const watcher = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        watcher.disconnect();
        this.near = true;
        this.measure();
      },
      { rootMargin: "300px" },
    );
    watcher.observe(host);
  }

  private layout(): HTMLElement {
    const filters = h(
      "fieldset",
      { class: "choice" },
      h("legend", {}, "Filters"),
      ...this.boxes.map(({ shape, input }) => {
        input.id = `curve-${shape.id}`;
        return h("label", { class: "pill", for: input.id }, input, h("span", {}, shape.label));
      }),
    );
    this.keysSlider.setAttribute("aria-label", "Planned keys, n, slider");
    this.rateSlider.setAttribute("aria-label", "Planned rate, p, slider");
    this.told.classList.add("curve-told");
    return h(
      "div",
      { class: "curve" },
      this.chart.element,
      h(
        "div",
        { class: "curve-plan" },
        h("div", {}, field("Planned keys, n", this.keysBox), this.keysSlider),
        h("div", {}, field("Planned rate, p", this.rateBox), this.rateSlider),
      ),
      this.problem,
      this.progress,
      h(
        "details",
        { class: "curve-more" },
        h("summary", {}, "More: which filters, fill, axis, accuracy"),
        h(
          "div",
          { class: "curve-views" },
          filters,
          this.viewChoice.element,
          this.memoryChoice.element,
          this.xChoice.element,
          field("Absent keys looked up at each point", this.queriesBox),
        ),
      ),
      this.told,
    );
  }

  private listen(): void {
    const text = (box: HTMLInputElement, read: () => Partial<Settings> | string) => {
      const act = (how: How) => {
        const change = read();
        const wrong = typeof change === "string";
        this.problem.textContent = wrong ? change : "";
        complain(box, wrong ? this.problem : undefined);
        if (wrong) this.context.announce(change);
        if (typeof change !== "string") this.change(change, how, box);
      };
      box.addEventListener("input", () => act("replace"));
      box.addEventListener("change", () => act("push"));
    };
    text(this.keysBox, () => this.readKeys());
    text(this.rateBox, () => this.readRate());
    const slide = (slider: HTMLInputElement, read: () => Partial<Settings>) => {
      slider.addEventListener("input", () => this.change(read(), "replace"));
      slider.addEventListener("change", () => this.change(read(), "push"));
    };
    slide(this.keysSlider, () => ({ n: clamp(round(10 ** +this.keysSlider.value), KEYS) }));
    slide(this.rateSlider, () => ({ rate: clamp(round(10 ** +this.rateSlider.value), RATE) }));
    slide(this.nowSlider, () => ({ now: +this.nowSlider.value }));
    this.queriesBox.addEventListener("change", () =>
      this.change({ queries: +this.queriesBox.value }),
    );
    for (const { input } of this.boxes)
      input.addEventListener("change", () =>
        this.change({
          shown: this.boxes.flatMap(({ shape, input }) => (input.checked ? [shape.id] : [])),
        }),
      );
  }

  private readKeys(): Partial<Settings> | string {
    const n = parseCount(this.keysBox.value);
    if (n === undefined || n < KEYS.least || n > KEYS.most)
      return `Planned keys must be a number from ${formatCount(KEYS.least)} to ${formatCount(KEYS.most)}.`;
    return { n };
  }

  private readRate(): Partial<Settings> | string {
    const rate = parseRate(this.rateBox.value);
    if (rate === undefined || rate < RATE.least || rate > RATE.most)
      return "The planned rate must be a number from 0.00001 to 0.3, such as 0.01, 1% or 1/1000.";
    return { rate };
  }

  // ---- Changes ----

  private change(change: Partial<Settings>, how: How = "push", typedIn?: HTMLInputElement): void {
    const now = "n" in change && change.n !== this.settings.n ? { now: undefined } : {};
    this.settings = { ...this.settings, ...now, ...change };
    this.context.state.set(writeSettings(this.settings), how);
    this.show(typedIn, how === "replace");
  }

  private now(): number {
    return this.settings.now ?? this.settings.n;
  }

  /** Puts the settings into the controls, but not into a box that is being typed in. */
  private show(typedIn?: HTMLInputElement, isDragged = false): void {
    const { n, rate, shown, queries } = this.settings;
    if (typedIn !== this.keysBox) this.keysBox.value = formatCount(n);
    if (typedIn !== this.rateBox) this.rateBox.value = String(rate);
    if (!typedIn) {
      this.problem.textContent = "";
      complain(this.keysBox, undefined);
      complain(this.rateBox, undefined);
    }
    this.keysSlider.value = String(Math.log10(n));
    this.keysSlider.setAttribute("aria-valuetext", `${formatCount(n)} keys`);
    this.rateSlider.value = String(Math.log10(rate));
    this.rateSlider.setAttribute("aria-valuetext", formatRate(rate));
    this.queriesBox.value = String(queries);
    for (const { shape, input } of this.boxes) input.checked = shown.includes(shape.id);
    this.memoryChoice.set(this.settings.memory);
    this.viewChoice.set(this.settings.view);
    this.xChoice.set(this.settings.x);
    this.nowSlider.min = String(leastKeys(this.settings));
    this.nowSlider.max = String(2 * n);
    this.nowSlider.step = "1";
    this.nowSlider.value = String(this.now());
    this.nowSlider.setAttribute("aria-valuetext", `${formatCount(this.now())} keys`);
    this.nowOut.textContent = `${formatCount(this.now())} keys`;
    this.plan(isDragged);
    this.samples = COARSE;
    this.drawSoon();
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => {
      this.plan();
      this.samples = SAMPLES;
      this.drawSoon();
      this.measure();
    }, REST);
  }

  /** Plans the filters anew, if what they depend on has changed. While something is dragged the blocked ones
   * keep their probes, and get the best number when it rests. */
  private plan(isDragged = false): void {
    const { n, rate, memory, shown } = this.settings;
    const planned = JSON.stringify([n, rate, memory, shown, isDragged]);
    if (planned === this.planned) return;
    this.planned = planned;
    const kept = new Map(this.candidates.map(({ shape, probes }) => [shape.id, probes]));
    this.candidates.forEach((candidate) => candidate.free());
    this.candidates = [];
    this.refused = "";
    const { engine } = this.context;
    for (const shape of shapes.filter(({ id }) => shown.includes(id)))
      try {
        this.candidates.push(
          plan(engine, shape, n, rate, memory, isDragged ? kept.get(shape.id) : undefined),
        );
      } catch (error) {
        this.refused = `${shape.label}: ${error instanceof Error ? error.message : String(error)}`;
      }
  }

  private wanted(candidate: Candidate): Wanted {
    return {
      filter: candidate.spec,
      at: measuredAt(this.settings),
      queries: this.settings.queries,
    };
  }

  private measure(): void {
    if (!this.near) return;
    this.measurer.want(this.candidates.map((candidate) => this.wanted(candidate)));
  }

  // ---- Drawing ----

  private drawSoon(): void {
    if (this.frame === 0)
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.draw();
      });
  }

  private draw(): void {
    const lines: Line[] = this.candidates.map((candidate) => ({
      candidate,
      points: this.measurer.points(this.wanted(candidate)),
    }));
    this.chart.draw(drawingOf(lines, this.settings, this.now(), this.samples));
    const all = lines.length * measuredAt(this.settings).length;
    const measured = lines.reduce((sum, { points }) => sum + points.length, 0);
    this.progress.textContent = this.progressText(measured, all);
    const { caption, head, rows } = nowTable(lines, this.settings.n, this.now());
    replace(this.told, table(caption, head, rows));
    this.announce(lines, measured === all);
  }

  private progressText(measured: number, all: number): string {
    const problem = this.measurer.problem || this.refused;
    if (problem) return problem;
    if (all === 0) return "Choose a filter.";
    const { rate, queries } = this.settings;
    const few =
      rate * queries < 30
        ? " At the planned rate these queries give few false positives: query more absent keys for narrower intervals."
        : "";
    return `Measured ${measured} of ${all} points.${few}`;
  }

  private announce(lines: Line[], done: boolean): void {
    const first = lines[0];
    if (!done || !first) return;
    const text = sentence(first, this.now());
    if (text !== this.announced) this.context.announce(text);
    this.announced = text;
  }
}

export const curve: Section = (host, context) => {
  new Curve(host, context);
};
