// SPDX-License-Identifier: Apache-2.0
// What the package takes and gives.

import type { Dialect, DialectPlan, Given, Info, KindName, Plan } from "../page/engine-types";

/** A text is its UTF-8; a number or bigint is 8 bytes, least significant first. */
export type Key = string | Uint8Array | number | bigint;

export type IntegerArray =
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint16Array
  | Uint32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** Keys one by one, whole numbers in a typed array, or bytes of one width. */
export type Keys = Iterable<Key> | IntegerArray | Uint8Array;

export type Kind = KindName;

/** The numbers that another system takes; which ones, Filter.dialects() says. */
export type DialectParameters = Given;

export interface FilterOptions extends DialectParameters {
  /** Default: blocked. */
  kind?: Kind;
  /** Another system whose filter it is to be, by its name: "guava". */
  dialect?: string;
  /** 1 to 4; default: the best. */
  blocksPerKey?: number;
  /** Of a counting filter: 4 or 8. */
  counterBits?: number;
}

export interface OpenOptions extends DialectParameters {
  /** The system that wrote the bytes, if it is not to be recognised. */
  dialect?: string;
}

/** What a filter of Bloomery will be. Sizes are in bytes; cells are bits or counters. */
export type Planned = Plan;
/** What a filter of another system will be. */
export type DialectPlanned = DialectPlan;
export type FilterInfo = Info;
export type DialectInfo = Dialect;
