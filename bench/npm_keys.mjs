// SPDX-License-Identifier: Apache-2.0
// The npm package beside npm's bloom-filters and bloomfilter: adds and lookups of a million keys of 8 and of 20 bytes.
//
//     node bench/npm_keys.mjs build-web FOLDER [KEYS]     FOLDER: where npm install put the other two packages
//
// Rounds of all packages are interleaved, and the median of each is printed: millions of keys a second, and how many
// times bloomfilter's speed of the same round that is. Keys are the same for all: texts, and for ours also the same bytes
// in one Uint8Array. bloom-filters gets a 20th of the keys.

import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [, , built, peers, count = "1000000"] = process.argv;
const KEYS = Number(count);
const ROUNDS = 5;
const RATE = 0.01;
const { Filter } = await import(pathToFileURL(resolve(built, "npm/index.js")));
const require = createRequire(join(resolve(peers), "package.json"));
const { BloomFilter: Large } = require("bloom-filters");
const { BloomFilter: Small } = require("bloomfilter");

/** Texts of one length, flat in memory as they come from a file. */
const texts = (letter, bytes) =>
  JSON.parse(JSON.stringify(Array.from({ length: KEYS }, (_, i) => String(i).padStart(bytes, letter))));

function packed(keys, bytes) {
  const all = new Uint8Array(keys.length * bytes);
  keys.forEach((key, i) => new TextEncoder().encodeInto(key, all.subarray(i * bytes)));
  return all;
}

/** How many answers of a batch are positive. */
function positive(answers) {
  let count = 0;
  for (const one of answers) count += one;
  return count;
}

/** How many of the keys the query finds. */
function found(keys, query) {
  let count = 0;
  for (const key of keys) if (query(key)) count++;
  return count;
}

const plan = await Filter.plan({ keys: KEYS, rate: RATE, kind: "classic" });
const few = KEYS / 20;

const packages = (bytes) => [
  {
    name: "bloomery, many texts",
    make: () => Filter.create({ keys: KEYS, rate: RATE }),
    add: (filter, { keys }) => filter.addMany(keys),
    has: (filter, { absent }) => positive(filter.hasMany(absent)),
  },
  {
    name: "bloomery, bytes in one array",
    make: () => Filter.create({ keys: KEYS, rate: RATE }),
    add: (filter, { keyBytes }) => filter.addMany(keyBytes, { width: bytes }),
    has: (filter, { absentBytes }) => positive(filter.hasMany(absentBytes, { width: bytes })),
  },
  {
    name: "bloomery, one by one",
    make: () => Filter.create({ keys: KEYS, rate: RATE }),
    add: (filter, { keys }) => keys.forEach((key) => filter.add(key)),
    has: (filter, { absent }) => found(absent, (key) => filter.has(key)),
  },
  {
    name: "bloomfilter",
    make: () => new Small(plan.bits, plan.probes),
    add: (filter, { keys }) => keys.forEach((key) => filter.add(key)),
    has: (filter, { absent }) => found(absent, (key) => filter.test(key)),
  },
  {
    name: `bloom-filters, ${few} keys`,
    part: few,
    make: () => Large.create(KEYS, RATE),
    add: (filter, { keys }) => keys.slice(0, few).forEach((key) => filter.add(key)),
    has: (filter, { absent }) => found(absent.slice(0, few), (key) => filter.has(key)),
  },
];

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

function timed(run) {
  const start = process.cpuUsage();
  const value = run();
  const { user, system } = process.cpuUsage(start);
  return { value, seconds: (user + system) / 1e6 };
}

for (const bytes of [8, 20]) {
  const keys = texts("k", bytes);
  const absent = texts("x", bytes);
  const given = { keys, absent, keyBytes: packed(keys, bytes), absentBytes: packed(absent, bytes) };
  const all = packages(bytes).map((one) => ({ ...one, adds: [], lookups: [], wrong: 0 }));
  for (let round = 0; round < ROUNDS; round++)
    for (const one of all) {
      const filter = await one.make();
      one.adds.push(timed(() => one.add(filter, given)).seconds);
      const { value, seconds } = timed(() => one.has(filter, given));
      one.lookups.push(seconds);
      one.wrong = value;
      filter.free?.();
    }
  console.log(`${KEYS} keys of ${bytes} bytes, at ${RATE}; millions a second of processor time`);
  const peer = all.find(({ name }) => name === "bloomfilter");
  for (const { name, part = KEYS, adds, lookups, wrong } of all) {
    const speed = (seconds, peers) => {
      const times = median(seconds.map((each, round) => peers[round] / KEYS / (each / part)));
      return `${(part / median(seconds) / 1e6).toFixed(2).padStart(7)} ${times.toFixed(2).padStart(6)} x`;
    };
    console.log(
      `  ${name.padEnd(30)} add ${speed(adds, peer.adds)}   look up ${speed(lookups, peer.lookups)}   wrong ${((100 * wrong) / part).toFixed(2)} %`,
    );
  }
}
