// SPDX-License-Identifier: Apache-2.0
// Makes the npm package: one ES module with the WebAssembly in it, and its types.
//
//     node npm/build.mjs PLAIN.WASM FOLDER     FOLDER/npm/, ready for `npm pack`
//
// PLAIN.WASM is the package's module before wasm-opt. What only the page calls is left out here, 5 KB of the
// package. The version is that of the C library.

import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [, , wasmPath, folder] = process.argv;
const here = dirname(fileURLToPath(import.meta.url));
const web = join(here, "..");
const root = join(web, "..");
const to = join(folder, "npm");

rmSync(to, { recursive: true, force: true });
mkdirSync(to, { recursive: true });

/** What page/engine.ts calls for this package. */
const called = [
  ...["memory", "web_allocate", "web_release", "web_failure", "web_plan", "web_make", "web_load"],
  ...["web_given", "web_dialect_plan", "web_dialect_create", "web_dialect_load", "web_free"],
  ...["web_sniff", "web_dialects", "web_write", "web_written", "web_info", "web_keys"],
];
const graph = [
  { name: "outside", reaches: called, root: true },
  ...called.map((name) => ({ name, export: name })),
];
const scratch = (name) => join(to, name);
writeFileSync(scratch("graph.json"), JSON.stringify(graph));
const bulk = "--enable-bulk-memory";
execFileSync("wasm-metadce", [
  ...[wasmPath, bulk, "--graph-file", scratch("graph.json"), "-o", scratch("less.wasm")],
]);
execFileSync("wasm-opt", [
  ...["-Oz", "--converge", "--low-memory-unused", bulk],
  ...["-o", scratch("bloomery.wasm"), scratch("less.wasm")],
]);
const packed = execFileSync("zopfli", ["-c", scratch("bloomery.wasm")]);
for (const name of ["graph.json", "less.wasm", "bloomery.wasm"]) rmSync(scratch(name));
/** Methods of page/engine.ts that only the page calls: esbuild keeps what a class has. */
const pageOnly = [
  ...["version", "planRate", "sievePlan", "create", "view", "viewOf", "verify", "add", "remove"],
  ...["key", "mayContain", "count", "positions", "hash", "keyOf", "addNumbers", "countNumbers"],
  ...["expectedRate", "cells", "fill"],
];
const withoutPage = {
  name: "without-page",
  setup: ({ onLoad }) =>
    onLoad({ filter: /page[\\/]engine\.ts$/ }, ({ path }) => {
      let contents = readFileSync(path, "utf8");
      for (const name of pageOnly) {
        const parts = contents.split(new RegExp(`^  (?:private )?${name}\\([^]*?^  }\\n`, "m"));
        if (parts.length !== 2) throw new Error(`${name} is ${parts.length - 1} times in ${path}`);
        contents = parts.join("");
      }
      return { contents, loader: "ts" };
    }),
};
await build({
  plugins: [withoutPage],
  entryPoints: [join(here, "index.ts")],
  outfile: join(to, "index.js"),
  bundle: true,
  minify: true,
  lineLimit: 100, // Node prints the line that throws an error; the module has a line of its own
  format: "esm",
  platform: "neutral",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: {
    js: `// Bloomery, Apache License 2.0. With @noble/hashes, MIT License: THIRD-PARTY.txt
const MODULE="${packed.toString("base64")}";`,
  },
});
execFileSync(
  join(web, "node_modules/.bin/tsc"),
  [
    ...["-p", web, "--noEmit", "false", "--declaration", "--emitDeclarationOnly"],
    ...["--rootDir", web, "--outDir", join(to, "all-types")],
  ],
  { stdio: "inherit" },
);
for (const name of ["npm/index.d.ts", "npm/types.d.ts", "page/engine-types.d.ts"]) {
  mkdirSync(dirname(join(to, "types", name)), { recursive: true });
  // With extensions, as Node's own resolution wants them, and without what only the page has.
  const types = readFileSync(join(to, "all-types", name), "utf8").replace(
    /^export interface (?:Failure|PlanRequest|SievePlan) {[^]*?^}\n/gm,
    "",
  );
  writeFileSync(join(to, "types", name), types.replace(/(from "\.[^"]*)"/g, '$1.js"'));
}
rmSync(join(to, "all-types"), { recursive: true });

const header = readFileSync(join(root, "include/bloomery/bloomery.h"), "utf8");
const version = /^#define BLOOMERY_VERSION\s+"([^"]+)"/m.exec(header)[1];
const { name, ...rest } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
writeFileSync(join(to, "package.json"), `${JSON.stringify({ name, version, ...rest }, null, 2)}\n`);
copyFileSync(join(here, "README.md"), join(to, "README.md"));
copyFileSync(join(root, "LICENSE"), join(to, "LICENSE"));
const noble = readFileSync(join(web, "node_modules/@noble/hashes/LICENSE"), "utf8");
writeFileSync(join(to, "THIRD-PARTY.txt"), `index.js contains @noble/hashes:\n\n${noble}`);
