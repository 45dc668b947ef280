// SPDX-License-Identifier: Apache-2.0
// The examples of Play: a few words in 16 cells.

import type { Act, Settings } from "./play-model";

export interface Preset {
  id: string;
  label: string;
  story: string;
  settings: Settings;
  acts: Act[];
  ask: string;
}

const add = (key: string): Act => ({ do: "add", key });

const bits: Settings = { kind: "classic", cells: 16, probes: 3, blocksPerKey: 0 };

export const presets: Preset[] = [
  {
    id: "absent",
    label: "A right “no”",
    story:
      "“apple” has set the bits 0, 11 and 15, and “pear” 3, 9 and 11. The bits of “cherry” are 5, 3 and 6. Bit 3 is 1, but 5 and 6 are 0, so “cherry” was never added.",
    settings: bits,
    acts: [add("apple"), add("pear")],
    ask: "cherry",
  },
  {
    id: "present",
    label: "A right “yes”",
    story:
      "All three bits of “apple” are 1, and “apple” itself has set them. The filter only sees the bits, so it says “possibly”.",
    settings: bits,
    acts: [add("apple"), add("pear"), add("plum")],
    ask: "apple",
  },
  {
    id: "wrong",
    label: "A false positive",
    story:
      "“apple”, “pear” and “plum” are in the filter. “garlic” was never added, but its bits 15 and 0 were set by “apple”, and 9 by “pear”. The answer is the same as for “apple”.",
    settings: bits,
    acts: [add("apple"), add("pear"), add("plum")],
    ask: "garlic",
  },
  {
    id: "order",
    label: "Probe by probe",
    story:
      "“banana” goes to the bits 13, 0 and 9, in this order. Press “Next probe” to read them one by one.",
    settings: bits,
    acts: [add("banana")],
    ask: "banana",
  },
  {
    id: "counters",
    label: "Counters",
    story:
      "Counters in place of bits. “apple” and “plum” share counter 2, so it is 2. Type apple into the first box and remove it: “plum” stays. Plain bits would have lost it.",
    settings: { kind: "chain-counting", cells: 16, probes: 3, blocksPerKey: 0 },
    acts: [add("apple"), add("plum")],
    ask: "plum",
  },
];
