// SPDX-License-Identifier: Apache-2.0
// The page's side of Inspect's worker (inspect-desk.ts). Each file has a worker of its own, which ends
// when the file is closed, whatever it is at.

import { Refusal } from "./engine";
import type { Reply, WishName, Wishes } from "./inspect-desk";

/** Nobody waits for this file any more. */
export class Superseded extends Error {}

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
  progress: ((sentence: string) => void) | undefined;
}

function errorOf(reply: { failure: string; status?: number; offset?: number }): Error {
  const { failure, status, offset } = reply;
  if (status === undefined) return new Error(failure);
  return new Refusal({ error: failure, status, offset: offset ?? 0, name: "" });
}

export class Remote {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;
  private ended: Error | undefined;

  constructor(worker: Worker) {
    this.worker = worker;
    worker.addEventListener("message", (event: MessageEvent<Reply>) => this.hear(event.data));
    worker.addEventListener("error", () =>
      this.end(new Error("The worker of this page did not start, so no file can be opened.")),
    );
  }

  want<Name extends WishName>(
    wish: Name,
    what: Wishes[Name]["wish"],
    progress?: (sentence: string) => void,
  ): Promise<Wishes[Name]["gets"]> {
    return new Promise((resolve, reject) => {
      if (this.ended) return reject(this.ended);
      const id = ++this.lastId;
      this.waiting.set(id, { resolve, reject, progress });
      this.worker.postMessage({ id, wish, ...what });
    });
  }

  private hear(reply: Reply): void {
    const waiting = this.waiting.get(reply.id);
    if (!waiting) return;
    if ("progress" in reply) return waiting.progress?.(reply.progress);
    this.waiting.delete(reply.id);
    if ("failure" in reply) waiting.reject(errorOf(reply));
    else waiting.resolve(reply.value as never);
  }

  private end(why: Error): void {
    if (this.ended) return;
    this.ended = why;
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(why);
    this.waiting.clear();
  }

  close(): void {
    this.end(new Superseded());
  }
}
