// SPDX-License-Identifier: Apache-2.0
// The tests can fail: each row breaks the page in one place, and names the test that must go red.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { executable } from "./browser.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const web = join(here, "..");
const folder = process.env.EXPLORER_FOLDER ?? "build-web";

const breaks = [
  {
    name: "a link without a kind is blocked",
    file: "calculator-state.ts",
    from: 'asked.kind = "classic";',
    to: 'asked.kind = "blocked";',
    test: ["test_answer.mjs", "M2_a_link_without_a_kind_says_so_and_one_with_it_does_not"],
  },
  {
    name: "the textbook rounds k down",
    file: "textbook.ts",
    from: "Math.round((all / count) * Math.LN2)",
    to: "Math.floor((all / count) * Math.LN2)",
    test: ["test_answer.mjs", "H2_M1_M2_M3_a_link_gives_the_numbers_of_its_calculator"],
  },
  {
    name: "a system is given another rate",
    file: "systems.ts",
    from: "? { rate: numbers.rate }",
    to: "? { rate: numbers.rate / 2 }",
    test: ["test_answer.mjs", "the_table_of_systems_is_what_the_command_plans"],
  },
  {
    name: "a wrong cell is drawn",
    file: "play-grid.ts",
    from: "place(geometry, cell), scale,",
    to: "place(geometry, cell + 1), scale,",
    test: ["test_play.mjs", "probes_are_drawn_in_the_order_of_the_positions"],
  },
  {
    name: "a verdict is swapped",
    file: "play-model.ts",
    from: "const truth = this.keys.has(key);",
    to: "const truth = !this.keys.has(key);",
    test: ["test_play.mjs", "the_worked_example_of_bits_has_its_three_answers"],
  },
  {
    name: "state is lost from the address",
    file: "play.ts",
    from: "acts: writeActs(this.acts),",
    to: 'acts: "",',
    test: ["test_play.mjs", "copy_link_says_what_it_puts_in_and_the_link_restores_it"],
  },
  {
    name: "typed keys are in the address",
    file: "play.ts",
    from: "acts: undefined,",
    to: "acts: writeActs(this.acts),",
    test: ["test_play.mjs", "M7_typed_keys_are_in_no_address_and_L6_make_no_history"],
  },
  {
    name: "the step that is read is not the one that is drawn",
    file: "story.ts",
    from: "return ids[Math.max(0, passed.length - 1)]!;",
    to: "return ids[Math.max(0, passed.length - 2)]!;",
    test: ["test_story.mjs", "each_step_has_an_address_and_its_drawing"],
  },
  {
    name: "a file that is recognised waits for a button",
    file: "inspect.ts",
    from: 'await this.open(remote, { form: "dialect", ...chosen }, progress, remark);',
    to: "",
    test: ["test_inspect.mjs", "M9_a_filter_of_guava_is_dropped_and_opens_by_itself"],
  },
  {
    name: "the system of the last file is kept",
    file: "inspect.ts",
    from: "if (!asChosen) this.form.set(undefined, () => undefined);",
    to: "",
    test: ["test_inspect.mjs", "M10_the_system_of_the_last_file_is_forgotten"],
  },
  {
    name: "nothing found is drawn as a rate",
    file: "curve-drawing.ts",
    from: "upper: point.found === 0,",
    to: "upper: false,",
    test: ["test_curve.mjs", "M11_where_none_was_found_there_is_a_limit_and_no_point"],
  },
  {
    name: "a text becomes markup",
    file: "play.ts",
    from: "this.keyList.textContent =",
    to: "this.keyList.innerHTML =",
    test: ["test_play.mjs", "a_strangers_address_is_never_markup"],
  },
  {
    name: "a chart shows theory as measured",
    file: "measure.ts",
    from: "rate: found / job.queries,",
    to: "rate: info.liveRate ?? 0,",
    test: ["test_curve.mjs", "intervals_of_the_measured_points_contain_the_theory"],
  },
  {
    name: "letting a slider go does not count as a decision",
    file: "state.ts",
    from: 'if (how === "replace" || !isNew) {',
    to: "if (how.length > 0) {",
    test: ["test_calculator.mjs", "dragging_replaces_and_letting_go_pushes"],
  },
  {
    name: "a cut file throws",
    file: "engine.ts",
    from: "if (at === 0) {",
    to: "if (at === -1) {",
    test: ["test_inspect.mjs", "a_cut_file_is_a_sentence_wherever_it_is_cut"],
  },
  {
    name: "the file that was open before is counted on",
    file: "inspect.ts",
    from: "this.remote?.close();",
    to: "",
    test: ["test_inspect.mjs", "a_file_takes_the_place_of_one_that_is_being_read_or_counted"],
  },
  {
    name: "a theory stands in a measured point's place",
    file: "curve-measure.ts",
    from: "[...running.points, answer.result]",
    to: "[...running.points, { ...answer.result, rate: answer.result.liveRate ?? 0 }]",
    test: ["test_curve.mjs", "intervals_of_the_measured_points_contain_the_theory"],
  },
  {
    name: "the focus is not seen",
    file: "style.css",
    from: "outline: 3px solid var(--accent);",
    to: "outline: none;",
    test: ["test_page.mjs", "the_keyboard_alone_reaches_everything_in_order"],
  },
  {
    name: "a label is missing",
    file: "dom.ts",
    from: 'h("label", { for: control.id }, label)',
    to: 'h("span", {}, label)',
    test: ["test_page.mjs", "axe_finds_nothing_light"],
  },
  {
    name: "keys that fit are rounded down",
    file: "textbook.ts",
    from: "const n = Math.ceil(",
    to: "const n = Math.floor(",
    test: [
      "test_answer.mjs",
      "H2_M1_M2_M3_a_link_gives_the_numbers_of_its_calculator: ?n=&p=0.01&m=1000000&k=",
    ],
  },
  {
    name: "the answer scrolls away on a phone",
    file: "calculator.css",
    from: "position: sticky;",
    to: "position: static;",
    test: ["test_answer.mjs", "H4_on_a_phone_the_answer_stays_in_view_while_its_boxes_are_edited"],
  },
  {
    name: "a scalable filter is compared at its first layer's rate",
    file: "calculator-results.ts",
    from: "formatNumber(plan.limitRatio)",
    to: "formatNumber(plan.bitsPerKey / -Math.log2(plan.plannedRate / 4))",
    test: ["test_answer.mjs", "H5_a_scalable_filter_is_compared_at_its_own_rate"],
  },
  {
    name: "a link's size without a unit is dropped",
    file: "calculator-state.ts",
    from: 'else if (name === "m" && ',
    to: "else if (false && ",
    test: ["test_answer.mjs", "M1_M15_a_links_number_is_read_or_refused_with_the_reason"],
  },
  {
    name: "all places are summed while a slider moves",
    file: "curve.ts",
    from: "const COARSE = 8;",
    to: "const COARSE = 50;",
    test: ["test_curve.mjs", "M12_dragging_n_draws_within_a_frame"],
  },
  {
    name: "two words are used for one answer",
    file: "play-model.ts",
    from: "is definitely not in the set: ${why}",
    to: "is surely not in: ${why}",
    test: ["test_page.mjs", "M18_the_page_has_one_vocabulary"],
  },
  {
    name: "the wrong box is not marked",
    file: "lab.ts",
    from: "name === wrong ? this.says : undefined",
    to: "undefined",
    test: ["test_answer.mjs", "M19_L11_the_lab_names_the_box_that_is_wrong_and_why"],
  },
  {
    name: "counters are as small as bits",
    file: "play-grid.ts",
    from: "cells <= 256 || counters ? 32 : 64",
    to: "cells <= 256 ? 32 : 64",
    test: ["test_play.mjs", "L3_counts_and_numbers_of_512_counters_can_be_read"],
  },
  {
    name: "half a key is rounded",
    file: "numbers.ts",
    from: "Number.isInteger(number) && number! >= 1",
    to: "number! >= 1",
    test: ["test_answer.mjs", "L8_L10_L11_sentences_say_what_is_so"],
  },
  {
    name: "the library's percent signs stand apart",
    file: "numbers.ts",
    from: '.replace(/([0-9]) %/g, "$1%")',
    to: "",
    test: ["test_answer.mjs", "L9_numbers_have_one_form"],
  },
];

