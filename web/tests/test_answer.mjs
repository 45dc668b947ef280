// SPDX-License-Identifier: Apache-2.0
// The answer first: links of other calculators give their numbers, the table of systems is what the command
// plans for each of them, and all of it can be taken away. Findings are named by their numbers (H2, M1 ...).

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { address, equal, folder, ok, open, run, test } from "./browser.mjs";

const tool = process.env.BLOOMERY_TOOL;
const line = (page) => page.locator("#calculator .calc-answer").innerText();
const versus = (page) => page.locator("#calculator .calc-versus").innerText();
const says = (page) => page.locator("#calculator .calc-says").innerText();
const box = (page, name) => page.locator("#calculator").getByRole("textbox", { name });
const checked = (page) => page.locator("#calculator .choice :checked").getAttribute("value");
const flat = (text) => text.replace(/\s+/g, " ").trim();
const has = (text, part) => ok(text.includes(part), `"${text}" does not say "${part}"`);
const lacks = (text, part) => ok(!text.includes(part), `"${text}" says "${part}"`);

async function write(page, name, text) {
  await box(page, name).fill(text);
  await box(page, name).press("Tab");
}

/** What a button copies, without a clipboard. */
async function copied(page, name) {
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void (globalThis.copiedText = text);
  });
  await page.locator("#calculator .calc-copies").getByRole("button", { name, exact: true }).click();
  return page.evaluate(() => globalThis.copiedText);
}

// ---- Links of other calculators ------------------------------------------------------------------

// The numbers are hur.st's: m = ceil(n ln p / ln(1 / 2^ln 2)), k = round(m / n ln 2), p = (1 - e^(-kn/m))^k.
for (const [link, wanted] of [
  [
    "?n=4000&p=1.0E-7&m=&k=",
    "m = 134,191 bits (16.4 KiB) · k = 23 · 33.55 bits per key · p = 1 in 9,994,297",
  ],
  ["?n=4&p=1.0E-20", "m = 384 bits (48 bytes) · k = 67 · 96.00 bits per key · p = 1 in 1.07e20"],
  ["?n=1e9&m=18MB", "m = 144,000,000 bits (18MB) · k = 1 · 0.14 bits per key · p = 99.9%"],
  ["?n=1000&p=&m=8192&k=", "m = 8,192 bits (1 KiB) · k = 6 · 8.19 bits per key · p = 1 in 51"],
  ["?n=3&p=1.0E-5", "m = 72 bits (9 bytes) · k = 17 · 24.00 bits per key · p = 1 in 101,641"],
  [
    "?n=350000&p=&m=67108864&k=3",
    "m = 67,108,864 bits (8 MiB) · k = 3 · 191.74 bits per key · p = 1 in 267,271",
  ],
  ["?n=20M&p=1%25", "m = 191,701,168 bits (22.9 MiB) · k = 7 · 9.59 bits per key · p = 1 in 100"],
  [
    "?n=20M&p=1e-3",
    "m = 287,551,752 bits (34.3 MiB) · k = 10 · 14.38 bits per key · p = 1 in 1,000",
  ],
  [
    "?n=&p=0.01&m=1000000&k=",
    "n = 104,244 keys · m = 1,000,000 bits (122 KiB) · k = 7 · 9.59 bits per key · p = 1 in 100",
  ],
  [
    "?n=10000000&p=1.0E-7&m=&k=10",
    "m = 449,334,167 bits (53.6 MiB) · k = 10 · 44.93 bits per key · p = 1 in 10,000,000",
  ],
  [
    "?n=100000000000000&p=0.01",
    "m = 958,505,837,736,744 bits (109 TiB) · k = 7 · 9.59 bits per key · p = 1 in 100",
  ],
  [
    "?m=256&k=16",
    "n = 23 keys · m = 256 bits (32 bytes) · k = 16 · 11.13 bits per key · p = 1 in 77",
  ],
])
  test(`H2_M1_M2_M3_a_link_gives_the_numbers_of_its_calculator: ${link}`, async (page) => {
    await open(page, link);
    equal(flat(await line(page)), wanted, link);
    equal(await checked(page), "classic", "the kind");
    const top = await page.evaluate(() => {
      const answer = document.querySelector(".calc-answer").getBoundingClientRect();
      return [answer.top > 0, answer.bottom < innerHeight];
    });
    equal(top, [true, true], "the answer is on the first screen");
  });

