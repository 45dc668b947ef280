// SPDX-License-Identifier: Apache-2.0
// The answer, before anything else: the textbook's numbers, which every other calculator has, what a
// filter of cache lines costs and saves beside them, and all of it to take away.

import { commandOf, cOf, pythonOf } from "./calculator-code";
import { type Asked, bitsOf, readers } from "./calculator-state";
import { copyButton, h, replace } from "./dom";
import { compared } from "./calculator-results";
import { type Engine, type Plan, type PlanRequest, Refusal } from "./engine";
import {
  formatBytes,
  formatCount,
  formatFixed,
  formatNumber,
  formatOneIn,
  formatRate,
} from "./numbers";
import { textbook, type Textbook } from "./textbook";

const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 1 in 9,994,297: to the last digit, as far as that says something. */
function odds(rate: number): string {
  const many = 1 / rate;
  return many >= 10 && many < 1e15 ? `1 in ${exact.format(many)}` : formatOneIn(rate);
}

/** The textbook's numbers of what is in the boxes; undefined where a box cannot be read. */
export function textbookOf(asked: Asked): Textbook | undefined {
  const value = (name: "n" | "p") =>
    asked.given.includes(name) ? readers[name](asked.text[name]) : undefined;
  const probes = /^\s*[1-9][0-9]{0,3}\s*$/.test(asked.k) ? Number(asked.k) : undefined;
  return textbook({
    keys: value("n"),
    rate: value("p"),
    bits: asked.given.includes("m") ? bitsOf(asked.text.m) : undefined,
    probes: asked.kind === "classic" ? probes : undefined,
  });
}

type Part = [name: string, text: string];

/** The parts of the line, in the order in which they are read. */
function partsOf(
  asked: Asked,
  { keys, bits, rate }: { keys: number; bits: number; rate: number },
  k: Part | undefined,
): Part[] {
  const size = asked.given.includes("m") && /[a-z]/i.test(asked.text.m) ? asked.text.m.trim() : "";
  return [
    ...(asked.given.includes("n") ? [] : ([["n", `${formatCount(keys)} keys`]] as Part[])),
    [
      "m",
      `${formatCount(bits)} ${bits === 1 ? "bit" : "bits"} (${size || formatBytes(Math.ceil(bits / 8))})`,
    ],
    ...(k ? [k] : []),
    ["", `${bits < keys / 10 ? formatNumber(bits / keys) : formatFixed(bits / keys)} bits per key`],
    ["p", odds(rate)],
  ];
}

const textbookParts = (asked: Asked, numbers: Textbook): Part[] =>
  partsOf(asked, numbers, ["k", String(numbers.probes)]);

/** The same parts of a plan. A static filter has no k. */
function planParts(asked: Asked, plan: Plan): Part[] {
  const { blocksPerKey: blocks, probes } = plan;
  const k: Part = blocks > 1 ? ["L × k", `${blocks} × ${probes}`] : ["k", String(probes)];
  const numbers = { keys: plan.plannedKeys, bits: 8 * plan.plannedBytes, rate: plan.plannedRate };
  return partsOf(asked, numbers, asked.kind === "static" ? undefined : k);
}

const wordOf = ([name, text]: Part) => (name === "" ? text : `${name} = ${text}`);

/** The line as a text. */
export const lineOf = (asked: Asked, numbers: Textbook): string =>
  textbookParts(asked, numbers).map(wordOf).join(" · ");

