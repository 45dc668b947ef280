// SPDX-License-Identifier: Apache-2.0
// The library as a module: the other side of ../wasm.c and ../filter.c. Works in the page, in its
// worker and in Node. Numbers are doubles, facts are objects, a failure is a Refusal.

import { md5, sha1 } from "@noble/hashes/legacy";
import { sha256, sha384, sha512 } from "@noble/hashes/sha2";
import {
  type Dialect,
  type DialectPlan,
  type Failure,
  type Given,
  type Info,
  KIND,
  type KindName,
  type Plan,
  type PlanRequest,
  type SievePlan,
} from "./engine-types";

export * from "./engine-types";

const RECORD_KEY = 1;

const givenOrder = [
  "keys",
  "rate",
  "bits",
  "bytes",
  "probes",
  "bits_per_key",
  "seed",
  "growth",
  "columns",
  "index",
  "cell_bits",
] as const;

/** What the library refused, with its sentence. */
export class Refusal extends Error {
  readonly status: number;
  readonly offset: number;
  /** "BLOOMERY_BAD_ARGUMENT" */
  readonly code: string;
  constructor(failure: Failure) {
    super(failure.error);
    this.status = failure.status;
    this.code = failure.name;
    this.offset = failure.offset;
  }
}

interface Exports {
  memory: WebAssembly.Memory;
  web_allocate(bytes: number): number;
  web_release(memory: number): void;
  web_failure(): number;
  web_version(): number;
  web_plan(
    kind: number,
    keys: number,
    rate: number,
    bytes: number,
    blocks: number,
    probes: number,
    cellBits: number,
  ): number;
  web_plan_rate(
    kind: number,
    bits: number,
    probes: number,
    blocks: number,
    cellBits: number,
    keys: number,
  ): number;
  web_sieve_plan(
    keys: number,
    pushes: number,
    memory: number,
    keyBytes: number,
    rate: number,
  ): number;
  web_create(
    kind: number,
    bits: number,
    probes: number,
    blocks: number,
    cellBits: number,
    keys: number,
    rate: number,
  ): number;
  web_make(
    kind: number,
    keys: number,
    rate: number,
    bytes: number,
    blocks: number,
    probes: number,
    cellBits: number,
  ): number;
  web_load(data: number, bytes: number): number;
  web_given(): number;
  web_dialect_plan(dialect: number): number;
  web_dialect_create(dialect: number): number;
  web_dialect_load(dialect: number, data: number, bytes: number): number;
  web_view(data: number, bytes: number): number;
  web_free(filter: number): void;
  web_sniff(data: number, bytes: number): number;
  web_dialects(): number;
  web_write(filter: number, theirs: number): number;
  web_written(): number;
  web_info(filter: number, scan: number): number;
  web_verify(filter: number): number;
  web_add(filter: number, data: number, bytes: number): number;
  web_remove(filter: number, data: number, bytes: number): number;
  web_may_contain(filter: number, data: number, bytes: number): number;
  web_key_count(filter: number, data: number, bytes: number): number;
  web_positions(
    filter: number,
    layer: number,
    data: number,
    bytes: number,
    out: number,
    room: number,
  ): number;
  web_hash(filter: number, data: number, bytes: number): number;
  web_record(
    filter: number,
    data: number,
    bytes: number,
    out: number,
    room: number,
    keyBytes: number,
  ): number;
  web_keys(
    filter: number,
    add: number,
    data: number,
    bytes: number,
    width: number,
    offsets: number,
    count: number,
    answers: number,
  ): number;
  web_add_numbers(filter: number, first: number, count: number): number;
  web_count_numbers(filter: number, first: number, count: number): number;
  web_cells(filter: number, layer: number, first: number, count: number, out: number): number;
  web_fill(filter: number, layer: number, buckets: number, out: number): number;
  web_expected_rate(filter: number, keys: number): number;
}

const digests = [md5, sha1, sha256, sha384, sha512];
const MAX_POSITIONS = 1024;

export class Engine {
  readonly exports: Exports;

  private constructor(exports: Exports) {
    this.exports = exports;
  }

