// SPDX-License-Identifier: Apache-2.0
// What a program in JavaScript does with a filter, by the functions that the npm package `redis` brings
// for BF.* and CF.*. Ends with an error where a reply is not what the package makes of the reference's.
//
//     node client.mjs FOLDER PORT PROTOCOL     FOLDER: has node_modules; PROTOCOL: 2 or 3
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [folder, port, protocol] = process.argv.slice(2);
const { RESP_TYPES, createClient } = createRequire(join(resolve(folder), "package.json"))("redis");

const numbers = (from, to) => Array.from({ length: to - from }, (_, i) => `item ${from + i}`);

async function makeAndAsk(client) {
  assert.equal(await client.bf.reserve("fixed", 0.001, 100, { NONSCALING: true }), "OK");
  assert.equal(await client.bf.reserve("grown", 0.01, 10, { EXPANSION: 3 }), "OK");
  await assert.rejects(client.bf.reserve("grown", 0.01, 10), /item exists/);
  assert.equal(await client.bf.add("grown", "x"), true);
  assert.equal(await client.bf.add("grown", "x"), false);
  assert.deepEqual(await client.bf.mAdd("grown", ["x", "y", "z"]), [false, true, true]);
  assert.equal(await client.bf.exists("grown", "y"), true);
  assert.equal(await client.bf.exists("grown", "absent"), false);
  assert.deepEqual(await client.bf.mExists("grown", ["x", "absent", "z"]), [true, false, true]);
  assert.equal(await client.bf.exists("missing", "x"), false);
  assert.equal(await client.bf.card("grown"), 3);
  assert.equal(await client.bf.card("missing"), 0);
}

async function insert(client) {
  const options = { CAPACITY: 50, ERROR: 0.001, EXPANSION: 4 };
  assert.deepEqual(await client.bf.insert("made", ["a", "b", "a"], options), [true, true, false]);
  assert.deepEqual(await client.bf.insert("made", "c", { NOCREATE: true }), [true]);
  await assert.rejects(client.bf.insert("missing", "c", { NOCREATE: true }), /not found/);
  assert.deepEqual(await client.bf.insert("stays", ["a"], { CAPACITY: 1, NONSCALING: true }), [
    true,
  ]);
  await assert.rejects(client.bf.add("stays", "b"), /non scaling filter is full/);
}

/** The facts of BF.INFO, which come as a list of one link, then of several. */
async function info(client) {
  const made = { ...(await client.bf.info("made")) };
  assert.deepEqual(Object.keys(made), [
    "Capacity",
    "Size",
    "Number of filters",
    "Number of items inserted",
    "Expansion rate",
  ]);
  assert.equal(made.Capacity, 50);
  assert.ok(made.Size > 90);
  assert.equal(made["Number of filters"], 1);
  assert.equal(made["Number of items inserted"], 3);
  assert.equal(made["Expansion rate"], 4);
  assert.equal((await client.bf.info("fixed"))["Expansion rate"], null);
  await assert.rejects(client.bf.info("missing"), /not found/);
}

/** A filter of several links, taken in pieces and put together again under another name. */
async function dump(client) {
  await client.bf.mAdd("grown", numbers(0, 500));
  const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  let pieces = 0;
  for (let at = 0; ; pieces++) {
    const { iterator, chunk } = await binary.bf.scanDump("grown", at);
    if (iterator === 0) break;
    assert.equal(await client.bf.loadChunk("loaded", iterator, chunk), "OK");
    at = iterator;
  }
  assert.equal(pieces, 1 + (await client.bf.info("loaded"))["Number of filters"]);
  assert.equal(await client.bf.card("loaded"), await client.bf.card("grown"));
  const answers = await client.bf.mExists("loaded", numbers(0, 500));
  assert.ok(answers.length === 500 && answers.every((answer) => answer === true));
  await assert.rejects(client.bf.loadChunk("none", 1, Buffer.from("nothing")), /received bad data/);
}

/** Cuckoo filters. CF.INSERTNX has numbers in both protocols. */
async function cuckoo(client) {
  const options = { BUCKETSIZE: 4, MAXITERATIONS: 30, EXPANSION: 2 };
  assert.equal(await client.cf.reserve("cuckoo", 100, options), "OK");
  await assert.rejects(client.cf.reserve("cuckoo", 100), /item exists/);
  assert.equal(await client.cf.add("cuckoo", "x"), true);
  assert.equal(await client.cf.add("cuckoo", "x"), true);
  assert.equal(await client.cf.addNX("cuckoo", "x"), false);
  assert.equal(await client.cf.count("cuckoo", "x"), 2);
  assert.equal(await client.cf.exists("cuckoo", "x"), true);
  assert.equal(await client.cf.exists("cuckoo", "absent"), false);
  assert.equal(await client.cf.del("cuckoo", "x"), true);
  assert.equal(await client.cf.del("cuckoo", "absent"), false);
  await assert.rejects(client.cf.del("missing", "x"), /Not found/);
  const made = await client.cf.insert("cuckoo made", ["a", "b", "a"], { CAPACITY: 50 });
  assert.deepEqual(made, [true, true, true]);
  const more = await client.cf.insertNX("cuckoo made", ["a", "c"], { NOCREATE: true });
  assert.deepEqual(more.map(Number), [0, 1]);
  await assert.rejects(client.cf.insert("missing", "c", { NOCREATE: true }), /not found/);
  assert.deepEqual(
    { ...(await client.cf.info("cuckoo")) },
    {
      Size: 184,
      "Number of buckets": 32,
      "Number of filters": 1,
      "Number of items inserted": 1,
      "Number of items deleted": 1,
      "Bucket size": 4,
      "Expansion rate": 2,
      "Max iterations": 30,
    },
  );
  await client.cf.insert("cuckoo", numbers(0, 500));
  const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  for (let at = 0; ; ) {
    const { iterator, chunk } = await binary.cf.scanDump("cuckoo", at);
    if (iterator === 0) break;
    assert.equal(await client.cf.loadChunk("cuckoo loaded", iterator, chunk), "OK");
    at = iterator;
  }
  assert.deepEqual(await client.cf.info("cuckoo loaded"), await client.cf.info("cuckoo"));
  await assert.rejects(client.cf.loadChunk("none", 1, Buffer.from("nothing")), /Invalid header/);
}

async function together(client) {
  const replies = await client
    .multi()
    .bf.add("m", "x")
    .bf.mExists("m", ["x", "y"])
    .bf.card("m")
    .exec();
  assert.deepEqual(replies, [true, [true, false], 1]);
  await client.set("text", "x");
  await assert.rejects(client.bf.add("text", "x"), /WRONGTYPE/);
}

const client = createClient({
  RESP: Number(protocol),
  socket: { host: "127.0.0.1", port: Number(port) },
});
client.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
await client.connect();
for (const act of [makeAndAsk, insert, info, dump, cuckoo, together]) await act(client);
await client.close();
console.log("all acts");
