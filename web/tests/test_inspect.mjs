// SPDX-License-Identifier: Apache-2.0
// Inspect: the page says of a file what the command says; a file that is not a filter, or is cut or
// damaged, gets a sentence; nothing of a file becomes markup.

import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { equal, folder, ok, open, run, test } from "./browser.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const tool = process.env.BLOOMERY_TOOL;
const vectors = join(here, "../../tests/vectors");
const golden = readdirSync(vectors)
  .filter((name) => name.endsWith(".bloom"))
  .map((name) => join(vectors, name));
const scratch = mkdtempSync(join(tmpdir(), "bloomery-inspect-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

const bundle = await build({
  entryPoints: [join(here, "../page/numbers.ts")],
  bundle: true,
  write: false,
  format: "esm",
});
const numbers = await import(
  `data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].text).toString("base64")}`
);
const { formatCount, formatOneIn, formatRate } = numbers;

/** A test that makes its files with the command. */
function withTool(name, run) {
  if (tool) test(name, run);
  else console.log(`skipped - ${name}: BLOOMERY_TOOL is not set`);
}

const bloomery = (...args) => execFileSync(tool, args, { cwd: scratch, encoding: "utf8" });

/** Writes keys, and makes a filter of them; returns its path. */
function make(name, keys, ...args) {
  const path = join(scratch, name);
  const lines = join(scratch, `${name}.txt`);
  writeFileSync(lines, keys.map((key) => `${key}\n`).join(""));
  bloomery("build", "-q", "--force", ...args, "-o", path, lines);
  return path;
}

const keys = Array.from({ length: 200 }, (_, i) => `key ${i}`);

/** The end of an opening: a file is open, or a problem is shown. */
async function settled(page) {
  await page.waitForSelector("#inspect:not([aria-busy])");
}

async function choose(page, ...files) {
  await page.setInputFiles("#inspect-file", files);
  await settled(page);
}

async function drop(page, files, selector = "#inspect h2") {
  const data = await page.evaluateHandle(
    (files) => {
      const data = new DataTransfer();
      for (const { name, base64 } of files) {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        data.items.add(new File([bytes], name));
      }
      return data;
    },
    files.map(([name, bytes]) => ({ name, base64: Buffer.from(bytes).toString("base64") })),
  );
  for (const event of ["dragenter", "dragover", "drop"])
    await page.dispatchEvent(selector, event, { dataTransfer: data });
  await settled(page);
}

const status = (page) => page.locator("#inspect .inspect-status").innerText();
const problem = async (page) => {
  const shown = page.locator("#inspect .problem:not([hidden])");
  return (await shown.count()) > 0 ? shown.innerText() : "";
};
const fact = (page, id) => page.locator(`#inspect [data-fact=${id}]`).innerText();
const checksums = (page) => page.locator("#inspect .inspect-checks").innerText();
const has = (text, part) => ok(text.includes(part), `"${text}" does not say "${part}"`);

async function isOpen(page, name) {
  equal(await problem(page), "", name);
  has(await status(page), `“${name}” is open`);
}

/** The worker answers. */
async function answer(page) {
  return page.locator("#inspect .inspect-answer:not([aria-busy])").innerText();
}

async function ask(page, text) {
  await page.fill("#inspect input[name=query]", text);
  return answer(page);
}

async function system(page, name, values = {}) {
  await page.evaluate(() => (document.querySelector("#inspect .inspect-others").open = true));
  await page.selectOption("#inspect select[name=dialect]", name);
  for (const [field, value] of Object.entries(values)) {
    const control = page.locator(`#inspect .inspect-parameters [name=${field}]`);
    if (field === "variant") await control.selectOption(value);
    else await control.fill(value);
  }
  await page.click("#inspect .inspect-form button");
  await settled(page);
}

const rateText = (rate) => `${formatRate(rate)} (${formatOneIn(rate)})`;

async function sameAsCommand(page, path, ...args) {
  const told = JSON.parse(bloomery("inspect", "--json", ...args, path));
  const known = (value, text) => (value ? text(value) : "unknown");
  equal(await fact(page, "bits"), formatCount(told.bits), "bits");
  equal(await fact(page, "layers"), formatCount(told.layers), "layers");
  equal(await fact(page, "probes"), formatCount(told.probes), "probes");
  equal(await fact(page, "blocks_per_key"), String(told.blocks_per_key || "none"), "blocks");
  equal(await fact(page, "planned_keys"), known(told.planned_keys, formatCount), "planned keys");
  equal(await fact(page, "planned_rate"), known(told.planned_rate, rateText), "planned rate");
  equal(await fact(page, "estimated_keys"), formatCount(told.estimated_keys), "estimate");
  equal(await fact(page, "live_rate"), rateText(told.live_rate), "live rate");
  equal(await fact(page, "predicted_rate"), rateText(told.predicted_rate), "predicted rate");
  has(await fact(page, "hash"), `${told.hash}, seed ${told.seed}`);
  has(await fact(page, "kind"), told.kind);
  if (told.kind === "static") return;
  equal(
    await fact(page, "bits_set"),
    `${formatCount(told.bits_set)} of ${formatCount(told.bits)}`,
    "bits set",
  );
  equal(await fact(page, "fill"), formatRate(told.fill), "fill");
}

withTool("a_bloomery_file_shows_the_numbers_of_the_command", async (page) => {
  await open(page);
  const paths = [
    make("blocked.bloom", keys, "-p", "0.02", "--seed", "77"),
    make("classic.bloom", keys, "--kind", "classic"),
    make("counting.bloom", keys, "--kind", "counting"),
    make("scalable.bloom", keys, "--kind", "scalable", "-n", "20"),
    make("static.bloom", keys, "--kind", "static"),
  ];
  for (const path of paths) {
    await choose(page, path);
    await isOpen(page, basename(path));
    await sameAsCommand(page, path);
    equal(await fact(page, "adds"), "200", "adds");
    equal(await checksums(page), "Checksums: all right.", "checksums");
  }
});

test("every_golden_file_opens_or_says_why_not", async (page) => {
  await open(page);
  ok(golden.length >= 20, `${golden.length} golden files`);
  for (const path of golden) {
    await choose(page, path);
    if (path.includes("golden-v1")) has(await problem(page), "format version 1");
    else if (path.includes("cuckoo")) has(await problem(page), "no cuckoo filters");
    else {
      await isOpen(page, basename(path));
      equal(await checksums(page), "Checksums: all right.", path);
    }
  }
});

test("a_keyed_filter_shows_its_structure_and_says_why_no_key_is_asked", async (page) => {
  await open(page);
  await choose(page, join(vectors, "golden-v2-keyed.bloom"));
  has(await page.locator("#inspect .inspect-keyed").innerText(), "SipHash");
  has(await fact(page, "hash"), "which is in this file");
  equal(await page.locator("#inspect input[name=query]").count(), 0, "boxes for keys");
  await choose(page, join(vectors, "golden-v2-key-outside.bloom"));
  has(await fact(page, "hash"), "which is not in this file");
});

withTool("M9_a_filter_of_guava_is_dropped_and_opens_by_itself", async (page) => {
  const path = make("words.guava", keys, "--dialect", "guava", "-p", "1e-6");
  await open(page);
  await drop(page, [["words.guava", readFileSync(path)]]);
  await isOpen(page, "words.guava");
  const guessed = page.locator("#inspect .inspect-guessed");
  has(await guessed.innerText(), "It looks like a filter of guava");
  await sameAsCommand(page, path, "--dialect", "guava");
  has(await ask(page, "key 17"), "Possibly in the set");
  has(await ask(page, "no such key"), "Definitely not in the set");
  await guessed.getByRole("button").click();
  equal(
    await page.evaluate(() => document.activeElement.name),
    "dialect",
    "another system can be chosen",
  );
});

withTool("M10_the_system_of_the_last_file_is_forgotten", async (page) => {
  const path = make("first.guava", keys, "--dialect", "guava", "-p", "1e-6");
  await open(page);
  await drop(page, [["first.guava", readFileSync(path)]]);
  equal(await page.inputValue("#inspect select[name=dialect]"), "guava", "the system");
  await drop(page, [["unknown", Buffer.from("no filter at all".repeat(9))]]);
  equal(await page.inputValue("#inspect select[name=dialect]"), "", "after an unknown file");
  await drop(page, [["first.guava", readFileSync(path)]]);
  const damaged = readFileSync(join(vectors, "golden-v2-classic-two-spans.bloom"));
  damaged[40000] ^= 1;
  await drop(page, [["damaged.bloom", damaged]]);
  equal(await page.inputValue("#inspect select[name=dialect]"), "", "after a Bloomery file");
});

// M6: many keys, one answer each; nothing of it is in the address (M7).
withTool("M6_a_pasted_list_has_an_answer_for_each_line", async (page, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page);
  await choose(page, make("list.bloom", keys, "-p", "1e-9"));
  await page.locator("#inspect input[name=query]").evaluate((box) => {
    const data = new DataTransfer();
    data.setData("text/plain", "key 3\nsecret-customer-17\r\nkey 5\n");
    box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, cancelable: true }));
  });
  const says = page.locator("#inspect .inspect-list-says");
  await says.waitFor();
  equal(await says.innerText(), "2 of 3 lines possibly in the set, 1 definitely not.", "in all");
  const rows = await page
    .locator("#inspect .inspect-list tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  equal(
    rows,
    [
      ["key 3", "possibly"],
      ["secret-customer-17", "no"],
      ["key 5", "possibly"],
    ],
    "each line",
  );
  await page.getByRole("button", { name: "Copy all answers" }).click();
  equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    "possibly\tkey 3\nno\tsecret-customer-17\npossibly\tkey 5\n",
    "the copy",
  );
  await page.fill("#inspect textarea", keys.join("\n"));
  await page.getByRole("button", { name: "Look up all lines" }).click();
  await says.filter({ hasText: "200 of 200 lines" }).waitFor();
  ok(!page.url().includes("secret"), page.url());
});

