// SPDX-License-Identifier: Apache-2.0
// Bloomery for JavaScript: the C library as a WebAssembly module, behind one class. README.md is the
// manual.
//
// A key is a text (its UTF-8), bytes, or a whole number of 64 bits (8 bytes, least significant first),
// as in the command with --int64 and in the Python package. The files are those of the C library,
// byte for byte.

import { Engine, Filter as Inner, KIND, type PlanRequest, Refusal } from "../page/engine";
import { candidates } from "../page/recognise";
import { Packer, type Result, shown } from "./keys";
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

function dialectOf(engine: Engine, name: string): DialectInfo {
  const all = engine.dialects();
  const found = all.find((dialect) => dialect.name === name);
  if (!found)
    throw wrong(
      `unknown dialect ${shown(name)}; the dialects are ${all.map((one) => one.name).join(", ")}`,
    );
  return found;
}

/** Refuses names that a call does not have: a misspelt one would be a default without a word. Undefined is as
 * if it were not there. */
function named(call: string, options: object, names: string[], example: string): void {
  if (options === null || typeof options !== "object")
    throw new TypeError(`${call} takes an object, such as ${example}, not ${shown(options)}`);
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !names.includes(name))
      throw wrong(`${call} does not take ${shown(name)}; it takes ${names.join(", ")}`);
}

/** Refuses numbers that the library would not see as they are. */
function numbers(options: object): void {
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value === undefined || ["kind", "dialect", "variant"].includes(name)) continue;
    const number = typeof value === "number" ? value : NaN;
    if (name === "rate") {
      if (!(number > 0 && number < 1))
        throw wrong(`rate must be a number above 0 and below 1, not ${shown(value)}`);
    } else if (name === "bits_per_key") {
      if (!(number > 0)) throw wrong(`${name} must be a number above 0, not ${shown(value)}`);
    } else {
      const least = name === "seed" || name === "index" ? 0 : 1;
      if (!(Number.isInteger(number) && number >= least && number <= 2 ** 53))
        throw wrong(`${name} must be a whole number of at least ${least}, not ${shown(value)}`);
    }
  }
}

const EXAMPLE = "{ keys: 1000000, rate: 0.01 }";
const SIZES = ["keys", "rate", "bytes"] as const;
const NAMES = [...SIZES, "kind", "blocksPerKey", "probes", "counterBits", "dialect"];

/** The options of a filter of Bloomery, checked as far as the library cannot see them. */
function requestOf(call: string, options: FilterOptions): PlanRequest {
  named(call, options, NAMES, EXAMPLE);
  const { kind = "blocked", keys, rate, bytes, blocksPerKey, probes, counterBits } = options;
  if (!Object.hasOwn(KIND, kind))
    throw wrong(`unknown kind ${shown(kind)}; the kinds are ${Object.keys(KIND).join(", ")}`);
  numbers(options);
  const set = SIZES.filter((name) => options[name] !== undefined);
  if (set.length !== 2)
    throw wrong(
      `two of keys, rate and bytes say how large a filter is, such as ${EXAMPLE}; given: ${set.join(", ") || "none"}`,
    );
  return { kind, keys, rate, bytes, blocksPerKey, probes, cellBits: counterBits };
}

/** The number of another system, and what it is given. */
function givenOf(call: string, { id, name }: DialectInfo, options: OpenOptions, takes: string) {
  named(`${call} with ${name}`, options, [...words(takes), "dialect"], `{ dialect: "${name}" }`);
  numbers(options);
  const { dialect: _, ...given } = options;
  return [id, given] as const;
}

const words = (list: string) => list.split(", ").filter((word) => word !== "");

/** What bytes are that are not a filter, as far as their beginning says it. */
function seemsToBe(bytes: Uint8Array): string {
  if (bytes.length === 0) return "there are no bytes: the file is empty";
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, 256));
  if (bytes[0] === 0x1f && bytes[1] === 0x8b)
    return "these bytes are compressed with gzip: decompress them first";
  if (/^(REDIS|VALKEY)\d/.test(text))
    return "these bytes are a dump of a whole Redis database: open the chunks that BF.SCANDUMP returns for a key";
  if (!/[^\t\n\r -~]/.test(text))
    return "these bytes are text, not a filter: addMany adds the lines of a text";
  return "these bytes are not a Bloomery file, and no other system's filter was recognised: name the dialect";
}

