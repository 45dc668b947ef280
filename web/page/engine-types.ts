// SPDX-License-Identifier: Apache-2.0
// What the module takes and says (../wasm.c, ../filter.c), as types.

export const KIND = { blocked: 1, classic: 2, counting: 3, scalable: 4, static: 5 } as const;
export type KindName = keyof typeof KIND;

export interface Failure {
  error: string;
  status: number;
  name: string;
  offset: number;
}

export interface Plan {
  kind: number;
  plannedKeys: number;
  plannedRate: number;
  plannedBytes: number;
  bits: number;
  probes: number;
  blocksPerKey: number;
  cellBits: number;
  bitsPerKey: number;
  limitRatio: number;
  absentCacheLines: number;
  presentCacheLines: number;
  hash: number;
  hashName: string;
}

/** Two of keys, rate and bytes; of the rest what is forced. */
export interface PlanRequest {
  kind: KindName;
  keys?: number | undefined;
  rate?: number | undefined;
  bytes?: number | undefined;
  blocksPerKey?: number | undefined;
  probes?: number | undefined;
  cellBits?: number | undefined;
}

/** What a filter of another system would be. */
export interface DialectPlan {
  bits: number;
  bytes: number;
  probes: number;
  /** 0: a flat array. */
  blocksPerKey: number;
  blockBits: number;
  /** A chain, of which these are the numbers of the first layer. */
  grows: boolean;
  keys: number;
  /** With these keys, by that system's layout. */
  expectedRate: number;
  bitsPerKey: number;
}

export interface SievePlan {
  keys: number;
  pushes: number;
  memory: number;
  keyBytes: number;
  fingerprintBits: number;
  partitions: number;
  minMemory: number;
  pendingMax: number;
  seenDisk: number;
  pendingDisk: number;
  queueDisk: number;
  traffic: number;
  seconds: number;
  wrongDrops: number;
  filterBytes: number;
  limitBytes: number;
  budgetRate: number;
}

export interface Layer {
  bits: number;
  probes: number;
  blocksPerKey: number;
  plannedKeys: number;
  plannedRate: number;
  adds: number;
  bitsSet: number;
  liveRate: number;
}

export interface Rule {
  flags: number;
  delimiter: number;
  field: number;
  comment: number;
}

/** As bloomery_info; numbers that are not finite are null, those of a scan 0 without one. */
export interface Info {
  kind: number;
  kindName: string;
  formatVersion: number;
  layers: number;
  blocksPerKey: number;
  probes: number;
  cellBits: number;
  counterMax: number;
  bits: number;
  bytes: number;
  fileBytes: number;
  memoryBytes: number;
  plannedKeys: number;
  plannedRate: number;
  growth: number;
  tightening: number;
  adds: number;
  bitsSet: number;
  saturatedCells: number;
  fill: number;
  liveRate: number | null;
  estimatedKeys: number | null;
  expectedRate: number | null;
  dialect: string | null;
  variant: string | null;
  hash: string | null;
  seed: string;
  keyed: boolean;
  secretInFile: boolean;
  secretKnown: boolean;
  canAdd: boolean;
  canRemove: boolean;
  canMerge: boolean;
  canGrow: boolean;
  hasBits: boolean;
  note: string | null;
  rule: Rule;
  /** The newest layers, at most 64; the number of the first of them. */
  layerList: Layer[];
  firstLayer: number;
  remarks: string[];
}

export interface Dialect {
  id: number;
  name: string;
  description: string;
  /** Names separated by ", ", the default first. */
  variants: string | null;
  /** Parameters that loading needs, that it takes, and that creating takes, separated by ", ". */
  loadNeeds: string;
  loadTakes: string;
  createTakes: string;
  reads: boolean;
  writes: boolean;
  creates: boolean;
  magic: boolean;
  hashes: boolean;
}

/** The numbers that a dialect is given; see bloomery_dialect_parameters. */
export interface Given {
  keys?: number;
  rate?: number;
  bits?: number;
  bytes?: number;
  probes?: number;
  bits_per_key?: number;
  seed?: number;
  growth?: number;
  columns?: number;
  index?: number;
  cell_bits?: number;
  variant?: string;
}
