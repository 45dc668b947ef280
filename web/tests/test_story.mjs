// SPDX-License-Identifier: Apache-2.0
// The story: eight addresses, each with its drawing; what is drawn and said is what the library's filters do.

import { equal, ok, open, run, test } from "./browser.mjs";

const has = (text, part) => ok(text.includes(part), `"${text}" does not say "${part}"`);
const says = (page) => page.locator(".stage-says").innerText();
const ones = (page) =>
  page
    .locator(".scene .bit")
    .evaluateAll((bits) => bits.flatMap((bit, i) => (bit.classList.contains("one") ? [i] : [])));
const step = (page, id) => page.locator(`#${id}`);
const go = async (page, end) => {
  await page.goto("about:blank");
  await open(page, end);
};

const steps = [
  ["too-big", 16, "16 bits, all 0"],
  ["three-bits", 16, "“apple” is hashed to the places 11, 0 and 15"],
  ["lookup", 16, "“cherry” is definitely not in the set: bit 5 is 0"],
  ["false-positive", 16, "7 of the 16 bits are 1"],
  ["too-full", 64, "12 words: "],
  ["best-k", 64, "k = 3: "],
  ["counters", 16, "They share counter 2, which is 2"],
  ["cache-line", 0, "are in one block"],
];

for (const [name, size] of [
  ["", { width: 1440, height: 900 }],
  ["_on_a_phone", { width: 375, height: 667 }],
  ["_on_a_tall_screen", { width: 1200, height: 1600 }],
])
  test(
    `each_step_has_an_address_and_its_drawing${name}`,
    async (page) => {
      for (const [id, bits, sentence] of steps) {
        await go(page, `#${id}`);
        await page
          .waitForFunction((id) => document.getElementById(id).matches(".active"), id, {
            timeout: 2000,
          })
          .catch(() => {});
        equal(await page.locator(".step.active").getAttribute("id"), id, "the step that is read");
        has(await says(page), sentence);
        if (bits > 0) equal(await page.locator(".scene .bit").count(), bits, `bits of ${id}`);
      }
    },
    { viewport: size },
  );

test("scrolling_goes_through_the_steps_and_the_drawing_stays_in_view", async (page) => {
  await open(page);
  const read = [];
  for (const [id] of steps) {
    await step(page, id).evaluate((one) => {
      scrollTo({ top: scrollY + one.getBoundingClientRect().top - 120, behavior: "instant" });
    });
    await page.waitForFunction((id) => document.getElementById(id).matches(".active"), id);
    read.push(id);
    const { top, bottom } = await page
      .locator(".stage")
      .evaluate((stage) => stage.getBoundingClientRect().toJSON());
    ok(top >= 0 && bottom <= 900, `${id}: the drawing is from ${top} to ${bottom}`);
  }
  equal(read.length, 8, "steps");
});

test("a_step_is_gone_to_by_its_title", async (page) => {
  await open(page);
  await step(page, "best-k").locator("h3 a").click();
  has(page.url(), "#best-k");
  await page.waitForFunction(() => document.getElementById("best-k").matches(".active"));
});

test("words_are_added_and_looked_up", async (page) => {
  await open(page, "#three-bits");
  equal(await ones(page), [0, 11, 15], "apple");
  await step(page, "three-bits").getByRole("button", { name: "pear", exact: true }).click();
  has(await says(page), "“pear” is hashed to the places 11, 9 and 3. Bit 11 was 1 already");
  equal(await ones(page), [0, 3, 9, 11, 15], "apple and pear");
  await step(page, "three-bits").getByRole("textbox").fill("banana");
  await page.keyboard.press("Enter");
  equal(await ones(page), [0, 3, 9, 11, 13, 15], "banana too");
  await step(page, "lookup").getByRole("textbox").fill("banana");
  has(await says(page), "Possibly in the set. And it is: “banana” was added.");
  await step(page, "lookup").getByRole("textbox").fill("fig");
  has(await says(page), "“fig” is definitely not in the set: bit 7 is 0.");
  ok(!page.url().includes("banana") && !page.url().includes("fig"), page.url());
});

test("the_page_finds_false_positives_by_trying_words", async (page) => {
  await open(page, "#false-positive");
  const button = page.getByRole("button", { name: "Find a false positive" }).first();
  const found = [];
  for (let i = 0; i < 3; i++) {
    await button.click();
    const text = await says(page);
    has(text, "A false positive: “");
    found.push(/“(.*?)”/.exec(text)[1]);
    equal(await page.locator(".scene .cross").count(), 0, "a bit that is 0");
  }
  equal(new Set(found).size, 3, `different words: ${found}`);
  has(await step(page, "false-positive").innerText(), "a right “no” each time");
  ok(!found.some((word) => ["apple", "pear", "plum"].includes(word)), "an added word");
});

