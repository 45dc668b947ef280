// SPDX-License-Identifier: Apache-2.0
// The query box of an opened filter: a line becomes a key by the filter's rule, and is asked.

import { field, h, replace } from "./dom";
import { type Filter, type Info, keyOfText } from "./engine";
import { hex } from "./inspect-open";
import { ruleText } from "./inspect-facts";
import { formatCount, formatOneIn } from "./numbers";

const LISTED = 64;
const HEX_BYTES = 64;

interface Asked {
  filter: Filter;
  info: Info;
  layer: number;
}

export interface QueryBox {
  element: HTMLElement;
  input: HTMLInputElement;
  /** The filter that is asked, if any; its positions are those in a layer. */
  use(asked: Asked | undefined): void;
  /** The file is damaged: a bit that is not set proves nothing. */
  damaged(): void;
  /** Asks for what is in the box; returns the answer. */
  ask(): string;
}

interface Answer {
  sentence: string;
  /** A word for the look: yes, no, or no answer. */
  state: "possibly" | "not" | "none";
  key?: Uint8Array;
}

function seen(filter: Filter, info: Info, key: Uint8Array): string {
  const rate = info.liveRate ?? info.expectedRate ?? 0;
  const odds =
    rate >= 1
      ? "Every absent key gets this answer."
      : rate > 0
        ? `About ${formatOneIn(rate)} absent keys gets this answer.`
        : "";
  const count = info.canRemove ? ` Its counters allow for ${formatCount(filter.count(key))}.` : "";
  return `Possibly added. ${odds}${count}`;
}

function answer(filter: Filter, info: Info, text: string, isEmptyKey: boolean): Answer {
  if (text === "" && !isEmptyKey) return { sentence: "Type a key to ask for it.", state: "none" };
  const key = filter.keyOf(keyOfText(text));
  if (typeof key === "string") return { sentence: key, state: "none" };
  if (filter.mayContain(key)) return { sentence: seen(filter, info, key), state: "possibly", key };
  return { sentence: "Definitely not added.", state: "not", key };
}

/** A hash of 64 bits has its other half 0. */
function hashText(info: Info, hash: { lo: string; hi: string } | null): string {
  if (!hash) return "not one number: this system hashes several times";
  return info.hash === "xxh3-64" ? hash.hi : `${hash.hi} ${hash.lo}`;
}

function keyFacts(filter: Filter, info: Info, layer: number, key: Uint8Array): [string, string][] {
  const shown = hex(key.subarray(0, HEX_BYTES));
  const hash = filter.hash(key);
  const rows: [string, string][] = [
    [
      key.length === 1 ? "Key, 1 byte" : `Key, ${formatCount(key.length)} bytes`,
      key.length > HEX_BYTES ? `${shown} …` : shown || "none",
    ],
    ["Hash", hashText(info, hash)],
  ];
  if (!info.hasBits) return [...rows, ["Cells", "A static filter has no bit of a key's own."]];
  const cells = filter.positions(key, layer);
  const name = info.layers > 1 ? `Cells in layer ${layer + 1}` : "Cells";
  const rest = cells.length > LISTED ? ` … (${formatCount(cells.length)} in all)` : "";
  return [...rows, [name, cells.slice(0, LISTED).map(formatCount).join(" · ") + rest]];
}

const marks = { possibly: "≈", not: "✕", none: "–" };

/** `mark` is called with the cells of the key, `typed` with what was typed. */
export function queryBox(
  mark: (cells: number[]) => void,
  typed: (text: string, how: "push" | "replace") => void,
): QueryBox {
  const input = h("input", {
    type: "text",
    name: "query",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 4096,
  });
  const hint = h("p", { class: "hint inspect-rule" });
  const outcome = h("p", { class: "inspect-answer" });
  const facts = h("dl", { class: "inspect-key" });
  let using: Asked | undefined;
  let isDamaged = false;
  /** A key of no bytes is asked for: an empty box alone asks for nothing. */
  let isEmptyKey = false;

  const ask = (): string => {
    if (!using) return "";
    const { filter, info, layer } = using;
    const found = answer(filter, info, input.value, isEmptyKey);
    const { key } = found;
    const proven = found.state !== "not" || !isDamaged;
    const state = proven ? found.state : "none";
    const sentence = proven
      ? found.sentence
      : "Not found, but this file is damaged: that proves nothing.";
    outcome.className = `inspect-answer ${state}`;
    replace(
      outcome,
      h("span", { class: "inspect-mark", "aria-hidden": "true" }, marks[state]),
      h("span", {}, sentence),
    );
    const rows = key ? keyFacts(filter, info, layer, key) : [];
    replace(
      facts,
      ...rows.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
    );
    mark(key && info.hasBits ? filter.positions(key, layer) : []);
    return sentence;
  };
  const change = (how: "push" | "replace", empty = false) => {
    isEmptyKey = empty;
    typed(input.value, how);
  };
  input.addEventListener("input", () => change("replace"));
  input.addEventListener("change", () => change("push"));
  const emptyKey = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        input.value = "";
        change("push", true);
      },
    },
    "Ask for the empty key",
  );

  return {
    element: h(
      "div",
      { class: "inspect-query" },
      h("div", { class: "row" }, field("Ask for a key", input), emptyKey),
      hint,
      outcome,
      facts,
    ),
    input,
    use(asked) {
      using = asked;
      if (!asked) {
        isDamaged = false;
        return;
      }
      const { info } = asked;
      const rule = ruleText(info.rule);
      hint.textContent = rule
        ? `Give a line as it stands in the input. By the rule of this filter: ${rule}`
        : info.dialect === null
          ? "The key is the text as it is, in UTF-8."
          : "The key is the text in UTF-8. Some systems hash other bytes: docs/dialects.md says which.";
    },
    damaged() {
      isDamaged = true;
      ask();
    },
    ask,
  };
}