test(
  "H2_on_a_phone_too_a_link_opens_at_the_answer",
  async (page) => {
    await open(page, "?n=20M&p=1%25");
    const { y } = await page.locator(".calc-answer").boundingBox();
    ok(y > 0 && y < 560, `the answer is at ${y}`);
  },
  { viewport: { width: 375, height: 667 } },
);

test("H2_any_query_means_the_calculator_unless_a_fragment_says_otherwise", async (page) => {
  const seen = () =>
    page.evaluate(() => document.querySelector("#calculator").getBoundingClientRect().top);
  await open(page, "?utm_source=x");
  ok(Math.abs(await seen()) < 200, `the calculator is at ${await seen()}`);
  for (const end of ["?n=10&p=0.1#", "?n=10&p=0.1#some-old-name"]) {
    await page.goto("about:blank");
    await open(page, end);
    ok(Math.abs(await seen()) < 200, `${end}: the calculator is at ${await seen()}`);
  }
  await open(page, "?n=10#inspect");
  ok(Math.abs(await seen()) > 200, "the fragment goes first");
});

test("M1_the_textbook_is_there_where_the_library_refuses", async (page) => {
  await open(page, "?n=4&p=1.0E-20");
  has(await versus(page), "does not plan for rates below 1e-15");
  has(await says(page), "at least 1e-15");
  await page.locator("#calculator [data-done]").first().waitFor();
  has(await page.locator(".systems").innerText(), "Guava");
  await write(page, /^Keys/, "1e9");
  has(flat(await line(page)), "k = 66");
});

// A size without bits or bytes: another calculator reads it, so this one does not answer another question.
test("M1_M15_a_links_number_is_read_or_refused_with_the_reason", async (page) => {
  const notes = () => page.locator("#calculator .calc-notes").innerText();
  await open(page, "?n=10000000&p=&m=512M&k=6");
  has(flat(await line(page)), "m = 4,096,000,000 bits (512MB) · k = 6");
  has(await notes(), "“512M” for the memory, here taken as bytes. For bits write “512Mbit”");
  const order = async () =>
    page
      .locator("#calculator :is(.calc-notes, .calc-answer)")
      .evaluateAll((parts) => parts.map((part) => part.className));
  equal(await order(), ["calc-notes", "calc-answer"], "what was assumed comes first");
  for (const [link, reason] of [
    ["?n=1e20&p=0.01", "more than 9,007,199,254,740,992 keys"],
    ["?n=0.5&p=0.01", "at least 1 key"],
    ["?n=3.5&p=0.01", "3 or 4?"],
    ["?n=1.000&p=0.01", "Is that 1,000 or 1?"],
    ["?n=100&p=1", "above 0 and below 1"],
    ["?n=100&m=0", "at least 1 bit"],
    ["?n=100&p=0.01&k=0", "a whole number of at least 1"],
  ]) {
    await page.goto("about:blank");
    await open(page, link);
    has(await notes(), reason);
    has(await notes(), "ignored");
  }
  await page.goto("about:blank");
  await open(page, "?n=1e6&p=1.0E-310");
  equal(await order(), ["calc-answer", "calc-notes"], "the answer comes first");
  has(flat(await line(page)), "k = 1030");
  lacks(await line(page), "Infinity");
});

