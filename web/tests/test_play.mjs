// SPDX-License-Identifier: Apache-2.0
// Play: what is drawn and said is what the filter does.

import { equal, ok, open, run, test } from "./browser.mjs";

const verdict = (page) => page.locator("#play .outcome").innerText();
const has = (text, part) => ok(text.includes(part), `"${text}" does not say "${part}"`);

/** The cells that are drawn as set, by their order in the drawing. */
const setCells = (page) =>
  page
    .locator("#play .cells .cell")
    .evaluateAll((cells) =>
      cells.flatMap((cell, i) => (cell.classList.contains("set") ? [i] : [])),
    );

/** The cells in the table of probes, in their order. */
const tableCells = (page) =>
  page.locator("#play .probe-table tbody tr td:nth-child(2)").allInnerTexts();

async function preset(page, id) {
  await page.click(`#play [data-preset=${id}]`);
}

test("the_worked_example_of_bits_has_its_three_answers", async (page) => {
  await open(page);
  await preset(page, "absent");
  equal(await setCells(page), [2, 4, 6, 10, 11, 13], "a and b");
  has(await verdict(page), "definitely not in the set: bit 12 is 0");
  await preset(page, "wrong");
  equal(await setCells(page), [2, 4, 6, 10, 11, 12, 13], "a, b and c");
  has(await verdict(page), "False positive: “965” was never added");
  for (const owner of ["4", "575", "611"]) has(await verdict(page), `“${owner}”`);
  await preset(page, "present");
  has(await verdict(page), "Possibly in the set (and it is: you added “4”)");
});

test("an_example_keeps_its_cells_when_its_probes_change", async (page) => {
  await open(page);
  await preset(page, "absent");
  await page.getByRole("slider", { name: "Probes, k" }).press("ArrowRight");
  equal((await tableCells(page)).length, 4, "probes");
  equal(await page.locator("#play .cells .cell").count(), 16, "cells");
  await page.reload();
  await page.waitForSelector("html[data-ready=yes]");
  equal(await page.locator("#play .cells .cell").count(), 16, "cells of the address");
  equal((await tableCells(page)).length, 4, "probes of the address");
  await page.getByRole("radio", { name: "Classic", exact: true }).check();
  equal(await page.locator("#play .cells .cell").count(), 64, "the next size of a classic filter");
});

