// SPDX-License-Identifier: Apache-2.0
// The 18 MB lab: its numbers are those of `bloomery plan --sieve ... --json`, whose --memory has
// 4,300,000 bytes more for the command itself.

import { equal, ok, open, run, test } from "./browser.mjs";

const says = (page) => page.locator("#lab .lab-says").innerText();
const box = (page, name) => page.locator("#lab").getByRole("textbox", { name });
const slider = (page, name) => page.locator("#lab").getByRole("slider", { name });
const command = (page) => page.locator("#lab pre").innerText();
const has = (text, part) => ok(text.includes(part), `"${text}" does not say "${part}"`);
const lacks = (text, part) => ok(!text.includes(part), `"${text}" says "${part}"`);

/** The cells behind a row's name: without a disk, and with one. */
async function row(page, name) {
  const lines = page.locator("#lab .lab-comparison tbody tr");
  const head = page.locator("th", { hasText: name });
  return lines.filter({ has: head }).first().locator("td").allInnerTexts();
}

async function write(page, name, text) {
  await box(page, name).fill(text);
  await box(page, name).press("Tab");
}

test("the_default_says_what_a_billion_urls_in_18_megabytes_are", async (page) => {
  await open(page);
  const verdict = await says(page);
  has(verdict, "1,000,000,000 URLs");
  has(verdict, "18 MB drops at least 90 of 100 new URLs");
  // The integral of 2^(-8 M / i) over i, 722,885,713, cut after three digits.
  has(verdict, "at least 722,000,000 while filling");
});

// bloomery plan --sieve -n 1e9 --memory 22300000 --json: budget_rate 0.905006, wrong_drops 0.0271050,
// seen_disk 8015659673, pending_disk 4818457594, queue_disk 52038135601, the three traffics 348.1e9,
// seconds 696.3, partitions 64, limit_bytes 2491446071, filter_bytes 3931170816.
// M16: a stranger's words.
test("M16_the_limit_says_where_the_claim_is_from_and_what_a_sieve_is", async (page) => {
  await open(page);
  const text = await page.locator("#lab").innerText();
  has(text, "How small can it get?");
  has(text, "counted words of 128 bits as bits");
  has(text, "sieve keeps a short fingerprint of every URL there");
  for (const word of ["pushes", "pops", "partitions"]) lacks(text, word);
  const parts = await page
    .locator("main > section[id]")
    .evaluateAll((all) => all.map((one) => one.id));
  equal(parts, ["story", "play", "calculator", "curve", "lab", "inspect"], "the order");
});

test("the_numbers_are_those_of_the_plan_of_the_sieve", async (page) => {
  await open(page);
  equal(await row(page, "Bits of memory"), ["0.144", "–"], "bits");
  equal(await row(page, "Chance"), ["at least 90 of 100 (90.5%)", "about 2.71e-11"], "rate");
  equal(await row(page, "while filling"), ["at least 722,000,000", "0.0271 expected"], "drops");
  equal(await row(page, "what was seen"), ["none", "8.02 GB"], "seen");
  equal(await row(page, "Read and written"), ["none", "348 GB"], "traffic");
  equal(await row(page, "Time"), ["none", "11.6 min in all"], "time");
  equal(await row(page, "Answers"), ["at once", "in batches"], "answers");
  const needed = await page.locator("#lab .lab-needed").innerText();
  has(needed, "any structure needs 2.49 GB of memory, and a Bloomery filter 3.93 GB");
  equal(await command(page), "bloomery plan --sieve -n 1000000000 --memory 22300000", "command");
});

// bloomery plan --sieve -n 1e8 --memory 68300000 --pushes 1000000000 --key-bytes 80 --json: seen_disk
// 801566582, the three traffics 220.8e9, seconds 441.5, budget_rate 0.0287559, wrong_drops 0.000271051.
test("repeated_pushes_and_longer_urls_are_planned", async (page) => {
  await open(page);
  await write(page, /^Memory/, "64 MB");
  await write(page, /^URLs/, "100M");
  await write(page, /^Bytes/, "80");
  await write(page, /^How often/, "10");
  equal(
    await command(page),
    "bloomery plan --sieve -n 100000000 --memory 68300000 --pushes 1000000000 --key-bytes 80",
    "command",
  );
  equal(await row(page, "what was seen"), ["none", "802 MB"], "seen");
  equal(await row(page, "Read and written"), ["none", "221 GB"], "traffic");
  equal(await row(page, "Time"), ["none", "7.36 min in all"], "time");
  equal(await row(page, "Chance"), ["at least 28 of 1,000 (2.87%)", "about 2.71e-12"], "rate");
});