test(
  "H4_on_a_phone_the_answer_stays_in_view_while_its_boxes_are_edited",
  async (page) => {
    await open(page, "?n=20M&p=1%25");
    for (const name of [/^Keys/, /^Rate/, /^Memory/]) {
      await box(page, name).evaluate((box) =>
        box.scrollIntoView({ behavior: "instant", block: "center" }),
      );
      await box(page, name).fill(String(name) === "/^Rate/" ? "0.001" : "64KiB".slice(0, 2));
      const [answer, edited, menu] = await Promise.all(
        [page.locator(".calc-answer"), box(page, name), page.locator("header.top")].map((part) =>
          part.evaluate((element) => element.getBoundingClientRect().toJSON()),
        ),
      );
      ok(
        answer.top >= menu.bottom - 2 && answer.bottom <= edited.top && edited.bottom <= 667,
        `${name}: the answer from ${answer.top} to ${answer.bottom}, the box at ${edited.top}`,
      );
    }
  },
  { viewport: { width: 375, height: 667 } },
);

test(
  "in_a_frame_the_answer_stays_at_its_top",
  async (page) => {
    await open(page, "?embed=calculator");
    await box(page, /^Rate/).evaluate((box) =>
      box.scrollIntoView({ behavior: "instant", block: "center" }),
    );
    const top = await page
      .locator(".calc-answer")
      .evaluate((answer) => answer.getBoundingClientRect().top);
    ok(Math.abs(top) <= 1, `${top} pixels below the top`);
  },
  { viewport: { width: 375, height: 667 } },
);

for (const width of [320, 375, 641, 768, 961, 1440])
  test(
    `tables_of_kinds_and_systems_show_every_cell: ${width}`,
    async (page) => {
      await open(page, "?n=20M&p=0.001");
      await page.locator("#calculator [data-done]").first().waitFor();
      const cut = await page
        .locator("#calculator :is(.calc-kinds .scrolling, .scrolling:has(> .systems))")
        .evaluateAll((boxes) =>
          boxes.flatMap((box) =>
            [box, ...box.querySelectorAll("th, td")]
              .filter(
                (part) =>
                  part.scrollWidth > part.clientWidth + 1 ||
                  part.scrollHeight > part.clientHeight + 1,
              )
              .filter((part) => part.clientWidth > 0)
              .map((part) => part.textContent.slice(0, 40)),
          ),
        );
      equal(cut, [], "what is cut");
    },
    { viewport: { width, height: 800 } },
  );

// 13.27 bits per key for 1 in 100 are 2.00 times log2(100), not 1.54 times those of the first layer.
test("H5_a_scalable_filter_is_compared_at_its_own_rate", async (page) => {
  for (const rate of [0.1, 0.01, 1e-4]) {
    await page.goto("about:blank");
    await open(page, `?n=20M&p=${rate}&kind=scalable`);
    const fact = (name) => page.locator(`#calculator [data-fact=${name}] dd`).innerText();
    const times = Number(/^[\d.]+/.exec(await fact("limit"))[0]);
    const wanted = Number(await fact("bits")) / -Math.log2(rate);
    ok(Math.abs(times - wanted) < 0.006, `${rate}: ${times}, not ${wanted}`);
  }
});

test("M2_a_link_without_a_kind_says_so_and_one_with_it_does_not", async (page) => {
  const notes = () => page.locator("#calculator .calc-notes").innerText();
  await open(page, "?n=1000&p=&m=8192&k=");
  has(await notes(), "one flat array, as in other calculators");
  equal(await checked(page), "classic", "the kind of a link without one");
  await open(page, "?n=1000&p=&m=8192&k=&kind=blocked");
  equal([await notes(), await checked(page)], ["", "blocked"], "a kind");
});

test("M3_blocked_costs_and_saves_are_beside_the_answer_and_k_is_in_the_table", async (page) => {
  await open(page, "?n=20M&p=1%25");
  has(
    await versus(page),
    "A blocked filter takes 24.1 MiB, 5.4% more than the textbook's. In return, a lookup reads 1 cache line instead of 2.05 if the key is absent, and 1 instead of 7 if it is present.",
  );
  await open(page, "?n=350000&p=&m=67108864&k=3");
  has(await versus(page), "in the same memory");
  const head = await page.locator(".calc-kinds th[scope=col]").allInnerTexts();
  ok(head.includes("k"), `columns ${head}`);
});