withTool("a_dialect_with_a_magic_opens_by_itself", async (page) => {
  await open(page);
  for (const dialect of ["parquet", "libbloom"]) {
    const name = `words.${dialect}`;
    const path = make(name, keys, "--dialect", dialect, "-n", "1000", "-p", "0.001");
    await drop(page, [[name, readFileSync(path)]]);
    await isOpen(page, name);
    has(await fact(page, "dialect"), dialect);
    await sameAsCommand(page, path);
    for (const key of keys.slice(0, 5)) has(await ask(page, key), "Possibly in the set");
  }
});

withTool("a_dialect_without_a_magic_opens_by_name_and_parameters", async (page) => {
  await open(page);
  const dcso = make("words.dcso", keys, "--dialect", "dcso", "-p", "1e-5");
  await choose(page, dcso);
  await system(page, "dcso");
  await isOpen(page, "words.dcso");
  await sameAsCommand(page, dcso, "--dialect", "dcso");
  has(await ask(page, "key 3"), "Possibly in the set");
  const spec = "md5-chain,bits=4096,probes=6,variant=b";
  const path = make("words.md5", keys, "--dialect", spec);
  await choose(page, path);
  await system(page, "md5-chain", { bits: "4,096", probes: "six" });
  has(await problem(page), "Probes, k: “six” is not a valid number");
  await system(page, "md5-chain", { bits: "4,096", probes: "6", variant: "b" });
  await isOpen(page, "words.md5");
  for (const key of keys.slice(0, 20)) has(await ask(page, key), "Possibly in the set");
  has(await ask(page, "key 1000"), "Definitely not in the set");
  // The other variant sets other bits.
  await system(page, "md5-chain", { bits: "4,096", probes: "6", variant: "a" });
  const answers = [];
  for (const key of keys.slice(0, 20)) answers.push(await ask(page, key));
  ok(
    answers.some((answer) => answer.includes("Definitely")),
    "the variant makes no difference",
  );
});

