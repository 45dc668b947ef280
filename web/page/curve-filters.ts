// SPDX-License-Identifier: Apache-2.0
// The filters of the load curve: what each is, how large, its theory, and how the worker makes it.

import type { Engine } from "./engine";
import { make, type MeasureJob } from "./measure";

export type Memory = "same" | "own";

export interface Shape {
  id: string;
  label: string;
  /** Of its line and its points. */
  style: number;
  /** 0: classic; 1 to 4: blocked. */
  blocks?: number;
}

export const shapes: Shape[] = [
  { id: "classic", label: "Classic", style: 0, blocks: 0 },
  { id: "L1", label: "Blocked, L = 1", style: 1, blocks: 1 },
  { id: "L2", label: "Blocked, L = 2", style: 2, blocks: 2 },
  { id: "L3", label: "Blocked, L = 3", style: 4, blocks: 3 },
  { id: "L4", label: "Blocked, L = 4", style: 5, blocks: 4 },
  { id: "split", label: "Split block, 256 bits", style: 3 },
];

/** A filter as planned. */
export interface Candidate {
  shape: Shape;
  bytes: number;
  probes: number;
  spec: MeasureJob["filter"];
  /** The expected rate with `keys` keys, summed over the layout. Measures nothing. */
  theory(keys: number): number;
  /** The expected share of bits that are set. */
  fill(keys: number): number;
  free(): void;
}

/** A key chooses `times` times a group of `together` bits among m: a bit stays 0 if none of them has it. */
function expectedFill(m: number, together: number, times: number): (keys: number) => number {
  return (keys) => -Math.expm1(keys * times * Math.log1p(-together / m));
}

/** The same number is asked for with every drawing. */
function remembering(compute: (keys: number) => number): (keys: number) => number {
  const known = new Map<number, number>();
  return (keys) => {
    let rate = known.get(keys);
    if (rate === undefined) known.set(keys, (rate = compute(keys)));
    return rate;
  };
}

/** Parquet's split blocks have any number of 32-byte blocks when they come as raw bytes; Parquet's
 * own sizing takes a power of two. */
function splitBlock(engine: Engine, shape: Shape, n: number, rate: number, room?: number) {
  const spec: MeasureJob["filter"] =
    room === undefined
      ? { dialect: "parquet", given: { keys: n, rate } }
      : {
          dialect: "parquet",
          given: { variant: "raw" },
          zeros: Math.max(64, Math.floor(room / 64) * 64),
        };
  const filter = make(engine, spec);
  const { bytes, probes } = filter.info(false);
  return {
    shape,
    bytes,
    probes,
    spec,
    theory: remembering((keys) => filter.expectedRate(keys)),
    fill: expectedFill(8 * bytes, probes, 1),
    free: () => filter.free(),
  };
}

/** Plans a filter for n keys: at the rate, or in the memory that a classic one takes for it. With `probes` a
 * blocked one is planned in a fifth of the time, because the library need not look for the best number. */
export function plan(
  engine: Engine,
  shape: Shape,
  n: number,
  rate: number,
  memory: Memory,
  probes?: number,
): Candidate {
  const classic = engine.plan({ kind: "classic", keys: n, rate });
  const room = memory === "same" ? classic.plannedBytes : undefined;
  if (shape.blocks === undefined) return splitBlock(engine, shape, n, rate, room);
  const found =
    shape.blocks === 0
      ? classic
      : engine.plan({
          kind: "blocked",
          keys: n,
          blocksPerKey: shape.blocks,
          probes,
          ...(room === undefined ? { rate } : { bytes: room }),
        });
  const { bits, plannedBytes: bytes, blocksPerKey } = found;
  return {
    shape,
    bytes,
    probes: found.probes,
    spec: {
      kind: shape.blocks === 0 ? "classic" : "blocked",
      bits,
      probes: found.probes,
      blocksPerKey,
    },
    theory: remembering((keys) => engine.planRate(found, keys)),
    fill:
      shape.blocks === 0
        ? expectedFill(bits, 1, found.probes)
        : expectedFill(bits, found.probes, blocksPerKey),
    free: () => {},
  };
}
