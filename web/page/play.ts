// SPDX-License-Identifier: Apache-2.0
// Play: a filter small enough to be seen. What was done is a list of acts (play-model.ts). The address has
// the filter's shape alone: the keys go into an address only with "Copy link", which says so. The cells
// are drawn by play-grid.ts.

import { compare } from "./compare";
import type { Context, Section } from "./context";
import { choice, copyButton, field, h, replace, scrolling, table } from "./dom";
import { formatBoth, formatCount, formatNumber, formatOneIn, visible } from "./numbers";
import { grid } from "./play-grid";
import {
  type Act,
  countActs,
  listKeys,
  MAX_KEYS,
  MAX_TRIED,
  Model,
  type PlayKind,
  readActs,
  type Settings,
  type Verdict,
  wellFormed,
  writeActs,
} from "./play-model";
import { presets } from "./play-presets";

const SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const MAX_TEXT = 200;

/** A link that is longer is cut by some programs. */
const MAX_LINK = 4000;

/** The names of the address; those of a link that "Copy link" made are the last three. */
const names = ["kind", "m", "k", "L", "preset", "acts", "ask"] as const;

const kinds: { value: PlayKind; label: string; title: string }[] = [
  { value: "blocked", label: "Blocked", title: "k bits in each of L cache lines of 512 bits" },
  { value: "classic", label: "Classic", title: "k bits anywhere in one flat array" },
  { value: "counting", label: "Counting", title: "a counter in the place of each bit" },
];

const probesOf = (text: string | undefined, most: number): number =>
  Math.min(most, Math.max(1, Math.trunc(Number(text ?? 4)) || 1));

/** The counters of an example have one size. */
const isExample = (kind: PlayKind): boolean => kind === "chain-counting";

