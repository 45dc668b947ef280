// SPDX-License-Identifier: Apache-2.0
// The command line and the C that make the filter of a plan. Both must run as they stand, and give
// what was planned.

import type { Engine, KindName, Plan, PlanRequest } from "./engine";

/** Digits that C and the command read back as the same number. */
const exact = (value: number): string => String(value);

/** Would these two numbers be planned as the same filter? */
function makes(engine: Engine, request: PlanRequest, plan: Plan): boolean {
  try {
    const other = engine.plan(request);
    return (
      other.bits === plan.bits &&
      other.probes === plan.probes &&
      other.blocksPerKey === plan.blocksPerKey
    );
  } catch {
    return false;
  }
}

/** The options of `bloomery build` for the numbers. It always needs -n, or it counts the keys of its
 * input; and --memory of a static filter is what its build may use. */
function numbers(engine: Engine, request: PlanRequest, plan: Plan): string {
  const byRate = `-n ${exact(plan.plannedKeys)} -p ${exact(request.rate ?? plan.plannedRate)}`;
  const byMemory = `-n ${exact(plan.plannedKeys)} --memory ${exact(request.bytes ?? plan.plannedBytes)}`;
  if (request.kind === "static") return byRate;
  if (request.bytes === undefined) return byRate;
  if (request.keys !== undefined) return byMemory;
  const { bytes, ...rest } = request;
  return makes(engine, { ...rest, keys: plan.plannedKeys }, plan) ? byRate : byMemory;
}

export interface CommandLine {
  text: string;
  /** What the command can't do, or undefined. */
  remark: string | undefined;
}

export function commandOf(engine: Engine, request: PlanRequest, plan: Plan): CommandLine {
  const kind = request.kind === "blocked" ? "" : ` --kind ${request.kind}`;
  const blocks = request.blocksPerKey ? ` --blocks ${request.blocksPerKey}` : "";
  if (request.probes !== undefined) {
    const given = [
      request.keys !== undefined && `-n ${exact(request.keys)}`,
      request.rate !== undefined && `-p ${exact(request.rate)}`,
      request.bytes !== undefined && `--memory ${exact(request.bytes)}`,
    ].filter(Boolean);
    return {
      text: `bloomery plan ${given.join(" ")} --probes ${request.probes}${kind || " --kind blocked"}${blocks}`,
      remark:
        "bloomery build chooses the probes itself. This line plans the filter with forced probes; the C below makes it.",
    };
  }
  return {
    text: `bloomery build ${numbers(engine, request, plan)}${kind}${blocks} -o keys.bloom keys.txt`,
    remark: undefined,
  };
}

const cKind = (kind: KindName): string => `BLOOMERY_${kind.toUpperCase()}`;

/** The declarations of the plan, and how its options are set. */
function planOfC(request: PlanRequest): { lines: string[]; forced: string[] } {
  const fields = [
    `.kind = ${cKind(request.kind)}`,
    request.keys !== undefined && `.keys = ${exact(request.keys)}`,
    request.rate !== undefined && `.rate = ${exact(request.rate)}`,
    request.bytes !== undefined && `.bytes = ${exact(request.bytes)}`,
  ].filter(Boolean);
  const forced = [
    request.probes !== undefined && `    options.probes = ${request.probes};`,
    request.blocksPerKey !== undefined && `    options.blocks_per_key = ${request.blocksPerKey};`,
  ].filter((line) => line !== false);
  return {
    lines: [
      `    bloomery_plan plan = {${fields.join(", ")}};`,
      ...(forced.length > 0 ? ["    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;"] : []),
    ],
    forced,
  };
}

const complain = ['        fprintf(stderr, "%s\\n", error.text);', "        return 2;", "    }"];

/** The test that nothing was made. Only a plan with options must be solved before it is passed on. */
function refusal(taker: string, hasOptions: boolean): string[] {
  if (!hasOptions) return [`    if (${taker} != BLOOMERY_OK) {`];
  return [
    "    if (bloomery_plan_solve(&plan, &options, &error) != BLOOMERY_OK ||",
    `        ${taker} != BLOOMERY_OK) {`,
  ];
}

/** A static filter is built once from all its keys. */
function staticBody(hasOptions: boolean): string[] {
  return [
    ...refusal("bloomery_builder_open(&plan, NULL, NULL, &builder, &error)", hasOptions),
    ...complain,
    '    const bloomery_key key = bloomery_key_of("a key", 5);',
    "    const bloomery_keys keys = bloomery_keys_of_list(&key, 1);",
    "    bloomery_status status = bloomery_builder_add(builder, &keys, &error);",
    "    if (status == BLOOMERY_OK)",
    '        status = bloomery_builder_save(builder, "keys.bloom", &error);',
    "    bloomery_builder_free(builder);",
  ];
}

const body = [
  '    bloomery_add(filter, bloomery_key_of("a key", 5), NULL);',
  '    const bloomery_status status = bloomery_save(filter, "keys.bloom", &error);',
  "    bloomery_free(filter);",
];

/** The usual filter, by keys and rate, needs no plan. */
function usualMain(keys: number, rate: number): string[] {
  return [
    "    bloomery_error error;",
    `    bloomery_filter *filter = bloomery_new(${exact(keys)}, ${exact(rate)}, &error);`,
    "    if (filter == NULL) {",
    ...complain,
    ...body,
  ];
}

function plannedMain(request: PlanRequest): string[] {
  const { lines, forced } = planOfC(request);
  const isStatic = request.kind === "static";
  const create = "bloomery_create(&plan, NULL, &filter, &error)";
  return [
    ...lines,
    isStatic ? "    bloomery_builder *builder = NULL;" : "    bloomery_filter *filter = NULL;",
    "    bloomery_error error;",
    ...forced,
    ...(isStatic
      ? staticBody(forced.length > 0)
      : [...refusal(create, forced.length > 0), ...complain, ...body]),
  ];
}

export function cOf(request: PlanRequest): string {
  const { kind, keys, rate } = request;
  const forced = request.probes !== undefined || request.blocksPerKey !== undefined;
  const isUsual = kind === "blocked" && keys !== undefined && rate !== undefined && !forced;
  return [
    `#include <bloomery/${kind === "static" ? "builder" : "bloomery"}.h>`,
    "#include <stdio.h>",
    "",
    "int main(void)",
    "{",
    ...(isUsual ? usualMain(keys, rate) : plannedMain(request)),
    "    return status == BLOOMERY_OK ? 0 : 2;",
    "}",
    "",
  ].join("\n");
}

/** The same with the Python package, which chooses probes and blocks itself. */
export function pythonOf(request: PlanRequest, plan: Plan): string {
  const { kind } = request;
  const keys = String(plan.plannedKeys).replace(/\B(?=(\d{3})+(?!\d))/g, "_");
  const rate = exact(request.rate ?? plan.plannedRate);
  const isBlocked = kind === "blocked" ? "" : `, kind="${kind}"`;
  const size =
    request.rate === undefined
      ? `rate=None, memory=${plan.plannedBytes}${isBlocked}`
      : `${rate}${isBlocked}`;
  const make =
    kind === "static"
      ? `keys = Filter.build(open("keys.txt").read().splitlines(), ${rate}, kind="static")`
      : `keys = Filter(${keys}, ${size})`;
  const add = kind === "static" ? [] : ['keys.add("a key")'];
  return ["from bloomery import Filter", "", make, ...add, 'keys.save("keys.bloom")', ""].join(
    "\n",
  );
}
