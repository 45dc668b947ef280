// SPDX-License-Identifier: Apache-2.0
// What the browser tests share: Chromium without a window, a page of explorer.html from file://, and a
// count of what held. A test is a function of a page; what it throws is its failure.

import { chromium } from "playwright-core";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

export const folder = process.env.EXPLORER_FOLDER ?? "build-web";
export const address = pathToFileURL(`${folder}/explorer.html`).href;

const candidates = [
  process.env.CHROMIUM,
  "/usr/bin/chromium-headless-shell",
  "/usr/lib/chromium/headless_shell",
  "/usr/bin/chromium",
];
export const executable = candidates.find((path) => path && existsSync(path));

let passed = 0;
let failed = 0;
const tests = [];

/** Declares a test. `options` are those of a Playwright context. */
export function test(name, run, options = {}) {
  tests.push({ name, run, options });
}

export function equal(got, wanted, what = "") {
  const a = JSON.stringify(got);
  const b = JSON.stringify(wanted);
  if (a !== b) throw new Error(`${what}: got ${a}, wanted ${b}`);
}

export function ok(value, what) {
  if (!value) throw new Error(what);
}

/** Opens the page at an address's end ("?n=1&p=2#calculator"), and waits until it has started. */
export async function open(page, end = "") {
  await page.goto(address + end);
  await page.waitForSelector("html[data-ready=yes]", { timeout: 10000 });
}

export function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Runs the declared tests, or those whose names contain a word given on the command line. Each has a page of its own,
 * in which no request may leave and no error may stand in the console. */
export async function run() {
  if (!executable) {
    console.log("skipped: no Chromium here (scripts/install-packages web)");
    console.log("0 passed, 0 failed");
    return;
  }
  const root = process.getuid?.() === 0;
  const browser = await chromium.launch({
    executablePath: executable,
    args: [
      ...(root ? ["--no-sandbox"] : []),
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });
  const words = process.argv.slice(2);
  for (const { name, run, options } of tests) {
    if (words.length > 0 && !words.some((word) => name.includes(word))) continue;
    const context = await browser.newContext({
      viewport: { width: 1200, height: 900 },
      ...options,
    });
    const page = await context.newPage();
    const complaints = [];
    page.on("request", (request) => {
      if (!/^(file|blob|data):/.test(request.url())) complaints.push(`a request: ${request.url()}`);
    });
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(`the console: ${message.text()}`);
    });
    page.on("pageerror", (error) => complaints.push(`an error: ${error.message}`));
    try {
      await run(page, context);
      if (complaints.length > 0) throw new Error(complaints.join("; "));
      console.log(`ok - ${name}`);
      passed++;
    } catch (error) {
      console.log(`not ok - ${name}: ${error.stack ?? error}`);
      failed++;
      await page.screenshot({ path: `${folder}/failed-${name}.png` }).catch(() => {});
    }
    await context.close();
  }
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
