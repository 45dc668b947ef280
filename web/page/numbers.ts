// SPDX-License-Identifier: Apache-2.0
// Numbers as people write and read them.

const units: Record<string, number> = {
  "": 1,
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  mio: 1e6,
  million: 1e6,
  g: 1e9,
  b: 1e9,
  bn: 1e9,
  billion: 1e9,
  t: 1e12,
  trillion: 1e12,
};

const decimal: Record<string, number> = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15 };

/** Bits of a unit of memory, as it is written: Mb is a million bits, MB a million bytes. Letters alone
 * (M) say neither, nor whether they count by 1,000 or 1,024. */
function bitsOf(unit: string): number | undefined {
  if (unit === "") return 1;
  const bits = /^([kmgtp]?)(i?)(?:bits?)$/i.exec(unit) ?? /^([kKMGTP])()b$/.exec(unit);
  const bytes = /^([kmgtp]?)(i?)(?:b|bytes?)$/i.exec(unit);
  const isBits = bits !== null && !/^kb$/.test(unit);
  const [, letter, binary] = (isBits ? bits : bytes) ?? [];
  if (letter === undefined || (binary !== "" && letter === "")) return undefined;
  const factor = decimal[letter.toLowerCase()]!;
  const scale = binary === "" ? factor : 1024 ** Math.round(Math.log10(factor) / 3);
  return (isBits ? 1 : 8) * scale;
}

const POINT = /^([0-9]*)[.,]([0-9]*)$/;

/** Digits as people group them, without the groups: 1,000,000 and 1.000.000 and 1'000'000; a comma that
 * can only be a decimal one (0,01 and 12,5). */