/** Settings that the module can make, from whatever an address says. */
function settingsOf(get: (name: string) => string | undefined): Settings {
  const preset = presets.find(({ id }) => id === get("preset"));
  if (preset) return preset.settings;
  const example = presets
    .map((one) => one.settings)
    .find(({ kind }) => isExample(kind) && kind === get("kind"));
  if (example) return { ...example, probes: probesOf(get("k"), 8) };
  const kind = kinds.find(({ value }) => value === get("kind"))?.value ?? "classic";
  const small = kind === "classic" ? 16 : 512;
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
  /** What the address said last. */
  private seen = "";
  /** Where the next search for a false positive begins. */
  private tried = 0;
  /** The kind and number of the cells that are drawn. */
  private drawn = "";

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
    { type: "button", class: "quiet", onclick: () => this.do("remove") },
    "Remove",
  );
  private readonly undoButton = h(
    "button",
    { type: "button", class: "quiet small", onclick: () => this.undo() },
    "Undo",
  );
  private readonly emptyButton = h(
    "button",
    { type: "button", class: "quiet small", onclick: () => this.empty() },
    "Clear",
  );
  private readonly stepButton = h(
    "button",
    { type: "button", class: "quiet", onclick: () => this.step() },
    "Next probe",
  );
  private readonly findButton = h(
    "button",
    { type: "button", class: "quiet", onclick: () => this.find() },
    "Find a false positive",
  );
  private readonly linkButton = copyButton("link", () => this.link());
  private readonly linkHint = h("p", { class: "hint" });
  private readonly happened = h("p", { class: "happened", hidden: true });
  private readonly verdictBox = h("div", { class: "verdict" });
  private readonly probeBox = h("div", { class: "probe-table" });
  private readonly facts = h("dl", { class: "facts" });
  private readonly keyList = h("p", { class: "key-list" });
  private readonly example = h("p", { class: "example", hidden: true });
  private readonly samples = this.legend();
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
    this.askBox.addEventListener("input", () => this.ask(this.askBox.value));
    for (const box of [this.addBox, this.askBox])
      box.addEventListener("paste", (event) => this.paste(event));
    context.state.onChange(() => {
      if (this.address() !== this.seen) this.restore();
    });
    this.restore();
  }

  private layout(): HTMLElement {
    const counts = [1, 10, 100].map((count) =>
      h(
        "button",
        {
          type: "button",
          class: "quiet small",
          "aria-label": count === 1 ? "+1 key" : `+${count} keys`,
          onclick: () => this.perform({ do: "generate", count }),
        },
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
    const more = h("div", { class: "row few" }, ...counts, this.undoButton, this.emptyButton);
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
        { class: "presets", role: "group", "aria-label": "Examples" },
        h("span", { class: "presets-title", "aria-hidden": "true" }, "Examples:"),
        ...presets.map((preset) =>
          h(
            "button",
            {
              type: "button",
              class: "chip",
              "data-preset": preset.id,
              onclick: () => this.usePreset(preset.id),
            },
            preset.label,
          ),
        ),
      ),
      this.example,
      h(
        "div",
        { class: "play-parts" },
        h(
          "div",
          { class: "play-left" },
          adding,
          more,
          this.samples,
          this.cells.element,
          h(
            "div",
            { class: "row asking" },
            field("Look up a key", this.askBox),
            this.stepButton,
            this.findButton,
          ),
          this.happened,
          this.verdictBox,
          this.probeBox,
        ),
        h(
          "div",
          { class: "play-right" },
          this.controls,
          this.facts,
          this.keyList,
          h("div", { class: "play-link" }, this.linkButton, this.linkHint),
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

  private address(): string {
    return JSON.stringify(names.map((name) => this.context.state.get(name)));
  }

  /** Keys that were typed, and those of a link that was opened, are not kept in the address. */
  private save(how: "push" | "replace", preset?: string): void {
    const { kind, cells, probes, blocksPerKey } = this.settings;
    this.context.state.set(
      {
        kind: preset ? undefined : kind,
        m: preset ? undefined : String(cells),
        k: preset ? undefined : String(probes),
        L: preset || blocksPerKey <= 1 ? undefined : String(blocksPerKey),
        preset,
        acts: undefined,
        ask: undefined,
      },
      how,
    );
    this.seen = this.address();
  }

  /** An address of this page that has the keys too. */
  private link(): string {
    const { kind, cells, probes, blocksPerKey } = this.settings;
    const values = {
      kind,
      m: cells,
      k: probes,
      L: blocksPerKey <= 1 ? "" : blocksPerKey,
      acts: writeActs(this.acts),
      ask: this.asked,
    };
    const pairs = Object.entries(values).filter(([, value]) => value !== "");
    const hash = pairs.map(([name, value]) => `&p.${name}=${encodeURIComponent(value)}`).join("");
    return `${location.href.replace(/[?#].*/, "")}#play${hash}`;
  }

  private showLink(): void {
    const tooLong = writeActs(this.acts).length > MAX_LINK;
    this.linkButton.disabled = tooLong;
    const typed = countActs(this.acts.filter((act) => act.do !== "generate"));
    const parts = [
      "the kind and sizes",
      typed > 0 && `the ${typed === 1 ? "key" : `${formatCount(typed)} keys`} that you typed`,
      this.asked !== "" && "the key that you look up",
    ].filter(Boolean);
    const last = parts.pop();
    this.linkHint.textContent = tooLong
      ? "These keys are too long for a link."
      : `The link has ${parts.length > 0 ? `${parts.join(", ")} and ` : ""}${last}. The address of this page has no keys.`;
  }

  /** Does the list again, from an empty filter. */
  private redo(): void {
    const model = new Model(this.context.engine, this.settings);
    model.replay(this.acts);
    this.model.free();
    this.model = model;
  }

  private perform(act: Act): void {
    if (countActs([...this.acts, act]) > MAX_KEYS)
      return this.tell(
        `This filter takes at most ${formatCount(MAX_KEYS)} keys here. The load curve below takes a million.`,
      );
    this.acts = [...this.acts, act];
    const sentence = this.model.act(act);
    this.save("replace");
    this.show(sentence);
    this.context.announce(sentence);
  }

  private tell(sentence: string): void {
    this.happened.textContent = sentence;
    this.happened.hidden = sentence === "";
    if (sentence !== "") this.context.announce(sentence);
  }

  private do(what: "add" | "remove"): void {
    const key = wellFormed(this.addBox.value);
    if (key === "") return this.tell("Type a key first.");
    this.perform({ do: what, key });
    if (what === "add") this.addBox.select();
  }

  /** Several lines are several keys to add. What a box would cut or join is refused. */
  private paste(event: ClipboardEvent): void {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const keys = text
      .split(/\r\n|\r|\n/)
      .filter((line) => line !== "")
      .map(wellFormed);
    const longest = keys.reduce((most, key) => Math.max(most, key.length), 0);
    if (keys.length < 2 && longest <= MAX_TEXT) return;
    event.preventDefault();
    if (longest > MAX_TEXT)
      return this.tell(
        `A key has at most ${MAX_TEXT} characters here, and this text has ${formatCount(longest)}.`,
      );
    if (event.target === this.askBox)
      return this.tell(
        `These are ${formatCount(keys.length)} lines. Look them up one at a time; Inspect takes a list.`,
      );
    this.perform({ do: "add-all", keys });
  }

  private find(): void {
    const { word, at, refused } = this.model.find(this.tried);
    this.tried = at + 1;
    if (word === undefined) {
      const rate = this.model.info().liveRate ?? 0;
      return this.tell(
        rate === 0
          ? "An empty filter has no false positives. Add some keys first."
          : `None of ${formatCount(MAX_TRIED)} words is one: about ${formatOneIn(rate)} is, with these keys. Try again, or add more keys.`,
      );
    }
    this.ask(word);
    this.askBox.value = word;
    const tried = refused.length + 1;
    this.tell(`Found after ${formatCount(tried)} ${tried === 1 ? "word" : "words"}.`);
  }

  private undo(): void {
    this.acts = this.acts.slice(0, -1);
    this.redo();
    this.save("replace");
    this.show("The last action is undone.");
    this.context.announce("The last action is undone.");
  }

  private empty(): void {
    this.acts = [];
    this.redo();
    this.save("replace");
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
    this.save(how);
    this.rebuild("");
  }

  private usePreset(id: string): void {
    const preset = presets.find((one) => one.id === id)!;
    this.tell("");
    this.settings = preset.settings;
    this.acts = preset.acts.slice();
    this.asked = preset.ask;
    this.shown = Infinity;
    this.redo();
    this.save("push", id);
    this.rebuild("");
    this.context.announce(preset.story);
  }

  private restore(): void {
    const { state } = this.context;
    this.settings = settingsOf(state.get);
    this.seen = this.address();
    // An address without keys leaves those that are there.
    const preset = presets.find(({ id }) => id === state.get("preset"));
    const acts = state.get("acts") ?? (preset && writeActs(preset.acts));
    if (acts !== undefined) this.acts = readActs(acts);
    const asked = state.get("ask") ?? preset?.ask;
    if (asked !== undefined) this.asked = wellFormed(asked.slice(0, MAX_TEXT));
    this.shown = Infinity;
    this.redo();
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
    this.tried = 0;
    this.samples.classList.toggle("counting", this.model.counts);
    for (const option of this.sizeSelect.options)
      option.disabled = (kind === "blocked" || kind === "counting") && Number(option.value) < 512;
    this.probesBox.max = kind === "classic" ? "16" : "8";
    this.probesBox.value = String(probes);
    this.probesOut.value = String(probes);
    this.linesBox.value = String(blocksPerKey || 1);
    this.linesBox.disabled = kind === "classic" || example;
    this.linesOut.value = kind === "classic" || example ? "–" : String(blocksPerKey);
    const shape = `${kind} ${cells}`;
    if (shape !== this.drawn)
      this.cells.shape(cells, kind === "blocked" || kind === "counting", this.model.counts);
    this.drawn = shape;
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
    this.example.textContent = preset?.story ?? "";
    this.example.hidden = !preset;
  }

  private show(sentence: string): void {
    this.tell(sentence);
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
      ["Rate now", info.liveRate ? formatBoth(info.liveRate) : "0"],
      [
        "Keys, estimated",
        info.estimatedKeys === null ? "all cells are set" : formatNumber(info.estimatedKeys),
      ],
    ];
    replace(
      this.facts,
      ...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    );
  }

  private ask(text: string): void {
    this.asked = wellFormed(text);
    this.shown = Infinity;
    this.save("replace");
    this.tell("");
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
    this.showLink();
    if (this.asked === "") {
      this.cells.probe([], 0);
      replace(
        this.verdictBox,
        h(
          "p",
          { class: "quiet-text" },
          this.model.keys.size === 0
            ? "The filter is empty. Add a key, or ten, and watch the cells; then look one up."
            : "Look up a key to see its probes in the cells.",
        ),
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
        owners.length > 0 ? listKeys(owners) : "no key",
      ]);
    const head = ["Probe", "Cell", this.model.counts ? "Count" : "State", "Set by"];
    const list = table(`Probes of “${visible(this.asked)}”, in their order`, head, rows);
    [...list.tBodies[0]!.rows].forEach((row, i) => {
      row.addEventListener("mouseenter", () => this.cells.light(verdict.probes[i]!.cell));
      row.addEventListener("mouseleave", () => this.cells.light(undefined));
    });
    this.cells.light(undefined);
    replace(
      this.probeBox,
      h(
        "p",
        { class: "bytes" },
        "Bytes (UTF-8): ",
        h("code", {}, bytes.join(" ") || "none"),
        hash ? " · Hash: " : null,
        hash ? h("code", {}, hash) : null,
      ),
      scrolling("Probes of the key", list),
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
  const below = h("div", { class: "layouts" });
  host.append(below);
  compare(below, context);
};
