// SPDX-License-Identifier: Apache-2.0
// What each section of the page is given.

import type { Engine } from "./engine";
import type { Slice } from "./state";

export interface Context {
  engine: Engine;
  /** The section's share of the address. */
  state: Slice;
  /** Says a sentence to screen readers, when nothing has changed for a moment. */
  announce(sentence: string): void;
  /** Jobs that take longer than a frame (worker.ts): the worker that measures, one for the page. */
  worker(): Worker;
  /** Makes a worker, which the caller ends. */
  newWorker(): Worker;
}

/** Builds a section into its element of index.html. */
export type Section = (host: HTMLElement, context: Context) => void;