test("the_lines_name_their_kinds_and_one_comparison_has_one_number", async (page) => {
  const plan = async () => flat(await page.locator("#calculator .calc-plan").innerText());
  const whose = async () =>
    (await page.locator("#calculator .calc-whose").allInnerTexts()).map(flat);
  await open(page, "?n=20M&p=1%25&kind=blocked");
  equal(await whose(), ["Textbook: one flat array", "Bloomery: blocked, as chosen below"]);
  const { plans } = JSON.parse(
    execFileSync(tool, ["plan", "-n", "20000000", "-p", "0.01", "--json"]),
  );
  const bits = 8 * plans.find(({ recommended }) => recommended).bytes;
  equal(
    await plan(),
    `m = ${bits.toLocaleString("en")} bits (24.1 MiB) · k = 8 · 10.10 bits per key · p = 1 in 100`,
    "the plan's numbers",
  );
  const looks = (name) =>
    page.locator(`#calculator .${name}`).evaluate((line) => {
      const { fontSize, fontWeight, color } = getComputedStyle(line);
      return [fontSize, fontWeight, color];
    });
  equal(await looks("calc-plan"), await looks("calc-answer"), "how they look");
  has(await page.locator(".calc-textbook").innerText(), "5.4% more");
  has(await versus(page), "5.4% more");
  await page.locator("#calculator .choice").getByText("Static").click();
  has((await whose())[1], "static");
  lacks(await plan(), "k =");
  await open(page, "?n=4&p=1.0E-20");
  equal(await plan(), "no plan", "where the library refuses");
});

test("the_table_says_lower_as_well_as_higher", async (page) => {
  await open(page, "?n=1M&p=1%25");
  const compared = Object.fromEntries((await table(page)).map((row) => [row[0], row[5]]));
  equal(
    [compared.Guava, compared.Redis, compared.Cassandra, compared.LevelDB],
    ["as wanted", "2 times lower", "6% lower", "6% too high"],
    "in words",
  );
  const caption = page.locator("#calculator .systems caption");
  has(await caption.innerText(), "Misses this rate: LevelDB");
  await open(page, "?n=1M&p=10%25");
  await table(page);
  const high = (await table(page)).filter((row) => row[5].includes("too high"));
  has(await caption.innerText(), `this rate: ${high.map(([name]) => name).join(", ") || "none"}`);
});

// ---- Taking it away ------------------------------------------------------------------------------

test("M8_the_copied_link_gives_the_same_answer", async (page) => {
  await open(page, "#calculator&n.given=pn&n.n=20M&n.p=1e-3&n.kind=classic");
  const link = await copied(page, "Copy link");
  equal(link, `${address}?n=20000000&p=0.001&m=&k=`, "classic");
  const before = await line(page);
  await page.goto(link);
  await page.waitForSelector("html[data-ready=yes]");
  equal(await line(page), before, "the answer");
  await open(page, "#calculator&n.given=mn&n.n=1000&n.m=64KiB&n.kind=counting&n.L=2");
  equal(
    await copied(page, "Copy link"),
    `${address}?n=1000&p=&m=524288&k=&kind=counting&L=2`,
    "counting",
  );
});

test("M8_markdown_c_python_and_command_are_copied", async (page) => {
  await open(page, "?n=20M&p=1%25&kind=blocked");
  const markdown = await copied(page, "Copy as Markdown");
  has(markdown, "m = 191,701,168 bits (22.9 MiB) · k = 7 · 9.59 bits per key · p = 1 in 100");
  has(markdown, "| textbook, k = 7 | 22.9 MiB | 9.59 | 1% |");
  has(markdown, "| Bloomery, blocked | 24.1 MiB | 10.10 |");
  has(await copied(page, "Copy C"), "bloomery_new(20000000, 0.01, &error)");
  has(await copied(page, "Copy Python"), "keys = Filter(20_000_000, 0.01)");
  equal(
    await copied(page, "Copy command"),
    "bloomery build -n 20000000 -p 0.01 -o keys.bloom keys.txt",
    "command",
  );
});

