// SPDX-License-Identifier: Apache-2.0
// Which other systems' filters bytes without a magic may be.

import type { Dialect, Engine } from "./engine";

/** The dialects that take these bytes by themselves, but not as many bytes of noise. */
export function candidates(engine: Engine, bytes: Uint8Array): Dialect[] {
  // A file of zeros, say, has the form of an empty filter, and is more likely none.
  if (bytes.every((byte) => byte === bytes[0])) return [];
  let state = 1;
  const noise = bytes.map(() => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24);
  const takes = (dialect: Dialect, data: Uint8Array) => {
    try {
      const filter = engine.loadDialect(dialect.id, data, {});
      // RocksDB has files that say yes to every key: one byte makes any bytes such a file.
      const { liveRate } = filter.info(true);
      filter.free();
      return liveRate !== 1;
    } catch {
      return false;
    }
  };
  return engine
    .dialects()
    .filter(
      (dialect) =>
        dialect.reads &&
        dialect.loadNeeds === "" &&
        takes(dialect, bytes) &&
        !takes(dialect, noise),
    );
}
