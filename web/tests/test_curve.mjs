// SPDX-License-Identifier: Apache-2.0
// The load curve: points are what the worker measured, and theory lies within their intervals.

import { equal, ok, open, run, test } from "./browser.mjs";

const has = (text, part) => ok(text.includes(part), `"${text}" does not say "${part}"`);
const all = "classic,L1,L2,L3,L4,split";
const progress = (page) => page.locator("#curve .curve-progress");

/** Goes to the chart, and waits until all points are measured. */
async function measured(page, points) {
  await page.locator("#curve .chart").scrollIntoViewIfNeeded();
  await page
    .locator("#curve .curve-progress", { hasText: `Measured ${points} of ${points} points.` })
    .waitFor({ timeout: 120000 });
}

const rate = (text) => (text.endsWith("%") ? Number.parseFloat(text) / 100 : Number(text));

/** The rows of the table, with numbers in the place of digits with commas. */
async function rows(page) {
  await page.evaluate(() => (document.querySelector("#curve .numbers").open = true));
  await page.waitForSelector("#curve .numbers tbody", { state: "attached" });
  const texts = await page
    .locator("#curve .numbers tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const count = (text) => Number(text.replaceAll(",", ""));
  return texts.map(([filter, keys, theory, measured, interval, found, asked, fill]) => ({
    filter,
    keys: count(keys),
    theory: rate(theory),
    measured: rate(measured),
    interval,
    found: count(found),
    asked: count(asked),
    fill: rate(fill),
  }));
}

const shapes = (page) =>
  page.locator("#curve .points .shape").evaluateAll((shapes) =>
    shapes.map((shape) => {
      const box = shape.getBBox();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    }),
  );

/** Where the axes of rates and keys are: chart.ts. */
const [TOP, BOTTOM] = [34, 384 - 50];
const heightOf = (rate, floor) => TOP + ((BOTTOM - TOP) * Math.log10(rate)) / Math.log10(floor);

/** Before the page starts: what the worker answers goes through `change` first; null holds it back. */
async function between(page, change) {
  await page.addInitScript(`{
    const change = ${change};
    const listen = Worker.prototype.addEventListener;
    Worker.prototype.addEventListener = function (type, listener) {
      listen.call(this, type, (event) => {
        const data = type === "message" ? change(event.data) : event.data;
        if (data) listener({ data });
      });
    };
  }`);
}

test("intervals_of_the_measured_points_contain_the_theory", async (page) => {
  await open(page, `#curve&c.n=20000&c.p=0.01&c.f=${all}&c.q=100000`);
  await measured(page, 72);
  const points = await rows(page);
  let outside = 0;
  for (const { theory, measured, interval, found, asked, keys } of points) {
    ok(Math.abs(measured - found / asked) <= 0.006 * measured + 1e-9, `${found} of ${asked}`);
    const [low, high] = interval.startsWith("under ")
      ? [0, rate(interval.slice(6))]
      : interval.split(" to ").map(rate);
    ok(low <= measured && measured <= high, `${measured} is not within ${interval}`);
    // The numbers of the table are rounded.
    if (theory < 0.995 * low || theory > 1.005 * high) outside++;
    ok(asked === 100000 && keys <= 40000, `${asked} asked with ${keys} keys`);
  }
  ok(outside <= 6, `${outside} of ${points.length} points are far from theory`);
  const atPlan = points.filter(({ keys }) => keys === 20000);
  equal(atPlan.length, 6, "points at the planned number of keys");
  const classic = atPlan.find(({ filter }) => filter === "Classic");
  ok(Math.abs(classic.theory - 0.01) < 2e-4, `classic: ${classic.theory}, planned 0.01`);
  ok(Math.abs(classic.fill - 0.5) < 0.02, `classic: fill ${classic.fill}`);
});

test("without_answers_of_the_worker_no_point_appears", async (page) => {
  await between(page, "() => null");
  await open(page, "#curve&c.n=2000&c.q=100000");
  await page.locator("#curve .chart").scrollIntoViewIfNeeded();
  await page.waitForTimeout(1500);
  equal(await shapes(page), [], "points");
  equal(await rows(page), [], "rows");
  ok((await page.locator("#curve path.line").count()) >= 4, "the theory is drawn all the same");
  has(await progress(page).innerText(), "Measured 0 of 48");
  has(await page.locator("#curve .curve-told").innerText(), "Not measured yet.");
});

test("points_lie_where_the_worker_says", async (page) => {
  await between(
    page,
    `(data) => data.result
      ? { ...data, result: { ...data.result, rate: 0.25, low: 0.2, high: 0.3, found: 25000 } }
      : data`,
  );
  await open(page, "#curve&c.n=2000&c.q=100000&c.f=classic,L1");
  await measured(page, 24);
  const points = await shapes(page);
  equal(points.length, 24, "points");
  for (const { y } of points)
    ok(Math.abs(y - heightOf(0.25, 1e-6)) < 1, `${y}, not ${heightOf(0.25, 1e-6)}`);
});

test("the_table_has_a_row_for_each_point", async (page) => {
  await open(page, `#curve&c.n=3000&c.q=100000&c.f=${all}&c.x=log&c.m=own`);
  await measured(page, 72);
  const table = await rows(page);
  equal(table.length, 72, "rows");
  const points = await shapes(page);
  equal(points.length, 72, "points");
  points.forEach(({ y }, i) => {
    const wanted = heightOf(Math.max(1e-6, table[i].measured), 1e-6);
    ok(Math.abs(y - wanted) < 1, `point ${i} at ${y}, its row says ${wanted}`);
  });
  await page.uncheck("#curve-L4");
  await measured(page, 60);
  equal((await rows(page)).length, 60, "rows of one filter less");
});

test("where_none_was_found_the_point_is_at_the_edge_and_its_interval_says_under", async (page) => {
  await open(page, "#curve&c.n=5000&c.p=0.0001&c.q=100000&c.f=classic");
  await measured(page, 12);
  const [first] = await rows(page);
  equal([first.found, first.measured], [0, 0], "the first point");
  // Wilson's upper end for 0 of 100,000: z² / (Q + z²).
  equal(first.interval, "under 3.84e-5", "its interval");
  const [{ y }] = await shapes(page);
  ok(Math.abs(y - BOTTOM) < 1, `it lies at ${y}`);
});

test("a_new_job_supersedes_the_old_one", async (page) => {
  await page.addInitScript(() => {
    globalThis.answered = [];
    const listen = Worker.prototype.addEventListener;
    Worker.prototype.addEventListener = function (type, listener) {
      listen.call(this, type, (event) => {
        if (type === "message") globalThis.answered.push([event.data.id, event.data.result?.keys]);
        listener(event);
      });
    };
  });
  await open(page, "#curve&c.n=1000000&c.q=1000000&c.f=classic");
  await page.locator("#curve .chart").scrollIntoViewIfNeeded();
  await progress(page)
    .filter({ hasText: /Measured [1-9] of 12/ })
    .waitFor();
  await page.fill("#curve input[name=keys]", "1000");
  await measured(page, 12);
  for (const { keys } of await rows(page)) ok(keys <= 2000, `a point with ${keys} keys`);
  const answered = await page.evaluate(() => globalThis.answered);
  const old = answered.filter(([id]) => id === 1);
  ok(old.length > 0 && old.length < 12, `${old.length} answers of the old job`);
  ok(answered.at(-1)[0] > 1 && !old.some(([, keys]) => keys === undefined), "it ran to its end");
});

test("settings_come_from_the_address_and_go_into_it", async (page) => {
  await open(page, "#curve&c.n=12345&c.p=0.05&c.f=L3,split&c.q=100000&c.x=log&c.view=fill&c.m=own");
  const checked = () =>
    page
      .locator("#curve input:checked")
      .evaluateAll((inputs) => inputs.map((input) => input.value).join(" "));
  equal(await page.inputValue("#curve input[name=keys]"), "12,345", "keys");
  equal(await page.inputValue("#curve input[name=rate]"), "0.05", "rate");
  equal(await page.inputValue("#curve select"), "100000", "queries");
  equal(await checked(), "L3 split own fill log", "choices");
  await page.check("#curve-L1");
  await page.fill("#curve input[name=rate]", "1/50");
  await page.locator("#curve input[name=rate]").blur();
  const address = page.url();
  for (const part of ["c.f=L1%2CL3%2Csplit", "c.p=0.02", "c.n=12345", "c.x=log", "c.m=own"])
    has(address, part);
  await page.goBack();
  equal(await checked(), "L1 L3 split own fill log", "choices after going back once");
  equal(await page.inputValue("#curve input[name=rate]"), "0.05", "the rate before");
  await page.goBack();
  equal(await checked(), "L3 split own fill log", "choices after going back twice");
  await page.goForward();
  await page.goForward();
  equal(await checked(), "L1 L3 split own fill log", "choices after going forward");
  await page.reload();
  await page.waitForSelector("html[data-ready=yes]");
  equal(await checked(), "L1 L3 split own fill log", "choices after loading again");
  equal(await page.inputValue("#curve input[name=rate]"), "0.02", "rate after loading again");
});

test("numbers_out_of_range_get_a_sentence_and_change_nothing", async (page) => {
  await open(page, "#curve&c.n=1e15&c.p=7&c.f=nothing,%3Cb%3E&c.q=5&c.now=-4");
  equal(await page.inputValue("#curve input[name=keys]"), "1,000,000", "keys from the address");
  has(await progress(page).innerText(), "Choose a filter");
  await page.fill("#curve input[name=keys]", "7");
  has(await page.locator("#curve .curve-problem").innerText(), "from 100 to 1,000,000");
  await page.fill("#curve input[name=rate]", "two");
  has(await page.locator("#curve .curve-problem").innerText(), "The planned rate must be a number");
  await page.fill("#curve input[name=rate]", "1%");
  equal(await page.locator("#curve .curve-problem").innerText(), "", "a problem");
  has(page.url(), "c.p=0.01");
  ok(!page.url().includes("c.n=7"), page.url());
});

test("the_marker_for_now_moves_and_its_sentences_follow", async (page) => {
  await open(page, "#curve&c.n=10000&c.q=100000&c.f=classic&c.p=0.01");
  await measured(page, 12);
  const told = () => page.locator("#curve .curve-told").innerText();
  has(await told(), "Theory with 10,000 keys");
  const place = () => page.locator("#curve .mark.now path").evaluate((mark) => mark.getBBox().x);
  const before = await place();
  await page.locator("#curve .curve-now").fill("15500");
  await page.locator("#curve .mark.now", { hasText: "15.5k" }).waitFor();
  const box = await page.locator("#curve .chart-box").evaluate((box) => box.clientWidth);
  const [left, width] = [74, box - 74 - 16];
  ok(before > 0 && Math.abs((await place()) - (left + width * 0.775)) < 0.6, `${await place()}`);
  const near = (await rows(page)).find(({ keys }) => keys === 15000);
  has(await told(), "Theory with 15,500 keys");
  has(await told(), `Measured with 15,000 keys: ${(near.measured * 100).toPrecision(3)}%`);
  has(page.url(), "c.now=15500");
});

test("fill_is_shown_as_measured_and_without_theory", async (page) => {
  await open(page, "#curve&c.n=10000&c.q=100000&c.f=classic,L1&c.p=0.01&c.view=fill");
  await measured(page, 24);
  const table = await rows(page);
  const points = await shapes(page);
  equal(await page.locator("#curve path.line").count(), 0, "lines");
  points.forEach(({ y }, i) =>
    ok(Math.abs(y - (BOTTOM - (BOTTOM - TOP) * table[i].fill)) < 1, `point ${i} at ${y}`),
  );
});

// Looked at from where the sentences are, which get longer.
test("nothing_moves_when_points_come", async (page) => {
  await open(page, "#curve&c.n=100000&c.q=1000000");
  await page.evaluate(() => {
    globalThis.shifts = 0;
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) globalThis.shifts += value;
    }).observe({ type: "layout-shift" });
    const told = document.querySelector("#curve .curve-told");
    told.scrollIntoView({ behavior: "instant", block: "center" });
  });
  has(await page.locator("#curve .curve-told").innerText(), "Not measured yet.");
  await progress(page)
    .filter({ hasText: "Measured 48 of 48 points." })
    .waitFor({ timeout: 120000 });
  await page.waitForTimeout(200);
  equal(await page.evaluate(() => globalThis.shifts), 0, "layout shifts");
});

await run();
