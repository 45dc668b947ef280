// SPDX-License-Identifier: Apache-2.0
// The page as a whole: it starts from a file without a request, can be used with the keyboard alone and
// on a small screen, and says what is missing where something is.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { join } from "node:path";
import { address, equal, folder, ok, open, run, test } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds, in words. */
async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ["violations"] }),
  );
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(", ")}`,
  );
}

const narrow = { viewport: { width: 320, height: 640 } };

test("the_page_starts_from_a_file_without_a_request", async (page) => {
  await open(page);
  equal(await page.locator("h1").count(), 1, "titles");
  equal(await page.locator(".host:empty").count(), 0, "parts that did not start");
});

// The request that the policy refuses stands in the console: that error is the test's own.
test("the_policy_lets_no_request_leave", async (page) => {
  await open(page);
  page.removeAllListeners("console");
  const refused = await page.evaluate(() =>
    fetch("https://example.org/").then(
      () => false,
      () => true,
    ),
  );
  ok(refused, "a request left");
});

test("the_folder_works_from_a_server", async (page) => {
  const types = { html: "text/html", js: "text/javascript", css: "text/css" };
  const server = createServer((request, response) => {
    const name = request.url === "/" ? "index.html" : request.url.slice(1);
    try {
      const body = readFileSync(join(folder, "site", name));
      response.writeHead(200, { "content-type": types[name.split(".").at(-1)] }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const local = await page.context().newPage();
    const errors = [];
    local.on("pageerror", (error) => errors.push(error.message));
    await local.goto(`http://127.0.0.1:${server.address().port}/`);
    await local.waitForSelector("html[data-ready=yes]");
    equal(errors, [], "errors");
  } finally {
    server.close();
  }
});

for (const [name, options] of [
  ["light", {}],
  ["dark", { colorScheme: "dark" }],
  ["at_320_pixels", narrow],
  ["in_dark_at_320_pixels", { ...narrow, colorScheme: "dark" }],
])
  test(
    `axe_finds_nothing_${name}`,
    async (page) => {
      await open(page);
      await page.waitForTimeout(800);
      await page.screenshot({ path: join(folder, `page-${name}.png`), fullPage: true });
      equal(await findings(page), [], "axe");
    },
    { ...options, reducedMotion: "reduce" },
  );

test("axe_finds_nothing_in_a_part_for_a_frame", async (page) => {
  for (const part of ["play", "curve", "calculator"]) {
    await open(page, `?embed=${part}`);
    equal(await findings(page), [], part);
  }
});

test("axe_finds_nothing_where_boxes_have_text_instead_of_numbers", async (page) => {
  await open(page);
  for (const [part, name] of [
    ["curve", /^Planned keys/],
    ["calculator", /^Keys/],
    ["lab", /^Memory/],
  ]) {
    const box = page.locator(`#${part}`).getByRole("textbox", { name });
    await box.fill("no number");
    await box.press("Tab");
    equal(await box.getAttribute("aria-invalid"), "true", part);
    const said = await box.evaluate((element) =>
      document.getElementById(element.getAttribute("aria-errormessage")).checkVisibility(),
    );
    ok(said, `${part}: the sentence is not shown`);
  }
  equal(await findings(page), [], "axe");
});

test(
  "without_javascript_the_text_and_a_figure_are_there",
  async (page) => {
    await page.goto(address);
    await page.screenshot({ path: join(folder, "page-without-javascript.png"), fullPage: true });
    const text = (await page.locator("body").innerText()).replaceAll("\u00a0", " ");
    for (const part of ["JavaScript is off", "(1 − e", "ln p", "was never added"])
      ok(text.includes(part), `"${part}" is missing`);
    ok(await page.locator("noscript svg").isVisible(), "the figure is not shown");
  },
  { javaScriptEnabled: false },
);

// axe is a script: it looks at what such a browser shows, without the page's own scripts.
test("axe_finds_nothing_in_the_page_without_its_scripts", async (page) => {
  const html = readFileSync(join(folder, "explorer.html"), "utf8")
    .replace(/<script>[^]*?<\/script>/, "")
    .replaceAll(/<\/?noscript>/g, "");
  await page.setContent(html);
  page.removeAllListeners("console");
  ok(await page.locator("section svg").first().isVisible(), "the figure is not shown");
  equal(await findings(page), [], "axe");
});

