// SPDX-License-Identifier: Apache-2.0
// The calculator: two of keys, rate and memory are given, the library plans the third, for every kind.

import { AnswerView } from "./calculator-answer";
import { commandOf, cOf, pythonOf } from "./calculator-code";
import { CurvesView } from "./calculator-curves";
import { drawFacts, drawKinds, drawTextbook, sentenceOf } from "./calculator-results";
import {
  addressOf,
  type Asked,
  computedOf,
  defaults,
  edit,
  fromAddress,
  fromLink,
  type Quantity,
  requestOf,
  quoted,
  takesBlocks,
  takesProbes,
  type Trouble,
} from "./calculator-state";
import type { Context, Section } from "./context";
import { choice, complain, copyButton, field, freshId, h, replace } from "./dom";
import { type KindName, type Plan, type PlanRequest, Refusal } from "./engine";
import {
  formatBytes,
  formatCount,
  formatOneIn,
  parseBytes,
  parseCount,
  parseRate,
  readable,
  whyNoCount,
} from "./numbers";
import type { How } from "./state";
import { SystemsView } from "./systems";

/** A logarithmic slider: its steps, and the text of the box at a step. */
interface Scale {
  first: number;
  last: number;
  at: (value: number) => number;
  text: (step: number) => string;
  say: (value: number) => string;
  read: (text: string) => number | undefined;
}

const digits = (value: number): string => String(Number(value.toPrecision(3)));

const scales: Record<Quantity, Scale> = {
  n: {
    first: 0,
    last: 1200,
    at: (value) => 100 * Math.log10(value),
    text: (step) => String(Math.round(Number((10 ** (step / 100)).toPrecision(3)))),
    say: (value) => `${formatCount(value)} keys`,
    read: parseCount,
  },
  p: {
    first: -1200,
    last: -30,
    at: (value) => 100 * Math.log10(value),
    text: (step) => (step === -30 ? "0.5" : digits(10 ** (step / 100))),
    say: (value) => formatOneIn(value),
    read: parseRate,
  },
  m: {
    first: 48,
    last: 368,
    at: (value) => 8 * Math.log2(value),
    text: (step) => memoryText(2 ** (step / 8)),
    say: (value) => formatBytes(value),
    read: parseBytes,
  },
};

/** "1.25MiB": short, and read back by the box. */
function memoryText(bytes: number): string {
  return formatBytes(bytes)
    .replace(/[ ,]/g, "")
    .replace(/bytes?/, "B");
}

/** Bare digits get separators, and units a space, where nobody is typing. */
function pretty(name: Quantity, text: string): string {
  if (name === "m") return text.replace(/^([0-9.]+)([a-z]+)$/i, "$1 $2");
  return name === "n" && /^[0-9]{1,15}$/.test(text) ? formatCount(Number(text)) : text;
}