function plain(digits: string): string | undefined {
  if (/^[0-9]{1,3}(?:([,_' \u00a0\u202f\u2009])[0-9]{3})(?:\1[0-9]{3})*(?:\.[0-9]*)?$/.test(digits))
    if (!/^0,[0-9]{3}$/.test(digits)) return digits.replace(/[,_' \u00a0\u202f\u2009]/g, "");
  if (/^[0-9]{1,3}(?:\.[0-9]{3}){2,}(?:,[0-9]*)?$/.test(digits))
    return digits.replaceAll(".", "").replace(",", ".");
  if (/^[0-9]+$/.test(digits)) return digits;
  const point = POINT.exec(digits);
  return point && point[1]! + point[2]! !== "" ? `${point[1]}.${point[2]}` : undefined;
}

/** A number and the letters behind it. */
function split(text: string): [number, string] | undefined {
  const power = /^\s*(2|10)\s*(?:\^|\*\*)\s*([0-9]{1,3})\s*([a-z]*)\s*$/i.exec(text);
  if (power) return [Number(power[1]) ** Number(power[2]), power[3]!];
  const match =
    /^\s*([0-9][0-9.,_' \u00a0\u202f\u2009]*?|[.,][0-9]+)(e[+-]?[0-9]{1,3})?\s*([a-z]*)\s*$/i.exec(
      text,
    );
  const digits = match ? plain(match[1]!) : undefined;
  if (!match || digits === undefined) return undefined;
  const number = Number(digits + (match[2] ?? ""));
  return Number.isFinite(number) ? [number, match[3]!] : undefined;
}

const unitOf = (letters: string): number | undefined => {
  const name = letters.toLowerCase();
  return Object.hasOwn(units, name) ? units[name] : undefined;
};

export const KEYS_MOST = 2 ** 53;

/** A text as a number of things, which may be out of range or not whole. "1.000" may be 1 or 1,000: it is
 * not read. */
export function readCount(text: string): number | undefined {
  const parts = split(text);
  const factor = parts && unitOf(parts[1]);
  if (!parts || factor === undefined || /^\s*[0-9]{1,3}\.[0-9]{3}\s*$/.test(text)) return undefined;
  return Number((parts[0] * factor).toPrecision(15));
}

/** 1000000, 1e6, 20M, 20 million, 1,000,000, 2^20: a whole number of at least 1. */
export function parseCount(text: string): number | undefined {
  const number = readCount(text);
  return Number.isInteger(number) && number! >= 1 && number! <= KEYS_MOST ? number : undefined;
}

/** Why a text is not a number of things, which have a plural; undefined if it is not a number at all. */
export function whyNoCount(text: string, things: string): string | undefined {
  const count = readCount(text);
  if (count === undefined)
    return /^\s*[0-9]{1,3}\.[0-9]{3}\s*$/.test(text)
      ? `Is that ${text.trim().replace(".", ",")} or ${Number(text)}? Write it without the point.`
      : undefined;
  if (count > KEYS_MOST)
    return `That is more than ${whole.format(KEYS_MOST)} ${things}, the most that this page counts.`;
  if (count < 1) return `It must be at least 1 ${things.slice(0, -1)}.`;
  return `The number of ${things} is a whole one: ${formatCount(Math.floor(count))} or ${formatCount(Math.ceil(count))}?`;
}

/** Why a text is not a size of memory; undefined if it is not a number at all. */
export function whyNoBits(text: string): string | undefined {
  const size = text.trim();
  if (/^[^a-z]*[kmgtp]$/i.test(size))
    return `Bits or bytes? Write ${size}B for bytes, ${size}iB for powers of 1,024, or ${size}bit.`;
  const parts = split(text);
  if (!parts || bitsOf(parts[1]) === undefined) return undefined;
  return parts[0] > 0
    ? "That is more than 8 PiB, the most that this page counts."
    : "It must be at least 1 bit.";
}

/** A number that may have a fraction: 50, 12.5, 12,5, 1,000, 1e6. */
export function parsePlain(text: string): number | undefined {
  const parts = split(text);
  return parts && parts[1] === "" ? parts[0] : undefined;
}

/** 0.01, 1e-7, 1%, 1/1000, "1 in 1000", and 1000 for "1 in 1000": between 0 and 1. */
export function parseRate(text: string): number | undefined {
  const ratio = /^\s*1\s*(?:\/|in|:)\s*(.+)$/i.exec(text);
  if (ratio) {
    const parts = split(ratio[1]!);
    const factor = parts && unitOf(parts[1]);
    const many = parts && factor !== undefined ? parts[0] * factor : 0;
    return many > 1 ? 1 / many : undefined;
  }
  const percent = /^(.*)%\s*$/.exec(text);
  const parts = split(percent ? percent[1]! : text);
  if (!parts) return undefined;
  if (percent)
    return parts[1] === "" && parts[0] > 0 && parts[0] < 100 ? parts[0] / 100 : undefined;
  const factor = unitOf(parts[1]);
  if (factor === undefined) return undefined;
  const number = parts[0] * factor;
  if (number > 1) return 1 / number;
  return number > 0 && number < 1 ? number : undefined;
}

/** 64KiB, 18 MB, 18 Mbit, and a bare number of bits, as in links to other calculators. */
export function parseBits(text: string): number | undefined {
  const parts = split(text);
  const unit = parts && bitsOf(parts[1]);
  if (!parts || unit === undefined) return undefined;
  const bits = Math.round(parts[0] * unit);
  return bits >= 1 && bits <= 2 ** 56 ? bits : undefined;
}

/** The same in whole bytes, at least one. */
export function parseBytes(text: string): number | undefined {
  const bits = parseBits(text);
  return bits === undefined ? undefined : Math.max(1, Math.floor(bits / 8));
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
// As the command rounds: 2.625 becomes 2.62.
const two = new Intl.NumberFormat("en", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  ...({ roundingMode: "halfEven" } as object),
});

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

/** A sentence of the library as this page writes: 1,024 and 95% and 1 key. */
export function readable(text: string): string {
  return text
    .replace(/(?<![\w.])[0-9]{4,15}(?!\w|\.\w)/g, (digits) => whole.format(Number(digits)))
    .replace(/([0-9]) %/g, "$1%")
    .replace(/(?<![\w.,])1 (key|byte)s(?: (do|hold))?/g, (_, one: string, verb?: string) =>
      verb ? `1 ${one} ${verb === "do" ? "does" : "holds"}` : `1 ${one}`,
    );
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

/** 1.23%, and 0.0000000123%: one form for a column of rates that are far apart. */
export function formatPercent(rate: number): string {
  return rate !== 0 && rate < 1e-15 ? rate.toExponential(2) : `${three.format(rate * 100)}%`;
}

/** 1.23%, or 0.00012 where a percentage would have too many zeros. */
export function formatRate(rate: number): string {
  if (rate === 0) return "0";
  return rate >= 1e-4 ? `${three.format(rate * 100)}%` : rate.toExponential(2);
}

/** 61; 99.99939, to two digits after the nines. */
function nearly(percent: number): string {
  const rest = 100 - percent;
  return rest > 1e-10 && rest < 0.05
    ? percent.toFixed(1 - Math.floor(Math.log10(rest)))
    : three.format(percent);
}

/** 1 in 81; 99.9% where "1 in 1" would say nothing. */
export function formatOneIn(rate: number): string {
  if (rate <= 0) return "never";
  const many = 1 / rate;
  if (many < 2) return `${nearly(rate * 100)}%`;
  if (many === Infinity) return rate.toExponential(2);
  if (many < 10) return `1 in ${three.format(many)}`;
  return many < 1e15
    ? `1 in ${whole.format(Number(many.toPrecision(3)))}`
    : `1 in ${many.toExponential(2).replace(/(\.?0+)?e\+/, "e")}`;
}

/** 1.23%, 1 in 81; once where both say the same. */
export function formatBoth(rate: number): string {
  const [share, odds] = [formatRate(rate), formatOneIn(rate)];
  return share === odds ? share : `${share}, ${odds}`;
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
