// SPDX-License-Identifier: Apache-2.0
// Ordinary words, with which the page looks for false positives.

const WORDS = (
  "fig cherry lemon peach mango carrot melon grape lime date olive quince papaya banana apricot guava " +
  "lychee coconut kiwi berry damson currant raspberry blueberry pomegranate tangerine tomato " +
  "onion garlic pepper potato radish turnip leek celery bean pea lentil cabbage lettuce spinach " +
  "fennel basil mint thyme sage rosemary almond walnut hazelnut pecan chestnut peanut oat rye wheat " +
  "barley rice maize orange"
).split(" ");

/** The words of the list, and then "word 1", "word 2" and so on. */
const wordAt = (i: number): string => WORDS[i] ?? `word ${i - WORDS.length + 1}`;

export interface Search {
  /** The words that got a "no", in the order in which they were tried. */
  refused: string[];
  /** The first one that got a "yes", and its number; undefined after `most` words. */
  word: string | undefined;
  at: number;
}

/** Tries words from number `from` on until the filter takes one for an added one. */
export function findFalsePositive(
  mayContain: (word: string) => boolean,
  isIn: (word: string) => boolean,
  from: number,
  most: number,
): Search {
  const refused: string[] = [];
  for (let at = from; at < from + most; at++) {
    const word = wordAt(at);
    if (isIn(word)) continue;
    if (mayContain(word)) return { refused, word, at };
    refused.push(word);
  }
  return { refused, word: undefined, at: from + most };
}