test("damage_is_named_with_its_place_and_the_header_is_shown", async (page) => {
  const bytes = readFileSync(join(vectors, "golden-v2-classic-two-spans.bloom"));
  bytes[40000] ^= 1;
  await open(page);
  await drop(page, [["damaged.bloom", bytes]]);
  // L12: one sentence, which has the place once.
  has(await problem(page), "“damaged.bloom”: damaged between bytes");
  equal((await problem(page)).match(/damaged/g).length, 2, "in the name and once more");
  has(await checksums(page), "this file is damaged");
  equal(await fact(page, "bits"), "524,289", "bits");
  const header = readFileSync(join(vectors, "golden-v2-classic.bloom"));
  header[40] ^= 1;
  await drop(page, [["header.bloom", header]]);
  has(await problem(page), "“header.bloom”: ");
  equal(await page.locator("#inspect [data-fact]").count(), 0, "facts of a damaged header");
});

test("a_cut_file_is_a_sentence_wherever_it_is_cut", async (page) => {
  const bytes = readFileSync(join(vectors, "golden-v2-rule.bloom"));
  await open(page);
  for (let length = 0; length < bytes.length; length += 37) {
    await drop(page, [[`cut-${length}`, bytes.subarray(0, length)]]);
    has(await problem(page), `“cut-${length}”`);
    has(await status(page), `“cut-${length}” is not open`);
  }
  has(await problem(page), "cut");
});

