// SPDX-License-Identifier: Apache-2.0
// Bloomery for JavaScript: the C library as a WebAssembly module, behind one class. README.md is the
// manual.
//
// A key is a text (its UTF-8), bytes, or a whole number of 64 bits (8 bytes, least significant first),
// as in the command with --int64 and in the Python package. The files are those of the C library,
// byte for byte.

import { Engine, Filter as Inner, KIND, Refusal } from "../page/engine";
import { candidates } from "../page/recognise";
import { Packer, type Result } from "./keys";
import type {
  DialectInfo,
  DialectPlanned,
  FilterInfo,
  FilterOptions,
  Key,
  Keys,
  OpenOptions,
  Planned,
} from "./types";

export type * from "./types";

/** Put in by build.mjs: the module, gzipped, in base64. */
declare const MODULE: string;

/** What the library refused. `code` is the name of its status, such as "BLOOMERY_BAD_ARGUMENT". */
export class BloomeryError extends Error {
  static override readonly name = "BloomeryError"; // which a minifier does not shorten
  readonly code: string;
  constructor(message: string, code: string) {
    super(message);
    this.name = "BloomeryError";
    this.code = code;
  }
}

/** What a call of the library threw; what it refused as a BloomeryError. */
function thrown(error: unknown): unknown {
  return error instanceof Refusal
    ? new BloomeryError(error.message, error.code || "BLOOMERY_BAD_ARGUMENT")
    : error;
}

function called<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw thrown(error);
  }
}

const wrong = (message: string) => new BloomeryError(message, "BLOOMERY_BAD_ARGUMENT");

async function start(): Promise<Packer> {
  const packed = Uint8Array.from(atob(MODULE), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Packer(await Engine.start(await new Response(stream).arrayBuffer()));
}

let starting: Promise<Packer> | undefined;

/** One module for all filters of a program: they share its memory, of up to 4 GiB. */
function ready(): Promise<Packer> {
  starting ??= start();
  return starting;
}

const MAGIC = [0x89, 0x42, 0x4c, 0x4f, 0x4f, 0x4d, 0x0d, 0x0a];

function dialectOf(engine: Engine, name: string): number {
  const all = engine.dialects();
  const found = all.find((dialect) => dialect.name === name);
  if (!found)
    throw wrong(
      `unknown dialect "${name}"; the dialects are ${all.map((one) => one.name).join(", ")}`,
    );
  return found.id;
}

/** The dialect of bytes that are not a Bloomery file: by their magic, or since only one takes them. */
function recognised(engine: Engine, bytes: Uint8Array): number {
  const id = engine.sniff(bytes);
  if (id !== 0) return id;
  const found = candidates(engine, bytes);
  if (found.length === 1) return found[0]!.id;
  throw new BloomeryError(
    found.length > 1
      ? `these bytes may be a filter of ${found.map(({ name }) => name).join(" or ")}: name the dialect`
      : "these bytes are not a Bloomery file, and no other system's filter was recognised: name the dialect",
    "BLOOMERY_NOT_A_FILTER",
  );
}

/** The numbers of a plan, checked as far as the library cannot see them. */
function requestOf(options: FilterOptions) {
  const { kind = "blocked", keys, rate, bytes, blocksPerKey, probes, counterBits } = options;
  if (!Object.hasOwn(KIND, kind))
    throw wrong(`unknown kind "${kind}"; the kinds are ${Object.keys(KIND).join(", ")}`);
  for (const [name, value] of Object.entries({ keys, bytes, blocksPerKey, probes, counterBits }))
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= 2 ** 53))
      throw wrong(`${name} must be a whole number of at least 1, not ${String(value)}`);
  if (rate !== undefined && !(rate > 0 && rate < 1))
    throw wrong(`rate must be above 0 and below 1, not ${String(rate)}`);
  return { kind, keys, rate, bytes, blocksPerKey, probes, cellBits: counterBits };
}

const released = new FinalizationRegistry<Inner>((inner) => inner.free());

/** A Bloom filter. Call free() when you are done with a large one; the others are collected. */
export class Filter {
  static readonly name = "Filter";
  #inner: Inner | undefined;
  readonly #packer: Packer;

