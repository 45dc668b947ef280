// SPDX-License-Identifier: Apache-2.0
// The calculator: what it shows is what `bloomery plan` prints, whatever the link or the box it came by.
// The numbers of links are those of `bloomery plan ... --json`, the library's choice of blocks per key.

import { equal, ok, open, run, test } from "./browser.mjs";

const says = (page) => page.locator("#calculator .calc-says").innerText();
const fact = (page, name) => page.locator(`#calculator [data-fact=${name}] dd`).innerText();
const box = (page, name) => page.locator("#calculator").getByRole("textbox", { name });
const slider = (page, name) => page.locator("#calculator").getByRole("slider", { name });
const command = (page) => page.locator("#calculator pre").first().innerText();
const code = (page) => page.locator("#calculator pre").nth(1).innerText();
const notes = (page) => page.locator("#calculator .calc-notes").innerText();
const kind = (page, name) => page.locator("#calculator").getByRole("radio", { name }).check();
const has = (text, part) => ok(text.includes(part), `"${text}" does not say "${part}"`);
const lacks = (text, part) => ok(!text.includes(part), `"${text}" says "${part}"`);

/** What the page shows of a plan. */
async function shown(page) {
  return {
    bytes: Number(/\(([\d,]+) bytes,/.exec(await fact(page, "memory"))[1].replaceAll(",", "")),
    keys: Number((await fact(page, "keys")).replaceAll(",", "")),
    rate: await fact(page, "rate"),
    shape: await fact(page, "shape"),
  };
}

/** Without the other parts, whose width is their own tests' matter. */
async function alone(page) {
  await page.evaluate(() => {
    for (const part of document.querySelectorAll("main > section"))
      if (part.id !== "calculator") part.hidden = true;
  });
}

/** Writes into a box as a person does, and leaves it. */
async function write(page, name, text) {
  await box(page, name).fill(text);
  await box(page, name).press("Tab");
}

/** "n given, p given, m computed" */
async function given(page) {
  const badges = await page.locator("#calculator .calc-three .badge").allInnerTexts();
  return badges.join(" ");
}

for (const [what, link, wanted] of [
  // bloomery plan -n 4000 -p 1e-7
  [
    "keys_and_rate",
    "?n=4000&p=1.0E-7&m=&k=&kind=blocked",
    {
      bytes: 18432,
      keys: 4000,
      rate: "6.59e-8, 1 in 15,200,000",
      shape: "3 blocks of 512 bits × 6 probes",
    },
  ],
  // bloomery plan -n 1e6 -p 1/100 --kind classic
  [
    "one_in_n_and_a_kind",
    "?n=1e6&p=100&m=&k=&kind=classic#calculator",
    {
      bytes: 1199168,
      keys: 1000000,
      rate: "1%, 1 in 100",
      shape: "7 probes in one flat array",
    },
  ],
  // bloomery plan -p 1e-7 --memory 64KiB
  [
    "rate_and_units_of_memory",
    "?n=&p=1.0E-7&m=64KiB&k=&kind=blocked",
    {
      bytes: 65536,
      keys: 14877,
      rate: "1.00e-7, 1 in 10,000,000",
      shape: "3 blocks of 512 bits × 7 probes",
    },
  ],
  // bloomery plan -n 1e6 --memory 2000000 --blocks 2: a bare number in a link is bits
  [
    "bits_and_blocks",
    "?n=1000000&p=&m=16000000&k=&L=2#calculator",
    {
      bytes: 1999872,
      keys: 1000000,
      rate: "0.0549%, 1 in 1,820",
      shape: "2 blocks of 512 bits × 5 probes",
    },
  ],
  // bloomery plan -n 1e6 --memory 1250000 --kind classic --probes 7, in whole lines of 64 bytes: a
  // link's probes are those of a flat array
  [
    "keys_bits_and_probes",
    "?n=1000000&p=&m=10000000&k=7",
    {
      bytes: 1249984,
      keys: 1000000,
      rate: "0.819%, 1 in 122",
      shape: "7 probes in one flat array",
    },
  ],
  // bloomery plan -n 4000 -p 1e-7 --kind classic --probes 14: only a classic filter takes that many
  [
    "more_probes_than_a_block_takes",
    "?n=4000&p=1.0E-7&m=&k=14",
    {
      bytes: 18432,
      keys: 4000,
      rate: "9.90e-8, 1 in 10,100,000",
      shape: "14 probes in one flat array",
    },
  ],
])
  test(`a_link_with_${what}_has_the_numbers_of_the_command`, async (page) => {
    await open(page, link);
    equal(await shown(page), wanted, link);
  });

test("a_link_that_gives_all_three_says_what_it_takes", async (page) => {
  await open(page, "?n=1e6&p=0.01&m=64KiB&k=&kind=blocked");
  equal((await shown(page)).bytes, 1262592, "bytes");
  has(await notes(page), "The plan uses keys and rate");
  equal(await given(page), "given given computed", "badges");
});

test("a_strange_link_is_never_markup", async (page) => {
  await page.addInitScript(() => (globalThis.alert = () => (globalThis.alerted = true)));
  const evil = "<img src=x onerror=alert(1)>";
  const query = ["n", "p", "m", "k", "kind", "L"]
    .map((name) => `${name}=${encodeURIComponent(evil)}`)
    .join("&");
  await open(page, `?${query}`);
  await page.waitForTimeout(100);
  equal(await page.locator("img").count(), 0, "images");
  ok(!(await page.evaluate(() => globalThis.alerted)), "the link's script ran");
  equal((await notes(page)).split(evil).length - 1, 6, "the texts that are named");
  equal((await shown(page)).bytes, 1199168, "what is planned all the same");
  await open(page, `?x#calculator&n.given=pn&n.n=${encodeURIComponent(evil)}&n.p=0.01`);
  has(await says(page), evil);
  equal(await page.locator("img").count(), 0, "images from the address");
});

test("the_address_goes_before_the_link", async (page) => {
  await open(page, "?n=4000&p=1e-7#calculator&n.given=pn&n.n=1e6&n.p=0.01");
  equal((await shown(page)).bytes, 1262592, "bytes");
  equal(await notes(page), "", "notes");
});

test("editing_a_third_frees_the_one_edited_longest_ago", async (page) => {
  await open(page);
  equal(await given(page), "given given computed", "at first");
  await write(page, /^Keys/, "2M");
  await write(page, /^Rate/, "0.001");
  await write(page, /^Memory/, "2000000B");
  equal(await given(page), "computed given given", "keys are the oldest");
  // bloomery plan -p 0.001 --memory 2000000 --kind blocked has one block per key here.
  equal((await shown(page)).keys, 1017450, "keys");
  await write(page, /^Keys/, "1e6");
  equal(await given(page), "given computed given", "the rate is the oldest");
  has(await fact(page, "rate"), "0.0909%");
  equal(await box(page, /^Rate.*computed/).count(), 1, "the computed box is named so");
});

test("a_refusal_is_the_sentence_of_the_library_and_results_are_marked_old", async (page) => {
  await open(page);
  await write(page, /^Memory/, "64B");
  has(await says(page), "1,000,000 keys do not fit in 64 bytes");
  has(await says(page), "for 1 in 100 they need 1.21 MiB");
  has(await says(page), "from your last valid input");
  equal(await page.locator("#calculator .calc-says.problem").count(), 1, "a problem");
  equal(await box(page, /^Memory/).getAttribute("aria-invalid"), "true", "the memory box");
  equal((await shown(page)).bytes, 1262592, "the old results");
  equal(await page.locator("#calculator .calc-results.old").count(), 2, "marked as old");
  await write(page, /^Memory/, "2MB");
  lacks(await says(page), "from your last valid input");
  equal(await page.locator("#calculator .calc-results.old").count(), 0, "marked as old after");
  equal(await page.locator("#calculator .calc-says.problem").count(), 0, "a problem");
  equal(await box(page, /^Memory/).getAttribute("aria-invalid"), null, "the memory box after");
});

test("probes_that_no_block_takes_mark_the_probes_box", async (page) => {
  await open(page);
  await write(page, /^Probes/, "9");
  has(await says(page), "9 are wanted");
  equal(await box(page, /^Probes/).getAttribute("aria-invalid"), "true", "probes");
  equal(await box(page, /^Keys/).getAttribute("aria-invalid"), null, "keys");
});

// Keys and rate are both given: the one that has no plan beside usual numbers either is at fault.
test("a_refusal_marks_the_number_that_is_at_fault", async (page) => {
  for (const [query, at, well] of [
    ["?n=4&p=1.0E-20", /^Rate/, /^Keys/],
    ["?n=9e15&p=0.001", /^Keys/, /^Rate/],
  ]) {
    await page.goto("about:blank");
    await open(page, query);
    equal(await page.locator("#calculator .calc-says.problem").count(), 1, `${query}: a problem`);
    equal(await box(page, at).getAttribute("aria-invalid"), "true", `${query}: ${at}`);
    equal(await box(page, well).getAttribute("aria-invalid"), null, `${query}: ${well}`);
  }
});

test("a_text_that_is_not_a_number_is_quoted_with_what_the_box_takes", async (page) => {
  await open(page);
  await write(page, /^Rate/, "often");
  has(await says(page), "The rate box has “often”. It takes 0.01, 1%, 1e-6 or 1 in 1000.");
});

test("back_and_forward_restore", async (page) => {
  await open(page);
  await write(page, /^Keys/, "2M");
  await kind(page, "classic");
  await write(page, /^Rate/, "1 in 1000");
  const last = await shown(page);
  const seen = [];
  for (let i = 0; i < 3; i++) {
    await page.goBack();
    seen.push(await says(page));
  }
  has(seen[0], "A classic filter of 2.29 MiB holds 2,000,000 keys at a rate of 1 in 100,");
  has(seen[1], "A blocked filter");
  has(seen[1], "2,000,000 keys");
  has(seen[2], "1,000,000 keys");
  for (let i = 0; i < 3; i++) await page.goForward();
  equal(await shown(page), last, "forward again");
  equal(await box(page, /^Rate/).inputValue(), "1 in 1000", "the text that was typed");
  equal(
    await page.locator("#calculator :checked").first().getAttribute("value"),
    "classic",
    "kind",
  );
});

test("a_shared_address_shows_the_same", async (page, context) => {
  await open(page);
  await write(page, /^Memory/, "3MiB");
  await kind(page, "counting");
  await write(page, /^Absent keys looked up/, "5000");
  const other = await context.newPage();
  await other.goto(page.url());
  await other.waitForSelector("html[data-ready=yes]");
  equal(
    await other.locator("#calculator .calc-facts").innerText(),
    await page.locator("#calculator .calc-facts").innerText(),
    "facts",
  );
  equal(await box(other, /^Absent keys looked up/).inputValue(), "5000", "queries");
});

test("dragging_replaces_and_letting_go_pushes", async (page) => {
  await open(page);
  const before = await page.evaluate(() => [history.length, location.hash]);
  const thumb = slider(page, /^Keys/);
  await thumb.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await thumb.boundingBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  for (let i = 0; i < 8; i++) await page.mouse.move(x + width / 2 + 12 * i, y + height / 2);
  const dragged = await page.evaluate(() => [history.length, location.hash]);
  equal(dragged[0], before[0], "entries while dragging");
  ok(dragged[1] !== before[1], "the address follows the slider");
  await page.mouse.up();
  equal(await page.evaluate(() => history.length), before[0] + 1, "entries after letting go");
  const result = await says(page);
  lacks(result, " 1,000,000 keys");
  await page.goBack();
  has(await says(page), " 1,000,000 keys");
  await page.goForward();
  equal(await says(page), result, "forward");
});

test("a_slider_goes_step_by_step_with_the_arrow_keys", async (page) => {
  await open(page, "#calculator&n.given=pn&n.n=1&n.p=0.01");
  await slider(page, /^Keys/).focus();
  for (let i = 0; i < 35; i++) await page.keyboard.press("ArrowRight");
  equal((await shown(page)).keys, 2, "keys");
});

test("the_command_and_the_c_are_what_was_planned", async (page) => {
  await open(page);
  equal(
    await command(page),
    "bloomery build -n 1000000 -p 0.01 -o keys.bloom keys.txt",
    "at first",
  );
  has(await code(page), "bloomery_new(1000000, 0.01, &error)");
  await write(page, /^Rate/, "0.001");
  await write(page, /^Memory/, "2000000B");
  equal(
    await command(page),
    "bloomery build -n 1017450 -p 0.001 -o keys.bloom keys.txt",
    "p and m",
  );
  has(await code(page), ".kind = BLOOMERY_BLOCKED, .rate = 0.001, .bytes = 2000000}");
  await kind(page, "static");
  equal(
    await command(page),
    "bloomery build -n 1598504 -p 0.001 --kind static -o keys.bloom keys.txt",
    "static",
  );
  has(await code(page), "bloomery_builder_open(");
  await kind(page, "blocked");
  await write(page, /^Keys/, "1e6");
  await page.locator("#calculator select").selectOption("2");
  equal(
    await command(page),
    "bloomery build -n 1000000 --memory 2000000 --blocks 2 -o keys.bloom keys.txt",
    "n and m",
  );
  has(await code(page), "options.blocks_per_key = 2;");
  await write(page, /^Probes/, "4");
  equal(
    await command(page),
    "bloomery plan -n 1000000 --memory 2000000 --probes 4 --kind blocked --blocks 2",
    "forced probes",
  );
  has(await code(page), "options.probes = 4;");
});

test("memory_of_a_scalable_filter_is_not_given", async (page) => {
  await open(page);
  await write(page, /^Memory/, "2MB");
  await kind(page, "scalable");
  equal(await given(page), "given given computed", "badges");
  ok(await slider(page, /^Memory/).isDisabled(), "the slider moves");
  ok(!(await box(page, /^Memory/).isEditable()), "the box can be edited");
  equal((await shown(page)).keys, 1000000, "keys stay");
});

test("the_table_has_all_kinds_and_marks_the_chosen_one", async (page) => {
  await open(page);
  const rows = page.locator("#calculator .calc-kinds tbody tr");
  await rows.nth(4).waitFor();
  const cells = async (i) => (await rows.nth(i).locator("th, td").allInnerTexts()).slice(0, 3);
  equal(await cells(0), ["Blocked chosen", "1.2 MiB", "10.10"], "blocked");
  equal(await cells(1), ["Classic", "1.14 MiB", "9.59"], "classic");
  equal(await cells(2), ["Counting", "4.82 MiB", "40.40"], "counting");
  equal(await cells(3), ["Scalable", "1.58 MiB", "13.29"], "scalable");
  equal(await cells(4), ["Static", "824 KiB", "6.75"], "static");
  await kind(page, "static");
  await rows.nth(4).filter({ hasText: "chosen" }).waitFor();
  equal(await rows.filter({ hasText: "chosen" }).count(), 1, "rows that are marked");
});

test("the_textbook_is_explained_where_it_differs", async (page) => {
  await open(page);
  const text = () => page.locator("#calculator .calc-textbook").innerText();
  has(await text(), "m = 9,585,059 bits");
  has(await text(), "k\u00a0=\u00a07 (6.64 before rounding)");
  has(await text(), "5.4% more");
  await kind(page, "classic");
  has(await text(), "within half a percent");
  lacks(await text(), "% more");
  await kind(page, "static");
  has(await text(), "30% less");
});

test("wrong_answers_a_day_follow_the_queries", async (page) => {
  await open(page);
  equal(await page.locator("#calculator [data-fact=wrong]").count(), 0, "before it is asked");
  await write(page, /^Absent keys looked up/, "1000");
  equal(await fact(page, "wrong"), "about 863,000", "1000 a second");
  await write(page, /^Absent keys looked up/, "10");
  equal(await fact(page, "wrong"), "about 8,630", "10 a second");
});

test("every_control_of_the_calculator_is_reached_by_keyboard", async (page) => {
  await open(page);
  const reached = await page.evaluate(() => {
    const all = [...document.querySelectorAll("#calculator :is(input, select, button)")];
    globalThis.controls = all.filter((element) => !element.disabled && element.type !== "radio");
    // The buttons of the answer come before the kinds.
    document.querySelector("#calculator button").focus();
    return globalThis.controls.length;
  });
  equal(reached, 25, "controls besides the kinds");
  const names = [];
  for (let i = 0; i < reached + 12; i++) {
    await page.keyboard.press("Tab");
    names.push(await page.evaluate(() => globalThis.controls.indexOf(document.activeElement)));
  }
  equal(
    names.filter((i) => i >= 0),
    [...Array(reached).keys()].slice(1),
    "the order of focus",
  );
});

test(
  "results_change_without_moving_what_is_below",
  async (page) => {
    await open(page);
    await page.locator("#calculator .calc-kinds tbody").waitFor();
    const top = (selector) =>
      page.evaluate((below) => {
        const section = document.querySelector("#calculator");
        const element = section.querySelector(below);
        return Math.round(
          element.getBoundingClientRect().top - section.getBoundingClientRect().top,
        );
      }, selector);
    const results = await top(".calc-results");
    await write(page, /^Memory/, "64B");
    equal(await top(".calc-results"), results, "with a refusal");
    await write(page, /^Memory/, "");
    equal(await top(".calc-results"), results, "with an empty box");
    await write(page, /^Memory/, "2MB");
    await write(page, /^Rate/, "1e-12");
    equal(await top(".calc-results"), results, "with another plan");
  },
  { viewport: { width: 700, height: 900 } },
);

test("the_result_is_announced_at_rest", async (page) => {
  await open(page);
  await box(page, /^Keys/).fill("3M");
  lacks(await page.locator("#announcements").innerText(), "3,000,000 keys");
  await page.waitForTimeout(900);
  const said = await page.locator("#announcements").innerText();
  equal(said, await says(page), "the announcement");
  has(said, "3,000,000 keys");
});

test(
  "the_calculator_fits_320_pixels",
  async (page) => {
    await open(page, "?n=1e12&p=1e-12&k=3&kind=blocked");
    await page.locator("#calculator .calc-kinds tbody").waitFor();
    await alone(page);
    ok(
      (await page.evaluate(() => document.documentElement.scrollWidth)) <= 320,
      "scrolls sideways",
    );
    const small = await page.evaluate(() =>
      [...document.querySelectorAll("#calculator :is(input, select, button, .pill)")]
        .filter((element) => !element.closest(".pill") || element.matches(".pill"))
        .map((element) => element.getBoundingClientRect())
        .filter(({ width, height }) => width < 24 || height < 24),
    );
    equal(small, [], "targets under 24 pixels");
  },
  { viewport: { width: 320, height: 640 } },
);

await run();