// ---- Systems -------------------------------------------------------------------------------------

const dialects = {
  ...{
    Guava: "guava",
    Redis: "redisbloom",
    Cassandra: "cassandra",
    ClickHouse: "clickhouse-index",
  },
  ...{ Parquet: "parquet", ORC: "orc", Spark: "spark", RocksDB: "rocksdb", LevelDB: "leveldb" },
  ...{ "bits-and-blooms (Go)": "bits-and-blooms", "pybloom-live (Python)": "pybloom-live" },
  "DCSO bloom": "dcso",
};

/** The command's plans, by dialect. LevelDB's filters are for 32 keys each. */
function planned(keys, rate) {
  const plans = (name, n, ...more) => {
    const args = [
      "plan",
      "--dialect",
      name,
      "-n",
      String(n),
      "-p",
      String(rate),
      "--json",
      ...more,
    ];
    return JSON.parse(execFileSync(tool, args)).plans;
  };
  const all = Object.fromEntries(plans("all", keys).map((row) => [row.dialect, row]));
  return { ...all, leveldb: plans("leveldb", Math.min(keys, 32))[0] };
}

async function table(page) {
  await page.locator("#calculator .scrolling[data-done]").waitFor();
  const rows = await page.locator(".systems tbody tr").all();
  return Promise.all(
    rows.map(async (row) => (await row.locator("th, td").allInnerTexts()).map(flat)),
  );
}

for (const [keys, rate] of [
  [20000000, 0.01],
  [1000000, 1e-6],
  [1000, 0.1],
])
  test(`the_table_of_systems_is_what_the_command_plans: ${keys} at ${rate}`, async (page) => {
    await open(page, `?n=${keys}&p=${rate}`);
    const plans = planned(keys, rate);
    const rows = await table(page);
    equal(rows.length, 13, "rows");
    const digits = (text) => Number(text.replaceAll(",", ""));
    for (const [name, bits, k, , real, compared, text] of rows.slice(0, 12)) {
      const plan = plans[dialects[name]];
      if (plan.bits === undefined) {
        equal(bits, "–", name);
        has(text, plan.reason.slice(0, 20));
        continue;
      }
      const filters = name === "LevelDB" ? Math.ceil(keys / 32) : 1;
      equal([digits(bits), Number(k)], [plan.bits * filters, plan.probes], name);
      ok(/^1 in [0-9.,]+$/.test(real), `${name}: one form for every rate, not ${real}`);
      const many = digits(real.replace("1 in ", ""));
      ok(
        Math.abs(many - 1 / plan.rate) <= Math.max(0.5, 0.01 / plan.rate),
        `${name}: ${real}, and the command has ${plan.rate}`,
      );
      const times = plan.rate / rate;
      equal(compared === "as wanted", times <= 1.05 && times >= 0.95, `${name}: ${compared}`);
    }
    const ours = JSON.parse(
      execFileSync(tool, ["plan", "-n", String(keys), "-p", String(rate), "--json"]),
    );
    equal(digits(rows[12][1]), 8 * ours.plans.find((plan) => plan.recommended).bytes, "ours");
  });

test("the_lines_to_write_have_the_numbers", async (page) => {
  await open(page, "?n=20M&p=1%25");
  const lines = Object.fromEntries((await table(page)).map((row) => [row[0], row[6]]));
  has(lines["Guava"], "BloomFilter.create(funnel, 20_000_000, 0.01)");
  has(lines["Redis"], "BF.RESERVE key 0.01 20000000");
  has(lines["Cassandra"], "bloom_filter_fp_chance = 0.01");
  has(lines["ClickHouse"], "TYPE bloom_filter(0.01)");
  has(lines["RocksDB"], "NewBloomFilterPolicy(10)");
  has(lines["LevelDB"], "2 KiB of a table");
});

test("a_system_that_cannot_says_why", async (page) => {
  await open(page, "?n=1M&p=1e-6");
  const rows = await table(page);
  has(rows.find(([name]) => name === "Cassandra")[6], "Cassandra's rates are");
  has(rows.find(([name]) => name === "ClickHouse")[5], "109 times too high");
});

