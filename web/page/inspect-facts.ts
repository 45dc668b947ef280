// SPDX-License-Identifier: Apache-2.0
// What a file says of its filter, and what its bits say, in words.

import { h, inParts, scrolling, table } from "./dom";
import type { Info, Layer, Rule } from "./engine";
import {
  formatBytes,
  formatCount,
  formatNumber,
  formatOneIn,
  formatRate,
  visible,
} from "./numbers";

type Fact = [id: string, name: string, text: string];

const flags: [number, string][] = [
  [16, "a carriage return at the end is removed"],
  [64, "fields are quoted as in CSV"],
  [1, "blanks at both ends are removed"],
  [8, "pairs of hexadecimal digits become bytes"],
  [128, "a whole number becomes 8 bytes, the least significant first"],
  [256, "a whole number becomes 4 bytes, the least significant first"],
  [2, "ASCII letters become lower case"],
  [4, "ASCII letters become upper case"],
  [512, "UTF-8 becomes UTF-16, the less significant byte first"],
  [32, "an empty key is not a key"],
];

function byteName(byte: number): string {
  if (byte === 9) return "tabs";
  return byte > 0x20 && byte < 0x7f ? `“${String.fromCharCode(byte)}”` : `the byte ${byte}`;
}

/** Undefined: the key is the whole line, as it is. */
export function ruleText(rule: Rule): string | undefined {
  const parts: string[] = [];
  if (rule.comment !== 0)
    parts.push(`lines that begin with ${byteName(rule.comment)} are not keys`);
  if (rule.field !== 0) {
    const end = rule.field < 0 ? ", counted from the end" : "";
    parts.push(
      `the key is field ${Math.abs(rule.field)} of a line${end}`,
      `fields are separated by ${byteName(rule.delimiter)}`,
    );
  }
  for (const [flag, text] of flags) if (rule.flags & flag) parts.push(text);
  if (parts.length === 0) return undefined;
  const text = parts.join("; ");
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}

const many = (count: number, one: string) =>
  `${formatCount(count)} ${one}${count === 1 ? "" : "s"}`;

function kindText(info: Info): string {
  const cell = info.cellBits === 1 ? "bit" : "counter";
  const probes = many(info.probes, cell);
  switch (info.kindName) {
    case "static":
      return "static: a table solved for all its keys at once; none can be added";
    case "classic":
      return `classic: ${probes} for a key, anywhere in one array`;
    default:
  }
  if (info.dialect !== null) return `${info.kindName}: ${probes} for a key`;
  const blocks = many(info.blocksPerKey, "block");
  const place = info.blocksPerKey === 1 ? "in it" : "in each";
  return info.blocksPerKey === 0
    ? `${info.kindName}: ${probes} for a key, anywhere in a layer`
    : `${info.kindName}: ${blocks} of 512 ${cell}s for a key, ${probes} ${place}`;
}

function hashText(info: Info): string {
  const hash = info.hash ?? "unknown";
  if (!info.keyed) return `${hash}, seed ${formatSeed(info.seed)}`;
  return info.secretInFile
    ? `${hash} with a secret, which is in this file`
    : `${hash} with a secret, which is not in this file`;
}

/** The seed in decimal digits, as the command has it. */
export function formatSeed(seed: string): string {
  return BigInt(`0x${seed}`).toString();
}

function abilities(info: Info): string {
  const can = [
    info.canAdd && "take more keys",
    info.canRemove && "remove keys",
    info.canMerge && "merge with another",
    info.canGrow && "grow",
  ].filter(Boolean);
  return can.length > 0 ? can.join(", ") : "answer queries only";
}

const bytesText = (bytes: number) =>
  bytes < 1024 ? formatBytes(bytes) : `${formatBytes(bytes)} (${formatCount(bytes)} bytes)`;

const rateText = (rate: number | null) =>
  rate === null ? "unknown" : `${formatRate(rate)} (${formatOneIn(rate)})`;

const cellsName = (info: Info) =>
  !info.hasBits ? "Bits of its table" : info.cellBits === 1 ? "Bits, m" : "Counters, m";