test("a_later_version_an_empty_file_and_a_text_are_sentences", async (page) => {
  await open(page);
  const later = readFileSync(join(vectors, "golden-v2-classic.bloom"));
  later[8] = 9;
  await drop(page, [["later", later]]);
  has(await problem(page), "version 9");
  await drop(page, [["nothing", Buffer.alloc(0)]]);
  has(await problem(page), "“nothing” is empty");
  await drop(page, [["text", Buffer.from("Just some words in a file of text.\n".repeat(9))]]);
  has(await problem(page), "is not a filter file that this page recognises");
  await page.locator("#inspect summary", { hasText: "Its first bytes" }).click();
  const bytes = page.locator("#inspect details", { hasText: "Its first bytes" });
  has(await bytes.innerText(), "4a 75 73 74");
  // L14: the systems whose files cannot be recognised.
  has(await page.locator("#inspect .inspect-others").innerText(), "clickhouse");
  ok(await page.isVisible("#inspect select[name=dialect]"), "no system can be chosen");
});

test("of_several_files_the_first_is_opened_and_the_next_one_replaces_it", async (page) => {
  await open(page);
  const [one, other] = ["golden-v2-classic.bloom", "golden-v2-counting.bloom"];
  const read = (name) => [name, readFileSync(join(vectors, name))];
  await drop(page, [read(one), read(other)]);
  await isOpen(page, one);
  has(await status(page), "2 files came at once");
  await drop(page, [read(other)]);
  await isOpen(page, other);
  has(await fact(page, "kind"), "counting");
  equal(await page.locator("#inspect [data-fact=kind]").count(), 1, "filters that are shown");
});

test("a_folder_is_a_sentence", async (page) => {
  await open(page);
  await page.evaluate(() => {
    DataTransferItem.prototype.webkitGetAsEntry = () => ({ isDirectory: true, name: "filters" });
  });
  await drop(page, [["filters", Buffer.from("x")]]);
  has(await problem(page), "“filters” is a folder");
});

