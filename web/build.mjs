// SPDX-License-Identifier: Apache-2.0
// Makes the page of page/ and the module.
//
//     node build.mjs EXPLORER.WASM FIGURE.SVG FOLDER
//
//     FOLDER/explorer.html        all in one file, which works from file://
//     FOLDER/site/                the same in three files, for a web server
//     FOLDER/sizes.json           the sizes of its parts, in bytes
//
// The module is gzipped and in base64 within the script, in both: nothing is fetched, and the policy in
// the page forbids every connection.

import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [, , wasmPath, figurePath, folder] = process.argv;
const page = join(dirname(fileURLToPath(import.meta.url)), "page");

const options = {
  bundle: true,
  minify: true,
  write: false,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
};

async function bundle(entry, define = {}) {
  const result = await build({
    ...options,
    entryPoints: [join(page, entry)],
    define,
    format: "iife",
  });
  // What would end an inline script.
  return result.outputFiles[0].text.replaceAll("</script", "<\\/script").trim();
}

async function style() {
  const result = await build({ ...options, entryPoints: [join(page, "style.css")] });
  return result.outputFiles[0].text.trim();
}

/** Replaces a marker that must be there once. */
function put(text, marker, value) {
  const parts = text.split(marker);
  if (parts.length !== 2) throw new Error(`${marker}: ${parts.length - 1} times in the page`);
  return parts.join(value);
}

function policy(sources) {
  return [
    "default-src 'none'",
    `script-src ${sources.script} 'wasm-unsafe-eval'`,
    "worker-src blob:",
    `style-src ${sources.style}`,
    "img-src data:",
    "connect-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join("; ");
}

const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const wasm = readFileSync(wasmPath);
// Zopfli writes what gzip reads, 5 % shorter.
const packed = execFileSync("zopfli", ["-c", wasmPath]);
const worker = await bundle("worker.ts");
const script = await bundle("main.ts", {
  MODULE: JSON.stringify(packed.toString("base64")),
  WORKER: JSON.stringify(worker),
});
const css = await style();
const figure = readFileSync(figurePath, "utf8").trim();
const figureStyle = hashOf(/<style>([^]*?)<\/style>/.exec(figure)?.[1] ?? "");
const html = put(readFileSync(join(page, "index.html"), "utf8"), "<!-- figure -->", figure);

let single = put(html, "<!-- style -->", `<style>${css}</style>`);
single = put(single, "<!-- script -->", `<script>${script}</script>`);
single = put(
  single,
  "<!-- policy -->",
  policy({ script: hashOf(script), style: `${hashOf(css)} ${figureStyle}` }),
);

let parts = put(html, "<!-- style -->", '<link rel="stylesheet" href="explorer.css" />');
parts = put(parts, "<!-- script -->", '<script defer src="explorer.js"></script>');
parts = put(parts, "<!-- policy -->", policy({ script: "'self'", style: `'self' ${figureStyle}` }));

mkdirSync(join(folder, "site"), { recursive: true });
writeFileSync(join(folder, "explorer.html"), single);
writeFileSync(join(folder, "site", "index.html"), parts);
writeFileSync(join(folder, "site", "explorer.js"), script);
writeFileSync(join(folder, "site", "explorer.css"), css);

const withoutModule = script.replace(packed.toString("base64"), "");
const sizes = {
  module: wasm.length,
  module_gzipped: packed.length,
  script_and_style_gzipped: gzipSync(withoutModule).length + gzipSync(css).length,
  html: Buffer.byteLength(html),
  single_file: Buffer.byteLength(single),
};
writeFileSync(join(folder, "sizes.json"), `${JSON.stringify(sizes, null, 2)}\n`);
console.log(sizes);
