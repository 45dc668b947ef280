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
  equal(await setCells(page), [0, 3, 9, 11, 15], "apple and pear");
  has(await verdict(page), "definitely not in the set: bit 5 is 0");
  await preset(page, "wrong");
  equal(await setCells(page), [0, 3, 8, 9, 10, 11, 15], "apple, pear and plum");
  has(await verdict(page), "False positive: “garlic” was never added");
  for (const owner of ["apple", "pear"]) has(await verdict(page), `“${owner}”`);
  await preset(page, "present");
  has(await verdict(page), "Possibly in the set (and it is: you added “apple”)");
});

// M5: the examples are words in 16 cells, and their sentences are what the filter shows.
test("M5_the_sentences_of_the_examples_are_true", async (page) => {
  await open(page);
  const told = () => page.locator("#play .example").innerText();
  await preset(page, "absent");
  has(await told(), "The bits of “cherry” are 5, 3 and 6");
  equal(await tableCells(page), ["5", "3", "6"], "cherry");
  await preset(page, "wrong");
  has(await told(), "its bits 15 and 0 were set by “apple”, and 9 by “pear”");
  equal(await tableCells(page), ["15", "0", "9"], "garlic");
  const owners = await page.locator("#play .probe-table tbody tr td:nth-child(4)").allInnerTexts();
  has(owners[0], "apple");
  has(owners[1], "apple");
  has(owners[2], "pear");
  await preset(page, "counters");
  has(await told(), "share counter 2, so it is 2");
  const counts = await page.locator("#play .cells .count").allTextContents();
  equal(counts[2], "2", "the shared counter");
  equal(
    await page
      .locator("#play .play-shape")
      .getByRole("radio", { name: "Classic", exact: true })
      .isChecked(),
    false,
  );
  await page.getByLabel("Key to add").fill("x");
  await page.click("#play button:text-is('Add')");
  ok(
    await page.locator("#play .example").isHidden(),
    "a sentence that was true before is still shown",
  );
});

test("an_example_keeps_its_cells_when_its_probes_change", async (page) => {
  await open(page);
  await preset(page, "absent");
  equal(
    await page
      .locator("#play .play-shape")
      .getByRole("radio", { name: "Classic", exact: true })
      .isChecked(),
    true,
    "kind",
  );
  await page.getByRole("slider", { name: "Probes, k" }).press("ArrowRight");
  equal((await tableCells(page)).length, 4, "probes");
  equal(await page.locator("#play .cells .cell").count(), 16, "cells");
  ok(!page.url().includes("apple"), page.url());
  await page
    .locator("#play .play-shape")
    .getByRole("radio", { name: "Blocked", exact: true })
    .check();
  equal(
    await page.locator("#play .cells .cell").count(),
    512,
    "the least size of a blocked filter",
  );
});