// ---- Curves --------------------------------------------------------------------------------------

test("the_curves_read_off_exact_and_textbook_rates", async (page) => {
  await open(page, "?n=10&p=0.01");
  await page.locator(".calc-curves[data-done]").waitFor();
  const readout = page.locator(".curve-readout");
  // 96 bits, k = 7: the formula says 1 in 100, the exact sum more.
  has(await readout.first().innerText(), "k = 7: 1.");
  has(await readout.first().innerText(), "the textbook says 1 in");
  const handle = page.getByRole("slider", { name: "Move k" });
  await handle.focus();
  await page.keyboard.press("Home");
  has(await readout.first().innerText(), "k = 1: ");
  has(
    await page.locator(".calc-curve").first().locator(".mark").allTextContents().then(String),
    "best: k = ",
  );
  await page.getByRole("slider", { name: "Move the bits per key" }).focus();
  await page.keyboard.press("End");
  has(await readout.last().innerText(), "20.0 bits, k = ");
});

test("every_chart_is_taken_away_as_svg_png_and_csv", async (page) => {
  await open(page, "?n=1M&p=1%25");
  await page.locator(".calc-curves[data-done]").waitFor();
  for (const part of [".calc-curve >> nth=0", "#curve", "#lab"])
    for (const [kind, begin] of [
      ["SVG", "<svg"],
      ["PNG", "\u0089PNG"],
      ["CSV", ""],
    ]) {
      const button = page.locator(part).getByRole("button", { name: `Save the chart as ${kind}` });
      const [file] = await Promise.all([page.waitForEvent("download"), button.first().click()]);
      const data = readFileSync(await file.path());
      ok(file.suggestedFilename().endsWith(`.${kind.toLowerCase()}`), file.suggestedFilename());
      ok(data.length > 40 && data.toString("latin1").startsWith(begin), `${part} as ${kind}`);
      if (kind === "SVG") {
        lacks(data.toString(), "class=");
        has(data.toString(), "stroke=");
        has(data.toString(), "<title>");
      }
      if (kind === "CSV") has(data.toString(), ",");
    }
});

// ---- In a frame, without scripts, on the web -----------------------------------------------------

for (const part of ["play", "curve", "calculator"])
  test(`embed_${part}_shows_that_part_alone`, async (page) => {
    await open(page, `?embed=${part}`);
    const shown = await page.evaluate(() =>
      [...document.querySelectorAll("main > section, header.top, footer")]
        .filter((element) => element.getBoundingClientRect().height > 0)
        // The title is there for screen readers alone.
        .filter((element) => getComputedStyle(element).clipPath !== "inset(50%)")
        .map((element) => element.id),
    );
    equal(shown, [part], "what is shown");
    has(await page.locator("a.whole").getAttribute("href"), `#${part}`);
  });

test("an_unknown_part_is_not_embedded", async (page) => {
  await open(page, "?embed=%3Cimg%3E");
  ok(await page.locator("header.top").isVisible(), "the whole page");
});

test(
  "M20_without_scripts_the_notice_comes_first_with_the_usual_rates",
  async (page) => {
    await page.goto(address);
    const { y } = await page.locator("noscript .problem").first().boundingBox();
    ok(y < 200, `the notice is at ${y}`);
    const text = await page.locator("noscript table").innerText();
    for (const part of ["1 in 100", "9.59", "1 in 1,000,000", "28.76"]) has(text, part);
    const empty = await page
      .locator(".host")
      .evaluateAll((hosts) =>
        hosts
          .filter((host) => host.getBoundingClientRect().height > 40)
          .map((host) => host.dataset.part),
      );
    equal(empty, [], "blank parts");
  },
  { javaScriptEnabled: false },
);