test(
  "nothing_is_wider_than_320_pixels",
  async (page) => {
    await open(page);
    equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, "width");
    const small = await page.locator("button, select, input, summary").evaluateAll((controls) =>
      controls
        .filter((control) => control.checkVisibility())
        .map((control) => {
          const box = (control.closest("label") ?? control).getBoundingClientRect();
          return [control.outerHTML.slice(0, 80), Math.round(Math.min(box.width, box.height))];
        })
        .filter(([, size]) => size < 24),
    );
    equal(small, [], "targets under 24 pixels");
  },
  narrow,
);

test(
  "at_320_pixels_no_column_label_or_sentence_is_cut",
  async (page) => {
    await open(page);
    await page.locator("#calculator .scrolling[data-done]").waitFor();
    const boxes = await page
      .locator(".cards")
      .evaluateAll((all) =>
        all.map(({ scrollWidth, clientWidth, offsetWidth }) => [
          scrollWidth <= clientWidth,
          offsetWidth <= 320,
        ]),
      );
    ok(boxes.length >= 4 && boxes.flat().every(Boolean), `tables ${JSON.stringify(boxes)}`);
    const labels = await page.locator(".chart-box svg").evaluateAll((charts) =>
      charts.map((chart) => {
        const frame = chart.getBoundingClientRect();
        const all = [...chart.querySelectorAll("text")].map((text) => text.getBoundingClientRect());
        const hits = all.flatMap((a, i) =>
          all.slice(i + 1).filter((b) => {
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            return wide > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
          }),
        );
        const out = all.filter(
          ({ left, right }) => left < frame.left - 1 || right > frame.right + 1,
        );
        return [hits.length, out.length];
      }),
    );
    ok(labels.length >= 4 && labels.flat().every((count) => count === 0), `labels ${labels}`);
    for (const step of ["counters", "cache-line", "cache-line&s.kind=classic", "best-k"]) {
      await page.goto("about:blank");
      await open(page, `#${step}`);
      const cut = await page
        .locator(".stage-says")
        .evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight);
      ok(cut <= 1, `${step}: ${cut} pixels of the sentence are hidden`);
    }
  },
  narrow,
);

test("the_keyboard_alone_reaches_everything_in_order", async (page) => {
  await open(page);
  const wanted = await page.evaluate(() => {
    const can = "a[href], button, input, select, textarea, summary, [tabindex='0']";
    const names = new Set();
    return [...document.querySelectorAll(can)].filter((element) => {
      if (!element.checkVisibility() || element.disabled || element.tabIndex < 0) return false;
      // Of radio buttons one is a stop.
      if (element.type !== "radio") return true;
      if (names.has(element.name)) return false;
      names.add(element.name);
      return true;
    }).length;
  });
  let stops = 0;
  for (let i = 0; i < wanted + 20; i++) {
    await page.keyboard.press("Tab");
    const now = await page.evaluate(() => {
      const focused = document.activeElement;
      const { last = document.body } = globalThis;
      globalThis.last = focused;
      const style = getComputedStyle(focused);
      const label = focused.closest("label");
      const outlined =
        style.outlineStyle !== "none" || (label && getComputedStyle(label).outlineStyle !== "none");
      return {
        later: Boolean(last.compareDocumentPosition(focused) & Node.DOCUMENT_POSITION_FOLLOWING),
        body: focused === document.body,
        outlined,
        what: focused.outerHTML.slice(0, 80),
      };
    });
    if (now.body || !now.later) break;
    ok(now.outlined, `the focus is not seen: ${now.what}`);
    stops++;
  }
  ok(stops >= wanted && stops > 30, `${stops} of ${wanted} stops`);
});

for (const [missing, part] of [
  ["WebAssembly", "as WebAssembly, which this browser does not have"],
  ["DecompressionStream", "cannot decompress it"],
])
  test(`a_browser_without_${missing}_gets_a_sentence`, async (page) => {
    await page.addInitScript((name) => delete globalThis[name], missing);
    await page.goto(address);
    await page.waitForSelector("#play .problem");
    const text = await page.locator("#play .host").innerText();
    ok(text.includes(part), text);
    ok((await page.locator("main").innerText()).includes("classic formula"), "the text is gone");
  });