  /** Compiles and starts the module. */
  static async start(wasm: BufferSource): Promise<Engine> {
    let engine: Engine | undefined;
    // The module's addresses are 32 bits, and come as signed numbers.
    const bytesAt = (at: number, count: number) =>
      new Uint8Array(engine!.exports.memory.buffer, at >>> 0, count);
    const digest = (id: number, pieces: number, count: number, result: number): number => {
      const words = new Uint32Array(engine!.exports.memory.buffer, pieces >>> 0, 3 * count);
      const hash = digests[id]!.create();
      for (let i = 0; i < words.length; i += 3) {
        const piece = bytesAt(words[i]!, words[i + 1]!);
        for (let times = words[i + 2]!; times > 0; times--) hash.update(piece);
      }
      const value = hash.digest();
      bytesAt(result, value.length).set(value);
      return 0;
    };
    const random = (to: number, bytes: number): number => {
      // Node 18 has none; only filters with a secret need it, and they say so.
      if (typeof crypto === "undefined") return 1;
      crypto.getRandomValues(bytesAt(to, bytes));
      return 0;
    };
    // The C library has them for files that nothing here opens.
    const nothing = () => 8;
    const { instance } = await WebAssembly.instantiate(wasm, {
      bloomery: { digest, random },
      wasi_snapshot_preview1: { fd_close: nothing, fd_seek: nothing, fd_write: nothing },
    });
    engine = new Engine(instance.exports as unknown as Exports);
    return engine;
  }

  private text(at: number): string {
    const bytes = new Uint8Array(this.exports.memory.buffer);
    return new TextDecoder().decode(bytes.subarray(at >>> 0, bytes.indexOf(0, at >>> 0)));
  }

  /** What a call that returns JSON says. */
  json<T>(at: number): T {
    const value = JSON.parse(this.text(at)) as T | Failure;
    if (value !== null && typeof value === "object" && "error" in value && "name" in value)
      throw new Refusal(value as Failure);
    return value as T;
  }

  version(): string {
    return this.text(this.exports.web_version());
  }

  failure(): Refusal {
    return new Refusal(JSON.parse(this.text(this.exports.web_failure())) as Failure);
  }

  /** Runs `use` with bytes copied into the module's memory, and `extra` more of it behind them. */
  with<T>(bytes: Uint8Array, extra: number, use: (at: number, behind: number) => T): T {
    const room = Math.ceil(bytes.length / 8) * 8;
    const at = this.allocate(room + extra);
    try {
      new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
      return use(at, at + room);
    } finally {
      this.exports.web_release(at);
    }
  }

  allocate(bytes: number): number {
    // What no address of 32 bits reaches must not wrap on its way into the module.
    const at = bytes < 2 ** 32 - 2 ** 16 ? this.exports.web_allocate(bytes) : 0;
    if (at === 0)
      throw new Refusal({
        error: `there is not enough memory for ${bytes} bytes more: free() a filter, or make a smaller one`,
        status: -2,
        name: "BLOOMERY_OUT_OF_MEMORY",
        offset: 0,
      });
    return at >>> 0;
  }

  plan(request: PlanRequest): Plan {
    return this.json<Plan>(
      this.exports.web_plan(
        KIND[request.kind],
        request.keys ?? 0,
        request.rate ?? 0,
        request.bytes ?? 0,
        request.blocksPerKey ?? 0,
        request.probes ?? 0,
        request.cellBits ?? 0,
      ),
    );
  }

  /** The expected rate with `keys` keys of a filter with the shape of a plan. */
  planRate(
    plan: Pick<Plan, "kind" | "bits" | "probes" | "blocksPerKey" | "cellBits">,
    keys: number,
  ): number {
    return this.exports.web_plan_rate(
      plan.kind,
      plan.bits,
      plan.probes,
      plan.blocksPerKey,
      plan.cellBits,
      keys,
    );
  }

  /** Fields of 0 take the default: pushes n, memory 64 MiB, 50 bytes a key, rate 1e-6. */
  sievePlan(keys: number, pushes = 0, memory = 0, keyBytes = 0, rate = 0): SievePlan {
    return this.json<SievePlan>(this.exports.web_sieve_plan(keys, pushes, memory, keyBytes, rate));
  }

  dialects(): Dialect[] {
    return this.json<Dialect[]>(this.exports.web_dialects());
  }

  private filter(at: number, data = 0): Filter {
    if (at === 0) {
      const refusal = this.failure();
      if (data !== 0) this.exports.web_release(data);
      throw refusal;
    }
    return new Filter(this, at >>> 0, data);
  }

