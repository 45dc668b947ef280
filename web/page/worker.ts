// SPDX-License-Identifier: Apache-2.0
// What takes longer than a frame, in a worker with a module of its own: the rates of the load curve
// are measured here, by asking for keys that were never added; and Inspect's files are read, counted
// and asked here.

import { Engine, Refusal } from "./engine";
import { type Call, Desk, type Reply } from "./inspect-desk";
import { measure, type MeasureJob } from "./measure";

/** The first message is the module's bytes; each later one is a job, or a call to the desk. */
let engine: Promise<Engine> | undefined;
let desk: Promise<Desk> | undefined;
let current = 0;

const textOf = (error: unknown) => String(error instanceof Error ? error.message : error);

async function serve(call: Call): Promise<void> {
  const { id } = call;
  const reply = (answer: Reply) => postMessage(answer);
  try {
    desk ??= engine!.then((started) => new Desk(started));
    const value = await (await desk).answer(call, (progress) => reply({ id, progress }));
    reply({ id, value });
  } catch (error) {
    const failure = textOf(error);
    if (error instanceof Refusal)
      reply({ id, failure, status: error.status, offset: error.offset });
    else reply({ id, failure });
  }
}

async function run(job: MeasureJob): Promise<void> {
  current = job.id;
  try {
    const started = await engine!;
    for (const result of measure(started, job)) {
      // Letting other messages in: a newer job ends this one.
      await new Promise((resolve) => setTimeout(resolve));
      if (current !== job.id) return;
      postMessage({ id: job.id, result });
    }
    postMessage({ id: job.id, done: true });
  } catch (error) {
    postMessage({ id: job.id, error: textOf(error) });
  }
}

onmessage = ({ data }: MessageEvent<ArrayBuffer | MeasureJob | Call>) => {
  if (data instanceof ArrayBuffer) engine = Engine.start(data);
  else if ("wish" in data) void serve(data);
  else void run(data);
};