test("a_browser_without_workers_gets_a_sentence_where_one_is_wanted", async (page) => {
  await page.addInitScript(() => delete globalThis.Worker);
  await open(page, "#curve&c.n=2000");
  const progress = page.locator("#curve .curve-progress");
  await progress.filter({ hasText: "so the points are missing" }).waitFor({ timeout: 10000 });
  ok((await page.locator("#curve path.line").count()) >= 4, "the theory is gone");
  await page.getByRole("button", { name: "Try an example" }).click();
  await page.locator("#inspect .problem").waitFor();
  ok((await page.locator("#inspect .problem").innerText()).includes("no workers"), "Inspect");
});

for (const [name, reducedMotion, animation] of [
  ["are_drawn_one_after_the_other", "no-preference", "appear"],
  ["are_there_at_once_where_motion_is_reduced", "reduce", "none"],
])
  test(
    `probes_${name}`,
    async (page) => {
      await open(page, "#play&p.acts=g:20&p.ask=fig");
      const names = await page
        .locator("#play .probe")
        .evaluateAll((all) => all.map((probe) => getComputedStyle(probe).animationName));
      equal([...new Set(names)], [animation], "animations");
    },
    { reducedMotion },
  );

test("going_to_a_part_keeps_the_state", async (page) => {
  await open(page, "#play&p.kind=blocked&p.m=1024&p.acts=a:zebra&p.ask=zebra");
  await page.click("nav a[href='#curve']");
  ok((await page.evaluate(() => location.hash)).startsWith("#curve&p.kind=blocked"), "the address");
  await page.reload();
  await page.waitForSelector("html[data-ready=yes]");
  ok((await page.locator("#play .outcome").innerText()).includes("you added"), "the key");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  ok((await page.evaluate(() => location.hash)).includes("zebra"), "the skip link loses the state");
});

test("back_and_forward_go_through_what_was_done", async (page) => {
  await open(page);
  await page.click("#play [data-preset=absent]");
  await page.click("#play [data-preset=counters]");
  await page.goBack();
  ok((await page.locator("#play .example").innerText()).includes("cherry"), "the first one");
  await page.goForward();
  ok((await page.locator("#play .example").innerText()).includes("Counters"), "the second one");
});

// L18, L19.
test("L18_the_menu_marks_the_part_that_is_read_and_stays_in_view", async (page) => {
  for (const width of [1440, 375]) {
    await page.setViewportSize({ width, height: 800 });
    for (const part of ["story", "play", "calculator", "curve", "lab", "inspect"]) {
      await page.goto("about:blank");
      await open(page, `#${part}`);
      await page.waitForSelector(`nav a[href="#${part}"][aria-current=true]`);
      equal(await page.locator("nav a[aria-current]").count(), 1, `marks at ${part}`);
      const { top, left, right } = await page
        .locator("nav a[aria-current]")
        .evaluate((link) => link.getBoundingClientRect().toJSON());
      ok(top >= 0 && top < 60 && left >= 0 && right <= width, `${part}: ${top} ${left} ${right}`);
    }
  }
});

test("L19_what_has_a_name_has_a_role", async (page) => {
  await open(page);
  equal(await page.locator("pre[aria-label]:not([role])").count(), 0, "nameless");
});

