// SPDX-License-Identifier: Apache-2.0
// What will your system do? For a number of keys and a rate: what Guava, Redis, Cassandra and others make
// of them. Sizes and rates are the library's, which knows each system's sizing and layout
// (web_dialect_plan); here are only their names and the line that one writes there.

import { h, replace, scrolling, table } from "./dom";
import { type DialectPlan, type Engine, type Given, Refusal } from "./engine";
import { formatBytes, formatCount, formatOneIn, readable } from "./numbers";

interface Numbers {
  keys: number;
  rate: number;
}

export interface System {
  name: string;
  /** The dialect of the library. */
  dialect: string;
  /** What one of its filters is for. */
  scope: string;
  /** The most keys of one filter, where the system makes many small ones. */
  most?: number;
  line: (numbers: Numbers & { perKey: number }) => string;
}

const java = (value: number): string => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "_");

export const systems: System[] = [
  {
    name: "Guava",
    dialect: "guava",
    scope: "for the whole set",
    line: ({ keys, rate }) =>
      `BloomFilter.create(funnel, ${java(keys)}${keys > 2147483647 ? "L" : ""}, ${rate})`,
  },
  {
    name: "Redis",
    dialect: "redisbloom",
    scope: "for the whole set; more keys add a layer",
    line: ({ keys, rate }) => `BF.RESERVE key ${rate} ${keys}`,
  },
  {
    name: "Cassandra",
    dialect: "cassandra",
    scope: "per SSTable",
    line: ({ rate }) => `ALTER TABLE t WITH bloom_filter_fp_chance = ${rate}`,
  },
  {
    name: "ClickHouse",
    dialect: "clickhouse-index",
    scope: "per granule of the index",
    line: ({ rate }) => `INDEX i column TYPE bloom_filter(${rate})`,
  },
  {
    name: "Parquet",
    dialect: "parquet",
    scope: "per row group and column",
    line: ({ keys, rate }) =>
      `parquet.bloom.filter.expected.ndv#column=${keys} parquet.bloom.filter.fpp#column=${rate}`,
  },
  {
    name: "ORC",
    dialect: "orc",
    scope: "per 10,000 rows, unless you set another number",
    line: ({ rate }) => `"orc.bloom.filter.columns"="column", "orc.bloom.filter.fpp"="${rate}"`,
  },
  {
    name: "Spark",
    dialect: "spark",
    scope: "for the whole set",
    line: ({ keys, rate }) => `df.stat.bloomFilter("column", ${keys}L, ${rate})`,
  },
  {
    name: "RocksDB",
    dialect: "rocksdb",
    scope: "per SST file",
    line: ({ perKey }) => `NewBloomFilterPolicy(${perKey})`,
  },
  {
    name: "LevelDB",
    dialect: "leveldb",
    scope: "per 2 KiB of a table: here 32 keys each",
    most: 32,
    line: ({ perKey }) => `NewBloomFilterPolicy(${perKey})`,
  },
  {
    name: "bits-and-blooms (Go)",
    dialect: "bits-and-blooms",
    scope: "for the whole set",
    line: ({ keys, rate }) => `bloom.NewWithEstimates(${keys}, ${rate})`,
  },
  {
    name: "pybloom-live (Python)",
    dialect: "pybloom-live",
    scope: "for the whole set",
    line: ({ keys, rate }) => `BloomFilter(capacity=${keys}, error_rate=${rate})`,
  },
  {
    name: "DCSO bloom",
    dialect: "dcso",
    scope: "for the whole set",
    line: ({ keys, rate }) => `bloom -n ${keys} -p ${rate} create FILE`,
  },
];

/** The textbook's bits for a key, rounded up: what the manuals of systems without a rate say. */
export const perKeyOf = (rate: number): number => Math.ceil(-Math.log2(rate) / Math.LN2);

export interface SystemPlan {
  plan: DialectPlan;
  /** Filters of this plan that all keys take. */
  filters: number;
}

export function planOf(engine: Engine, system: System, numbers: Numbers): SystemPlan {
  const { id, createTakes } = engine.dialects().find(({ name }) => name === system.dialect)!;
  const keys = Math.min(numbers.keys, system.most ?? numbers.keys);
  const size: Given = createTakes.split(", ").includes("rate")
    ? { rate: numbers.rate }
    : { bits_per_key: perKeyOf(numbers.rate) };
  const plan = engine.planDialect(id, { keys, ...size });
  return { plan, filters: Math.ceil(numbers.keys / keys) };
}

/** 6%, or 2 times from half as much more on. */
const times = (factor: number): string =>
  factor < 1.5
    ? `${Math.round(100 * (factor - 1))}%`
    : `${factor >= 10 ? formatCount(Math.round(factor)) : Number(factor.toPrecision(2))} times`;