/** The page with one place changed, in a folder of its own; undefined if the place is not there once. */
function broken({ file, from, to }) {
  const copy = join(web, ".broken");
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy);
  cpSync(join(web, "page"), join(copy, "page"), { recursive: true });
  for (const name of ["build.mjs", "wasm.c", "filter.c"]) cpSync(join(web, name), join(copy, name));
  const path = join(copy, "page", file);
  const parts = readFileSync(path, "utf8").split(from);
  if (parts.length < 2) return undefined;
  writeFileSync(path, parts.join(to));
  const out = join(folder, "broken");
  const made = spawnSync("node", [
    join(copy, "build.mjs"),
    join(folder, "explorer.wasm"),
    join(folder, "figure.svg"),
    out,
    process.env.BLOOMERY_TOOL ?? "",
  ]);
  rmSync(copy, { recursive: true });
  return made.status === 0 ? out : undefined;
}

let passed = 0;
let failed = 0;
if (!executable) console.log("skipped: breaks of the page: no Chromium here");
const words = process.argv.slice(2);
for (const row of executable ? breaks : []) {
  if (words.length > 0 && !words.some((word) => row.name.includes(word))) continue;
  const out = broken(row);
  const [file, test] = row.test;
  const env = { ...process.env, EXPLORER_FOLDER: out };
  const run = out && spawnSync("node", [join(here, file), test], { env, encoding: "utf8" });
  if (run?.stdout.includes(`not ok - ${test}`)) {
    console.log(`ok - ${test} finds that ${row.name}`);
    passed++;
  } else {
    console.log(
      `not ok - ${test} does not find that ${row.name}: ${out ? run.stdout : "no such place"}`,
    );
    failed++;
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
