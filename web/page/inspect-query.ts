// SPDX-License-Identifier: Apache-2.0
// The query box of an opened filter: a line becomes a key by the filter's rule, and is looked up.

import { field, h, replace } from "./dom";
import type { Info } from "./engine";
import type { Asked } from "./inspect-desk";
import { hex } from "./inspect-open";
import { type Remote, Superseded } from "./inspect-remote";
import { ruleText } from "./inspect-facts";
import { formatCount, formatOneIn } from "./numbers";

const LISTED = 64;
const HEX_BYTES = 64;

interface Using {
  remote: Remote;
  info: Info;
  layer: number;
}

export interface QueryBox {
  element: HTMLElement;
  input: HTMLInputElement;
  /** The filter that is queried, if any; its positions are those in a layer. */
  use(using: Using | undefined): void;
  /** The file is damaged: a bit that is not set proves nothing. */
  damaged(): void;
  /** Looks up what is in the box, and returns the answer; "" if a later lookup overtook it. */
  ask(): Promise<string>;
}

interface Answer {
  sentence: string;
  /** A word for the look: yes, no, or no answer. */
  state: "possibly" | "not" | "none";
}

function seen(info: Info, count: number | undefined): string {
  const rate = info.liveRate ?? info.expectedRate ?? 0;
  const odds =
    rate >= 1
      ? "Every absent key gets this answer."
      : rate > 0
        ? `About ${formatOneIn(rate)} absent keys gets this answer.`
        : "";
  const counted = count === undefined ? "" : ` Its counters allow up to ${formatCount(count)}.`;
  return `Possibly added. ${odds}${counted}`;
}

/** In a damaged file a bit that is not set proves nothing. */
function answer(info: Info, asked: Asked, isDamaged: boolean): Answer {
  if ("refused" in asked) return { sentence: asked.refused, state: "none" };
  if (asked.found) return { sentence: seen(info, asked.count), state: "possibly" };
  if (!isDamaged) return { sentence: "Definitely not added.", state: "not" };
  return { sentence: "Not found, but this file is damaged: that proves nothing.", state: "none" };
}

/** A hash of 64 bits has its other half 0. */
function hashText(info: Info, hash: { lo: string; hi: string } | null): string {
  if (!hash) return "not one number: this system hashes several times";
  return info.hash === "xxh3-64" ? hash.hi : `${hash.hi} ${hash.lo}`;
}

function keyFacts(info: Info, layer: number, asked: Asked): [string, string][] {
  if ("refused" in asked) return [];
  const { key, hash, cells } = asked;
  const shown = hex(key.subarray(0, HEX_BYTES));
  const rows: [string, string][] = [
    [
      key.length === 1 ? "Key, 1 byte" : `Key, ${formatCount(key.length)} bytes`,
      key.length > HEX_BYTES ? `${shown} …` : shown || "none",
    ],
    ["Hash", hashText(info, hash)],
  ];
  if (!info.hasBits) return [...rows, ["Cells", "A static filter has no bits of a single key."]];
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
  let using: Using | undefined;
  let question = 0;
  let isDamaged = false;
  /** True after the button for the key of no bytes: an empty box alone looks up nothing. */
  let isEmptyKey = false;

  const show = ({ sentence, state }: Answer, rows: [string, string][], cells: number[]) => {
    outcome.removeAttribute("aria-busy");
    outcome.className = `inspect-answer ${state}`;
    replace(
      outcome,
      h("span", { class: "inspect-mark", "aria-hidden": "true" }, marks[state]),
      h("span", {}, sentence),
    );
    replace(
      facts,
      ...rows.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
    );
    mark(cells);
    return sentence;
  };
  const ask = async (): Promise<string> => {
    if (!using) return "";
    const { remote, info, layer } = using;
    const turn = ++question;
    const text = input.value;
    if (text === "" && !isEmptyKey)
      return show({ sentence: "Type a key to look it up.", state: "none" }, [], []);
    outcome.setAttribute("aria-busy", "true");
    try {
      const asked = await remote.want("ask", { text, layer });
      if (turn !== question) return "";
      const cells = "refused" in asked ? [] : asked.cells;
      return show(answer(info, asked, isDamaged), keyFacts(info, layer, asked), cells);
    } catch (error) {
      if (error instanceof Superseded || turn !== question) return "";
      return show({ sentence: `The library failed: ${String(error)}`, state: "none" }, [], []);
    }
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
    "Look up the empty key",
  );

  return {
    element: h(
      "div",
      { class: "inspect-query" },
      h("div", { class: "row" }, field("Key", input), emptyKey),
      hint,
      outcome,
      facts,
    ),
    input,
    use(now) {
      using = now;
      if (!now) {
        isDamaged = false;
        return;
      }
      const { info } = now;
      const rule = ruleText(info.rule);
      hint.textContent = rule
        ? `Type a line as it is in the input. The rule of this filter: ${rule}`
        : info.dialect === null
          ? "The key is the text as it is, in UTF-8."
          : "The key is the text in UTF-8. Some systems hash other bytes: docs/dialects.md says which.";
    },
    damaged() {
      isDamaged = true;
      void ask();
    },
    ask,
  };
}