  private constructor(packer: Packer, inner: Inner) {
    this.#packer = packer;
    this.#inner = inner;
    released.register(this, inner, inner);
  }

  /** An empty filter for a number of keys and a rate, or of another system's sizing. */
  static async create(options: FilterOptions): Promise<Filter> {
    const packer = await ready();
    const { engine } = packer;
    const { dialect, ...given } = options;
    return called(() => {
      if (dialect !== undefined)
        return new Filter(packer, engine.createDialect(dialectOf(engine, dialect), given));
      if (options.kind === "static")
        throw wrong(
          "a static filter is built once from all its keys, with the command (bloomery build --kind static); open its file here",
        );
      return new Filter(packer, engine.make(requestOf(options)));
    });
  }

  /** What create would make, and nothing is allocated. */
  static async plan(options: FilterOptions & { dialect: string }): Promise<DialectPlanned>;
  static async plan(options: FilterOptions): Promise<Planned>;
  static async plan(options: FilterOptions): Promise<Planned | DialectPlanned> {
    const { engine } = await ready();
    const { dialect, ...given } = options;
    return called(() =>
      dialect === undefined
        ? engine.plan(requestOf(options))
        : engine.planDialect(dialectOf(engine, dialect), given),
    );
  }

  /** Opens the bytes of a file: Bloomery's, or another system's by name or if it is recognised. */
  static async open(bytes: Uint8Array | ArrayBuffer, options: OpenOptions = {}): Promise<Filter> {
    const packer = await ready();
    const { engine } = packer;
    const data = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
    const { dialect, ...given } = options;
    const ours = MAGIC.every((byte, i) => data[i] === byte);
    return called(() => {
      if (ours && dialect === undefined) return new Filter(packer, engine.load(data));
      const id = dialect === undefined ? recognised(engine, data) : dialectOf(engine, dialect);
      return new Filter(packer, engine.loadDialect(id, data, given));
    });
  }

  /** All systems whose filters can be opened, with the parameters that they take. */
  static async dialects(): Promise<DialectInfo[]> {
    const { engine } = await ready();
    return engine.dialects();
  }

  #open(): Inner {
    if (this.#inner === undefined) throw new Error("this filter was freed");
    return this.#inner;
  }

  /** Adds a key. True: it is new. False: it was possibly there. */
  add(key: Key): boolean {
    return this.#one(1, key);
  }

  /** False: the key was never added. True: it possibly was. */
  has(key: Key): boolean {
    return this.#one(0, key);
  }

  /** Removes a key from a counting filter. False: it was not there, and nothing was changed. */
  remove(key: Key): boolean {
    return this.#one(-1, key);
  }

  /** Adds many keys, and returns how many of them are new. */
  addMany(keys: Keys, options: { width?: number } = {}): number {
    return this.#many(1, keys, options.width).count;
  }

  /** Looks up many keys: 1 for each that is possibly in the filter, 0 for each that is not. */
  hasMany(keys: Keys, options: { width?: number } = {}): Uint8Array {
    return this.#many(0, keys, options.width, true).answers;
  }

  #one(what: number, key: Key): boolean {
    const inner = this.#open();
    try {
      return this.#packer.one(inner, what, key);
    } catch (error) {
      throw thrown(error);
    }
  }

  #many(what: number, keys: Keys, width?: number, wanted = false): Result {
    const inner = this.#open();
    return called(() => this.#packer.many(inner, what, keys, width, wanted));
  }

  /** The facts of the filter. Counts its bits, which takes a while for a large one. */
  info(): FilterInfo {
    return called(() => this.#open().info(true));
  }

  /** The bytes of its file: in the system's own format, or always Bloomery's. */
  save(options: { format?: "own" | "bloomery" } = {}): Uint8Array {
    const inner = this.#open();
    return called(() => {
      const theirs = options.format !== "bloomery" && inner.info(false).dialect !== null;
      return inner.write(theirs);
    });
  }

  /** Returns the filter's memory now. */
  free(): void {
    if (this.#inner === undefined) return;
    released.unregister(this.#inner);
    this.#inner.free();
    this.#inner = undefined;
  }
}