test("probes_are_drawn_in_the_order_of_the_positions", async (page) => {
  await open(page);
  await preset(page, "order");
  equal(await tableCells(page), ["13", "0", "9"], "the table");
  const drawn = await page.locator("#play .probe-order").evaluateAll((marks) =>
    marks.map((mark) => {
      const [x] = /translate\(([\d.]+)/.exec(mark.getAttribute("transform")).slice(1);
      return [mark.textContent, Math.round((Number(x) - 10) / 12)];
    }),
  );
  equal(
    drawn,
    [
      ["1", 13],
      ["2", 0],
      ["3", 9],
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

// L1, L2: numbers lie over crosses; rows have numbers; a row of the table lights its cell.
test("L2_rows_have_numbers_and_a_row_of_the_table_lights_its_cell", async (page) => {
  await open(page, "#play&p.m=256&p.k=4&p.acts=g:20&p.ask=damson");
  equal(
    await page.locator("#play .row-index").allTextContents(),
    ["0", "32", "64", "96", "128", "160", "192", "224"],
    "numbers",
  );
  await page.locator("#play .probe-table tbody tr").first().hover();
  const lit = page.locator("#play .cursor.shown");
  equal(await lit.count(), 1, "lit cells");
  const [cell] = await tableCells(page);
  const place = await page
    .locator("#play .cells .cell")
    .nth(Number(cell))
    .evaluate((square) => {
      const box = square.getBBox();
      return [box.x + box.width / 2, box.y + box.height / 2];
    });
  const box = await lit.evaluate((rect) => {
    const { x, y, width, height } = rect.getBBox();
    return [x + width / 2, y + height / 2];
  });
  ok(Math.hypot(box[0] - place[0], box[1] - place[1]) < 0.1, `${box} is not ${place}`);
  const order = await page
    .locator("#play .probes > *")
    .evaluateAll((marks) => marks.map((mark) => mark.getAttribute("class").split(" ")[0]));
  equal(
    order,
    [...order].sort((a, b) => a.length - b.length),
    "numbers are drawn last",
  );
});

test("L3_counts_and_numbers_of_512_counters_can_be_read", async (page) => {
  await open(page, "#play&p.kind=counting&p.m=512&p.k=4&p.acts=g:60&p.ask=key 3");
  const heights = (selector) =>
    page.locator(`#play ${selector}`).evaluateAll((all) =>
      Math.min(
        ...all
          .filter((one) => one.textContent !== "")
          .map((one) => {
            const { a, d } = one.getScreenCTM();
            return Number.parseFloat(getComputedStyle(one).fontSize) * Math.min(Math.abs(a), d);
          }),
      ),
    );
  ok((await page.locator("#play .cells .count:not(:empty)").count()) > 100, "counts");
  for (const what of [".cells .count", ".probe-order text"])
    ok((await heights(what)) >= 10, `${what}: ${await heights(what)} pixels`);
  // A counter that just changed looks as its sample does, without the hole of a bit.
  ok(
    await page.locator("#play .legend.counting .sample.fresh").isVisible(),
    "the legend of counters",
  );
});

test("counters_fall_and_the_others_stay", async (page) => {
  await open(page);
  await preset(page, "counters");
  const values = async () =>
    await page
      .locator("#play .cells .count")
      .evaluateAll((all) => all.map((one) => Number(one.textContent || 0)));
  const row = (cells) => Array.from({ length: 16 }, (_, i) => cells[i] ?? 0);
  equal(await values(), row({ 1: 1, 2: 2, 9: 1, 11: 1, 14: 1 }), "apple and plum");
  await page.getByLabel("Key to add").fill("apple");
  await page.click("#play button:has-text('Remove')");
  equal(await values(), row({ 1: 1, 2: 1, 9: 1 }), "without apple");
  has(await page.locator("#play .happened").innerText(), "Plain bits would have lost “plum”");
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

const list = (page) => page.locator("#play .key-list").innerText();

test("undo_takes_the_last_action_back", async (page) => {
  await open(page);
  await page.getByLabel("Key to add").fill("one, 100% – ü");
  await page.keyboard.press("Enter");
  await page.click("#play button:text-is('+10')");
  has(await list(page), "“key 10”");
  await page.click("#play button:text-is('Undo')");
  equal(await list(page), "In the filter: “one, 100% – ü”.", "undone");
});

// M7, L6.
test("M7_typed_keys_are_in_no_address_and_L6_make_no_history", async (page) => {
  await open(page);
  const entries = await page.evaluate(() => history.length);
  await page.getByLabel("Key to add").fill("alice@example.com");
  await page.keyboard.press("Enter");
  await page.click("#play button:text-is('+10')");
  await page.getByLabel("Look up a key").fill("secret-customer-17");
  await page.locator("#calculator").getByRole("textbox", { name: /^Keys/ }).fill("20M");
  const text = decodeURIComponent(page.url());
  for (const secret of ["alice", "secret", "acts", "ask"])
    ok(!text.includes(secret), `${secret} is in ${text}`);
  ok((await page.evaluate(() => history.length)) <= entries + 1, "history entries");
  has(await list(page), "“key 10”");
  has(await list(page), "6 others");
});

test("copy_link_says_what_it_puts_in_and_the_link_restores_it", async (page, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page);
  await page.getByLabel("Key to add").fill("one, 100% – ü");
  await page.keyboard.press("Enter");
  await page.click("#play button:text-is('+10')");
  await page.getByLabel("Look up a key").fill("fig");
  const hint = page.locator("#play .play-link .hint");
  has(await hint.innerText(), "the key that you typed and the key that you look up");
  await page.click("#play button:text-is('Copy link')");
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForSelector("html[data-ready=yes]");
  has(await list(page), "“key 10”");
  has(await list(page), "6 others");
  equal(await page.getByLabel("Look up a key").inputValue(), "fig", "the question");
  // What the link brought leaves the address when something is changed.
  await page.click("#play button:text-is('+1')");
  ok(!page.url().includes("acts"), page.url());
  await page.getByLabel("Key to add").fill("x".repeat(200));
  for (let i = 0; i < 25; i++) await page.keyboard.press("Enter");
  has(await hint.innerText(), "too long for a link");
  ok(await page.locator("#play button:text-is('Copy link')").isDisabled(), "it can be copied");
});

async function paste(page, selector, text) {
  await page.locator(selector).evaluate((box, text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const event = new ClipboardEvent("paste", { clipboardData: data, cancelable: true });
    box.dispatchEvent(event);
  }, text);
}

test("M6_pasted_lines_are_as_many_keys_and_too_many_are_refused", async (page) => {
  await open(page);
  const box = "#play form input";
  await paste(page, box, "user0\nuser1\r\nuser2\n");
  has(await page.locator("#play .happened").innerText(), "3 keys added");
  equal(await list(page), "In the filter: “user2”, “user1” and “user0”.", "keys");
  await paste(page, box, Array.from({ length: 5000 }, (_, i) => `u${i}`).join("\n"));
  has(await page.locator("#play .happened").innerText(), "at most 5,000 keys");
  equal(await list(page), "In the filter: “user2”, “user1” and “user0”.", "keys as before");
  // What the boxes would cut or join in silence is refused with a sentence.
  await paste(page, box, "x".repeat(201));
  has(await page.locator("#play .happened").innerText(), "at most 200 characters here, and this");
  await paste(page, "#play .asking input", "user0\nuser1");
  has(await page.locator("#play .happened").innerText(), "These are 2 lines");
  equal(await list(page), "In the filter: “user2”, “user1” and “user0”.", "keys at the end");
});

// M4: an empty start, and a false positive at the press of a button.
test("M4_it_starts_empty_and_finds_a_false_positive", async (page) => {
  await open(page);
  equal(await list(page), "The filter has no keys.", "keys");
  const find = page.getByRole("button", { name: "Find a false positive" }).last();
  await find.click();
  has(await page.locator("#play .happened").innerText(), "An empty filter has no false positives");
  await page.click("#play button:text-is('+10')");
  await page.click("#play button:text-is('+10')");
  await find.click();
  has(await verdict(page), "False positive");
  const first = await page.getByLabel("Look up a key").inputValue();
  await find.click();
  has(await verdict(page), "False positive");
  ok((await page.getByLabel("Look up a key").inputValue()) !== first, "the same word twice");
});

// L4, L5.
test("L4_an_empty_box_adds_nothing_and_L5_buttons_have_names", async (page) => {
  await open(page);
  await page.click("#play button:text-is('Add')");
  has(await page.locator("#play .happened").innerText(), "Type a key first");
  equal(await list(page), "The filter has no keys.", "keys");
  for (const name of ["+1 key", "+10 keys", "+100 keys"])
    equal(await page.getByRole("button", { name, exact: true }).count(), 1, name);
  equal(await page.getByRole("group", { name: "Examples" }).count(), 1, "the group");
});

test("L6_another_k_is_quick_with_thousands_of_keys", async (page) => {
  await open(page, "#play&p.m=4096&p.acts=g:4700");
  const took = await page.evaluate(() => {
    const slider = document.querySelector("#play .play-shape input[type=range]");
    const from = performance.now();
    slider.value = "7";
    slider.dispatchEvent(new Event("input"));
    return performance.now() - from;
  });
  // Printed: wall time, which a busy machine stretches. It was 125 to 330 ms.
  console.log(`another k with 4,700 keys: ${took.toFixed(1)} ms`);
  equal(await page.locator("#play .facts dd").first().innerText(), "4,700", "keys");
});

// H4: on a phone the cells, the question and its answer are on one screen.
test(
  "H4_cells_question_and_answer_share_a_phones_screen",
  async (page) => {
    await open(page, "#play&p.m=256&p.k=4&p.acts=g:20&p.ask=damson");
    const [top, bottom] = await page.evaluate(() => [
      document.querySelector("#play .cells").getBoundingClientRect().top,
      document.querySelector("#play .outcome").getBoundingClientRect().bottom,
    ]);
    ok(bottom - top < 667 - 43, `${bottom - top} pixels from the cells to the answer`);
  },
  { viewport: { width: 375, height: 667 } },
);

test("three_layouts_have_the_same_keys_and_their_rates", async (page) => {
  await open(page, "#play&p.same=170");
  const table = page.locator("#play .layouts table");
  await table.scrollIntoViewIfNeeded();
  await page.waitForFunction(
    () => !document.querySelector("#play .layouts table").textContent.includes("…"),
  );
  const rows = await table
    .locator("tbody tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  equal(
    rows.map(([name]) => name),
    ["Classic", "Blocked", "Split block"],
    "layouts",
  );
  const numbers = rows.map((row) => row.slice(1, 4).map((text) => Number.parseFloat(text)));
  for (const [fill, expected, measured] of numbers) {
    ok(fill > 44 && fill < 54, `fill ${fill}`);
    // The larger filter is measured, the smaller one is summed: 200,000 keys, and 3 % between them.
    ok(Math.abs(measured / expected - 1) < 0.2, `${measured} is not ${expected}`);
  }
  ok(numbers[0][1] < numbers[1][1] && numbers[1][1] < numbers[2][1], "their order");
  await page.locator("#play .layouts input").fill("0");
  has(await table.locator("tbody tr").first().innerText(), "0");
});

test("bits_are_not_removed_whatever_an_address_says", async (page) => {
  await open(page, "#play&p.kind=classic&p.acts=a:x,r:x,r:&p.ask=x");
  has(await verdict(page), "you added");
  await page.click("#play button:text-is('+10')");
  has(await list(page), "“key 10”");
  await preset(page, "counters");
  await page.getByLabel("Key to add").fill("apple");
  await page.click("#play button:has-text('Remove')");
  await page.check("#play .play-shape input[value=classic]");
  has(await list(page), "“apple”");
});

test("a_removed_key_was_in_and_half_a_surrogate_is_not_an_address", async (page) => {
  await open(page, "#play&p.kind=counting&p.m=512&p.k=2&p.acts=a:zebra,g:900,r:zebra&p.ask=zebra");
  has(await verdict(page), "“zebra” was removed");
  await page.getByLabel("Look up a key").fill("a\ud800");
  await page.click("#play button:text-is('+1')");
  has(await list(page), "“key 901”");
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
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
  has(await page.locator("#play .cell-told").innerText(), "Cell 4 is empty");
  await page.keyboard.press("ArrowLeft");
  has(await page.locator("#play .cell-told").innerText(), "Cell 3 was set by “pear”");
});

await run();
