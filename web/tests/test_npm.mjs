// SPDX-License-Identifier: Apache-2.0
// The npm package, packed and installed from its tarball in an empty folder: in Node and in Chromium it makes the files
// of the command byte for byte, and refuses in sentences.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { equal, folder, ok, run, test } from "./browser.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const tool = process.env.BLOOMERY_TOOL;
const vectors = join(here, "../../tests/vectors");
const work = mkdtempSync(join(tmpdir(), "bloomery-npm-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

const npm = (cwd, ...args) =>
  execFileSync("npm", [...args, "--offline", "--no-audit", "--no-fund"], { cwd, encoding: "utf8" });

const [packed] = JSON.parse(
  npm(resolve(folder, "npm"), "pack", "--json", "--pack-destination", work),
);
const tarball = join(work, packed.filename);
const empty = join(work, "empty");
mkdirSync(empty);
writeFileSync(join(empty, "package.json"), '{ "private": true, "type": "module" }\n');
npm(empty, "install", tarball);
const installed = join(empty, "node_modules/bloomery");

const base64 = (path) => readFileSync(path).toString("base64");
const foreign = {
  ours: base64(join(vectors, "golden-v2-classic.bloom")),
  cuckoo: base64(join(vectors, "golden-v2-cuckoo.bloom")),
  noise: Buffer.from(Array.from({ length: 999 }, (_, i) => (i * i * 31) & 255)).toString("base64"),
};
const lines = Array.from({ length: 2000 }, (_, i) => `line ${i * 7}\n`).join("");
writeFileSync(join(work, "lines"), lines);
writeFileSync(
  join(work, "ids"),
  Array.from({ length: 2000 }, (_, i) => `${i * i - 1000}\n`).join(""),
);

/** The file that the command makes. */
function native(...args) {
  const to = join(work, "native");
  execFileSync(tool, ["build", "-q", "--force", "-o", to, ...args], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  return readFileSync(to);
}

for (const dialect of ["guava", "parquet", "orc", "libbloom"])
  foreign[dialect] = native(
    "--dialect",
    `${dialect},keys=2000,rate=0.01`,
    join(work, "lines"),
  ).toString("base64");

// RocksDB's files say yes to every key if one byte of their end is 0: what is cut short must not pass for one.
const cut = native("--dialect", "bits-and-blooms,keys=2000,rate=0.01", join(work, "lines"));
const zero = cut.lastIndexOf(0, cut.length - 6);
ok(zero > 100, "a byte that is 0");
foreign.cut = cut.subarray(0, zero + 5).toString("base64");

const sha = (bytes) => createHash("sha256").update(bytes).digest("hex");
const wanted = {};
const by = ["-n", "2000", "-p", "0.01", join(work, "lines")];
for (const kind of ["blocked", "classic", "counting", "scalable"])
  wanted[kind] = sha(native("--kind", kind, ...by));
const lengths = Array.from({ length: 300 }, (_, i) => `${`${i}`.padEnd(i, "x")}\n`);
for (const [name, some] of Object.entries({ lengths, short: lengths.slice(0, 129) })) {
  writeFileSync(join(work, name), some.join(""));
  wanted[name] = sha(native("-n", "2000", "-p", "0.01", join(work, name)));
}
for (const dialect of ["guava", "redisbloom", "parquet", "cassandra", "bits-and-blooms", "dcso"])
  wanted[dialect] = sha(native("--dialect", `${dialect},keys=2000,rate=0.01`, join(work, "lines")));

/** What npm_use.mjs found, wherever it ran. */
function judge(found) {
  for (const [name, digest] of Object.entries(wanted))
    equal(found.files[name], digest, `the file of ${name}`);
  for (const [name, same] of Object.entries({ ...found.forms, ...found.foreign }))
    ok(same, `keys as ${name}`);
  equal(found.mixed, [true, true, true, true], "texts and bytes of any length");
  equal(found.removes, [true, true, false, false], "removing");
  const { noise, cut, cuckoo, ...recognised } = found.recognised;
  equal(
    recognised,
    { ours: "ours", guava: "guava", parquet: "parquet", orc: "orc", libbloom: "libbloom" },
    "opened",
  );
  for (const said of [noise, cut]) ok(said.includes("name the dialect"), said);
  ok(
    cuckoo.startsWith("this build has no cuckoo filters: the command and the Python package"),
    cuckoo,
  );
  equal(found.info, { adds: 2000, kindName: "blocked", dialect: null }, "info");
  const row = (...args) =>
    JSON.parse(execFileSync(tool, ["plan", "-n", "2e7", "-p", "0.01", "--json", ...args])).plans;
  const plan = row().find(({ recommended }) => recommended);
  equal([found.plan.plannedBytes, found.plan.probes], [plan.bytes, plan.probes], "a plan");
  const [guava] = row("--dialect", "guava");
  equal([found.guava.bits, found.guava.probes], [guava.bits, guava.probes], "a plan of Guava's");
  for (const [name, part] of Object.entries({
    keys: "BloomeryError: BLOOMERY_BAD_ARGUMENT: keys must be a whole number of at least 1, not -1",
    rate: "BloomeryError: BLOOMERY_BAD_ARGUMENT: rate must be a number above 0 and below 1, not 2",
    kind: 'BloomeryError: BLOOMERY_BAD_ARGUMENT: unknown kind "round"; the kinds are blocked,',
    static: "bloomery build --kind static",
    dialect: 'unknown dialect "none"; the dialects are guava,',
    bytes: "BloomeryError: BLOOMERY_NOT_A_FILTER: ",
    cut: "BloomeryError: BLOOMERY_TRUNCATED: ",
    empty: "there are no bytes: the file is empty",
    text: "these bytes are text",
    gzip: "compressed with gzip: decompress them first",
    dump: "a dump of a whole Redis database: open the chunks that BF.SCANDUMP returns",
    path: 'TypeError: Filter.open takes the bytes of a file, such as await readFile(path), not "seen.bloom"',
    options: 'TypeError: Filter.open takes an object, such as { dialect: "guava" }, not "guava"',
    named: 'Filter.open with guava does not take "kind"; it takes dialect',
    nothing: "TypeError: Filter.create takes an object, such as { keys: 1000000, rate: 0.01 }",
    numbers: "TypeError: Filter.create takes an object, such as { keys: 1000000, rate: 0.01 }",
    size: "two of keys, rate and bytes say how large a filter is",
    three: "given: keys, rate, bytes",
    misspelt: 'Filter.create does not take "Kind"; it takes keys, rate, bytes, kind,',
    texts: 'keys must be a whole number of at least 1, not "10"',
    rates: 'rate must be a number above 0 and below 1, not "0.01"',
    foreign: "keys must be a whole number of at least 1, not -1",
    unused: 'Filter.create with guava does not take "kind"; it takes variant, keys, rate,',
    format: 'format must be "own" or "bloomery", not "json"',
    made: "TypeError: await Filter.create(...) or Filter.open(...) makes a filter",
    many: "TypeError: many keys are an array",
    holes: "a whole number or a bigint, not undefined",
    key: "TypeError: a key that is a number must be whole",
    object: "TypeError: a key is a string, a Uint8Array, a whole number or a bigint",
    width: "TypeError: say how many bytes a key has",
    string: "TypeError: many keys are an array",
    remove: "BloomeryError: BLOOMERY_UNSUPPORTED: ",
    freed: "Error: this filter was freed",
  }))
    ok(
      found.refusals[name].includes(part),
      `${name}: "${found.refusals[name]}" does not say "${part}"`,
    );
}

test("the_package_is_small_and_needs_no_other", async () => {
  const bytes = statSync(tarball).size;
  ok(bytes <= 150000, `${bytes} bytes`);
  const { dependencies, version } = JSON.parse(
    readFileSync(join(installed, "package.json"), "utf8"),
  );
  equal(dependencies, undefined, "dependencies");
  equal(
    execFileSync(tool, ["--version"], { encoding: "utf8" }).includes(version),
    true,
    `version ${version}`,
  );
  equal(
    packed.files
      .map(({ path }) => path)
      .filter((path) => /\.(map|ts|wasm)$/.test(path) && !path.startsWith("types/")),
    [],
    "files",
  );
});

test("in_node_the_files_are_those_of_the_command", async () => {
  writeFileSync(join(empty, "use.mjs"), readFileSync(join(here, "npm_use.mjs")));
  writeFileSync(join(empty, "foreign.json"), JSON.stringify(foreign));
  const program = `import * as bloomery from "bloomery"; import { readFileSync } from "node:fs"; import { use } from "./use.mjs";
    console.log(JSON.stringify(await use(bloomery, JSON.parse(readFileSync("foreign.json", "utf8")))));`;
  writeFileSync(join(empty, "main.mjs"), program);
  judge(
    JSON.parse(
      execFileSync("node", ["main.mjs"], { cwd: empty, encoding: "utf8", maxBuffer: 1 << 24 }),
    ),
  );
});

test("in_chromium_the_files_are_those_of_the_command", async (_, context) => {
  const files = {
    "/": ["text/html", "<!doctype html><title>npm</title>"],
    "/bloomery.js": ["text/javascript", readFileSync(join(installed, "index.js"))],
    "/use.mjs": ["text/javascript", readFileSync(join(here, "npm_use.mjs"))],
  };
  const server = createServer((request, response) => {
    const [type, body] = files[request.url] ?? ["text/plain", ""];
    response.writeHead(200, { "content-type": type });
    response.end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const page = await context.newPage();
  try {
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const found = await page.evaluate(async (given) => {
      const [bloomery, { use }] = await Promise.all([import("/bloomery.js"), import("/use.mjs")]);
      return use(bloomery, given);
    }, foreign);
    judge(found);
  } finally {
    await page.close();
    server.closeAllConnections();
    server.close();
  }
});

test("the_types_are_those_of_the_package", async () => {
  const use = `import { BloomeryError, Filter, type Keys, type Planned } from "bloomery";
    const filter: Filter = await Filter.create({ keys: 10, rate: 0.01, kind: "counting", counterBits: 8 });
    const keys: Keys = ["a", 1, 2n, new Uint8Array(3)];
    const added: number = filter.addMany(keys); const answers: Uint8Array = filter.hasMany(new Int32Array(3));
    const plan: Planned = await Filter.plan({ keys: 10, rate: 0.01 });
    const theirs: number = (await Filter.plan({ keys: 10, rate: 0.01, dialect: "guava" })).expectedRate;
    const bytes: Uint8Array = filter.save({ format: "bloomery" });
    // @ts-expect-error a kind that does not exist
    await Filter.create({ keys: 10, rate: 0.01, kind: "round" });
    // @ts-expect-error a key that is not one
    filter.add({});
    export { added, answers, plan, theirs, bytes, BloomeryError };`;
  writeFileSync(join(empty, "use.ts"), use);
  for (const resolution of ["nodenext", "bundler"]) {
    const kind = resolution === "bundler" ? "esnext" : resolution;
    const options = [
      "--noEmit",
      "--strict",
      "--target",
      "es2022",
      "--module",
      kind,
      "--moduleResolution",
      resolution,
    ];
    execFileSync(join(here, "../node_modules/.bin/tsc"), [...options, "use.ts"], {
      cwd: empty,
      stdio: "pipe",
    });
  }
});

await run();