test("M21_L20_head_and_foot_lead_further", async (page) => {
  await open(page);
  has(await page.title(), "calculator");
  has(await page.locator("meta[name=description]").getAttribute("content"), "calculator");
  ok(
    (await page.locator("link[rel=icon]").getAttribute("href")).startsWith("data:image/svg+xml,"),
    "icon",
  );
  has(await page.locator("footer").innerHTML(), "https://doi.org/10.1145/362686.362692");
});

// ---- Numbers and sentences -----------------------------------------------------------------------

test("M15_L22_numbers_are_read_as_people_write_them", async (page) => {
  await open(page, "#calculator&n.given=pn&n.n=1M&n.p=0.01&n.kind=classic");
  for (const [text, keys] of [
    ["1.000.000", 1000000],
    ["20 million", 20000000],
    ["2^20", 1048576],
  ]) {
    await write(page, /^Keys/, text);
    has(await says(page), keys.toLocaleString("en"));
  }
  await write(page, /^Rate/, "0,01");
  has(await says(page), "1 in 100");
  await write(page, /^Memory/, "18Mb");
  has(flat(await line(page)), "m = 18,000,000 bits (18Mb)");
  await write(page, /^Memory/, "24MB");
  has(flat(await line(page)), "m = 192,000,000 bits (24MB)");
  await write(page, /^Memory/, "24M");
  has(await says(page), "Bits or bytes? Write 24MB");
  // The last part has the same rule.
  const memory = page.locator("#lab").getByRole("textbox", { name: /^Memory/ });
  const lab = page.locator("#lab .lab-says");
  await memory.fill("24MB");
  has(await lab.innerText(), "of 24 MB drops");
  await memory.fill("18Mb");
  has(await lab.innerText(), "of 2.25 MB drops");
  await memory.fill("18M");
  has(await lab.innerText(), "Bits or bytes? Write 18MB");
});

test("M17_nothing_is_said_of_lookups_that_nobody_gave", async (page) => {
  await open(page);
  equal(await page.locator("#calculator [data-fact=wrong]").count(), 0, "false positives a day");
});

test("M19_L11_the_lab_names_the_box_that_is_wrong_and_why", async (page) => {
  await open(page);
  const lab = page.locator("#lab");
  for (const [name, text, reason] of [
    [
      /^Bytes per URL/,
      "999999999",
      "“Bytes per URL” has “999999999”. It takes a number over 0, up to",
    ],
    [/^URLs/, "1e16", "more than 9,007,199,254,740,992 URLs"],
    [/^URLs/, "0", "at least 1 URL"],
    [/^URLs/, "1.000", "Is that 1,000 or 1?"],
    [/^Memory/, "0", "at least 1 bit"],
    [/^How often/, "0,5", "from 1 to 1,000,000,000"],
  ]) {
    const box = lab.getByRole("textbox", { name });
    const before = await box.inputValue();
    await box.fill(text);
    await box.press("Tab");
    has(await page.locator("#lab .lab-says").innerText(), reason);
    equal(await box.getAttribute("aria-invalid"), "true", `${text}: the box`);
    equal(await lab.locator("[aria-invalid]").count(), 1, "boxes that are wrong");
    await box.fill(before);
    await box.press("Tab");
    equal(await lab.locator("[aria-invalid]").count(), 0, "boxes that are wrong after");
  }
  await lab.getByRole("textbox", { name: /^Bytes per URL/ }).fill("50,5");
  has(await page.locator("#lab pre").innerText(), "--key-bytes 50.5");
});