test("L15_a_file_may_be_dropped_anywhere", async (page) => {
  await open(page);
  const bytes = readFileSync(join(vectors, "golden-v2-classic.bloom"));
  await drop(page, [["elsewhere.bloom", bytes]], "h1");
  await isOpen(page, "elsewhere.bloom");
  equal(
    await page.title(),
    `elsewhere.bloom: ${await page.evaluate(() => document.title.split(": ").slice(1).join(": "))}`,
  );
  const top = await page.locator("#inspect").evaluate((part) => part.getBoundingClientRect().top);
  ok(Math.abs(top) < 200, `Inspect is at ${top}`);
  ok(!(await page.evaluate(() => document.body.classList.contains("dropping"))), "the frame");
});

test("a_file_that_does_not_fit_into_memory_gets_the_command", async (page) => {
  await open(page);
  await page.evaluate(() => {
    const file = new File([new Uint8Array([0x89, 0x42, 0x4c, 0x4f, 0x4f, 0x4d])], "big one.bloom");
    Object.defineProperty(file, "size", { value: 5e9 });
    const data = { types: ["Files"], items: [], files: [file] };
    const event = new Event("drop", { bubbles: true, cancelable: true });
    Object.defineProperty(event, "dataTransfer", { value: data });
    document.querySelector("#inspect h2").dispatchEvent(event);
  });
  await settled(page);
  has(await problem(page), "bloomery inspect 'big one.bloom'");
});

withTool("a_note_with_markup_stays_text", async (page) => {
  const note = "<b onclick=\"document.title='lost'\">bold</b> <img src=x onerror=alert(1)>";
  const path = make("note.bloom", keys, "--note", note);
  await open(page);
  await drop(page, [["<i>name</i>", readFileSync(path)]]);
  equal(await fact(page, "note"), note, "the note");
  equal(await page.locator("#inspect b, #inspect img, #inspect i").count(), 0, "elements");
  has(await status(page), "<i>name</i>");
});

withTool("added_keys_are_possible_by_the_rule_and_a_stranger_is_not", async (page) => {
  const path = make("rule.bloom", ["ONE;Two", "three;FOUR"], "--lower", "-F", "2", "-d", ";");
  await open(page);
  await choose(page, path);
  has(await fact(page, "rule"), "ASCII letters become lower case");
  has(await ask(page, "x;two"), "Possibly in the set");
  has(await ask(page, "x;TWO"), "Possibly in the set");
  has(await ask(page, "three;four"), "absent keys gets this answer");
  has(await ask(page, "x;five"), "Definitely not in the set");
  has(await ask(page, "two"), "fewer fields");
  await ask(page, "x;TWO");
  has(await page.locator("#inspect .inspect-key").innerText(), "74 77 6f");
  const all = make("all.bloom", keys, "-p", "1e-6");
  await choose(page, all);
  for (const key of keys) has(await ask(page, key), "Possibly in the set");
});

withTool("the_cells_of_a_key_are_those_that_are_set_by_adding_it", async (page) => {
  const path = make("one.bloom", ["only"], "--kind", "classic", "-n", "40", "-p", "0.01");
  await open(page);
  await choose(page, path);
  await ask(page, "only");
  const shown = await page.locator("#inspect .inspect-key dd").last().innerText();
  const cells = [...new Set(shown.split(" · ").map((cell) => Number(cell.replace(",", ""))))];
  const bytes = readFileSync(path);
  const payload = Number(bytes.readBigUInt64LE(24));
  const set = [];
  for (let bit = 0; bit < 8 * Number(bytes.readBigUInt64LE(32)); bit++)
    if ((bytes[payload + (bit >> 3)] >> (bit & 7)) & 1) set.push(bit);
  equal(
    cells.sort((a, b) => a - b),
    set,
    "the cells",
  );
  equal(await page.locator("#inspect .inspect-marks path").count(), shown.split(" · ").length);
});

