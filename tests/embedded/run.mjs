// SPDX-License-Identifier: Apache-2.0
// Runs a WebAssembly program that wants a file system, standard output, and digests (given_by_host.c).
//
//     node --no-warnings run.mjs PROGRAM [ARGUMENT...]     paths of files below the working directory, or that
//                                                          for temporary files

import { createHash } from "node:crypto";
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { argv } from "node:process";
import { WASI } from "node:wasi";

const names = ["md5", "sha1", "sha256", "sha384", "sha512"];
let instance;

// The pieces are {data, bytes, times}, each a 32-bit number.
function digest(id, pieces, count, result) {
  const memory = instance.exports.memory.buffer;
  const numbers = new Uint32Array(memory, pieces, 3 * count);
  const hash = createHash(names[id]);
  for (let i = 0; i < count; i++) {
    const [data, bytes, times] = numbers.subarray(3 * i, 3 * i + 3);
    for (let time = 0; time < times; time++) {
      hash.update(new Uint8Array(memory, data, bytes));
    }
  }
  new Uint8Array(memory, result).set(hash.digest());
  return 0;
}

const wasi = new WASI({
  // Opened anew: what Node has made of a pipe does not wait for its other end, and loses what finds no room.
  stdin: openSync("/dev/stdin"),
  stdout: openSync("/dev/stdout", "a"),
  version: "preview1",
  args: argv.slice(2),
  preopens: { ".": ".", [tmpdir()]: tmpdir() },
});
const module = await WebAssembly.compile(await readFile(argv[2]));
instance = await WebAssembly.instantiate(module, { ...wasi.getImportObject(), bloomery: { digest } });
wasi.start(instance);