test("the_more_words_the_more_wrong_answers", async (page) => {
  await go(page, "#too-full&s.words=30");
  const count = async () => Number(/(\d+) of 64/.exec(await says(page))[1]);
  has(await says(page), "30 words: ");
  const at30 = await count();
  equal((await ones(page)).length, at30, "bits that are drawn");
  await page.getByRole("slider", { name: "Words in 64 bits" }).fill("60");
  ok((await count()) > at30, "no more bits");
  has(page.url(), "#too-full&s.words=60");
  await page.getByRole("slider", { name: "Words in 64 bits" }).fill("0");
  has(await says(page), "always “no”");
});

// (1 - (1 - 1/64)^(8 k))^k is near 0.0234 at k = 5, and more at 4 and 6: the library's exact sum says so too.
test("the_best_k_is_where_the_curve_is_lowest", async (page) => {
  await go(page, "#best-k&s.k=5");
  has(await says(page), "No other k is better");
  const slider = page.getByRole("slider", { name: /^Bits for each/ });
  for (const k of ["1", "4", "6", "12"]) {
    await slider.fill(k);
    has(await says(page), "The best k is 5");
  }
  const curve = step(page, "best-k").locator(".small-line");
  const ys = await curve.evaluate((line) =>
    line
      .getAttribute("d")
      .slice(1)
      .split("L")
      .map((pair) => Number(pair.split(",")[1])),
  );
  equal(ys.length, 12, "points");
  equal(ys.indexOf(Math.max(...ys)), 4, "the lowest point of the curve");
  has(page.url(), "s.k=12");
  await page.goBack();
});

test("counters_keep_the_word_that_plain_bits_lose", async (page) => {
  await open(page, "#counters");
  await page.getByRole("button", { name: "Remove “apple”" }).click();
  has(await says(page), "Counter 2 is still 1, so “plum” stays");
  equal(await ones(page), [1, 2, 9], "counters of plum");
  await page.getByRole("radio", { name: "Plain bits" }).check();
  has(await says(page), "“plum” is lost");
  equal(await ones(page), [1, 9], "bits that are left");
  equal(await page.locator(".scene .cross").count(), 1, "a bit of plum that is 0");
});

test("a_blocked_filter_reads_one_block_and_a_classic_one_several", async (page) => {
  await open(page, "#cache-line");
  has(await says(page), "are in one block: one wait");
  await step(page, "cache-line").getByRole("radio", { name: "Classic" }).check();
  has(await says(page), "blocks: up to");
  has(page.url(), "#cache-line&s.kind=classic");
  await page.goBack();
  has(await says(page), "are in one block: one wait");
});

test(
  "H4_on_a_phone_the_drawing_and_the_question_share_the_screen",
  async (page) => {
    for (const [id] of steps.slice(1)) {
      await go(page, `#${id}`);
      const control = step(page, id).locator(".try :is(input, button)").first();
      await control.scrollIntoViewIfNeeded();
      const boxes = await page.evaluate((id) => {
        const box = (query) => document.querySelector(query).getBoundingClientRect().toJSON();
        return [box(".stage"), box(`#${id} .try`)];
      }, id);
      const [stage, question] = boxes;
      ok(stage.top >= 0 && stage.bottom < 360, `${id}: the drawing ends at ${stage.bottom}`);
      ok(question.bottom - question.top < 667 - 360, `${id}: ${question.bottom - question.top}`);
    }
  },
  { viewport: { width: 375, height: 667 } },
);

test("the_numbers_of_the_text_are_those_of_the_plan", async (page) => {
  await open(page, "#calculator&n.n=1e9&n.p=0.01&n.kind=classic&n.given=np");
  const text = (await page.locator("#story").innerText()).replaceAll("\u00a0", " ");
  has(text, "A Bloom filter of them: 1.2 GB");
  has(text, "9.6 bits per key and k = 7");
  // 9.585 bits for each key: 1.198 GB for a billion.
  const calculated = await page.locator("#calculator").innerText();
  has(calculated, "9.5");
});

test("no_word_is_used_before_it_is_explained", async (page) => {
  await open(page);
  const text = (await page.locator(".steps").innerText()).toLowerCase();
  for (const word of ["probe", "cell", "layer", "dialect"])
    ok(
      !new RegExp(`\\b${word}s?\\b`).test(text.replace(/^cells$/m, "")),
      `the story says "${word}"`,
    );
  ok(text.indexOf("hash function") < text.indexOf("hash it again"), "hash");
});

await run();