/** The library's sentences begin small and have no full stop. */
function asSentence(text: string): string {
  const sentence = readable(text);
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

const labels: Record<Quantity, [string, string]> = {
  n: ["Keys (n)", "1000000, 1e6, 20 million"],
  p: ["Rate (p)", "0.01, 1%, 1e-6, 1 in 1000"],
  m: ["Memory (m)", "64KiB, 18 MB, 18 Mbit; a bare number is bits"],
};

interface Row {
  box: HTMLInputElement;
  slider: HTMLInputElement;
  badge: HTMLElement;
  element: HTMLElement;
}

function textBox(): HTMLInputElement {
  return h("input", { type: "text", autocomplete: "off", spellcheck: "false", maxlength: 60 });
}

const block = (title: string, ...children: HTMLElement[]): HTMLElement =>
  h("div", { class: "calc-block" }, h("h3", {}, title), ...children);

class Calculator {
  private asked: Asked = defaults();
  /** The state that the address had when a decision was last made: dragging replaces it, and letting
   * go puts it back before the new one is pushed. */
  private committed: Asked | undefined;
  private plan: Plan | undefined;
  private waiting = 0;
  private started = false;
  private readonly rows: Record<Quantity, Row>;
  private readonly kinds = choice(
    "Kind",
    (["blocked", "classic", "counting", "scalable", "static"] as const).map((kind) => ({
      value: kind,
      label: `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
    })),
    (kind) => this.chooseKind(kind as KindName),
  );
  private readonly k = textBox();
  private readonly L = h(
    "select",
    {},
    h("option", { value: "" }, "chosen by the plan"),
    ...["1", "2", "3", "4"].map((value) => h("option", { value }, value)),
  );
  private readonly q = textBox();
  private readonly says = h("p", { class: "calc-says", id: freshId("says") });
  private readonly notes = h("ul", { class: "calc-notes" });
  private readonly facts = h("dl", { class: "calc-facts" });
  private readonly table = h("div", { class: "calc-kinds" });
  private readonly textbook = h("div", { class: "calc-textbook" });
  private readonly command = h("pre", { tabindex: 0, role: "group", "aria-label": "Command line" });
  private readonly remark = h("p", { class: "hint calc-remark" });
  private readonly code = h("pre", {
    class: "program",
    tabindex: 0,
    role: "group",
    "aria-label": "C program",
  });
  private readonly python = h("pre", {
    class: "program",
    tabindex: 0,
    role: "group",
    "aria-label": "Python program",
  });
  private readonly answer: AnswerView;
  private readonly systems: SystemsView;
  private readonly curves: CurvesView;
  private readonly results: HTMLElement;
  private readonly more: HTMLElement;
  /** What the textbook's numbers are for: not seen before there are some. */
  private readonly answered: HTMLElement[];
  private readonly context: Context;

  constructor(host: HTMLElement, context: Context) {
    this.context = context;
    this.answer = new AnswerView(context.engine);
    this.systems = new SystemsView(context.engine);
    this.curves = new CurvesView(context.engine);
    this.rows = { n: this.row("n"), p: this.row("p"), m: this.row("m") };
    this.small();
    this.results = h("div", { class: "calc-results" }, this.facts);
    this.more = this.moreElement();
    this.answered = [
      this.answer.element,
      block(
        "What will your system do?",
        h(
          "p",
          {},
          "With the same keys and rate, this is the filter that each system builds, its real false-positive rate, and the line to write. “As wanted” is within 5%.",
        ),
        this.systems.element,
      ),
      block("What k and memory do to the rate", this.curves.element),
    ];
    for (const part of this.answered) part.hidden = true;
    const [answer, ...below] = this.answered;
    host.append(
      h("div", { class: "calc-asked" }, answer!, this.notes, this.controls(), this.says),
      this.results,
      ...below,
      this.more,
    );
    context.state.onChange(() => this.restore());
    this.restore();
  }

  private row(name: Quantity): Row {
    const [label, hint] = labels[name];
    const { first, last } = scales[name];
    const box = textBox();
    const slider = h("input", {
      type: "range",
      min: first,
      max: last,
      step: 1,
      "aria-label": `${label}, slider`,
    });
    const badge = h("span", { class: "badge" });
    const element = field(label, box, hint);
    element.querySelector("label")!.append(" ", badge);
    box.after(slider);
    box.addEventListener("input", () => this.change(name, box.value, box));
    box.addEventListener("change", () => this.commit());
    slider.addEventListener("input", () =>
      this.change(name, scales[name].text(Number(slider.value)), slider),
    );
    slider.addEventListener("change", () => this.commit(slider));
    return { box, slider, badge, element };
  }

  /** The boxes without sliders. */
  private small(): void {
    const listen = (box: HTMLInputElement | HTMLSelectElement, name: "k" | "L" | "q") => {
      box.addEventListener("input", () => {
        this.asked[name] = box.value;
        this.update("replace", box);
      });
      box.addEventListener("change", () => this.commit());
    };
    listen(this.k, "k");
    listen(this.L, "L");
    listen(this.q, "q");
  }

  private controls(): HTMLElement {
    return h(
      "div",
      { class: "calc-controls" },
      this.kinds.element,
      h(
        "div",
        { class: "calc-three" },
        this.rows.n.element,
        this.rows.p.element,
        this.rows.m.element,
      ),
      h(
        "div",
        { class: "calc-small" },
        field("Probes (k)", this.k, "leave empty for the best k"),
        field("Blocks per key (L)", this.L, "for blocked, counting and scalable filters"),
        field("Absent keys looked up per second", this.q, "shows false positives per day"),
      ),
    );
  }

  private moreElement(): HTMLElement {
    return h(
      "div",
      { class: "calc-results" },
      block(
        "All kinds",
        this.table,
        h(
          "p",
          { class: "hint" },
          "Cache lines: how many a lookup reads on average. Your k and L apply only to the chosen kind.",
        ),
      ),
      block("Compared with the textbook", this.textbook),
      block(
        "The command",
        this.command,
        this.remark,
        copyButton("the command", () => this.command.textContent ?? ""),
      ),
      block(
        "C code",
        this.code,
        copyButton("C code", () => this.code.textContent ?? ""),
      ),
      block(
        "Python code",
        this.python,
        copyButton("Python code", () => this.python.textContent ?? ""),
      ),
    );
  }

  /** From the address; else from a link's query string; else the defaults. */
  private restore(): void {
    const address = fromAddress(this.context.state);
    const link = address ? undefined : fromLink(location.search);
    this.asked = address ?? link?.asked ?? defaults();
    // Sentences about a link stay while the page does: taking them away would move everything.
    if (link) {
      replace(this.notes, ...link.notes.map((note) => h("li", {}, note)));
      // A note about a value that was read otherwise, or not at all, comes before the answer.
      const isOff = link.notes.some((note) => note.startsWith("The link has "));
      this.answer.element[isOff ? "before" : "after"](this.notes);
    }
    this.committed = structuredClone(this.asked);
    this.show();
  }

  private change(name: Quantity, text: string, source: HTMLElement): void {
    edit(this.asked, name, text);
    this.update("replace", source);
  }

  /** A scalable filter is planned by keys and rate alone. */
  private chooseKind(kind: KindName): void {
    if (kind === "scalable" && this.asked.given.includes("m") && this.plan) {
      this.asked.text.n = String(this.plan.plannedKeys);
      if (!this.asked.given.includes("p")) this.asked.text.p = digits(this.plan.plannedRate);
      this.asked.given = ["p", "n"];
    }
    this.asked.kind = kind;
    this.commit();
  }

  private write(asked: Asked, how: How): void {
    this.context.state.set(addressOf(asked), how);
  }

  private update(how: How, source?: HTMLElement): void {
    this.write(this.asked, how);
    this.show(source);
  }

  /** A decision: "back" leads to the one before. */
  private commit(source?: HTMLElement): void {
    const before = this.committed;
    this.committed = structuredClone(this.asked);
    if (before && JSON.stringify(addressOf(before)) === JSON.stringify(addressOf(this.asked)))
      return this.show(source);
    if (before) this.write(before, "replace");
    this.update("push", source);
  }

  /** Draws everything but the control that is being moved or typed into. */
  private show(source?: HTMLElement): void {
    const request = requestOf(this.asked);
    let trouble: Trouble | undefined;
    let plan: Plan | undefined;
    if ("sentence" in request) trouble = request;
    else
      try {
        plan = this.context.engine.plan(request);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        trouble = { box: this.refused(request), sentence: asSentence(error.message) };
      }
    const queries = parseCount(this.asked.q);
    if (plan && queries === undefined && this.asked.q.trim() !== "")
      trouble = {
        box: "q",
        sentence: `The box of lookups has ${quoted(this.asked.q)}. ${whyNoCount(this.asked.q, "lookups") ?? "It takes a number of at least 1, or nothing."}`,
      };
    this.plan = plan ?? this.plan;
    this.kinds.set(this.asked.kind);
    this.drawAnswer("sentence" in request ? undefined : request, plan);
    this.drawThree(plan, source);
    this.drawSmall(source);
    this.drawTrouble(trouble);
    this.drawSays(plan, trouble);
    const dragged = source instanceof HTMLInputElement && source.type === "range";
    if (plan) this.drawResults(plan, request as PlanRequest, queries, dragged);
  }

  /** The textbook's numbers are there for any rate, also where the library refuses. */
  private drawAnswer(request: PlanRequest | undefined, plan: Plan | undefined): void {
    const numbers = this.answer.draw({ asked: this.asked, request, plan });
    if (!numbers) return;
    for (const part of this.answered) part.hidden = false;
    const rate = request?.rate ?? numbers.rate;
    this.systems.draw({ keys: numbers.keys, rate });
    this.curves.draw(numbers);
  }

  /** The box that a refusal is about: k or L, if a plan exists without it; else a number that has no plan beside a
   * usual one either; else the one that was given last. */
  private refused(request: PlanRequest): Trouble["box"] {
    for (const [box, name] of [
      ["k", "probes"],
      ["L", "blocksPerKey"],
    ] as const)
      if (request[name] !== undefined)
        try {
          this.context.engine.plan({ ...request, [name]: undefined });
          return box;
        } catch {
          continue;
        }
    const { kind, keys, rate, bytes } = request;
    const alone: Record<Quantity, PlanRequest> = {
      n: { kind, keys, rate: 0.01 },
      p: { kind, keys: 1000, rate },
      m: { kind, bytes, rate: 0.01 },
    };
    const last = this.asked.given[1];
    return (
      [last, this.asked.given[0]].find((name) => {
        try {
          this.context.engine.plan(alone[name]);
          return false;
        } catch {
          return true;
        }
      }) ?? last
    );
  }

  private drawThree(plan: Plan | undefined, source: HTMLElement | undefined): void {
    const { text } = this.asked;
    const computed = computedOf(this.asked);
    const values = plan && { n: plan.plannedKeys, p: plan.plannedRate, m: plan.plannedBytes };
    if (computed === "n") text.n = values ? String(values.n) : "";
    if (computed === "p") text.p = values ? digits(values.p) : "";
    if (computed === "m") text.m = values ? memoryText(values.m) : "";
    for (const name of ["n", "p", "m"] as const) {
      const { box, slider, badge, element } = this.rows[name];
      if (box !== source) box.value = pretty(name, text[name]);
      badge.textContent = name === computed ? "computed" : "given";
      element.classList.toggle("computed", name === computed);
      const value = name === computed ? values?.[name] : scales[name].read(text[name]);
      if (value === undefined) continue;
      // A step of the slider may be less than a whole key: it must not be put back while it moves.
      if (slider !== source) slider.value = String(Math.round(scales[name].at(value)));
      slider.setAttribute("aria-valuetext", scales[name].say(value));
    }
    const noMemory = this.asked.kind === "scalable" && computed === "m";
    this.rows.m.box.readOnly = noMemory;
    this.rows.m.slider.disabled = noMemory;
  }

  private drawSmall(source: HTMLElement | undefined): void {
    for (const name of ["k", "L", "q"] as const)
      if (this[name] !== source) this[name].value = this.asked[name];
    this.k.disabled = !takesProbes(this.asked.kind);
    this.L.disabled = !takesBlocks(this.asked.kind);
  }

  private drawTrouble(trouble: Trouble | undefined): void {
    const { n, p, m } = this.rows;
    const boxes = { n: n.box, p: p.box, m: m.box, k: this.k, L: this.L, q: this.q };
    for (const [name, box] of Object.entries(boxes))
      complain(box, name === trouble?.box ? this.says : undefined);
  }

  private drawSays(plan: Plan | undefined, trouble: Trouble | undefined): void {
    const text = trouble?.sentence ?? sentenceOf(this.asked.kind, plan!);
    const old = plan === undefined && this.plan !== undefined;
    replace(
      this.says,
      text,
      old && h("span", { class: "hint" }, " Results below are from your last valid input."),
    );
    this.says.classList.toggle("problem", trouble !== undefined);
    for (const results of [this.results, this.more]) {
      results.classList.toggle("old", old);
      results.hidden = this.plan === undefined;
    }
    if (this.started) this.context.announce(text);
    this.started = true;
  }

  private drawResults(
    plan: Plan,
    request: PlanRequest,
    queries: number | undefined,
    dragged: boolean,
  ): void {
    drawFacts(this.facts, request.kind, plan, queries);
    drawTextbook(this.textbook, request.kind, plan, request);
    const draw = () => {
      const { text, remark } = commandOf(this.context.engine, request, plan);
      this.command.textContent = text;
      this.remark.textContent = remark ?? "";
      this.code.textContent = cOf(request);
      this.python.textContent = pythonOf(request, plan);
      drawKinds(this.table, this.context.engine, request);
    };
    // Five more plans do not fit into a frame of a drag: they are made when the slider rests.
    window.clearTimeout(this.waiting);
    if (dragged) this.waiting = window.setTimeout(draw, 120);
    else draw();
  }
}

export const calculator: Section = (host, context) => {
  new Calculator(host, context);
};