export function headerFacts(info: Info, ours: boolean, fileBytes: number): Fact[] {
  const facts: Fact[] = [
    [
      "format",
      "Format",
      ours ? `Bloomery, version ${info.formatVersion}` : `another system's: ${info.dialect}`,
    ],
  ];
  if (info.dialect !== null)
    facts.push([
      "dialect",
      "Dialect",
      info.variant === null ? info.dialect : `${info.dialect}, variant ${info.variant}`,
    ]);
  facts.push(
    ["kind", "Kind", kindText(info)],
    ["layers", "Layers", formatCount(info.layers)],
    [
      "blocks_per_key",
      "Blocks per key, L",
      info.blocksPerKey === 0 ? "none" : `${info.blocksPerKey}`,
    ],
    ["probes", info.hasBits ? "Probes, k" : "Bits compared for a key, r", formatCount(info.probes)],
    ["bits", cellsName(info), formatCount(info.bits)],
    ["cell_bits", "Bits of a cell", formatCount(info.cellBits)],
    ["bytes", "Memory", bytesText(info.bytes)],
    ["file_bytes", "File", bytesText(fileBytes)],
    ["planned_keys", "Planned keys", info.plannedKeys ? formatCount(info.plannedKeys) : "unknown"],
    ["planned_rate", "Planned rate", info.plannedRate ? rateText(info.plannedRate) : "unknown"],
  );
  if (info.growth > 0)
    facts.push([
      "growth",
      "Growth",
      `each layer for ${formatNumber(info.growth)} times the keys, at ` +
        `${formatNumber(info.tightening)} times the rate`,
    ]);
  facts.push(
    // Another system's file mostly does not count them.
    ["adds", "Adds", ours || info.adds > 0 ? formatCount(info.adds) : "not counted"],
    ["hash", "Hash", hashText(info)],
    ["rule", "Key rule", ruleText(info.rule) ?? "A key is a whole line."],
    ["can", "It can", abilities(info)],
  );
  if (info.note !== null) facts.push(["note", "Note", visible(info.note)]);
  return facts;
}

/** Of a scan. */
export function bitFacts(info: Info): Fact[] {
  const keys = info.estimatedKeys;
  const facts: Fact[] = [];
  if (info.hasBits) {
    const used = info.cellBits === 1 ? "Bits set" : "Counters used";
    facts.push(
      ["bits_set", used, `${formatCount(info.bitsSet)} of ${formatCount(info.bits)}`],
      ["fill", "Fill", formatRate(info.fill)],
    );
  }
  if (info.counterMax > 0)
    facts.push([
      "saturated",
      "Saturated",
      `${formatCount(info.saturatedCells)}, at ${formatCount(info.counterMax)}`,
    ]);
  facts.push(
    [
      "estimated_keys",
      info.hasBits ? "Keys in it, estimated" : "Keys in it",
      keys === null ? "no estimate: every bit is set" : formatCount(keys),
    ],
    ["predicted_rate", "Expected rate with these keys", rateText(info.expectedRate)],
    ["live_rate", "Live rate, of these very bits", rateText(info.liveRate)],
  );
  return facts;
}

export function factList(facts: Fact[]): HTMLElement {
  return h(
    "dl",
    { class: "inspect-facts" },
    ...facts.map(([id, name, text]) =>
      h(
        "div",
        {},
        h("dt", {}, name),
        h("dd", { "data-fact": id }, ...(id === "note" ? [text] : inParts(text))),
      ),
    ),
  );
}

function layerRow(layer: Layer, i: number, hasBits: boolean): string[] {
  return [
    String(i + 1),
    formatCount(layer.bits),
    String(layer.blocksPerKey),
    String(layer.probes),
    formatCount(layer.plannedKeys),
    formatRate(layer.plannedRate),
    formatCount(layer.adds),
    hasBits && layer.bits > 0 ? formatRate(layer.bitsSet / layer.bits) : "none",
    formatRate(layer.liveRate),
  ];
}

const layerHead = ["Layer", "Cells", "Blocks", "Probes", "Planned keys", "Planned rate"];

export function layerTable(info: Info): HTMLElement {
  const caption =
    info.firstLayer > 0
      ? `The newest ${info.layerList.length} of ${info.layers} layers`
      : "Layers, the oldest first";
  return scrolling(
    caption,
    table(
      caption,
      [...layerHead, "Adds", "Fill", "Live rate"],
      info.layerList.map((layer, i) => layerRow(layer, i + info.firstLayer, info.hasBits)),
    ),
  );
}