/** The dialect of bytes that are not a Bloomery file: by their magic, or since only one takes them. */
function recognised(engine: Engine, bytes: Uint8Array): DialectInfo {
  const id = engine.sniff(bytes);
  const found =
    id !== 0 ? engine.dialects().filter((one) => one.id === id) : candidates(engine, bytes);
  if (found.length === 1) return found[0]!;
  throw new BloomeryError(
    found.length > 1
      ? `these bytes may be a filter of ${found.map(({ name }) => name).join(" or ")}: name the dialect`
      : seemsToBe(bytes),
    "BLOOMERY_NOT_A_FILTER",
  );
}

function bytesOf(bytes: ArrayBufferView | ArrayBuffer): Uint8Array {
  if (ArrayBuffer.isView(bytes))
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  throw new TypeError(
    `Filter.open takes the bytes of a file, such as await readFile(path), not ${shown(bytes)}`,
  );
}

const released = new FinalizationRegistry<Inner>((inner) => inner.free());

/** A Bloom filter. Call free() when you are done with a large one; the others are collected. */
export class Filter {
  static readonly name = "Filter";
  #inner: Inner | undefined;
  readonly #packer: Packer;

  private constructor(packer: Packer, inner: Inner) {
    if (!(packer instanceof Packer))
      throw new TypeError("await Filter.create(...) or Filter.open(...) makes a filter");
    this.#packer = packer;
    this.#inner = inner;
    released.register(this, inner, inner);
  }

  /** An empty filter for a number of keys and a rate, or of another system's sizing. */
  static async create(options: FilterOptions): Promise<Filter> {
    const packer = await ready();
    const { engine } = packer;
    const dialect = options?.dialect;
    return called(() => {
      if (dialect !== undefined) {
        const found = dialectOf(engine, dialect);
        const given = givenOf("Filter.create", found, options, found.createTakes);
        return new Filter(packer, engine.createDialect(...given));
      }
      const request = requestOf("Filter.create", options);
      if (request.kind === "static")
        throw wrong(
          "a static filter is built once from all its keys, with the command (bloomery build --kind static); open its file here",
        );
      return new Filter(packer, engine.make(request));
    });
  }

  /** What create would make, and nothing is allocated. */
  static async plan(options: FilterOptions & { dialect: string }): Promise<DialectPlanned>;
  static async plan(options: FilterOptions): Promise<Planned>;
  static async plan(options: FilterOptions): Promise<Planned | DialectPlanned> {
    const { engine } = await ready();
    const dialect = options?.dialect;
    return called(() => {
      if (dialect === undefined) return engine.plan(requestOf("Filter.plan", options));
      const found = dialectOf(engine, dialect);
      return engine.planDialect(...givenOf("Filter.plan", found, options, found.createTakes));
    });
  }

  /** Opens the bytes of a file: Bloomery's, or another system's by name or if it is recognised. */
  static async open(
    bytes: ArrayBufferView | ArrayBuffer,
    options: OpenOptions = {},
  ): Promise<Filter> {
    const packer = await ready();
    const { engine } = packer;
    const data = bytesOf(bytes);
    const dialect = options?.dialect;
    const ours = MAGIC.every((byte, i) => data[i] === byte);
    return called(() => {
      if (ours && dialect === undefined) {
        named("Filter.open", options, ["dialect"], '{ dialect: "guava" }');
        return new Filter(packer, engine.load(data));
      }
      const found = dialect === undefined ? recognised(engine, data) : dialectOf(engine, dialect);
      const takes = `${found.loadNeeds}, ${found.loadTakes}`;
      const [id, parameters] = givenOf("Filter.open", found, options, takes);
      return new Filter(packer, engine.loadDialect(id, data, parameters));
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
      named("save", options, ["format"], '{ format: "bloomery" }');
      const { format = "own" } = options;
      if (format !== "own" && format !== "bloomery")
        throw wrong(`format must be "own" or "bloomery", not ${shown(format)}`);
      return inner.write(format === "own" && inner.info(false).dialect !== null);
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