// 2^(-8 65536 / 1e6) = 0.6953: the library plans no sieve in so little, and no other number either.
test("too_little_memory_for_a_sieve_still_has_its_rate", async (page) => {
  await open(page);
  await write(page, /^URLs/, "1e6");
  await write(page, /^Memory/, "64KiB");
  const refusal = await page.locator("#lab .lab-refusal").innerText();
  has(refusal, "a sieve of 16 partitions needs at least 1,310,724 bytes of memory");
  equal(await row(page, "Chance"), ["at least 69 of 100 (69.5%)", "not planned"], "rate");
  has(await says(page), "65.5 kB drops at least 69 of 100 new URLs");
  has(await page.locator("#lab .lab-needed").innerText(), "needs 2.49 MB of memory");
  await write(page, /^Memory/, "18 MB");
  equal(await page.locator("#lab .lab-refusal").innerText(), "", "with enough memory");
});

test("at_least_is_never_more_than_the_rate", async (page) => {
  await open(page, "#lab&l.memory=64KiB&l.urls=1e12");
  const [cell] = await row(page, "Chance");
  equal(cell, "at least 9,999,996 of 10,000,000 (99.9%)", "the cell");
  has(await says(page), "drops at least 999,000,000,000 while filling");
});

test("enough_memory_is_reported_as_enough", async (page) => {
  await open(page, "#lab&l.memory=4GB");
  has(await says(page), "4 GB are enough without a disk: a filter of 3.93 GB");
  await write(page, /^Memory/, "3 GB");
  has(await says(page), "enough for the best possible structure, which takes 2.49 GB");
  await write(page, /^Memory/, "2 GB");
  has(await says(page), "drops at least 1 in 66,000 new URLs");
});

test("the_chart_shows_both_lines_and_the_memory_of_now", async (page) => {
  await open(page);
  const drawing = page.locator("#lab .chart svg[role=img]");
  await drawing.waitFor();
  has(await drawing.getAttribute("aria-label"), "In 18 MB it is at least 90.5%");
  equal(await drawing.locator("path.line").count(), 2, "lines");
  // The mark's height on the line of the best possible: 9.5 % below the top.
  const at = await drawing.evaluate((svg) => {
    const [x] = /^M([\d.]+)/.exec(svg.querySelector(".mark.now path").getAttribute("d")).slice(1);
    const points = svg.querySelector("path.line.style-0").getAttribute("d").slice(1).split("L");
    const near = points.map((pair) => pair.split(",").map(Number));
    near.sort((a, b) => Math.abs(a[0] - x) - Math.abs(b[0] - x));
    const ticks = [...svg.querySelectorAll(".axes .grid")].map((path) =>
      Number(/,([\d.]+)H/.exec(path.getAttribute("d"))[1]),
    );
    const bottom = Math.max(...ticks);
    return (bottom - near[0][1]) / (bottom - Math.min(...ticks));
  });
  ok(Math.abs(at - 0.905) < 0.01, `the line is at ${at} under the mark`);
  await page.locator("#lab details summary").click();
  await page.locator("#lab details tbody").waitFor();
  equal(await page.locator("#lab details tbody tr").count(), 17, "rows of its table");
});

test("text_that_is_not_a_number_is_quoted_and_results_are_marked_old", async (page) => {
  await open(page);
  await write(page, /^Memory/, "<b>much</b>");
  has(await says(page), "The box “Memory” has “<b>much</b>”. It takes 18 MB, 64MiB");
  equal(await page.locator("#lab b").count(), 0, "markup");
  has(await says(page), "from your last valid input");
  equal(await page.locator("#lab .lab-results.old").count(), 1, "marked as old");
  equal(await box(page, /^Memory/).getAttribute("aria-invalid"), "true", "the box");
  await write(page, /^Memory/, "1 GB");
  lacks(await says(page), "from your last valid input");
  equal(await page.locator("#lab .lab-results.old").count(), 0, "marked as old after");
  await write(page, /^URLs/, "1e15");
  has(await says(page), "A sieve is planned for 1 to 2^48 keys.");
});

