// SPDX-License-Identifier: Apache-2.0
// Numbers as people write and read them.

const units: Record<string, number> = {
  "": 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  b: 1e9,
  t: 1e12,
};

const byteUnits: Record<string, number> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
};

/** Digits with separators of thousands (in groups of three: 0,05 is not a number here), a fraction, an exponent; then letters. */
function split(text: string): [number, string] | undefined {
  const match =
    /^\s*([0-9]{1,3}(?:[,_'  ][0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]{1,3})?\s*([a-z]*)\s*$/i.exec(
      text,
    );
  if (!match) return undefined;
  const number = Number(match[1]!.replace(/[,_'  ]/g, "") + (match[2] ?? ""));
  return Number.isFinite(number) ? [number, match[3]!.toLowerCase()] : undefined;
}

/** 1000000, 1e6, 20M, 1,000,000: a whole number of at least 1. */
export function parseCount(text: string): number | undefined {
  const parts = split(text);
  const factor = parts && units[parts[1]];
  if (!parts || factor === undefined) return undefined;
  const number = Math.round(parts[0] * factor);
  return number >= 1 && number <= 2 ** 53 ? number : undefined;
}

/** 0.01, 1e-7, 1%, 1/1000, "1 in 1000", and 1000 for "1 in 1000": between 0 and 1. */
export function parseRate(text: string): number | undefined {
  const ratio = /^\s*1\s*(?:\/|in)\s*(.+)$/i.exec(text);
  if (ratio) {
    const parts = split(ratio[1]!);
    const factor = parts && units[parts[1]];
    const many = parts && factor !== undefined ? parts[0] * factor : 0;
    return many > 1 ? 1 / many : undefined;
  }
  const percent = /^(.*)%\s*$/.exec(text);
  const parts = split(percent ? percent[1]! : text);
  if (!parts) return undefined;
  if (percent)
    return parts[1] === "" && parts[0] > 0 && parts[0] < 100 ? parts[0] / 100 : undefined;
  const factor = units[parts[1]];
  if (factor === undefined) return undefined;
  const number = parts[0] * factor;
  if (number > 1) return 1 / number;
  return number > 0 && number < 1 ? number : undefined;
}

/** 64KiB, 1.5 GB, 512M (MiB), 4096 (bytes). */
export function parseBytes(text: string): number | undefined {
  const parts = split(text);
  const factor = parts && (parts[1] === "" ? 1 : byteUnits[parts[1]]);
  if (!parts || factor === undefined) return undefined;
  const bytes = Math.round(parts[0] * factor);
  return bytes >= 1 && bytes <= 2 ** 53 ? bytes : undefined;
}

/** As in links to other calculators: a bare number is bits, and one with a unit is bytes. */
export function parseBits(text: string): number | undefined {
  const parts = split(text);
  if (!parts) return undefined;
  if (parts[1] === "")
    return parts[0] >= 1 && parts[0] <= 2 ** 56 ? Math.round(parts[0]) : undefined;
  const bytes = parseBytes(text);
  return bytes === undefined ? undefined : bytes * 8;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const two = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** 1,000,000. Past 2^53 the last digits would be made up. */
export function formatCount(value: number): string {
  if (value > Number.MAX_SAFE_INTEGER) return `about ${value.toExponential(3).replace("+", "")}`;
  return whole.format(value);
}

/** A stranger's text, in which no character turns the sentence around it or is not seen at all. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (letter) => `⟨U+${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

/** A sentence of the library, with separators in its long numbers. */
export function readable(text: string): string {
  return text.replace(/(?<![\w.])[0-9]{5,15}(?![\w.])/g, (digits) => whole.format(Number(digits)));
}

/** Three digits: 0.0123, 1.23e-7, 4,560,000. */
export function formatNumber(value: number): string {
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e15))
    return value.toExponential(2).replace("+", "");
  return three.format(value);
}

/** 12.34 */
export function formatFixed(value: number): string {
  return two.format(value);
}

/** 1.23%, or 0.00012 where a percentage would have too many zeros. */
export function formatRate(rate: number): string {
  if (rate === 0) return "0";
  return rate >= 1e-4 ? `${three.format(rate * 100)}%` : rate.toExponential(2);
}

/** 1 in 81 */
export function formatOneIn(rate: number): string {
  if (rate <= 0) return "never";
  const many = 1 / rate;
  if (many < 10) return `1 in ${three.format(many)}`;
  return many < 1e15
    ? `1 in ${whole.format(Number(many.toPrecision(3)))}`
    : `1 in ${many.toExponential(2).replace("+", "")}`;
}

/** 11.4 MiB */
export function formatBytes(bytes: number): string {
  const names = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let step = 0;
  while (value >= 1024 && step < names.length - 1) {
    value /= 1024;
    step++;
  }
  return step === 0
    ? `${whole.format(value)} ${value === 1 ? "byte" : "bytes"}`
    : `${three.format(value)} ${names[step]}`;
}

/** 3 min, 2.5 h, 12 days */
export function formatSeconds(seconds: number): string {
  if (seconds < 1e-3) return "under 1 ms";
  if (seconds < 1) return `${three.format(seconds * 1e3)} ms`;
  if (seconds < 120) return `${three.format(seconds)} s`;
  if (seconds < 7200) return `${three.format(seconds / 60)} min`;
  if (seconds < 172800) return `${three.format(seconds / 3600)} h`;
  return `${three.format(seconds / 86400)} days`;
}