/** The page's address with a link's query, in the form of other calculators. */
export function linkOf(asked: Asked): string {
  const value = (name: "n" | "p") =>
    asked.given.includes(name) ? String(readers[name](asked.text[name]) ?? "") : "";
  const bits = asked.given.includes("m") ? String(bitsOf(asked.text.m) ?? "") : "";
  const kind = asked.kind === "classic" ? "" : `&kind=${asked.kind}`;
  const blocks = asked.L === "" ? "" : `&L=${asked.L}`;
  const page = location.href.replace(/[?#].*$/, "");
  return `${page}?n=${value("n")}&p=${value("p")}&m=${bits}&k=${asked.k.trim()}${kind}${blocks}`;
}

/** What blocked costs and saves, beside the same two numbers in one flat array. */
function versus(engine: Engine, { asked, request, plan }: Answered, numbers: Textbook): string {
  const { keys, rate, bytes } = request ?? { ...numbers, bytes: undefined };
  const isBlocked = asked.kind === "blocked";
  try {
    const plain = { keys, rate, bytes };
    const blocked = isBlocked && plan ? plan : engine.plan({ ...plain, kind: "blocked" });
    const classic = engine.plan({ ...plain, kind: "classic" });
    const book = textbook({ keys, rate, bits: bytes && 8 * bytes })!;
    const reads = ({ absentCacheLines, presentCacheLines }: Plan) => [
      formatNumber(Number(absentCacheLines.toFixed(2))),
      formatNumber(presentCacheLines),
    ];
    const [absent, present] = reads(blocked);
    const [flatAbsent, flatPresent] = reads(classic);
    return `${isBlocked ? "This" : "A"} blocked filter ${cost(asked, blocked, book)}. In return, a lookup reads ${absent} cache ${absent === "1" ? "line" : "lines"} instead of ${flatAbsent} if the key is absent, and ${present} instead of ${flatPresent} if it is present.`;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return rate !== undefined && rate < 1e-15
      ? "The library does not plan for rates below 1e-15; these numbers are the textbook's."
      : "The library cannot plan this filter, for the reason below; these numbers are the textbook's.";
  }
}

function cost(asked: Asked, blocked: Plan, book: Textbook): string {
  if (!asked.given.includes("m"))
    return `takes ${formatBytes(blocked.plannedBytes)}, ${compared((8 * blocked.plannedBytes) / book.bits - 1)} than the textbook's`;
  return asked.given.includes("n")
    ? `has a rate of ${formatOneIn(blocked.plannedRate)} in the same memory`
    : `holds ${formatCount(blocked.plannedKeys)} keys in the same memory`;
}

/** The same numbers for a wiki, an issue or a comment. */
function markdownOf(asked: Asked, numbers: Textbook, plan: Plan | undefined): string {
  const { keys } = numbers;
  const rows = [
    `**Bloom filter** for ${formatCount(keys)} keys: ${lineOf(asked, numbers)} ([calculator](${linkOf(asked)}))`,
    "",
    "| | memory | bits per key | false positives |",
    "| --- | ---: | ---: | ---: |",
    `| textbook, k = ${numbers.probes} | ${formatBytes(Math.ceil(numbers.bits / 8))} | ${formatFixed(numbers.bits / keys)} | ${formatRate(numbers.rate)} |`,
  ];
  if (plan)
    rows.push(
      `| Bloomery, ${asked.kind} | ${formatBytes(plan.plannedBytes)} | ${formatFixed(plan.bitsPerKey)} | ${formatRate(plan.plannedRate)} |`,
    );
  return `${rows.join("\n")}\n`;
}

export interface Answered {
  asked: Asked;
  request: PlanRequest | undefined;
  plan: Plan | undefined;
}

/** The line, the comparison and the buttons. */
export class AnswerView {
  readonly element: HTMLElement;
  private readonly line = h("p", { class: "calc-answer" });
  private readonly whose = h("p", { class: "calc-whose" });
  private readonly planLine = h("p", { class: "calc-plan" });
  private readonly versus = h("p", { class: "calc-versus" });
  private readonly engine: Engine;
  private shown: Answered | undefined;

  constructor(engine: Engine) {
    this.engine = engine;
    const copy = (what: string, text: (shown: Answered) => string) =>
      copyButton(what, () => (this.shown ? text(this.shown) : ""));
    const code = (of: (request: PlanRequest, plan: Plan) => string) => (shown: Answered) =>
      shown.request && shown.plan ? of(shown.request, shown.plan) : linkOf(shown.asked);
    this.element = h(
      "div",
      { class: "calc-top" },
      h("p", { class: "calc-whose" }, "Textbook: one flat array"),
      this.line,
      this.whose,
      this.planLine,
      this.versus,
      h(
        "div",
        { class: "calc-copies", role: "group", "aria-label": "Take it away" },
        copy("link", ({ asked }) => linkOf(asked)),
        copy("as Markdown", ({ asked, plan }) => {
          const numbers = textbookOf(asked);
          return numbers ? markdownOf(asked, numbers, plan) : "";
        }),
        copy(
          "C",
          code((request) => cOf(request)),
        ),
        copy(
          "Python",
          code((request, plan) => pythonOf(request, plan)),
        ),
        copy(
          "command",
          code((request, plan) => commandOf(engine, request, plan).text),
        ),
      ),
    );
  }

  /** Undefined numbers leave what was there. */
  draw(answered: Answered): Textbook | undefined {
    const numbers = textbookOf(answered.asked);
    if (!numbers) return undefined;
    this.shown = answered;
    const { asked, plan } = answered;
    const write = (line: HTMLElement, parts: Part[]) =>
      replace(
        line,
        ...parts.flatMap((part, i) => [
          i > 0 && h("span", { class: "dot" }, " · "),
          h(
            "span",
            { class: "part" },
            part[0] !== "" && h("i", {}, part[0]),
            part[0] !== "" && " = ",
            part[1],
          ),
        ]),
      );
    write(this.line, textbookParts(asked, numbers));
    this.whose.textContent = `Bloomery: ${asked.kind}, as chosen below`;
    write(this.planLine, plan ? planParts(asked, plan) : [["", "no plan"]]);
    this.versus.textContent = versus(this.engine, answered, numbers);
    return numbers;
  }
}