/** How the real rate compares with the wanted one, in a word or two. */
export function verdict(wanted: number, real: number): string {
  const factor = real / wanted;
  if (factor >= 1e6) return "far too high";
  if (factor > 1.05) return `${times(factor)} too high`;
  if (factor >= 0.95) return "as wanted";
  if (factor < 0.001) return "far below";
  return factor > 0.7 ? `${Math.round(100 * (1 - factor))}% lower` : `${times(1 / factor)} lower`;
}

const asSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${readable(text.slice(1))}.`;

/** The table. Some rates take tens of milliseconds, so rows are filled one by one, at rest. */
export class SystemsView {
  readonly element: HTMLElement;
  private readonly engine: Engine;
  private readonly caption: HTMLElement;
  private readonly rows: HTMLTableRowElement[];
  private waiting = 0;

  constructor(engine: Engine) {
    this.engine = engine;
    const element = table(
      "",
      ["System", "m in bits", "k", "Memory", "Real rate", "Compared", "What you write"],
      [...systems.map(({ name }) => name), "Bloomery, blocked"].map((name) => [
        name,
        ...Array.from({ length: 6 }, () => "…"),
      ]),
    );
    element.className = "systems";
    this.caption = element.caption!;
    this.rows = [...element.tBodies[0]!.rows];
    this.element = scrolling("Table of other systems", element, true);
  }

  draw(numbers: Numbers): void {
    clearTimeout(this.waiting);
    // The lines are there at once, so that the numbers move nothing when they come.
    if (this.caption.textContent === "") this.begin(numbers);
    const next = (i: number) => {
      this.fill(i, numbers);
      if (i + 1 < this.rows.length) this.waiting = window.setTimeout(() => next(i + 1));
      else this.finish(numbers);
    };
    delete this.element.dataset["done"];
    this.waiting = window.setTimeout(() => next(0), 120);
  }

  private begin(numbers: Numbers): void {
    this.answer(numbers, "…");
    this.rows.forEach((_, i) => this.write(i, numbers));
  }

  /** What one writes in a system, and what one of its filters is for. */
  private write(i: number, { keys, rate }: Numbers): void {
    const system = systems[i];
    // A computed rate has more digits than one writes.
    const short = Number(rate.toPrecision(6));
    const line =
      system?.line({ keys, rate: short, perKey: perKeyOf(rate) }) ??
      `bloomery build -n ${keys} -p ${short} -o keys.bloom keys.txt`;
    const scope = `One filter ${system?.scope ?? "for the whole set"}.`;
    replace(this.rows[i]!.cells[6]!, h("code", {}, line), h("span", { class: "hint" }, scope));
  }

  private answer({ keys, rate }: Numbers, missed: string): void {
    const many = `${formatCount(keys)} ${keys === 1 ? "key" : "keys"}`;
    this.caption.textContent = `${many} at ${formatOneIn(rate)}\nMisses this rate: ${missed}`;
  }

  /** The answer above the rows. */
  private finish(numbers: Numbers): void {
    const missed = this.rows
      .filter(({ cells }) => cells[5]!.className === "worse")
      .map(({ cells }) => cells[0]!.textContent);
    this.answer(numbers, missed.join(", ") || "none");
    this.element.dataset["done"] = `${numbers.keys} ${numbers.rate}`;
  }

  private fill(i: number, numbers: Numbers): void {
    const cells = [...this.rows[i]!.cells].slice(1);
    const put = (texts: string[]) => texts.forEach((text, at) => (cells[at]!.textContent = text));
    let isWorse = false;
    try {
      const system = systems[i];
      if (system) {
        const { plan, filters } = planOf(this.engine, system, numbers);
        const { bits, probes, bytes, expectedRate } = plan;
        put([formatCount(bits * filters), String(probes), formatBytes(bytes * filters)]);
        isWorse = this.rate(cells, numbers, expectedRate);
      } else {
        const plan = this.engine.plan({ kind: "blocked", ...numbers });
        const { plannedBytes: bytes, blocksPerKey: blocks, probes } = plan;
        put([
          formatCount(8 * bytes),
          blocks === 1 ? String(probes) : `${blocks} × ${probes}`,
          formatBytes(bytes),
        ]);
        isWorse = this.rate(cells, numbers, plan.plannedRate);
      }
      this.write(i, numbers);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      put(Array.from({ length: 5 }, () => "–"));
      replace(cells[5]!, h("span", { class: "hint" }, asSentence(error.message)));
    }
    cells[4]!.className = isWorse ? "worse" : "";
  }

  /** The real rate beside the wanted one; true if it is too high. */
  private rate(cells: HTMLElement[], { rate }: Numbers, real: number): boolean {
    cells[3]!.textContent = formatOneIn(real);
    cells[4]!.textContent = verdict(rate, real);
    return real > 1.05 * rate;
  }
}
