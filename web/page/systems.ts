// SPDX-License-Identifier: Apache-2.0
// What will your system do? For a number of keys and a rate: what Guava, Redis, Cassandra and others make
// of them. Sizes and rates are the library's, which knows each system's sizing and layout
// (web_dialect_plan); here are only their names and the line that one writes there.

import { h, replace, scrolling, table } from "./dom";
import { type DialectPlan, type Engine, type Given, Refusal } from "./engine";
import { formatBoth, formatBytes, formatCount, readable } from "./numbers";

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
  private readonly rows: HTMLTableRowElement[];
  private waiting = 0;

  constructor(engine: Engine) {
    this.engine = engine;
    const element = table(
      "Other systems, with the same keys and rate",
      ["System", "m in bits", "k", "Memory", "Real rate", "Compared", "What you write"],
      [...systems.map(({ name }) => name), "Bloomery, blocked"].map((name) => [
        name,
        ...Array.from({ length: 6 }, () => "…"),
      ]),
    );
    element.className = "systems";
    this.rows = [...element.tBodies[0]!.rows];
    this.element = scrolling("Table of other systems", element, true);
  }

  draw(numbers: Numbers): void {
    clearTimeout(this.waiting);
    const next = (i: number) => {
      this.fill(i, numbers);
      if (i + 1 < this.rows.length) this.waiting = window.setTimeout(() => next(i + 1));
      else this.element.dataset["done"] = `${numbers.keys} ${numbers.rate}`;
    };
    delete this.element.dataset["done"];
    this.waiting = window.setTimeout(() => next(0), 120);
  }

  private fill(i: number, numbers: Numbers): void {
    const cells = [...this.rows[i]!.cells].slice(1);
    const put = (texts: string[], line: string, scope: string) => {
      [...texts].forEach((text, at) => (cells[at]!.textContent = text));
      replace(cells[5]!, h("code", {}, line), h("span", { class: "hint" }, `One filter ${scope}.`));
    };
    const system = systems[i];
    try {
      if (system === undefined) return this.ours(numbers, put);
      const { plan, filters } = planOf(this.engine, system, numbers);
      // A computed rate has more digits than one writes.
      const rate = Number(numbers.rate.toPrecision(6));
      const line = system.line({ ...numbers, rate, perKey: perKeyOf(numbers.rate) });
      const { expectedRate } = plan;
      put(
        [
          formatCount(plan.bits * filters),
          String(plan.probes),
          formatBytes(plan.bytes * filters),
          formatBoth(expectedRate),
          verdict(numbers.rate, expectedRate),
        ],
        line,
        system.scope,
      );
      cells[4]!.className = expectedRate > 1.05 * numbers.rate ? "worse" : "";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      cells.slice(0, 5).forEach((cell) => (cell.textContent = "–"));
      cells[4]!.className = "";
      replace(cells[5]!, h("span", { class: "hint" }, asSentence(error.message)));
    }
  }

  private ours(
    { keys, rate }: Numbers,
    put: (texts: string[], line: string, scope: string) => void,
  ): void {
    const plan = this.engine.plan({ kind: "blocked", keys, rate });
    put(
      [
        formatCount(8 * plan.plannedBytes),
        plan.blocksPerKey === 1 ? String(plan.probes) : `${plan.blocksPerKey} × ${plan.probes}`,
        formatBytes(plan.plannedBytes),
        formatBoth(plan.plannedRate),
        verdict(rate, plan.plannedRate),
      ],
      `bloomery build -n ${keys} -p ${rate} -o keys.bloom keys.txt`,
      "for the whole set",
    );
  }
}