  create(shape: {
    kind: KindName;
    bits: number;
    probes: number;
    blocksPerKey?: number;
    cellBits?: number;
    keys?: number;
    rate?: number;
  }): Filter {
    return this.filter(
      this.exports.web_create(
        KIND[shape.kind],
        shape.bits,
        shape.probes,
        shape.blocksPerKey ?? 0,
        shape.cellBits ?? 0,
        shape.keys ?? 0,
        shape.rate ?? 0,
      ),
    );
  }

  private give(given: Given): void {
    const at = this.exports.web_given();
    const numbers = new Float64Array(this.exports.memory.buffer, at, givenOrder.length);
    givenOrder.forEach((name, i) => (numbers[i] = given[name] ?? 0));
    const variant = new Uint8Array(this.exports.memory.buffer, at + 8 * givenOrder.length, 40);
    variant.fill(0);
    new TextEncoder().encodeInto(given.variant ?? "", variant.subarray(0, 39));
  }

  /** A filter as the library plans and makes it of the same numbers. */
  make(request: PlanRequest): Filter {
    return this.filter(
      this.exports.web_make(
        KIND[request.kind],
        request.keys ?? 0,
        request.rate ?? 0,
        request.bytes ?? 0,
        request.blocksPerKey ?? 0,
        request.probes ?? 0,
        request.cellBits ?? 0,
      ),
    );
  }

  /** A copy of a Bloomery file, to which keys can be added. */
  load(bytes: Uint8Array): Filter {
    return this.with(bytes, 0, (at) => this.filter(this.exports.web_load(at, bytes.length)));
  }

  /** What another system would make of these numbers, and the rate that its layout then has. */
  planDialect(dialect: number, given: Given): DialectPlan {
    this.give(given);
    return this.json<DialectPlan>(this.exports.web_dialect_plan(dialect));
  }

  createDialect(dialect: number, given: Given): Filter {
    this.give(given);
    return this.filter(this.exports.web_dialect_create(dialect));
  }

  loadDialect(dialect: number, bytes: Uint8Array, given: Given): Filter {
    return this.with(bytes, 0, (at) => this.loadDialectAt(dialect, at, bytes.length, given));
  }

  /** The same of bytes in the module's memory, which stay the caller's. */
  loadDialectAt(dialect: number, at: number, bytes: number, given: Given): Filter {
    this.give(given);
    return this.filter(this.exports.web_dialect_load(dialect, at, bytes));
  }

  /** The number of the dialect whose magic the bytes begin with; 0 if none has it. */
  sniff(bytes: Uint8Array): number {
    const head = bytes.subarray(0, 64);
    return this.with(head, 0, (at) => this.exports.web_sniff(at, head.length));
  }

  /** Opens a Bloomery file without a second copy: `room` bytes at `at` were filled by the caller, and
   * belong to the filter from now on, whatever comes of it. */
  view(at: number, bytes: number): Filter {
    return this.filter(this.exports.web_view(at, bytes), at);
  }

  /** Opens a Bloomery file whose bytes are in JavaScript. */
  viewOf(bytes: Uint8Array): Filter {
    const at = this.allocate(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
    return this.view(at, bytes.length);
  }
}

/** A filter in the module. Call free() when it is done with. */
export class Filter {
  private readonly engine: Engine;
  private at: number;
  private readonly data: number;

  constructor(engine: Engine, at: number, data: number) {
    this.engine = engine;
    this.at = at;
    this.data = data;
  }

  free(): void {
    if (this.at === 0) return;
    this.engine.exports.web_free(this.at);
    if (this.data !== 0) this.engine.exports.web_release(this.data);
    this.at = 0;
  }

  info(scan: boolean): Info {
    return this.engine.json<Info>(this.engine.exports.web_info(this.at, scan ? 1 : 0));
  }

  /** undefined, or what is damaged and where. */
  verify(): { error: string; offset: number } | undefined {
    const value = this.engine.json<{ status: number; error: string; offset: number }>(
      this.engine.exports.web_verify(this.at),
    );
    return value.status === 0 ? undefined : value;
  }

  private key(key: Uint8Array, call: (at: number) => number): number {
    return this.engine.with(key, 0, call);
  }

  /** Whether the key is new. */
  add(key: Uint8Array): boolean {
    const added = this.key(key, (at) => this.engine.exports.web_add(this.at, at, key.length));
    return this.checked(added) === 1;
  }

  /** Whether the key was there and is removed. */
  remove(key: Uint8Array): boolean {
    const removed = this.key(key, (at) => this.engine.exports.web_remove(this.at, at, key.length));
    return this.checked(removed) === 1;
  }

