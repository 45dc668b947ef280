// SPDX-License-Identifier: Apache-2.0
// The query box of an opened filter: a line becomes a key by the filter's rule, and is looked up. Many
// lines get a "yes" or a "no" each. What is typed here goes nowhere: not into the address either.

import { copyButton, field, h, replace, scrolling, table } from "./dom";
import type { Info } from "./engine";
import type { Asked, AskedAll } from "./inspect-desk";
import { hex } from "./inspect-open";
import { type Remote, Superseded } from "./inspect-remote";
import { ruleText } from "./inspect-facts";
import { formatCount, formatOneIn, visible } from "./numbers";

const LISTED = 64;
const HEX_BYTES = 64;
/** Rows of the table of a list; all of them are copied. */
const MOST_ROWS = 500;

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
  return `Possibly in the set. ${odds}${counted}`;
}

/** In a damaged file a bit that is not set proves nothing. */
function answer(info: Info, asked: Asked, isDamaged: boolean): Answer {
  if ("refused" in asked) return { sentence: asked.refused, state: "none" };
  if (asked.found) return { sentence: seen(info, asked.count), state: "possibly" };
  if (!isDamaged) return { sentence: "Definitely not in the set.", state: "not" };
  return { sentence: "Not found, but this file is damaged: that proves nothing.", state: "none" };
}

/** A hash of 64 bits has its other half 0. */
function hashText(hash: { lo: string; hi: string } | null): string {
  if (!hash) return "not one number: this system hashes several times";
  const halves = [hash.hi, hash.lo].filter((half) => !/^0+$/.test(half));
  return halves.join(" ") || hash.hi;
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
    ["Hash", hashText(hash)],
  ];
  if (!info.hasBits) return [...rows, ["Cells", "A static filter has no bits of a single key."]];
  const name = info.layers > 1 ? `Cells in layer ${layer + 1}` : "Cells";
  const rest = cells.length > LISTED ? ` … (${formatCount(cells.length)} in all)` : "";
  return [...rows, [name, cells.slice(0, LISTED).map(formatCount).join(" · ") + rest]];
}

const marks = { possibly: "≈", not: "✕", none: "–" };

/** The answers to a list: a sentence, a table, and a button that copies all of them. */
function drawList(host: HTMLElement, { lines, answers }: AskedAll, isDamaged: boolean): string {
  const words = ["not a key", isDamaged ? "not found" : "no", "possibly"];
  const count = (answer: number) => answers.reduce((sum, one) => sum + Number(one === answer), 0);
  const refused = count(0);
  const sentence =
    `${formatCount(count(2))} of ${formatCount(lines.length)} ${lines.length === 1 ? "line" : "lines"} possibly in the set, ` +
    `${formatCount(count(1))} ${isDamaged ? "not found in this damaged file" : "definitely not"}` +
    (refused > 0 ? `; ${formatCount(refused)} not a key by the filter's rule.` : ".");
  const caption =
    lines.length > MOST_ROWS
      ? `The first ${formatCount(MOST_ROWS)} lines; the copy has all`
      : "Each line";
  replace(
    host,
    h("p", { class: "inspect-list-says" }, sentence),
    scrolling(
      caption,
      table(
        caption,
        ["Line", "In the set?"],
        lines.slice(0, MOST_ROWS).map((line, i) => [visible(line), words[answers[i]!]!]),
      ),
    ),
    copyButton("all answers", () =>
      lines.map((line, i) => `${words[answers[i]!]}\t${line}\n`).join(""),
    ),
  );
  return sentence;
}

/** `mark` is called with the cells of the key, `told` with each answer. */
export function queryBox(
  mark: (cells: number[]) => void,
  told: (sentence: string) => void,
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
  const outcome = h("p", { class: "outcome inspect-answer" });
  const facts = h("dl", { class: "inspect-key" });
  let using: Using | undefined;
  let question = 0;
  let isDamaged = false;
  /** True after the button for the key of no bytes: an empty box alone looks up nothing. */
  let isEmptyKey = false;

  const show = ({ sentence, state }: Answer, rows: [string, string][], cells: number[]) => {
    outcome.removeAttribute("aria-busy");
    outcome.className = `outcome inspect-answer ${state}`;
    replace(
      outcome,
      h("span", { class: "outcome-mark", "aria-hidden": "true" }, marks[state]),
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
  const change = (empty = false) => {
    isEmptyKey = empty;
    void ask().then((sentence) => sentence !== "" && told(sentence));
  };
  input.addEventListener("input", () => change());
  const emptyKey = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        input.value = "";
        change(true);
      },
    },
    "Look up the empty key",
  );

  const listBox = h("textarea", {
    rows: 6,
    name: "list",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
  });
  const listAnswers = h("div", { class: "inspect-list" });
  const askList = async () => {
    if (!using || listBox.value === "") return;
    try {
      const asked = await using.remote.want("askAll", { text: listBox.value });
      told(drawList(listAnswers, asked, isDamaged));
    } catch (error) {
      if (!(error instanceof Superseded))
        replace(listAnswers, `The library failed: ${String(error)}`);
    }
  };
  const many = h(
    "details",
    { class: "inspect-many" },
    h("summary", {}, "Many keys at once"),
    field("Keys, one on each line", listBox),
    h("button", { type: "button", onclick: () => void askList() }, "Look up all lines"),
    listAnswers,
  );
  // Several lines in the box of one key are a list.
  input.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!/[\r\n]./.test(text)) return;
    event.preventDefault();
    many.open = true;
    listBox.value = text;
    void askList();
  });

  return {
    element: h(
      "div",
      { class: "inspect-query" },
      h("div", { class: "row" }, field("Key", input), emptyKey),
      hint,
      outcome,
      facts,
      many,
    ),
    input,
    use(now) {
      using = now;
      if (!now) {
        isDamaged = false;
        listAnswers.replaceChildren();
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
