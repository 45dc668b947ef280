// SPDX-License-Identifier: Apache-2.0
// How small can it get: what any structure of a given size can know of a given number of URLs, and what the sieve takes.

import { chart } from "./chart";
import type { Context, Section } from "./context";
import { complain, copyButton, field, freshId, h, replace } from "./dom";
import { Refusal } from "./engine";
import { answer, type Answer, formatDecimal, formatUrls, type Question } from "./lab-model";
import { commandOf, drawComparison, drawingOf, drawNeeded, verdict } from "./lab-results";
import {
  formatCount,
  parseBytes,
  parseCount,
  parsePlain,
  readable,
  visible,
  whyNoBits,
  whyNoCount,
} from "./numbers";
import { CLEARED, type How, uncleared } from "./state";

type Name = "memory" | "urls" | "bytes" | "times";
type Texts = Record<Name, string>;

const names: Name[] = ["memory", "urls", "bytes", "times"];
const defaults: Texts = { memory: "18 MB", urls: "1000000000", bytes: "50", times: "1" };

/** A number that may have a fraction, from `least` to `most`. */
function plain(text: string, least: number, most: number): number | undefined {
  const number = parsePlain(text);
  return number !== undefined && number >= least && number <= most ? number : undefined;
}

interface Part {
  label: string;
  hint: string;
  takes: string;
  read: (text: string) => number | undefined;
  /** What is wrong with a number that is not read. */
  why?: (text: string) => string | undefined;
  say?: (value: number) => string;
  /** The ends of a logarithmic slider, and the box's text for its value. */
  slider?: { from: number; to: number; text: (value: number) => string };
}

const parts: Record<Name, Part> = {
  memory: {
    label: "Memory",
    hint: "64KiB to 1TiB; a bare number is bits",
    takes: "18 MB, 64MiB, 144 Mbit, or a bare number of bits",
    read: parseBytes,
    why: whyNoBits,
    say: formatDecimal,
    slider: {
      from: 65536,
      to: 2 ** 40,
      text: (value) => formatDecimal(Number(value.toPrecision(2))).replace(/bytes?/, "B"),
    },
  },
  urls: {
    label: "URLs",
    hint: "distinct: 1e6, 20M, 1G",
    takes: "1000000, 1e9, 20M or 20 million",
    read: parseCount,
    why: (text) => whyNoCount(text, "URLs"),
    say: formatUrls,
    slider: { from: 1e3, to: 1e12, text: (value) => String(Number(value.toPrecision(2))) },
  },
  bytes: {
    label: "Bytes per URL",
    hint: "on average",
    takes: "a number over 0, up to 1,048,576",
    read: (text) => plain(text, 1e-9, 2 ** 20),
  },
  times: {
    label: "How often each URL is found",
    hint: "1: no URL comes twice",
    takes: "a number from 1 to 1,000,000,000",
    read: (text) => plain(text, 1, 1e9),
  },
};

/** A hundred steps for a factor of ten. */
const stepOf = (value: number) => Math.round(100 * Math.log10(value));

interface Row {
  box: HTMLInputElement;
  slider: HTMLInputElement | undefined;
  element: HTMLElement;
}

class Lab {
  private texts: Texts = { ...defaults };
  private committed: Texts = { ...defaults };
  private frame = 0;
  private started = false;
  private readonly rows: Record<Name, Row>;
  private readonly says = h("p", { class: "lab-says", id: freshId("lab-says") });
  private readonly refusal = h("p", { class: "lab-refusal" });
  private readonly needed = h("p", { class: "lab-needed" });
  private readonly comparison = h("div", { class: "lab-comparison" });
  private readonly command = h("pre", {
    tabindex: 0,
    role: "group",
    "aria-label": "Command line of the plan",
  });
  private readonly chart = chart();
  private readonly results: HTMLElement;
  private readonly context: Context;

  constructor(host: HTMLElement, context: Context) {
    this.context = context;
    this.rows = {
      memory: this.row("memory"),
      urls: this.row("urls"),
      bytes: this.row("bytes"),
      times: this.row("times"),
    };
    this.results = h(
      "div",
      { class: "lab-results" },
      this.needed,
      this.comparison,
      this.refusal,
      h("div", { class: "lab-chart" }, this.chart.element),
      h(
        "p",
        { class: "hint" },
        "This command prints the plan. Its memory is that of the whole process, with 4 MB for the command itself.",
      ),
      this.command,
      copyButton("the command of the sieve", () => this.command.textContent ?? ""),
    );
    const elements = names.map((name) => this.rows[name].element);
    this.results.hidden = true;
    host.append(h("div", { class: "lab-controls" }, ...elements), this.says, this.results);
    context.state.onChange(() => this.restore());
    this.restore();
  }

