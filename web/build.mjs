// SPDX-License-Identifier: Apache-2.0
// Makes the page of page/ and the module.
//
//     node build.mjs EXPLORER.WASM FIGURE.SVG FOLDER COMMAND
//
//     FOLDER/explorer.html        all in one file, which works from file://
//     FOLDER/site/                the same in three files, for a web server, and the picture of a preview card
//     FOLDER/sizes.json           the sizes of its parts, in bytes
//
// REPOSITORY in the environment is the address of the project's sources, and PAGES that of the published
// page: with them the page has links to both, and a preview card. Without them it names the files.
//
// The module and the worker are gzipped and in base 85 within the script, in both: nothing is fetched, and the policy in
// the page forbids every connection.

import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [, , wasmPath, figurePath, folder, tool] = process.argv;
const page = join(dirname(fileURLToPath(import.meta.url)), "page");

const options = {
  bundle: true,
  minify: true,
  write: false,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
};

/** An expression for esbuild's mangleProps: private members get one or two letters, 2 % of the page. Not those that another
 * text knows by their letters: the browser's interfaces, the module's JSON, a string of the sources. */
function privateNames() {
  const texts = readdirSync(page)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(page, name), "utf8"));
  const foreign = [
    ...["lib.dom.d.ts", "lib.es5.d.ts"].map((name) =>
      readFileSync(fileURLToPath(import.meta.resolve(`typescript/lib/${name}`)), "utf8"),
    ),
    ...["wasm.c", "filter.c"].map((name) => readFileSync(join(page, "..", name), "utf8")),
    ...texts.flatMap((text) => text.match(/"[^"\n]*"|`[^`]*`/g) ?? []),
  ].join(" ");
  const known = new Set(foreign.match(/[A-Za-z_]\w*/g));
  const own = texts.flatMap((text) =>
    [...text.matchAll(/^ +private (?:static )?(?:readonly )?(\w{5,})/gm)].map((match) => match[1]),
  );
  return new RegExp(`^(?:${[...new Set(own)].filter((name) => !known.has(name)).join("|")})$`);
}

async function bundle(entry, define = {}) {
  const result = await build({
    ...options,
    entryPoints: [join(page, entry)],
    define,
    format: "iife",
    mangleProps: privateNames(),
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

/** The addresses of this project; "" where they are not known. */
const repository = (process.env.REPOSITORY ?? "").replace(/\/$/, "");
const pages = (process.env.PAGES ?? "").replace(/\/?$/, "/");

const attribute = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");

function links() {
  const to = (address, text) => `<a href="${attribute(address)}">${text}</a>`;
  const file = (path, text) =>
    repository ? to(`${repository}/blob/HEAD/${path}`, text) : `${text}: <code>${path}</code>`;
  return [
    ...(repository ? [to(repository, "Source code")] : []),
    file("docs/explorer.md", "Manual of this page"),
    file("docs/what-is-a-bloom-filter.md", "What a Bloom filter is"),
    file("docs/mathematics.md", "The mathematics"),
    to("https://doi.org/10.1145/362686.362692", "Bloom's paper, 1970"),
  ].join(" · ");
}

function card() {
  if (pages === "/") return "";
  const meta = (name, value) => `<meta property="og:${name}" content="${attribute(value)}" />`;
  return [meta("url", pages), meta("image", `${pages}card.png`)].join("");
}

/** The favicon, as an address: the sign in the page's head. */
function icon() {
  const circle = (x, y, lit) =>
    `<circle cx="${x}" cy="${y}" r="4" fill="${lit ? "#ff9b5f" : "#5f564e"}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1d1916"/>${circle(9, 9)}${circle(23, 9, true)}${circle(9, 23, true)}${circle(23, 23)}${circle(16, 16, true)}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** A table of usual rates, as text: the library's own numbers, by the command. */
function usualRates() {
  const rates = ["0.1", "0.01", "0.001", "1e-4", "1e-6", "1e-9"];
  const rows = rates.map((rate) => {
    const report = execFileSync(tool, ["plan", "-n", "1000000", "-p", rate, "--json"]);
    const { plans } = JSON.parse(report);
    const classic = plans.find(({ kind }) => kind === "classic");
    const blocked = plans.find(({ recommended }) => recommended);
    const bits = (plan) => `<td>${plan.bits_per_key.toFixed(2)}</td>`;
    const odds = Math.round(1 / Number(rate)).toLocaleString("en");
    return `<tr><th scope="row">1 in ${odds}</th>${bits(classic)}<td>${classic.probes}</td>${bits(blocked)}</tr>`;
  });
  const head = ["False positives", "Bits per key", "k", "Bits per key, blocked"];
  return `<table><caption>A million keys</caption><thead><tr>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

/** Four bytes in five letters, 6 % less than base64: none of them ends a string or a script.
 * main.ts is the other side. */
function base85(bytes) {
  const letter = (value) => String.fromCharCode(value < 25 ? value + 35 : value + 38);
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let word = 0;
    for (let i = 0; i < 4; i++) word = word * 256 + (bytes[at + i] ?? 0);
    for (let i = 0; i < 5; i++, word = Math.floor(word / 85))
      text += letter(word % 85).replace("\\", "~");
  }
  return text;
}

const wasm = readFileSync(wasmPath);
// Zopfli writes what gzip reads, 5 % shorter.
const packed = execFileSync("zopfli", ["-c", wasmPath]);
// The worker has the engine once more: packed like the module, it takes half.
const worker = gzipSync(await bundle("worker.ts"), { level: 9 });
const script = await bundle("main.ts", {
  MODULE: JSON.stringify([base85(packed), packed.length]),
  WORKER: JSON.stringify([base85(worker), worker.length]),
});
const css = await style();
const figure = readFileSync(figurePath, "utf8").trim();
const figureStyle = hashOf(/<style>([^]*?)<\/style>/.exec(figure)?.[1] ?? "");
// Line ends and indentation say nothing here.
const text = readFileSync(join(page, "index.html"), "utf8").replace(/\s*\n\s*/g, "\n");
let html = put(text, "<!-- figure -->", figure);
html = put(html, "<!-- usual rates -->", usualRates());
html = put(html, "<!-- links -->", links());
html = put(html, "<!-- icon -->", icon());
html = put(html, "<!-- card -->", card());

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
// From the top of the sources, where this runs.
copyFileSync("docs/figures/explorer.png", join(folder, "site", "card.png"));

const withoutModule = script.replace(base85(packed), "");
const sizes = {
  module: wasm.length,
  module_gzipped: packed.length,
  script_and_style_gzipped: gzipSync(withoutModule).length + gzipSync(css).length,
  html: Buffer.byteLength(html),
  single_file: Buffer.byteLength(single),
};
writeFileSync(join(folder, "sizes.json"), `${JSON.stringify(sizes, null, 2)}\n`);
console.log(sizes);
