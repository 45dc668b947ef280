// SPDX-License-Identifier: Apache-2.0
// Runs a WebAssembly program that wants a file system and standard output.
//
//     node --no-warnings run.mjs PROGRAM [ARGUMENT...]     paths of files below the working directory

import { readFile } from "node:fs/promises";
import { argv } from "node:process";
import { WASI } from "node:wasi";

const wasi = new WASI({
  version: "preview1",
  args: argv.slice(2),
  preopens: { ".": "." },
});
const module = await WebAssembly.compile(await readFile(argv[2]));
wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
