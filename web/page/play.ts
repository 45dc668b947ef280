// SPDX-License-Identifier: Apache-2.0
// Play: a filter small enough to be seen. What was done is a list of acts (play-model.ts), which is in
// the address; the cells are drawn by play-grid.ts.

import type { Context, Section } from "./context";
import { choice, field, h, replace, scrolling, table } from "./dom";
import { formatCount, formatNumber, formatOneIn, formatRate, visible } from "./numbers";
import { grid } from "./play-grid";
import {
  type Act,
  listKeys,
  Model,
  type PlayKind,
  readActs,
  type Settings,
  type Verdict,
  wellFormed,
  writeActs,
} from "./play-model";
import { presets } from "./play-presets";

const SIZES = [64, 128, 256, 512, 1024, 2048, 4096];
const MAX_TEXT = 200;

/** What a page without a state begins with; a filter that was emptied is "-". */
const START = { acts: "a:apple,a:berry,a:cherry,g:20", ask: "damson" };
const EMPTY = "-";

const kinds: { value: PlayKind; label: string; title: string }[] = [
  { value: "classic", label: "Classic", title: "k bits anywhere in one flat array" },
  { value: "blocked", label: "Blocked", title: "k bits in each of L cache lines of 512 bits" },
  { value: "counting", label: "Counting", title: "a counter in the place of each bit" },
];

const probesOf = (text: string | undefined, most: number): number =>
  Math.min(most, Math.max(1, Math.trunc(Number(text ?? 4)) || 1));

const isExample = (kind: PlayKind): boolean => !kinds.some(({ value }) => value === kind);

/** Settings that the module can make, from whatever an address says. */
function settingsOf(get: (name: string) => string | undefined): Settings {
  const preset = presets.find(({ id }) => id === get("preset"));
  if (preset) return preset.settings;
  const example = presets.find(({ settings }) => settings.kind === get("kind"))?.settings;
  if (example) return { ...example, probes: probesOf(get("k"), 8) };
  const kind = kinds.find(({ value }) => value === get("kind"))?.value ?? "classic";
  const small = kind === "classic" ? 64 : 512;
  const wanted = Number(get("m") ?? (kind === "classic" ? 256 : 512)) || 512;
  const cells = SIZES.find((size) => size >= Math.max(small, wanted)) ?? 4096;
  const probes = probesOf(get("k"), kind === "classic" ? 16 : 8);
  const lines = Math.trunc(Number(get("L") ?? 1)) || 1;
  const blocksPerKey = kind === "classic" ? 0 : Math.min(4, Math.max(1, lines));
  return { kind, cells, probes, blocksPerKey };
}

class Play {
  private readonly context: Context;
  private settings: Settings;
  private acts: Act[] = [];
  private model: Model;
  private asked = "";
  private shown = Infinity;

  private readonly cells = grid((cell) => this.tellCell(cell));
  private readonly addBox = h("input", {
    type: "text",
    maxlength: MAX_TEXT,
    autocomplete: "off",
    spellcheck: "false",
  });
  private readonly askBox = h("input", {
    type: "text",
    maxlength: MAX_TEXT,
    autocomplete: "off",
    spellcheck: "false",
  });
  private readonly removeButton = h(
    "button",
    { type: "button", onclick: () => this.do("remove") },
    "Remove",
  );
  private readonly undoButton = h(
    "button",
    { type: "button", class: "quiet", onclick: () => this.undo() },
    "Undo",
  );
  private readonly emptyButton = h(
    "button",
    { type: "button", class: "quiet", onclick: () => this.empty() },
    "Clear",
  );
  private readonly stepButton = h(
    "button",
    { type: "button", class: "quiet", onclick: () => this.step() },
    "Next probe",
  );
  private readonly happened = h("p", { class: "happened" });
  private readonly verdictBox = h("div", { class: "verdict" });
  private readonly probeBox = h("div", { class: "probe-table" });
  private readonly facts = h("dl", { class: "facts" });
  private readonly keyList = h("p", { class: "key-list" });
  private readonly story = h("p", { class: "story" });
  private readonly controls = h("div", { class: "play-shape" });

  private readonly kindChoice = choice("Kind", kinds, (kind) => this.reshape({ kind }));
  private readonly sizeSelect = h(
    "select",
    {},
    ...SIZES.map((size) => h("option", { value: size }, String(size))),
  );
  private readonly probesBox = h("input", { type: "range", min: 1, max: 16, step: 1 });
  private readonly probesOut = h("output", {});
  private readonly linesBox = h("input", { type: "range", min: 1, max: 4, step: 1 });
  private readonly linesOut = h("output", {});

