// SPDX-License-Identifier: Apache-2.0
// What the worker is to measure, and what it has measured. A point is here only if it came from the
// worker.

import type { Measured, MeasureJob } from "./measure";

export type Wanted = Omit<MeasureJob, "id">;

type Answer =
  | { id: number; result: Measured }
  | { id: number; done: true }
  | { id: number; error: string };

const KEPT = 40;

export class Measurer {
  private readonly worker: () => Worker;
  private readonly changed: () => void;
  private listening = false;
  private lastId = 0;
  private queue: Wanted[] = [];
  private running: { id: number; name: string; points: Measured[] } | undefined;
  private readonly results = new Map<string, Measured[]>();
  /** What the worker could not do. */
  problem = "";

  /** `changed` is called when a point came, and when all are there. */
  constructor(worker: () => Worker, changed: () => void) {
    this.worker = worker;
    this.changed = changed;
  }

  private static name(wanted: Wanted): string {
    return JSON.stringify([wanted.filter, wanted.at, wanted.queries]);
  }

  /** The points of a filter that have come so far. */
  points(wanted: Wanted): Measured[] {
    const name = Measurer.name(wanted);
    if (this.running?.name === name) return this.running.points;
    return this.results.get(name) ?? [];
  }

  /** Measures these, one after the other; what was wanted before and is not in here ends. */
  want(all: Wanted[]): void {
    this.problem = "";
    this.queue = all.filter((wanted) => !this.results.has(Measurer.name(wanted)));
    const running = this.running?.name;
    if (running !== undefined && this.queue.some((wanted) => Measurer.name(wanted) === running)) {
      this.queue = this.queue.filter((wanted) => Measurer.name(wanted) !== running);
      return;
    }
    if (running !== undefined && this.queue.length === 0) this.stop();
    else this.next();
  }

  /** A job without points ends the one before it. */
  private stop(): void {
    this.lastId += 1;
    this.running = undefined;
    const filter: MeasureJob["filter"] = { kind: "classic", bits: 512, probes: 1 };
    this.worker().postMessage({ id: this.lastId, filter, at: [], queries: 1 });
  }

  private next(): void {
    const wanted = this.queue.shift();
    this.running = undefined;
    if (!wanted) return;
    this.lastId += 1;
    let worker: Worker;
    try {
      worker = this.worker();
    } catch {
      return this.fail();
    }
    this.running = { id: this.lastId, name: Measurer.name(wanted), points: [] };
    if (!this.listening) {
      worker.addEventListener("message", (event: MessageEvent<Answer>) => this.hear(event.data));
      worker.addEventListener("error", () => this.fail());
      this.listening = true;
    }
    worker.postMessage({ id: this.lastId, ...wanted });
  }

  private fail(): void {
    this.problem = "The worker of this page did not start, so the points are missing.";
    this.changed();
  }

  private hear(answer: Answer): void {
    const running = this.running;
    if (!running || answer.id !== running.id) return;
    if ("result" in answer) running.points = [...running.points, answer.result];
    else {
      if ("error" in answer) this.problem = answer.error;
      else this.keep(running.name, running.points);
      this.next();
    }
    this.changed();
  }

  private keep(name: string, points: Measured[]): void {
    this.results.set(name, points);
    // The oldest ones go.
    for (const old of [...this.results.keys()].slice(0, -KEPT)) this.results.delete(old);
  }
}
