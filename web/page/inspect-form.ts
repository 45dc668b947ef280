// SPDX-License-Identifier: Apache-2.0
// Which other system made a file, and the numbers that its bytes do not say.

import { field, h, replace } from "./dom";
import type { Dialect, Engine, Given } from "./engine";
import { parseCount, parseRate, visible } from "./numbers";

type Name = keyof Given;

const labels: Record<Name, string> = {
  variant: "Variant",
  keys: "Planned keys, n",
  rate: "Planned rate, p",
  bits: "Bits, m",
  bytes: "Bytes",
  probes: "Probes, k",
  bits_per_key: "Bits per key",
  seed: "Seed",
  growth: "Growth",
  columns: "Columns of the index",
  index: "Which filter, 0 the first",
  cell_bits: "Bits of a cell",
};

const names = Object.keys(labels) as Name[];

/** Those that may be 0, which is the same as not given. */
const fromZero: Name[] = ["seed", "index"];

const split = (text: string | null) => (text === null || text === "" ? [] : text.split(", "));

function read(name: Name, text: string): number | string | undefined {
  if (name === "variant") return text;
  if (name === "rate") return parseRate(text);
  if (fromZero.includes(name) && /^\s*0\s*$/.test(text)) return 0;
  if (name === "bits_per_key") return Number(text) > 0 ? Number(text) : undefined;
  return parseCount(text);
}

export interface DialectForm {
  element: HTMLElement;
  /** Chooses a dialect, and puts values into its fields. */
  set(name: string | undefined, value: (name: string) => string | undefined): void;
  /** The dialect and its parameters, or a sentence. */
  read(): { dialect: Dialect; given: Given } | string;
  /** What the address is to keep. */
  state(): Record<string, string | undefined>;
  focus(): void;
}

/** What a parameter is to a dialect: needed, by some of its variants only, or as one likes. */
function need(dialect: Dialect, name: Name): string {
  const needed = split(dialect.loadNeeds);
  if (!needed.includes(name)) return "";
  return needed.includes("variant") ? " (some variants need it)" : " (needed)";
}

export function dialectForm(engine: Engine, open: () => void): DialectForm {
  const dialects = engine.dialects().filter(({ reads }) => reads);
  const select = h(
    "select",
    { name: "dialect" },
    h("option", { value: "" }, "Choose a system"),
    ...dialects.map(({ name }) => h("option", { value: name }, name)),
  );
  const about = h("p", { class: "inspect-about quiet-text" });
  const holder = h("div", { class: "inspect-parameters" });
  let controls: { name: Name; control: HTMLInputElement | HTMLSelectElement }[] = [];

  const chosen = () => dialects.find(({ name }) => name === select.value);

  const control = (dialect: Dialect, name: Name) => {
    if (name !== "variant") return h("input", { type: "text", name, autocomplete: "off" });
    const variants = split(dialect.variants);
    return h(
      "select",
      { name },
      h("option", { value: "" }, "by itself"),
      ...variants.map((variant) => h("option", { value: variant }, variant)),
    );
  };

  const show = () => {
    const dialect = chosen();
    about.textContent = dialect
      ? `${dialect.description}.${dialect.magic ? " Its first bytes identify it." : ""}`
      : "Most files of other systems do not name their format.";
    controls = dialect
      ? names
          .filter((name) => split(dialect.loadTakes).includes(name))
          .map((name) => ({ name, control: control(dialect, name) }))
      : [];
    replace(
      holder,
      ...controls.map(({ name, control }) =>
        field(labels[name] + (dialect ? need(dialect, name) : ""), control),
      ),
    );
  };
  select.addEventListener("change", show);
  show();

  const element = h(
    "form",
    {
      class: "inspect-form",
      onsubmit: (event: Event) => {
        event.preventDefault();
        open();
      },
    },
    h("div", { class: "inspect-system" }, field("System", select), about),
    holder,
    h("button", { type: "submit", class: "quiet" }, "Open as this"),
  );

  return {
    element,
    set(name, value) {
      select.value = dialects.some((dialect) => dialect.name === name) ? name! : "";
      show();
      for (const { name, control } of controls) control.value = value(name) ?? "";
    },
    read() {
      const dialect = chosen();
      if (!dialect) return "Choose the system that made the file.";
      const given: Record<string, number | string> = {};
      for (const { name, control } of controls) {
        if (control.value.trim() === "") continue;
        const value = read(name, control.value);
        if (value === undefined)
          return `${labels[name]}: “${visible(control.value)}” is not a valid number.`;
        given[name] = value;
      }
      return { dialect, given };
    },
    state() {
      const values: Record<string, string | undefined> = { d: chosen()?.name };
      for (const name of names)
        values[name] = controls.find((one) => one.name === name)?.control.value.trim();
      return values;
    },
    focus: () => select.focus(),
  };
}