// M18: one set of words, in every state that has sentences of its own.
test("M18_the_page_has_one_vocabulary", async (page) => {
  const old = [
    ...[
      "surely not",
      "truly in",
      "Maybe",
      "Key to ask for",
      "Ask it",
      "Empty it",
      "Step",
      "forced above",
    ],
    ...["The rate rises", "theory, summed", "not of scalable", "Lines, absent", "Lines, present"],
    ...["Against the least", "Beside the textbook", "The same in C", "Copy the C", "old results"],
    ...[
      "on the way there",
      "with all in",
      "The words of this page",
      "To the content",
      "not only computed",
    ],
  ];
  const seen = [];
  const look = async () => {
    await page.evaluate(() =>
      document.querySelectorAll("details").forEach((one) => (one.open = true)),
    );
    const text = await page.evaluate(() =>
      [
        document.body.innerText,
        ...[...document.querySelectorAll("[aria-label], .skip")].map(
          (one) => one.ariaLabel ?? one.textContent,
        ),
      ].join("\n"),
    );
    seen.push(text);
    for (const words of old)
      ok(!new RegExp(`\\b${words}\\b`).test(text), `the page says "${words}"`);
  };
  await open(page, "#play&p.acts=a:apple,g:20&p.ask=damson");
  await look();
  await page.getByLabel("Look up a key").fill("apple");
  await page
    .locator("#calculator")
    .getByRole("textbox", { name: /^Memory/ })
    .fill("64B");
  await page.getByRole("button", { name: "Try an example" }).click();
  await page.locator("#inspect input[name=query]").fill("key 1");
  await page.locator("#inspect .inspect-answer.possibly").waitFor();
  await look();
  await page.locator("#inspect input[name=query]").fill("none");
  await page.locator("#inspect .inspect-answer.not").waitFor();
  await look();
  const all = seen.join("\n");
  for (const words of [
    ...[
      "“damson” is definitely not in the set: bit",
      "Possibly in the set (and it is: you added “apple”).",
    ],
    ...["Look up a key", "Next probe", "Clear", "Glossary", "Skip to content", "C code"],
    ...[
      "Load curve: the error rate climbs as the filter",
      "Lines: the exact expected rate. Points: measured.",
    ],
    ...["Your k and L apply only to the chosen kind.", "leave empty for the best k"],
    ...["Compared with the theoretical minimum", "Dropped while filling", "once all are added"],
    ...["Results below are from your last valid input.", "Definitely not in the set."],
  ])
    ok(all.replaceAll("\u00a0", " ").includes(words), `no state says "${words}"`);
});

// L21.
test("L21_kinds_have_one_order_and_one_case", async (page) => {
  await open(page);
  await page.locator("#calculator .calc-kinds tbody tr").nth(4).waitFor();
  const words = (query) => page.locator(query).allInnerTexts();
  const chosen = (await words("#calculator .choice .pill")).map((text) => text.trim());
  const rows = (await words(".calc-kinds tbody th")).map((text) =>
    text.replace(/chosen/, "").trim(),
  );
  equal(
    rows.map((text) => text.toLowerCase()),
    chosen.map((text) => text.toLowerCase()),
    "order",
  );
  const play = (await words("#play .play-shape .choice .pill")).map((text) => text.trim());
  equal(play, chosen.slice(0, 3), "Play's kinds");
});

// L16.
test("L16_a_wrong_box_is_red", async (page) => {
  await open(page);
  const box = page.locator("#curve input[name=keys]");
  const colour = () => box.evaluate((box) => getComputedStyle(box).borderColor);
  const usual = await colour();
  await box.fill("many");
  ok((await colour()) !== usual, "the border is as before");
});

test("nothing_shifts_while_the_page_starts_and_is_read", async (page) => {
  await page.addInitScript(() => {
    globalThis.shifts = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        globalThis.shifts.push([
          entry.value,
          entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 60)),
        ]);
    }).observe({ type: "layout-shift", buffered: true });
  });
  await open(page);
  for (let y = 0; y < 7000; y += 350) {
    await page.evaluate((y) => scrollTo({ top: y, behavior: "instant" }), y);
    await page.waitForTimeout(40);
  }
  equal(await page.evaluate(() => globalThis.shifts), [], "layout shifts");
});

test("it_starts_and_adds_a_key_on_a_slow_processor", async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await page.goto(address);
  await page.waitForSelector("html[data-ready=yes]", { timeout: 20000 });
  const times = await page.evaluate(() =>
    performance
      .getEntriesByType("mark")
      .map(({ name, startTime }) => `${name} ${startTime.toFixed(0)}`),
  );
  const adding = await page.evaluate(async () => {
    const button = [...document.querySelectorAll("#play button")].find(
      (one) => one.textContent === "+1",
    );
    const from = performance.now();
    button.click();
    return performance.now() - from;
  });
  // Printed, not judged: the page is not to blame for a busy machine.
  console.log(
    `parts that are ready, in ms: ${times.join(", ")}; a key added and drawn in ${adding.toFixed(1)} ms; 4 times slower`,
  );
});

await run();