test("a_wrong_address_gets_its_sentence_and_no_empty_results", async (page) => {
  await open(page, "#lab&l.urls=abc&n.given=pn&n.n=abc&n.p=0.01");
  has(await says(page), "“URLs” has “abc”. It takes");
  lacks(await says(page), "Results below");
  equal(await page.locator("#lab .lab-results").isVisible(), false, "results of the lab");
  const calculator = page.locator("#calculator");
  has(await calculator.locator(".calc-says").innerText(), "“abc”. It takes");
  for (const part of [".calc-top", ".systems", ".calc-curves", ".calc-facts"])
    equal(await calculator.locator(part).isVisible(), false, part);
  await write(page, /^URLs/, "1e9");
  await page.locator("#lab .chart svg[role=img]").waitFor();
  await calculator.getByRole("textbox", { name: /^Keys/ }).fill("1e6");
  for (const part of [".calc-top", ".systems", ".calc-curves", ".calc-facts"])
    equal(await calculator.locator(part).isVisible(), true, `${part} after`);
});

test("a_cleared_box_is_cleared_in_the_address_too", async (page) => {
  await open(page);
  await write(page, /^Memory/, "");
  await page.reload();
  await page.waitForSelector("html[data-ready=yes]");
  equal(await box(page, /^Memory/).inputValue(), "", "the box");
  has(await says(page), "It takes 18 MB");
});

test("the_lab_goes_back_and_forward", async (page) => {
  await open(page);
  await write(page, /^Memory/, "1 GB");
  await write(page, /^URLs/, "20M");
  await page.goBack();
  has(await says(page), "1,000,000,000 URLs");
  has(await says(page), "1 GB");
  await page.goBack();
  has(await says(page), "18 MB");
  await page.goForward();
  await page.goForward();
  has(await says(page), "20,000,000 URLs");
  equal(await box(page, /^URLs/).inputValue(), "20M", "the text that was typed");
});

test("dragging_in_the_lab_replaces_and_letting_go_pushes", async (page) => {
  await open(page);
  const entries = () => page.evaluate(() => history.length);
  const before = await entries();
  const thumb = slider(page, /^Memory/);
  await thumb.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await thumb.boundingBox();
  await page.mouse.move(x + width * 0.4, y + height / 2);
  await page.mouse.down();
  for (let i = 1; i < 8; i++) await page.mouse.move(x + width * 0.4 + 10 * i, y + height / 2);
  equal(await entries(), before, "entries while dragging");
  has(page.url(), "l.memory=");
  await page.mouse.up();
  equal(await entries(), before + 1, "entries after letting go");
  lacks(await says(page), " 18 MB");
  await page.goBack();
  has(await says(page), " 18 MB");
});

test("every_control_of_the_lab_is_reached_by_keyboard", async (page) => {
  await open(page);
  const count = await page.evaluate(() => {
    globalThis.controls = [...document.querySelectorAll("#lab :is(input, button, summary)")];
    globalThis.controls[0].focus();
    return globalThis.controls.length;
  });
  equal(count, 11, "controls");
  const reached = [0];
  for (let i = 0; i < count + 3; i++) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => globalThis.controls.indexOf(document.activeElement)));
  }
  equal(
    reached.filter((i) => i >= 0),
    [...Array(count).keys()],
    "the order of focus",
  );
});

test(
  "the_lab_fits_320_pixels",
  async (page) => {
    await open(page, "#lab&l.memory=64KiB&l.urls=1e12");
    await page.locator("#lab .chart svg[role=img]").waitFor();
    const { width, hidden, small } = await page.evaluate(() => {
      for (const part of document.querySelectorAll("main > section"))
        if (part.id !== "lab") part.hidden = true;
      const table = document.querySelector("#lab .lab-comparison .scrolling");
      return {
        width: document.documentElement.scrollWidth,
        hidden: table.scrollWidth - table.clientWidth,
        small: [...document.querySelectorAll("#lab :is(input, button, summary)")].filter(
          (element) => element.getBoundingClientRect().height < 24,
        ).length,
      };
    });
    ok(width <= 320, `the page is ${width} wide`);
    equal(hidden, 0, "pixels of the comparison that are out of sight");
    equal(small, 0, "targets under 24 pixels");
  },
  { viewport: { width: 320, height: 640 } },
);

await run();