  private row(name: Name): Row {
    const { label, hint, slider: ends } = parts[name];
    const box = h("input", {
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: 60,
    });
    const element = field(label, box, hint);
    box.addEventListener("input", () => this.change(name, box.value, box));
    box.addEventListener("change", () => this.commit());
    if (!ends) return { box, slider: undefined, element };
    const slider = h("input", {
      type: "range",
      min: stepOf(ends.from),
      max: stepOf(ends.to),
      step: 1,
      "aria-label": `${label}, slider`,
    });
    slider.addEventListener("input", () => {
      const value = Math.min(ends.to, Math.max(ends.from, 10 ** (Number(slider.value) / 100)));
      this.change(name, ends.text(value), slider);
    });
    slider.addEventListener("change", () => this.commit(slider));
    box.after(slider);
    return { box, slider, element };
  }

  private restore(): void {
    for (const name of names)
      this.texts[name] = uncleared(this.context.state.get(name) ?? defaults[name]);
    this.committed = { ...this.texts };
    this.show();
  }

  private write(texts: Texts, how: How): void {
    const changed = names.map((name) => [
      name,
      texts[name] === defaults[name] ? undefined : texts[name] || CLEARED,
    ]);
    this.context.state.set(Object.fromEntries(changed) as Partial<Texts>, how);
  }

  private change(name: Name, text: string, source: HTMLElement): void {
    this.texts[name] = text;
    this.write(this.texts, "replace");
    this.show(source);
  }

  /** Dragging replaced the address of the last decision: it is put back before this one is pushed. */
  private commit(source?: HTMLElement): void {
    const before = this.committed;
    this.committed = { ...this.texts };
    if (names.some((name) => before[name] !== this.texts[name])) {
      this.write(before, "replace");
      this.write(this.texts, "push");
    }
    this.show(source);
  }

  /** The question of the boxes, or the box that has none. */
  private question(): Question | Name {
    const values = {} as Record<Name, number>;
    for (const name of names) {
      const value = parts[name].read(this.texts[name]);
      if (value === undefined) return name;
      values[name] = value;
    }
    const { memory, urls, bytes, times } = values;
    return { memory, urls, keyBytes: bytes, times };
  }

  private show(source?: HTMLElement): void {
    const question = this.question();
    this.drawControls(source, typeof question === "string" ? question : undefined);
    if (typeof question === "string") {
      const text = this.texts[question];
      const { label, takes, why } = parts[question];
      return this.say(
        `The box “${label}” has “${visible(text.slice(0, 40))}”. ${why?.(text) ?? `It takes ${takes}.`}`,
        true,
      );
    }
    let found: Answer;
    try {
      found = answer(this.context.engine, question);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.say(sentenceOf(error.message), true);
    }
    this.results.hidden = false;
    this.say(verdict(question, found), false);
    this.drawResults(question, found);
  }

  private drawControls(source: HTMLElement | undefined, wrong: Name | undefined): void {
    for (const name of names) {
      const { box, slider } = this.rows[name];
      const { read, say } = parts[name];
      const text = this.texts[name];
      if (box !== source) box.value = /^[0-9]{4,15}$/.test(text) ? formatCount(Number(text)) : text;
      const value = read(text);
      if (slider && value !== undefined) {
        if (slider !== source) slider.value = String(stepOf(value));
        slider.setAttribute("aria-valuetext", say?.(value) ?? text);
      }
      complain(box, name === wrong ? this.says : undefined);
    }
  }

  private say(text: string, problem: boolean): void {
    replace(
      this.says,
      text,
      problem &&
        !this.results.hidden &&
        h("span", { class: "hint" }, " Results below are from your last valid input."),
    );
    this.says.classList.toggle("problem", problem);
    this.results.classList.toggle("old", problem);
    if (this.started) this.context.announce(text);
    this.started = true;
  }

  private drawResults(question: Question, found: Answer): void {
    drawNeeded(this.needed, found);
    drawComparison(this.comparison, question, found);
    this.command.textContent = found.sieve ? commandOf(question) : "(none, for the reason above)";
    this.refusal.classList.toggle("problem", found.refusal !== undefined);
    this.refusal.textContent =
      found.refusal === undefined
        ? ""
        : `The sieve: ${readable(found.refusal)}. The statements about memory still hold.`;
    // The lines are many sums: once a frame is enough while dragging.
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() =>
      this.chart.draw(drawingOf(this.context.engine, question, found)),
    );
  }
}

/** The library's sentences begin small and have no full stop. */
function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${readable(text.slice(1))}.`;
}

export const lab: Section = (host, context) => {
  new Lab(host, context);
};
