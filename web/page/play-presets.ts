// SPDX-License-Identifier: Apache-2.0
// The worked examples of the writings that this project descends from: a bitarray filter, and a
// counting filter. No form of that filter hashes the letters a, b and c to their cells, so numbers
// stand for them whose cells these are (tests/dialect/test_md5_chain.py finds the same).

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

/** a = {2, 6, 13}, b = {4, 10, 11}, c = {6, 11, 12}; and 654321 -> 1, 15, 11. */
export const standIns = {
  a: "4",
  b: "611",
  c: "575",
  number: "8643",
  counterA: "8",
  counterB: "6",
};

export const presets: Preset[] = [
  {
    id: "absent",
    label: "16 bits: absent",
    story:
      "16 bits and 3 probes: a sets the cells 2, 6 and 13, and b sets 4, 10 and 11 (the keys 4 and 611 stand for them). The lookup of c (575), with the cells 6, 11 and 12, returns “definitely not”, because no key set cell 12.",
    settings: { kind: "chain", cells: 16, probes: 3, blocksPerKey: 0 },
    acts: [add(standIns.a), add(standIns.b)],
    ask: standIns.c,
  },
  {
    id: "wrong",
    label: "16 bits: false positive",
    story:
      "The same filter with c (575) added: cells 2, 4, 6, 10, 11, 12 and 13 are set. The key 965 was never added, but a, b and c together have set its cells 4, 6 and 12.",
    settings: { kind: "chain", cells: 16, probes: 3, blocksPerKey: 0 },
    acts: [add(standIns.a), add(standIns.b), add(standIns.c)],
    ask: "965",
  },
  {
    id: "present",
    label: "16 bits: present",
    story:
      "The same filter, and a lookup of a (4): all of its cells are set, and here a itself set them. A false positive gets the same answer, because a filter cannot distinguish the two.",
    settings: { kind: "chain", cells: 16, probes: 3, blocksPerKey: 0 },
    acts: [add(standIns.a), add(standIns.b), add(standIns.c)],
    ask: standIns.a,
  },
  {
    id: "number",
    label: "A number to 1, 15, 11",
    story:
      "One key in 16 bits, hashed three times: the writing's number 654321 goes to the cells 1, 15 and 11, in this order, and the key 8643 stands for it. Step through its probes.",
    settings: { kind: "chain", cells: 16, probes: 3, blocksPerKey: 0 },
    acts: [add(standIns.number)],
    ask: standIns.number,
  },
  {
    id: "counters",
    label: "Counters",
    story:
      "Counters in place of bits: a makes [0,1,1,0,0], and with b, which is [0,0,1,0,1], they are [0,1,2,0,1] (the keys 8 and 6 stand for a and b). Type 8 and remove it: b stays, where plain bits would have lost it with cell 2.",
    settings: { kind: "chain-counting", cells: 5, probes: 2, blocksPerKey: 0 },
    acts: [add(standIns.counterA), add(standIns.counterB)],
    ask: standIns.counterB,
  },
];
