// SPDX-License-Identifier: Apache-2.0
// The story: eight steps of index.html beside one drawing, which stays in view. The step that is being
// read decides what is drawn; each drawing is a filter that the library has filled. A step has an address,
// its id; numbers that were chosen in it are in the address too, words that were typed are not.

import type { Context, Section } from "./context";
import { choice, h, replace } from "./dom";
import { type Engine, type Filter, keyOfText } from "./engine";
import { formatOneIn, formatRate } from "./numbers";
import { listKeys, wellFormed } from "./play-model";
import type { How } from "./state";
import { type Scene, smallCurve, stage } from "./story-scene";
import { findFalsePositive, type Search } from "./words";

const ids = [
  "too-big",
  "three-bits",
  "lookup",
  "false-positive",
  "too-full",
  "best-k",
  "counters",
  "cache-line",
] as const;
type StepId = (typeof ids)[number];

/** What a step shows: the drawing, and the sentence below it. */
interface Shown extends Omit<Scene, "label"> {
  says: string;
  outcome?: "yes" | "no" | "wrong";
}

const FIRST = ["apple", "pear", "plum"];
const MOST_FULL = 60;
const FULL_AT_FIRST = 12;
const MOST_K = 12;
const KEYS_FOR_K = 8;
/** The share of the window below the menu in which the step's title must be. */
const LINE = 0.25;

const quote = (word: string) => `“${word}”`;

/** 1, 2 and 3 */
function listed(numbers: number[]): string {
  const all = numbers.map(String);
  const last = all.pop() ?? "";
  return all.length === 0 ? last : `${all.join(", ")} and ${last}`;
}

const range = (count: number, first = 1) => Array.from({ length: count }, (_, i) => i + first);

/** The filters of the story. Each is made, filled, read and freed. */
class Filters {
  private readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  private using<T>(filter: Filter, words: string[], read: (filter: Filter) => T): T {
    try {
      for (const word of words) filter.add(keyOfText(word));
      return read(filter);
    } finally {
      filter.free();
    }
  }

  classic<T>(bits: number, probes: number, words: string[], read: (filter: Filter) => T): T {
    return this.using(this.engine.create({ kind: "classic", bits, probes }), words, read);
  }

  blocked<T>(words: string[], read: (filter: Filter) => T): T {
    const shape = { kind: "blocked", bits: 2048, probes: 8, blocksPerKey: 1 } as const;
    return this.using(this.engine.create(shape), words, read);
  }

  /** The library's own counting filters have at least 512 counters; this dialect has filters of 16. */
  counting<T>(words: string[], read: (filter: Filter) => T): T {
    const { id } = this.engine.dialects().find(({ name }) => name === "md5-chain")!;
    const given = { variant: "b", bits: 16, probes: 3, cell_bits: 4 };
    return this.using(this.engine.createDialect(id, given), words, read);
  }

  rate(bits: number, probes: number, keys: number): number {
    return this.engine.planRate({ kind: 2, bits, probes, blocksPerKey: 0, cellBits: 1 }, keys);
  }
}

const cellsOf = (filter: Filter, count: number) => filter.cells(0, 0, count);
const positionsOf = (filter: Filter, word: string) => filter.positions(keyOfText(word));

class Story {
  private readonly context: Context;
  private readonly filters: Filters;
  private readonly stage = stage();
  private readonly says = h("p", { class: "stage-says" });
  private readonly within = h("p", { class: "stage-words" });
  private readonly steps: HTMLElement[];
  private active: StepId = ids[0];
  private frame = 0;

  private words = FIRST.slice(0, 1);
  private asked = "cherry";
  private search: Search | undefined;
  private full = FULL_AT_FIRST;
  private k = 3;
  private removed = false;
  private counts = true;
  private kind: "classic" | "blocked" = "blocked";
  private other = 0;