test("L8_L10_L11_sentences_say_what_is_so", async (page) => {
  await open(page, "#calculator&n.given=nm&n.n=1e9&n.m=18MB&n.kind=classic");
  lacks(await line(page), "1 in 1 ");
  await open(page, "#calculator&n.given=pn&n.n=1e16&n.p=0.01");
  has(await says(page), "more than 9,007,199,254,740,992 keys");
  await write(page, /^Keys/, "0");
  has(await says(page), "at least 1 key");
  await write(page, /^Keys/, "3.5");
  has(await says(page), "a whole one: 3 or 4?");
  await write(page, /^Keys/, "1.000");
  has(await says(page), "Is that 1,000 or 1?");
  await write(page, /^Keys/, "20M");
  await write(page, /^Rate/, "1");
  has(await says(page), "above 0 and below 1");
  await write(page, /^Rate/, "0.01");
  await page.locator("#calculator .calc-kinds tbody").waitFor();
  has(await page.locator(".calc-kinds tbody tr").last().innerText(), "2.62");
  await open(page, "?x#calculator&n.given=mn&n.n=1&n.m=8&n.kind=classic");
  has(await says(page), "1 key does not fit in 1 byte: the best rate would be over 99.99%");
  await open(page, "?n=1000&p=0.999");
  has(flat(await line(page)), "0.003 bits per key");
  has(await versus(page), "times more than");
  await page.locator("#lab").getByRole("textbox", { name: /^URLs/ }).fill("1");
  has(await page.locator("#lab .lab-says").innerText(), "holds 1 URL and");
});

// L9: one number has one form, wherever its sentence comes from.
test("L9_numbers_have_one_form", async (page) => {
  await open(page, "?n=1e9&m=18MB&kind=classic#lab&l.memory=64KiB&l.urls=1e6");
  has(await says(page), "1,000,000,000 keys do not fit in 18,000,000 bytes");
  has(await says(page), "99.9%");
  has(await page.locator("#lab .lab-refusal").innerText(), "1,310,724 bytes");
  await write(page, /^Memory/, "400B");
  await write(page, /^Keys/, "4000");
  has(await says(page), "4,000 keys do not fit in 400 bytes");
  const text = await page.locator("main").innerText();
  // A column has one form too, however far apart its rates are.
  await page.locator("#lab details summary").click();
  const rates = page.locator("#lab details tbody td:nth-child(2)");
  await rates.first().waitFor();
  for (const rate of await rates.allInnerTexts()) ok(/^[\d.]+%$/.test(rate), `a rate: ${rate}`);
  ok(!/[0-9] %/.test(text), `a blank before a percent sign: ${/.*[0-9] %.*/.exec(text)}`);
});

// As the workflow builds it: with the addresses of the project.
test("H1_M21_the_published_page_leads_to_its_project_and_has_a_card", async (page) => {
  const published = resolve(folder, "published");
  const files = ["explorer.wasm", "figure.svg"].map((name) => resolve(folder, name));
  const [repository, pages] = ["https://example.org/b&b/bloomery", "https://example.org/page/"];
  execFileSync("node", ["web/build.mjs", ...files, published, tool], {
    cwd: join(dirname(fileURLToPath(import.meta.url)), "../.."),
    env: { ...process.env, REPOSITORY: repository, PAGES: pages },
  });
  await page.goto(pathToFileURL(join(published, "explorer.html")).href);
  const links = await page
    .locator("footer a")
    .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  equal(
    links,
    [
      repository,
      ...["explorer", "what-is-a-bloom-filter", "mathematics"].map(
        (name) => `${repository}/blob/HEAD/docs/${name}.md`,
      ),
      "https://doi.org/10.1145/362686.362692",
    ],
    "links",
  );
  const card = (name) => page.locator(`meta[property="og:${name}"]`).getAttribute("content");
  equal([await card("url"), await card("image")], [pages, `${pages}card.png`], "card");
  ok(readFileSync(join(published, "site", "card.png")).length > 1000, "the picture of the card");
});

test("H1_the_site_works_from_a_web_server", async (page) => {
  const types = { html: "text/html", js: "text/javascript", css: "text/css" };
  const server = createServer((request, response) => {
    const name = request.url.replace(/[?#].*/, "").slice(1) || "index.html";
    if (!["index.html", "explorer.js", "explorer.css"].includes(name))
      return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[name.split(".")[1]] });
    response.end(readFileSync(join(folder, "site", name)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  try {
    const other = await page.context().newPage();
    await other.goto(`http://127.0.0.1:${port}/?n=20M&p=0.01`);
    await other.waitForSelector("html[data-ready=yes]");
    has(flat(await line(other)), "m = 191,701,168 bits");
    await other.close();
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

await run();
