// SPDX-License-Identifier: Apache-2.0
// What takes longer than a frame, in a worker with a module of its own: the rates of the load curve
// are measured here, by asking for keys that were never added.

import { measure, type MeasureJob } from "./measure";
import { Engine } from "./engine";

/** The first message is the module's bytes; each later one is a job. */
let engine: Promise<Engine> | undefined;
let current = 0;

onmessage = async (event: MessageEvent<ArrayBuffer | MeasureJob>) => {
  if (event.data instanceof ArrayBuffer) {
    engine = Engine.start(event.data);
    return;
  }
  const job = event.data;
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
    postMessage({ id: job.id, error: String(error instanceof Error ? error.message : error) });
  }
};