  private checked(result: number): number {
    if (result < 0) throw this.engine.failure();
    return result;
  }

  mayContain(key: Uint8Array): boolean {
    return (
      this.key(key, (at) => this.engine.exports.web_may_contain(this.at, at, key.length)) !== 0
    );
  }

  count(key: Uint8Array): number {
    return this.key(key, (at) => this.engine.exports.web_key_count(this.at, at, key.length));
  }

  /** The cells of a key in the order in which they are touched, repeats included. */
  positions(key: Uint8Array, layer = 0): number[] {
    return this.engine.with(key, MAX_POSITIONS * 8, (at, out) => {
      const { exports } = this.engine;
      const count = exports.web_positions(this.at, layer, at, key.length, out, MAX_POSITIONS);
      return [...new Float64Array(exports.memory.buffer, out, Math.min(count, MAX_POSITIONS))];
    });
  }

  /** In hexadecimal digits, or null where positions are not a function of 128 bits. */
  hash(key: Uint8Array): { lo: string; hi: string } | null {
    return this.engine.with(key, 0, (at) =>
      this.engine.json<{ lo: string; hi: string } | null>(
        this.engine.exports.web_hash(this.at, at, key.length),
      ),
    );
  }

  /** The key of a record by the filter's rule; a sentence where there is none. */
  keyOf(record: Uint8Array): Uint8Array | string {
    const room = 4 * record.length + 8;
    return this.engine.with(record, room + 8, (at, out) => {
      const { exports } = this.engine;
      const length = out + Math.ceil(room / 4) * 4;
      const result = exports.web_record(this.at, at, record.length, out, room, length);
      const bytes = new Uint32Array(exports.memory.buffer, length, 1)[0]!;
      const found = result & 7; // a quote that was left open does not matter here
      if (found === RECORD_KEY) return new Uint8Array(exports.memory.buffer, out, bytes).slice();
      return [
        "The filter's rule skips this: it is not a key.",
        "It has fewer fields than the filter's rule needs.",
        "It does not have the form that the filter's rule needs.",
        "The rule in this file contradicts itself.",
      ][found - RECORD_KEY - 1]!;
    });
  }

  /** Adds (1), looks up (0) or removes (-1) many keys in the module's memory: of one width, or of
   * width 0 with offsets. How many were new, are possibly there, or were removed. */
  many(
    what: number,
    data: number,
    bytes: number,
    width: number,
    offsets: number,
    count: number,
    answers: number,
  ): number {
    const { exports } = this.engine;
    return this.checked(
      exports.web_keys(this.at, what, data, bytes, width, offsets, count, answers),
    );
  }

  /** Adds the whole numbers from `first` on, as keys of 8 bytes, least significant first. */
  addNumbers(first: number, count: number): void {
    this.checked(this.engine.exports.web_add_numbers(this.at, first, count));
  }

  /** How many of these are possibly in the filter. */
  countNumbers(first: number, count: number): number {
    return this.engine.exports.web_count_numbers(this.at, first, count);
  }

  /** The expected rate of a filter of this shape with `keys` keys, whatever it holds now. */
  expectedRate(keys: number): number {
    return this.engine.exports.web_expected_rate(this.at, keys);
  }

  /** The values of cells, at most `count` from `first` on. */
  cells(layer: number, first: number, count: number): Uint8Array {
    return this.engine.with(new Uint8Array(0), count, (_, out) => {
      const { exports } = this.engine;
      const there = exports.web_cells(this.at, layer, first, count, out);
      return new Uint8Array(exports.memory.buffer, out, there).slice();
    });
  }

  /** The fill of at most `parts` equal parts of a layer, 0 to 1 each. */
  fill(layer: number, parts: number): number[] {
    return this.engine.with(new Uint8Array(0), parts * 8, (_, out) => {
      const { exports } = this.engine;
      const there = exports.web_fill(this.at, layer, parts, out);
      return [...new Float64Array(exports.memory.buffer, out, there)];
    });
  }

  /** The file, ours or the other system's. */
  write(theirs = false): Uint8Array {
    const { exports } = this.engine;
    const bytes = exports.web_write(this.at, theirs ? 1 : 0);
    if (bytes < 0) throw this.engine.failure();
    return new Uint8Array(exports.memory.buffer, exports.web_written() >>> 0, bytes).slice();
  }
}

const encoder = new TextEncoder();

/** The key that a text is: its UTF-8. */
export function keyOfText(text: string): Uint8Array {
  return encoder.encode(text);
}