  constructor(host: HTMLElement, context: Context) {
    this.context = context;
    this.settings = settingsOf(context.state.get);
    this.model = new Model(context.engine, this.settings);
    host.append(this.layout());
    this.sizeSelect.addEventListener("change", () => this.reshape({ m: this.sizeSelect.value }));
    this.probesBox.addEventListener("input", () =>
      this.reshape({ k: this.probesBox.value }, "replace"),
    );
    this.probesBox.addEventListener("change", () => this.reshape({ k: this.probesBox.value }));
    this.linesBox.addEventListener("input", () =>
      this.reshape({ L: this.linesBox.value }, "replace"),
    );
    this.linesBox.addEventListener("change", () => this.reshape({ L: this.linesBox.value }));
    this.askBox.addEventListener("input", () => this.ask(this.askBox.value, "replace"));
    this.askBox.addEventListener("change", () => this.ask(this.askBox.value, "push"));
    context.state.onChange(() => this.restore());
    this.restore();
  }

  private layout(): HTMLElement {
    const counts = [1, 10, 100].map((count) =>
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => this.perform({ do: "generate", count }) },
        `+${count}`,
      ),
    );
    const adding = h(
      "form",
      { class: "row", onsubmit: (event: Event) => (event.preventDefault(), this.do("add")) },
      field("Key to add", this.addBox),
      h("button", { type: "submit" }, "Add"),
      this.removeButton,
    );
    this.controls.append(
      this.kindChoice.element,
      field("Cells, m", this.sizeSelect),
      h("div", { class: "with-output" }, field("Probes, k", this.probesBox), this.probesOut),
      h("div", { class: "with-output" }, field("Blocks per key, L", this.linesBox), this.linesOut),
    );
    return h(
      "div",
      { class: "play" },
      h(
        "div",
        { class: "presets" },
        h("span", { class: "presets-title" }, "Worked examples:"),
        ...presets.map((preset) =>
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              "data-preset": preset.id,
              onclick: () => this.usePreset(preset.id),
            },
            preset.label,
          ),
        ),
      ),
      this.story,
      this.controls,
      h(
        "div",
        { class: "play-parts" },
        h("div", { class: "play-left" }, this.cells.element, this.legend(), this.facts),
        h(
          "div",
          { class: "play-right" },
          adding,
          h("div", { class: "row buttons" }, ...counts, this.undoButton, this.emptyButton),
          this.happened,
          h("div", { class: "row" }, field("Look up a key", this.askBox), this.stepButton),
          this.verdictBox,
          this.probeBox,
          this.keyList,
        ),
      ),
    );
  }

  private legend(): HTMLElement {
    const items = [
      ["empty", "empty"],
      ["set", "set"],
      ["fresh", "just set"],
      ["hit", "probed: set"],
      ["miss", "probed: not set"],
    ];
    return h(
      "ul",
      { class: "legend states" },
      ...items.map(([name, text]) =>
        h("li", {}, h("span", { class: `sample ${name}`, "aria-hidden": "true" }), text),
      ),
    );
  }

  // ---- What was done ----

  private save(how: "push" | "replace"): void {
    const { kind, cells, probes, blocksPerKey } = this.settings;
    const preset = presets.find(({ settings }) => settings === this.settings)?.id;
    this.context.state.set(
      {
        preset,
        kind: preset ? undefined : kind,
        m: preset ? undefined : String(cells),
        k: preset ? undefined : String(probes),
        L: preset || blocksPerKey <= 1 ? undefined : String(blocksPerKey),
        acts: writeActs(this.acts) || EMPTY,
        ask: this.asked,
      },
      how,
    );
  }

  /** Does the list again, from an empty filter. Returns what the last act came to. */
  private redo(): string {
    const model = new Model(this.context.engine, this.settings);
    let last = "";
    for (const act of this.acts) last = model.act(act);
    this.model.free();
    this.model = model;
    return last;
  }

  private perform(act: Act): void {
    const before = this.acts;
    this.acts = readActs(writeActs([...before, act]));
    if (this.acts.length === before.length) {
      this.happened.textContent =
        "This filter takes at most 5,000 keys. The load curve below takes a million.";
      return;
    }
    const sentence = this.model.act(act);
    this.save("push");
    this.show(sentence);
    this.context.announce(sentence);
  }

  private do(what: "add" | "remove"): void {
    const key = wellFormed(this.addBox.value);
    this.perform({ do: what, key });
    if (what === "add") this.addBox.select();
  }

  private undo(): void {
    this.acts = this.acts.slice(0, -1);
    this.redo();
    this.model.changed = new Set();
    this.save("push");
    this.show("The last action is undone.");
    this.context.announce("The last action is undone.");
  }

  private empty(): void {
    this.acts = [];
    this.redo();
    this.save("push");
    this.show("The filter is empty.");
    this.context.announce("The filter is empty.");
  }

  private reshape(change: Record<string, string>, how: "push" | "replace" = "push"): void {
    const now: Record<string, string> = {
      // The examples have one size each: with another they are classic filters.
      kind: isExample(this.settings.kind) && "m" in change ? "classic" : this.settings.kind,
      m: String(this.settings.cells),
      k: String(this.settings.probes),
      L: String(this.settings.blocksPerKey),
      ...change,
    };
    this.settings = settingsOf((name) => now[name]);
    this.redo();
    this.model.changed = new Set();
    this.save(how);
    this.rebuild("");
  }

  private usePreset(id: string): void {
    const preset = presets.find((one) => one.id === id)!;
    this.settings = preset.settings;
    this.acts = preset.acts.slice();
    this.asked = preset.ask;
    this.shown = Infinity;
    this.redo();
    this.save("push");
    this.rebuild("");
    this.context.announce(preset.story);
  }

  private restore(): void {
    const { state } = this.context;
    this.settings = settingsOf(state.get);
    const acts = state.get("acts");
    this.acts = readActs(acts ?? START.acts);
    const asked = state.get("ask") ?? (acts === undefined ? START.ask : "");
    this.asked = wellFormed(asked.slice(0, MAX_TEXT));
    this.shown = Infinity;
    this.redo();
    this.model.changed = new Set();
    this.rebuild("");
  }

  // ---- What is seen ----

  private rebuild(sentence: string): void {
    const { kind, cells, probes, blocksPerKey } = this.settings;
    const example = isExample(kind);
    this.kindChoice.set(kind);
    replace(
      this.sizeSelect,
      ...SIZES.map((size) => h("option", { value: size }, size)),
      example && h("option", { value: cells, hidden: true }, `${cells}, of the example`),
    );
    this.sizeSelect.value = String(cells);
    for (const option of this.sizeSelect.options)
      option.disabled = (kind === "blocked" || kind === "counting") && Number(option.value) < 512;
    this.probesBox.max = kind === "classic" ? "16" : "8";
    this.probesBox.value = String(probes);
    this.probesOut.value = String(probes);
    this.linesBox.value = String(blocksPerKey || 1);
    this.linesBox.disabled = kind === "classic" || example;
    this.linesOut.value = kind === "classic" || example ? "–" : String(blocksPerKey);
    this.cells.shape(cells, kind === "blocked" || kind === "counting", this.model.counts);
    this.askBox.value = this.asked;
    this.show(sentence);
  }

  /** Shows the sentences of a worked example, which are true only of its own acts and key. */
  private tellStory(): void {
    const acts = writeActs(this.acts);
    const preset = presets.find(
      (one) =>
        JSON.stringify(one.settings) === JSON.stringify(this.settings) &&
        writeActs(one.acts) === acts &&
        one.ask === this.asked,
    );
    this.story.textContent =
      preset?.story ??
      "Type a key and add it, or add ten. Then look up keys that were never added. A key that was added is always found.";
  }

  private show(sentence: string): void {
    this.happened.textContent = sentence;
    const focused = document.activeElement;
    this.removeButton.hidden = !this.model.counts;
    this.undoButton.disabled = this.emptyButton.disabled = this.acts.length === 0;
    // A button that is disabled loses the focus, which must stay somewhere.
    if (this.undoButton.disabled && (focused === this.undoButton || focused === this.emptyButton))
      this.addBox.focus();
    this.cells.update(this.model.cells(), this.model.changed);
    this.showFacts();
    const keys = [...this.model.keys].map(([key, times]) =>
      times > 1 ? `${key} (${times}×)` : key,
    );
    this.keyList.textContent =
      keys.length === 0 ? "The filter has no keys." : `In the filter: ${listKeys(keys.reverse())}.`;
    this.showVerdict();
  }

  private showFacts(): void {
    const info = this.model.info();
    const rows: [string, string][] = [
      ["Keys added", formatCount(this.model.keys.size)],
      [
        "Cells set",
        `${formatCount(info.bitsSet)} of ${formatCount(info.bits)} (${formatNumber(info.fill * 100)}%)`,
      ],
      [
        "Rate now",
        info.liveRate ? `${formatRate(info.liveRate)}, ${formatOneIn(info.liveRate)}` : "0",
      ],
      [
        "Keys estimated from the cells",
        info.estimatedKeys === null ? "all cells are set" : formatNumber(info.estimatedKeys),
      ],
    ];
    replace(
      this.facts,
      ...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    );
  }

  private ask(text: string, how: "push" | "replace"): void {
    this.asked = wellFormed(text);
    this.shown = Infinity;
    this.save(how);
    this.showVerdict();
  }

  private step(): void {
    const all = this.asked === "" ? 0 : this.model.positions(this.asked).length;
    this.shown = this.shown >= all ? 1 : this.shown + 1;
    this.showVerdict();
  }

  private showVerdict(): void {
    this.stepButton.disabled = this.asked === "";
    this.tellStory();
    if (this.asked === "") {
      this.cells.probe([], 0);
      replace(
        this.verdictBox,
        h("p", { class: "quiet-text" }, "Look up a key to see its probes in the cells."),
      );
      replace(this.probeBox);
      return;
    }
    const verdict = this.model.verdict(this.asked);
    const shown = Math.min(this.shown, verdict.probes.length);
    this.cells.probe(verdict.probes, shown);
    const stepping = shown < verdict.probes.length;
    const sentence = stepping ? this.tellProbe(verdict, shown) : verdict.sentence;
    const mark = { no: "✕", true: "✓", "false-positive": "!", "false-negative": "!" }[
      verdict.outcome
    ];
    replace(
      this.verdictBox,
      h(
        "p",
        { class: `outcome ${stepping ? "stepping" : verdict.outcome}` },
        h("span", { class: "outcome-mark", "aria-hidden": "true" }, stepping ? "…" : mark),
        sentence,
      ),
    );
    this.showProbes(verdict, shown);
    this.context.announce(sentence);
  }

  private tellProbe(verdict: Verdict, shown: number): string {
    const { cell, value, owners } = verdict.probes[shown - 1]!;
    const state =
      value === 0 ? "not set: the filter could stop here" : `set by ${listKeys(owners)}`;
    return `Probe ${shown} of ${verdict.probes.length}: cell ${cell}, ${state}.`;
  }

  private showProbes(verdict: Verdict, shown: number): void {
    const bytes = [...new TextEncoder().encode(this.asked)].map((byte) =>
      byte.toString(16).padStart(2, "0"),
    );
    const hash = this.model.hash(this.asked);
    const rows = verdict.probes
      .slice(0, shown)
      .map(({ cell, value, owners }, i) => [
        i + 1,
        this.placeOf(cell),
        this.model.counts ? value : value > 0 ? "set" : "not set",
        owners.length > 0 ? listKeys(owners) : "nobody",
      ]);
    const head = ["Probe", "Cell", this.model.counts ? "Count" : "State", "Set by"];
    replace(
      this.probeBox,
      h(
        "p",
        { class: "bytes" },
        "Bytes (UTF-8): ",
        h("code", {}, bytes.join(" ") || "none"),
        hash ? " Hash: " : null,
        hash ? h("code", {}, hash) : null,
      ),
      scrolling(
        "Probes of the key",
        table(`Probes of “${visible(this.asked)}”, in their order`, head, rows),
      ),
    );
  }

  private placeOf(cell: number): string {
    const { kind } = this.settings;
    if (kind !== "blocked" && kind !== "counting") return String(cell);
    return `${cell} (block ${Math.floor(cell / 512)}, ${cell % 512})`;
  }

  private tellCell(cell: number): string {
    const owners = this.model.owners(cell);
    const value = this.model.cells()[cell] ?? 0;
    if (value === 0) return `Cell ${this.placeOf(cell)} is empty.`;
    const what = this.model.counts ? `has the count ${value}, from` : "was set by";
    return `Cell ${this.placeOf(cell)} ${what} ${owners.length > 0 ? listKeys(owners) : "keys that were removed"}.`;
  }
}

export const play: Section = (host, context) => {
  new Play(host, context);
};