test("probes_are_drawn_in_the_order_of_the_positions", async (page) => {
  await open(page);
  await preset(page, "number");
  equal(await tableCells(page), ["1", "15", "11"], "the table");
  const drawn = await page.locator("#play .probe").evaluateAll((marks) =>
    marks.map((mark) => {
      const [x] = /translate\(([\d.]+)/.exec(mark.getAttribute("transform")).slice(1);
      return [mark.textContent, Math.round((Number(x) - 10) / 12)];
    }),
  );
  equal(
    drawn,
    [
      ["1", 1],
      ["2", 15],
      ["3", 11],
    ],
    "the drawing",
  );
  const stepped = [];
  for (let i = 0; i < 3; i++) {
    await page.click("#play button:has-text('Next probe')");
    stepped.push(await page.locator("#play .probe").count());
  }
  equal(stepped, [1, 2, 3], "one probe more with each step");
});

test("counters_fall_and_the_others_stay", async (page) => {
  await open(page);
  await preset(page, "counters");
  const values = async () =>
    await page
      .locator("#play .cells .count")
      .evaluateAll((all) => all.map((one) => Number(one.textContent || 0)));
  equal(await values(), [0, 1, 2, 0, 1], "a and b");
  await page.getByLabel("Key to add").fill("8");
  await page.click("#play button:has-text('Remove')");
  equal(await values(), [0, 0, 1, 0, 1], "without a");
  has(await page.locator("#play .happened").innerText(), "Plain bits would have lost “6”");
  has(await verdict(page), "you added");
});

test("a_key_that_was_added_is_never_absent", async (page) => {
  await open(page, "#play&p.kind=blocked&p.m=2048&p.k=5&p.L=2&p.acts=g:300&p.ask=key 7");
  has(await verdict(page), "you added");
  for (const key of ["key 1", "key 150", "key 300", ""]) {
    await page.getByLabel("Look up a key").fill(key);
    if (key !== "") has(await verdict(page), "you added");
  }
  equal(await page.locator("#play .cells .block").count(), 4, "blocks of 512 cells are outlined");
});

test("false_positives_name_keys_that_set_their_cells", async (page) => {
  await open(page, "#play&p.kind=classic&p.m=64&p.k=3&p.acts=g:30&p.ask=x");
  let wrong = 0;
  for (let i = 0; i < 40; i++) {
    await page.getByLabel("Look up a key").fill(`absent ${i}`);
    const said = await verdict(page);
    const states = await page
      .locator("#play .probe-table tbody tr td:nth-child(3)")
      .allInnerTexts();
    if (said.includes("False positive")) {
      wrong++;
      ok(
        states.every((state) => state === "set"),
        "a cell is not set",
      );
      ok(/set by “key \d+”/.test(said), `nobody is named: ${said}`);
    } else {
      ok(said.includes("definitely not"), said);
      ok(states.includes("not set"), "all cells are set");
    }
  }
  ok(wrong >= 5 && wrong <= 38, `${wrong} of 40 are false positives`);
});

test("undo_back_and_a_shared_address_restore", async (page) => {
  await open(page, "#play&p.acts=-");
  await page.getByLabel("Key to add").fill("one, 100% – ü");
  await page.keyboard.press("Enter");
  await page.click("#play button:has-text('+10') >> nth=0");
  const list = () => page.locator("#play .key-list").innerText();
  has(await list(), "“key 10”");
  const shared = await page.evaluate(() => location.hash);
  await page.click("#play button:has-text('Undo')");
  equal(await list(), "In the filter: “one, 100% – ü”.", "undone");
  await page.goBack();
  has(await list(), "“key 10”");
  await page.goBack();
  equal(await list(), "In the filter: “one, 100% – ü”.", "back");
  await page.goForward();
  has(await list(), "“key 10”");
  await open(page, shared);
  has(await list(), "“key 10”");
  has(await list(), "6 others");
});

test("bits_are_not_removed_whatever_an_address_says", async (page) => {
  await open(page, "#play&p.kind=classic&p.acts=a:x,r:x,r:&p.ask=x");
  has(await verdict(page), "you added");
  await page.click("#play button:has-text('+10') >> nth=0");
  has(await page.locator("#play .key-list").innerText(), "“key 10”");
  await preset(page, "counters");
  await page.getByLabel("Key to add").fill("8");
  await page.click("#play button:has-text('Remove')");
  await page.check("#play input[value=classic]");
  has(await page.locator("#play .key-list").innerText(), "“8”");
});

test("a_removed_key_was_in_and_half_a_surrogate_is_not_an_address", async (page) => {
  await open(page, "#play&p.kind=counting&p.m=512&p.k=2&p.acts=a:zebra,g:900,r:zebra&p.ask=zebra");
  has(await verdict(page), "“zebra” was removed");
  await page.getByLabel("Look up a key").fill("a\ud800");
  await page.click("#play button:has-text('+1') >> nth=0");
  has(await page.evaluate(() => location.hash), "g%3A1");
});

test("keys_are_shown_as_the_bytes_that_they_are", async (page) => {
  await open(page, "#play&p.acts=-");
  await page.getByLabel("Look up a key").fill("Zoë €");
  has(await page.locator("#play .bytes").innerText(), "5a 6f c3 ab 20 e2 82 ac");
});

test("a_strangers_address_is_never_markup", async (page) => {
  const evil = "<img src=x onerror=document.title='owned'>";
  const encoded = encodeURIComponent(evil);
  await open(
    page,
    `#play&p.kind=${encoded}&p.m=1e99&p.k=-5&p.acts=a:${encoded},x:9,g:1e9&p.z=%E0%A4&p.ask=${encoded}`,
  );
  equal(await page.locator("#play img").count(), 0, "markup");
  ok((await page.title()) !== "owned", "a script ran");
  has(await page.locator("#play .key-list").innerText(), evil);
});

test("a_key_that_turns_text_round_leaves_its_sentence_as_it_is", async (page) => {
  await open(page, "#play&p.acts=a:x&p.ask=%E2%80%AEdedda");
  has(
    await page.locator("#play .outcome").innerText(),
    "“⟨U+202E⟩dedda” is definitely not in the set",
  );
});

test("on_a_small_screen_cells_stay_large_enough_to_be_seen", async (page) => {
  await open(page, "#play&p.acts=a:apple,a:berry,g:20&p.ask=damson");
  const seen = () =>
    page.evaluate(() => {
      const width = (query) => document.querySelector(query).getBoundingClientRect().width;
      const count = (query) => document.querySelectorAll(`#play ${query}`).length;
      return {
        cell: width("#play .cell.set"),
        cells: count(".cell"),
        set: count(".cell.set"),
        probes: count(".probe"),
      };
    });
  const wide = await seen();
  await page.setViewportSize({ width: 320, height: 640 });
  await page.waitForTimeout(300);
  const narrow = await seen();
  ok(narrow.cell >= 9, `a set cell is ${narrow.cell} pixels wide`);
  equal({ ...narrow, cell: 0 }, { ...wide, cell: 0 }, "what is drawn");
  equal([wide.cells, wide.probes], [256, 4], "cells and probes");
});

test("arrow_keys_walk_the_cells_and_name_their_keys", async (page) => {
  await open(page);
  await preset(page, "absent");
  await page.focus("#play .cells");
  for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowRight");
  has(await page.locator("#play .cell-told").innerText(), "Cell 3 is empty");
  await page.keyboard.press("ArrowLeft");
  has(await page.locator("#play .cell-told").innerText(), "Cell 2 was set by “4”");
});

await run();