test("the_strip_has_the_fill_of_each_part_and_a_table", async (page) => {
  const bytes = readFileSync(join(vectors, "golden-v2-blocked-one-line.bloom"));
  await open(page);
  await drop(page, [["strip", bytes]]);
  const payload = Number(bytes.readBigUInt64LE(24));
  const count = 320;
  const bits = (byte) => [...byte.toString(2)].filter((digit) => digit === "1").length;
  const wanted = Array.from({ length: 256 }, (_, i) => {
    const [from, to] = [i, i + 1].map((at) => Math.floor((at * count) / 256));
    const part = [...bytes.subarray(payload + from, payload + to)];
    return part.reduce((sum, byte) => sum + bits(byte), 0) / (8 * part.length);
  });
  const heights = await page
    .locator("#inspect .inspect-part")
    .evaluateAll((parts) => parts.map((part) => Number(part.getAttribute("height"))));
  equal(
    heights,
    wanted.map((fill) => Number((100 * fill).toFixed(2))),
    "heights",
  );
  await page.locator("#inspect .inspect-heat summary").click();
  await page.waitForSelector("#inspect .inspect-heat tbody tr");
  equal(await page.locator("#inspect .inspect-heat tbody tr").count(), 256, "rows");
});

test("a_gzipped_file_is_decompressed", async (page) => {
  const bytes = gzipSync(readFileSync(join(vectors, "golden-v2-classic.bloom")));
  await open(page);
  await drop(page, [["classic.bloom.gz", bytes]]);
  await isOpen(page, "classic.bloom");
  has(await status(page), "compressed with gzip");
  await drop(page, [["cut.gz", bytes.subarray(0, 200)]]);
  has(await problem(page), "“cut.gz” is not a filter file");
});

test("a_pasted_file_is_opened", async (page) => {
  await open(page);
  const base64 = readFileSync(join(vectors, "golden-v2-classic.bloom")).toString("base64");
  await page.evaluate((base64) => {
    const data = new DataTransfer();
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    data.items.add(new File([bytes], "pasted.bloom"));
    dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, cancelable: true }));
  }, base64);
  await settled(page);
  await isOpen(page, "pasted.bloom");
});

/** The page with a file in it, as the command writes it. */
function pageWith(name, bytes) {
  const html = readFileSync(join(folder, "explorer.html"), "utf8");
  const marker = 'id="given-file" data-name="">';
  ok(html.includes(marker), "the page has a place for a file");
  const path = join(scratch, "with-file.html");
  const place = `id="given-file" data-name="${name}">${bytes.toString("base64")}`;
  writeFileSync(
    path,
    html.replace(marker, () => place),
  );
  return pathToFileURL(path).href;
}

async function openWith(page, name, bytes, end = "") {
  await page.goto(pageWith(name, bytes) + end);
  await page.waitForSelector("html[data-ready=yes]");
  await settled(page);
}

test("the_file_that_the_page_was_given_opens_at_start", async (page) => {
  const bytes = readFileSync(join(vectors, "golden-v2-counting.bloom"));
  await openWith(page, "my &amp; &quot;file&quot;.bloom", bytes);
  await isOpen(page, 'my & "file".bloom');
  equal(await fact(page, "bits"), "1,536", "counters");
});

test("H3_a_page_with_a_file_begins_at_inspect_with_its_name", async (page) => {
  const bytes = readFileSync(join(vectors, "golden-v2-counting.bloom"));
  await openWith(page, "ids.bloom", bytes);
  has(await page.title(), "ids.bloom: ");
  const top = await page
    .locator("#inspect h2")
    .evaluate((title) => title.getBoundingClientRect().top);
  ok(top >= 0 && top < 400, `Inspect is at ${top}`);
});

withTool("a_given_file_opens_as_the_address_names_it", async (page) => {
  const path = make("given.md5", keys, "--dialect", "md5-chain,bits=4096,probes=6");
  const end = "#inspect&i.d=md5-chain&i.bits=4096&i.probes=6";
  await openWith(page, "given.md5", readFileSync(path), end);
  await isOpen(page, "given.md5");
  has(await ask(page, "key 7"), "Possibly in the set");
  // What is dropped later did not come with the address.
  await drop(page, [["later.md5", readFileSync(path)]]);
  has(await problem(page), "“later.md5” is not a filter file");
});