  private readonly searchSays = h("p", { class: "try-says" });
  private readonly fullBox = h("input", { type: "range", min: 0, max: MOST_FULL, step: 1 });
  private readonly fullOut = h("output", {});
  private readonly fullCurve = h("div");
  private readonly kBox = h("input", { type: "range", min: 1, max: MOST_K, step: 1 });
  private readonly kOut = h("output", {});
  private readonly kCurve = h("div");
  private readonly removeButton = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => this.act(() => (this.removed = !this.removed)),
    },
    "",
  );
  private readonly countsChoice = choice(
    "Cells",
    [
      { value: "counters", label: "Counters" },
      { value: "bits", label: "Plain bits" },
    ],
    (value) => this.act(() => (this.counts = value === "counters")),
  );
  private readonly kindChoice = choice(
    "Filter",
    [
      { value: "classic", label: "Classic" },
      { value: "blocked", label: "Blocked" },
    ],
    (value) => {
      this.kind = value === "classic" ? "classic" : "blocked";
      this.save("push", "cache-line");
    },
  );

  constructor(host: HTMLElement, context: Context) {
    this.context = context;
    this.filters = new Filters(context.engine);
    this.steps = ids.map((id) => document.getElementById(id)!);
    host.append(this.stage.element, this.within, this.says);
    this.controls();
    this.steps.forEach((step, i) =>
      step.addEventListener("focusin", () => {
        if (this.active !== ids[i]!) this.show(ids[i]!);
      }),
    );
    const soon = () => {
      if (this.frame === 0)
        this.frame = requestAnimationFrame(() => {
          this.frame = 0;
          const now = this.read();
          if (now !== this.active) this.show(now);
        });
    };
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    context.state.onChange(() => this.restore());
    // Each draws its own controls too.
    ids.forEach((id) => this.draw(id));
    this.restore();
  }

  // ---- Controls ----

  private try(id: StepId): HTMLElement {
    return this.steps[ids.indexOf(id)]!.querySelector<HTMLElement>(".try")!;
  }

  /** A box for a word with a button, and words to choose. */
  private wordForm(
    label: string,
    button: string,
    chips: string[],
    act: (word: string) => void,
    live: boolean,
  ): HTMLElement {
    const box = h("input", {
      type: "text",
      maxlength: 40,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      "aria-label": label,
      placeholder: "A word",
    });
    const take = () => {
      const word = wellFormed(box.value).trim();
      if (word !== "") this.act(() => act(word));
    };
    if (live) box.addEventListener("input", take);
    return h(
      "form",
      {
        class: "word-form",
        onsubmit: (event: Event) => {
          event.preventDefault();
          take();
          if (!live) box.value = "";
        },
      },
      box,
      h("button", { type: "submit" }, button),
      ...chips.map((word) =>
        h(
          "button",
          {
            type: "button",
            class: "chip",
            onclick: () => {
              if (live) box.value = word;
              this.act(() => act(word));
            },
          },
          word,
        ),
      ),
    );
  }

  private controls(): void {
    const add = (word: string) => {
      this.words = [...this.words.filter((one) => one !== word), word];
      this.search = undefined;
    };
    this.try("three-bits").append(
      this.wordForm("A word to add", "Add", FIRST.slice(1), add, false),
      h(
        "button",
        {
          type: "button",
          class: "link",
          onclick: () => this.act(() => (this.words = FIRST.slice(0, 1))),
        },
        "Start again with one word",
      ),
    );
    const ask = (word: string) => (this.asked = word);
    this.try("lookup").append(
      this.wordForm("A word to look up", "Look up", ["apple", "cherry"], ask, true),
    );
    this.try("false-positive").append(
      h(
        "button",
        { type: "button", onclick: () => this.act(() => this.find()) },
        "Find a false positive",
      ),
      this.searchSays,
    );
    this.slider(
      "too-full",
      "Words in 64 bits",
      this.fullBox,
      this.fullOut,
      this.fullCurve,
      (value) => {
        this.full = value;
      },
    );
    this.slider(
      "best-k",
      `Bits for each of ${KEYS_FOR_K} words, k`,
      this.kBox,
      this.kOut,
      this.kCurve,
      (value) => {
        this.k = value;
      },
    );
    this.try("counters").append(
      h("div", { class: "row" }, this.countsChoice.element, this.removeButton),
    );
    this.try("cache-line").append(
      h(
        "div",
        { class: "row" },
        this.kindChoice.element,
        h(
          "button",
          { type: "button", class: "quiet", onclick: () => this.act(() => this.other++) },
          "Another word",
        ),
      ),
    );
  }

  private slider(
    id: StepId,
    label: string,
    box: HTMLInputElement,
    out: HTMLOutputElement,
    curve: HTMLElement,
    take: (value: number) => void,
  ): void {
    box.setAttribute("aria-label", label);
    box.addEventListener("input", () => (take(+box.value), this.save("replace", id)));
    box.addEventListener("change", () => (take(+box.value), this.save("push", id)));
    this.try(id).append(
      h("div", { class: "try-slider" }, h("span", { "aria-hidden": "true" }, label), out),
      box,
      curve,
    );
  }

  /** Does something in the step that has the focus, and draws it. */
  private act(change: () => void): void {
    change();
    this.show(this.active);
    this.context.announce(this.says.textContent ?? "");
  }

  private find(): void {
    const words = this.filled();
    this.search = this.filters.classic(16, 3, words, (filter) =>
      findFalsePositive(
        (word) => filter.mayContain(keyOfText(word)),
        (word) => words.includes(word),
        this.search?.word === undefined ? 0 : this.search.at + 1,
        10000,
      ),
    );
  }

  // ---- The address ----

  private save(how: How, id: StepId): void {
    const unless = (value: number, usual: number) => (value === usual ? undefined : String(value));
    this.context.state.set(
      {
        words: unless(this.full, FULL_AT_FIRST),
        k: unless(this.k, 3),
        kind: this.kind === "blocked" ? undefined : this.kind,
      },
      how,
      id,
    );
    this.show(id);
    if (how === "push") this.context.announce(this.says.textContent ?? "");
  }

  private restore(): void {
    const { get } = this.context.state;
    const number = (text: string | undefined, usual: number, least: number, most: number) => {
      const value = Math.trunc(Number(text ?? usual));
      return value >= least && value <= most ? value : usual;
    };
    this.full = number(get("words"), FULL_AT_FIRST, 0, MOST_FULL);
    this.k = number(get("k"), 3, 1, MOST_K);
    this.kind = get("kind") === "classic" ? "classic" : "blocked";
    this.show(this.read());
  }

  /** The step whose title was the last to pass a line, which is below the drawing on a phone. */
  private read(): StepId {
    const box = this.stage.element.parentElement!.getBoundingClientRect();
    const beside = box.left > this.steps[0]!.getBoundingClientRect().right - 1;
    const line = beside
      ? 80 + Math.min(LINE * innerHeight, 200)
      : Math.max(0, box.bottom) + Math.min(LINE * innerHeight, 100);
    const passed = this.steps.filter((step) => step.getBoundingClientRect().top <= line);
    return ids[Math.max(0, passed.length - 1)]!;
  }

  // ---- What is drawn ----

  /** The words of the filter from the third step on. */
  private filled(): string[] {
    return [...new Set([...FIRST, ...this.words])];
  }

  private show(id: StepId): void {
    this.active = id;
    this.steps.forEach((step, i) => step.classList.toggle("active", ids[i] === id));
    const shown = this.draw(id);
    const mark = shown.outcome && { yes: "✓", no: "✕", wrong: "!" }[shown.outcome];
    this.says.className = `stage-says ${shown.outcome ?? ""}`;
    replace(
      this.says,
      mark && h("span", { class: "outcome-mark", "aria-hidden": "true" }, mark),
      shown.says,
    );
    this.stage.draw({ ...shown, label: `${shown.values.length} cells. ${shown.says}` });
  }

  private draw(id: StepId): Shown {
    const words = this.filled();
    this.within.textContent =
      id === "three-bits"
        ? `In the filter: ${this.words.join(", ")}`
        : id === "lookup" || id === "false-positive"
          ? `In the filter: ${words.join(", ")}`
          : "";
    switch (id) {
      case "too-big":
        return {
          values: new Uint8Array(16),
          ghost: "no word yet",
          says: "A very small filter: 16 bits, all 0. It is empty.",
        };
      case "three-bits":
        return this.drawAdding();
      case "lookup":
        return this.filters.classic(16, 3, words, (filter) => this.lookup(filter, this.asked));
      case "false-positive":
        return this.drawSearch(words);
      case "too-full":
        return this.drawFull();
      case "best-k":
        return this.drawBest();
      case "counters":
        return this.drawCounters();
      case "cache-line":
        return this.drawBlocks();
    }
  }

  private drawAdding(): Shown {
    const word = this.words.at(-1)!;
    const before = this.filters.classic(16, 3, this.words.slice(0, -1), (one) => cellsOf(one, 16));
    return this.filters.classic(16, 3, this.words, (filter) => {
      const positions = positionsOf(filter, word);
      const fresh = positions.filter((cell) => before[cell] === 0);
      const old = [...new Set(positions.filter((cell) => before[cell]! > 0))];
      const twice =
        new Set(positions).size < positions.length ? " Two of the places are the same." : "";
      const shared =
        old.length > 0
          ? ` ${old.length === 1 ? "Bit" : "Bits"} ${listed(old)} ${old.length === 1 ? "was" : "were"} 1 already: bits are shared.`
          : "";
      return {
        values: cellsOf(filter, 16),
        fresh,
        word: { text: word, positions },
        says: `${quote(word)} is hashed to the places ${listed(positions)}.${twice}${shared}`,
      };
    });
  }

  private lookup(filter: Filter, word: string): Shown {
    const values = cellsOf(filter, 16);
    const positions = positionsOf(filter, word);
    const zero = positions.find((cell) => values[cell] === 0);
    const scene = { values, word: { text: word, positions } };
    if (zero !== undefined)
      return {
        ...scene,
        says: `${quote(word)} is definitely not in the set: bit ${zero} is 0.`,
        outcome: "no",
      };
    if (this.filled().includes(word))
      return {
        ...scene,
        says: `Possibly in the set. And it is: ${quote(word)} was added.`,
        outcome: "yes",
      };
    const owners = this.filled().filter((one) =>
      positionsOf(filter, one).some((cell) => positions.includes(cell)),
    );
    return {
      ...scene,
      says: `A false positive: ${quote(word)} was never added. Its bits were set by ${listKeys(owners)}.`,
      outcome: "wrong",
    };
  }

  private drawSearch(words: string[]): Shown {
    const { search } = this;
    return this.filters.classic(16, 3, words, (filter) => {
      if (!search) {
        this.searchSays.textContent = "";
        const ones = cellsOf(filter, 16).reduce((sum, bit) => sum + bit, 0);
        return {
          values: cellsOf(filter, 16),
          ghost: "which word?",
          says: `${ones} of the 16 bits are 1. Which words have all three of their bits among them?`,
        };
      }
      const { refused, word } = search;
      const shown = refused.slice(-5).map(quote).join(", ");
      const more = refused.length > 5 ? `${refused.length - 5} words, then ` : "";
      this.searchSays.textContent =
        refused.length === 0
          ? "The first word that was tried got a “yes”."
          : `Tried ${more}${shown}: a right “no” each time.`;
      if (word === undefined)
        return { values: cellsOf(filter, 16), says: "No word was taken for one of these." };
      return this.lookup(filter, word);
    });
  }

  private drawFull(): Shown {
    const { full } = this;
    const words = range(full).map((i) => `word ${i}`);
    this.fullBox.value = String(full);
    const label = `${full} ${full === 1 ? "word" : "words"}`;
    this.fullBox.setAttribute("aria-valuetext", label);
    this.fullOut.textContent = String(full);
    return this.filters.classic(64, 3, words, (filter) => {
      const info = filter.info(true);
      const rate = info.liveRate ?? 0;
      const points = range(MOST_FULL + 1, 0).map((x) => ({ x, y: this.filters.rate(64, 3, x) }));
      const odds = formatOneIn(rate);
      const who =
        rate >= 1
          ? "Every absent word gets"
          : `About ${odds} ${odds.endsWith("%") ? "of absent words get" : "absent words gets"}`;
      const says =
        full === 0
          ? "Nothing is in it: the answer is always “no”."
          : `${label}: ${info.bitsSet} of 64 bits are 1. ${who} a “yes”.`;
      replace(
        this.fullCurve,
        smallCurve(points, { x: full, y: rate }, undefined, {
          label: `The error rate over the number of words: ${formatRate(rate)} with ${full}`,
          x: (value) => `${value} words`,
          y: `error rate of these words: ${formatRate(rate)}; line: the average`,
        }),
      );
      return { values: cellsOf(filter, 64), ghost: label, says };
    });
  }

  private drawBest(): Shown {
    const { k } = this;
    const words = range(KEYS_FOR_K).map((i) => `word ${i}`);
    const points = range(MOST_K).map((x) => ({ x, y: this.filters.rate(64, x, KEYS_FOR_K) }));
    const best = points.reduce((a, b) => (b.y < a.y ? b : a));
    const rate = points[k - 1]!.y;
    this.kBox.value = String(k);
    this.kOut.textContent = `k = ${k}`;
    replace(
      this.kCurve,
      smallCurve(points, { x: k, y: rate }, best, {
        label: `The expected error rate over k: ${formatRate(rate)} at ${k}, least at ${best.x}`,
        x: (value) => `k = ${value}`,
        y: `error rate: ${formatRate(rate)}`,
      }),
    );
    return this.filters.classic(64, k, words, (filter) => {
      const values = cellsOf(filter, 64);
      const ones = values.reduce((sum, bit) => sum + bit, 0);
      const last = words.at(-1)!;
      const compared =
        k === best.x ? "No other k is better." : `The best k is ${best.x}: ${formatOneIn(best.y)}.`;
      return {
        values,
        word: { text: last, positions: positionsOf(filter, last) },
        says: `k = ${k}: ${ones} of 64 bits are 1, and ${formatOneIn(rate)} absent words gets a “yes”. ${compared}`,
      };
    });
  }

  private drawCounters(): Shown {
    const { removed, counts } = this;
    this.removeButton.textContent = removed ? "Add “apple”" : "Remove “apple”";
    this.countsChoice.set(counts ? "counters" : "bits");
    return this.filters.counting(["apple", "plum"], (filter) => {
      const apple = positionsOf(filter, "apple");
      const plum = positionsOf(filter, "plum");
      const shared = listed(apple.filter((cell) => plum.includes(cell)));
      if (removed && counts) filter.remove(keyOfText("apple"));
      const values = cellsOf(filter, 16);
      // Plain bits: what clearing them leaves.
      if (!counts) values.forEach((value, cell) => (values[cell] = Math.min(1, value)));
      if (!counts && removed) for (const cell of apple) values[cell] = 0;
      const what = counts ? "counter" : "bit";
      if (!removed)
        return {
          values,
          word: { text: "apple", positions: apple },
          says: `“apple” and “plum” are in the set. They share ${what} ${shared}${counts ? ", which is 2" : ""}.`,
        };
      const word = { text: "plum", positions: plum };
      return counts
        ? {
            values,
            word,
            says: `“apple” is removed: its counters went down by 1. Counter ${shared} is still 1, so “plum” stays.`,
            outcome: "yes",
          }
        : {
            values,
            word,
            says: `The bits of “apple” are cleared, and bit ${shared} with them: “plum” is lost, a “no” that is wrong.`,
            outcome: "wrong",
          };
    });
  }

  private drawBlocks(): Shown {
    this.kindChoice.set(this.kind);
    const words = range(100).map((i) => `word ${i}`);
    const word = `word ${1 + (this.other % words.length)}`;
    const read = (filter: Filter): Shown => {
      const positions = positionsOf(filter, word);
      const lines = new Set(positions.map((cell) => Math.floor(cell / 512))).size;
      const { liveRate } = filter.info(true);
      const rate = `Error rate: ${formatRate(liveRate ?? 0)}.`;
      return {
        values: cellsOf(filter, 2048),
        block: 512,
        word: { text: word, positions },
        says: `2,048 bits in 4 blocks. The 8 bits of ${quote(word)} are in ${lines === 1 ? "one block: one" : `${lines} blocks: up to ${lines}`} ${lines === 1 ? "wait" : "waits"} for memory. ${rate}`,
      };
    };
    return this.kind === "classic"
      ? this.filters.classic(2048, 8, words, read)
      : this.filters.blocked(words, read);
  }
}

export const story: Section = (host, context) => {
  new Story(host, context);
};
