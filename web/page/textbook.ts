// SPDX-License-Identifier: Apache-2.0
// The textbook's filter: one flat array, k as a whole number, and the classic formula for the rate. These
// are the numbers that other calculators show for the same link, for any rate above 0 and below 1, while
// the library plans no lower than 1e-15.
//
//     m = ceil(n ln p / ln(1 / 2^(ln 2)))     k = round(m / n ln 2)     p = (1 - e^(-k n / m))^k

/** What is known of a filter: two of keys, rate and bits; perhaps the probes. */
export interface Known {
  keys?: number | undefined;
  rate?: number | undefined;
  bits?: number | undefined;
  probes?: number | undefined;
}

export interface Textbook {
  keys: number;
  rate: number;
  bits: number;
  probes: number;
}

/** (1 - e^(-k n / m))^k, also where e^(-k n / m) is next to 1 or 0. */
export function classicRate(keys: number, bits: number, probes: number): number {
  return (-Math.expm1((-probes * keys) / bits)) ** probes;
}

/** The bits with which k probes have this rate. */
function bitsFor(keys: number, rate: number, probes: number): number {
  return (-probes * keys) / Math.log1p(-(rate ** (1 / probes)));
}

export function textbook(known: Known): Textbook | undefined {
  const { keys, rate, bits, probes } = known;
  const best = (all: number, count: number) => Math.max(1, Math.round((all / count) * Math.LN2));
  if (keys !== undefined && rate !== undefined) {
    const size = probes
      ? bitsFor(keys, rate, probes)
      : (keys * Math.log(rate)) / Math.log(1 / 2 ** Math.LN2);
    const m = Math.max(1, Math.ceil(size));
    const k = probes ?? best(m, keys);
    return { keys, bits: m, probes: k, rate: classicRate(keys, m, k) };
  }
  if (keys !== undefined && bits !== undefined) {
    const k = probes ?? best(bits, keys);
    return { keys, bits, probes: k, rate: classicRate(keys, bits, k) };
  }
  if (rate !== undefined && bits !== undefined) {
    const k = probes ?? Math.max(1, Math.round(-Math.log2(rate)));
    // Rounded up, as they do.
    const n = Math.ceil((-bits / k) * Math.log1p(-(rate ** (1 / k))));
    return { keys: n, bits, probes: k, rate: classicRate(n, bits, k) };
  }
  return undefined;
}