test("an_example_opens_and_has_its_keys", async (page) => {
  await open(page);
  await page.getByRole("button", { name: "Try an example" }).click();
  await settled(page);
  await isOpen(page, "example.bloom");
  equal(await fact(page, "planned_keys"), "1,000", "planned keys");
  for (const key of ["key 1", "key 1000"]) has(await ask(page, key), "Possibly in the set");
});

withTool("the_empty_key_is_a_key", async (page) => {
  await open(page);
  await choose(page, make("empty.bloom", ["", "a"], "-n", "20", "-p", "1e-9"));
  has(await answer(page), "Type a key");
  await page.getByRole("button", { name: "Look up the empty key" }).click();
  has(await answer(page), "Possibly in the set");
  await choose(page, make("full.bloom", ["a"], "-n", "20", "-p", "1e-9"));
  await page.getByRole("button", { name: "Look up the empty key" }).click();
  has(await answer(page), "Definitely not in the set");
});

/** A large file: a scan takes long enough to see what the page does during it. */
const large = (name) =>
  make(name, keys, "--kind", "blocked", "-n", "200M", "--memory", "256MiB", "--note", "large");

withTool("the_page_goes_on_while_a_large_file_is_counted", async (page) => {
  await open(page);
  await page.evaluate(() => {
    const status = document.querySelector("#inspect .inspect-status");
    globalThis.turns = { counting: 0, comparing: 0 };
    setInterval(() => {
      for (const word of Object.keys(globalThis.turns))
        if (status.textContent.includes(word)) globalThis.turns[word]++;
    }, 4);
  });
  await choose(page, large("large.bloom"));
  await isOpen(page, "large.bloom");
  equal(await fact(page, "adds"), "200", "adds");
  const turns = await page.evaluate(() => globalThis.turns);
  ok(turns.counting > 5 && turns.comparing > 5, `turns of the page: ${JSON.stringify(turns)}`);
});

withTool("a_file_takes_the_place_of_one_that_is_being_read_or_counted", async (page) => {
  await open(page);
  const path = large("slow.bloom");
  for (const word of ["Reading: ", "counting", "comparing"]) {
    await page.setInputFiles("#inspect-file", path);
    await page.waitForFunction(
      (word) => document.querySelector("#inspect .inspect-status").textContent.includes(word),
      word,
      { polling: 4 },
    );
    await choose(page, join(vectors, "golden-v2-counting.bloom"));
    await isOpen(page, "golden-v2-counting.bloom");
    equal(await fact(page, "bits"), "1,536", "counters");
    // A worker that was ended goes a little later.
    for (let wait = 0; wait < 50 && page.workers().length > 1; wait++)
      await page.waitForTimeout(50);
    equal(page.workers().length, 1, "workers");
  }
  await page.waitForTimeout(300);
  await isOpen(page, "golden-v2-counting.bloom");
  equal(await page.locator("#inspect [data-fact=bits]").count(), 1, "filters that are shown");
});

test("M7_the_system_comes_from_the_address_and_no_key_goes_into_it", async (page) => {
  await open(page, "#inspect&i.d=md5-chain&i.bits=4096&i.probes=6");
  equal(await page.inputValue("#inspect select[name=dialect]"), "md5-chain", "the system");
  equal(await page.inputValue("#inspect [name=bits]"), "4096", "its bits");
  await choose(page, join(vectors, "golden-v2-classic.bloom"));
  has(await ask(page, "secret text"), "in the set");
  await page.locator("#inspect input[name=query]").blur();
  ok(!page.url().includes("secret"), page.url());
});

// L13: a hash of 64 bits has no zeros before it.
withTool("L13_a_hash_of_64_bits_is_16_digits", async (page) => {
  await open(page);
  await choose(page, make("hash.parquet", keys, "--dialect", "parquet", "-n", "1000"));
  await ask(page, "key 1");
  const hash = await page.locator("#inspect .inspect-key dd").nth(1).innerText();
  ok(/^[0-9a-f]{16}$/.test(hash), hash);
});

await run();
