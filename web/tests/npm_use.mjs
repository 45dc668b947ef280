// SPDX-License-Identifier: Apache-2.0
// What test_npm.mjs does with the package, in Node and in Chromium: the same program in both. It returns what the
// test compares with the command's files.

/** Hexadecimal SHA-256 of bytes; file:// pages have no crypto.subtle, and the test's pages are http://localhost. */
async function digest(bytes) {
  const hash = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const texts = (count) =>
  Array.from({ length: count }, (_, i) => `key ${i} é`.slice(0, 5 + (i % 4)));

/** { Filter, BloomeryError } as they are imported; `foreign` are files by their dialects. */
export async function use({ Filter, BloomeryError }, foreign) {
  const found = { files: {}, forms: {}, refusals: {}, foreign: {} };
  const lines = Array.from({ length: 3000 }, (_, i) => `line ${i * 7}`);
  for (const kind of ["blocked", "classic", "counting", "scalable"]) {
    const filter = await Filter.create({ keys: 2000, rate: 0.01, kind });
    filter.addMany(lines.slice(0, 2000));
    found.files[kind] = await digest(filter.save());
    filter.free();
  }
  // Batches of the usual filter have a loop of their own for keys up to 128 bytes.
  const lengths = Array.from({ length: 300 }, (_, i) => `${i}`.padEnd(i, "x"));
  for (const [name, keys] of Object.entries({ lengths, short: lengths.slice(0, 129) })) {
    const usual = await Filter.create({ keys: 2000, rate: 0.01 });
    const added = usual.addMany(keys);
    const answers = [...usual.hasMany([...keys, ...lines])].slice(0, keys.length);
    found.files[name] = await digest(usual.save());
    found.forms[name] = added > 0.9 * keys.length && answers.every((answer) => answer === 1);
    const again = await Filter.create({ keys: 2000, rate: 0.01 });
    found.forms[`${name} one by one`] =
      keys.filter((key) => again.add(key)).length === added && again.info().adds === keys.length;
  }
  for (const dialect of [
    "guava",
    "redisbloom",
    "parquet",
    "cassandra",
    "bits-and-blooms",
    "dcso",
  ]) {
    const filter = await Filter.create({ keys: 2000, rate: 0.01, dialect, kind: undefined });
    for (const line of lines.slice(0, 2000)) filter.add(line);
    found.files[dialect] = await digest(filter.save());
    const again = await Filter.open(filter.save(), { dialect });
    found.foreign[dialect] = again
      .hasMany(lines)
      .slice(0, 2000)
      .every((answer) => answer === 1);
  }
  const integers = await Filter.create({ keys: 2000, rate: 0.001 });
  const ids = Array.from({ length: 2000 }, (_, i) => i * i - 1000);
  integers.addMany(ids);
  found.files.integers = await digest(integers.save());
  // All forms of many keys are the same keys.
  const forms = {
    numbers: ids,
    bigints: ids.map(BigInt),
    float64: Float64Array.from(ids),
    int64: BigInt64Array.from(ids.map(BigInt)),
    int32: Int32Array.from(ids),
    set: new Set(ids),
    // Whose length is another thing than that of an array.
    rope: { length: () => 1, [Symbol.iterator]: () => ids.values() },
    bytes: ids.map((id) => new Uint8Array(BigInt64Array.of(BigInt(id)).buffer)),
  };
  for (const [name, keys] of Object.entries(forms)) {
    const filter = await Filter.create({ keys: 2000, rate: 0.001 });
    const added = filter.addMany(keys);
    const seen = filter.hasMany(keys);
    found.forms[name] =
      (await digest(filter.save())) === found.files.integers &&
      added > 1900 &&
      seen.length === ids.length &&
      seen.every((answer) => answer === 1);
  }
  const wide = new Uint8Array(20 * 500).map((_, i) => (i * 31) >> 3);
  const fixed = await Filter.create({ keys: 500, rate: 0.001 });
  fixed.addMany(wide, { width: 20 });
  const single = await Filter.create({ keys: 500, rate: 0.001 });
  for (let at = 0; at < wide.length; at += 20) single.add(wide.subarray(at, at + 20));
  found.forms.fixed = (await digest(fixed.save())) === (await digest(single.save()));
  // Texts beyond ASCII, longer than the staging memory, empty; mixed with other keys.
  const strange = [
    "",
    "é",
    "日本語",
    "👩‍👩‍👧",
    "\ud800",
    "x".repeat(700000),
    5,
    2n ** 63n,
    new Uint8Array(0),
    ...texts(9000),
  ];
  const many = await Filter.create({ keys: 10000, rate: 0.001, kind: "classic" });
  const one = await Filter.create({ keys: 10000, rate: 0.001, kind: "classic" });
  const news = many.addMany(strange);
  found.mixed = [
    news === strange.filter((key) => one.add(key)).length,
    (await digest(many.save())) === (await digest(one.save())),
    many.hasMany(strange).every((answer) => answer === 1),
    many.has("") && many.has(new Uint8Array(0)) && one.has("日本語"),
  ];
  const counting = await Filter.create({ keys: 100, rate: 0.001, kind: "counting" });
  found.removes = [
    counting.add("a"),
    counting.remove("a"),
    counting.has("a"),
    counting.remove("a"),
  ];
  // What is recognised by itself.
  found.recognised = {};
  for (const [name, base64] of Object.entries(foreign)) {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    try {
      const filter = await Filter.open(bytes);
      found.recognised[name] = filter.info().dialect ?? "ours";
      filter.free();
    } catch (error) {
      found.recognised[name] = error.message;
    }
  }
  found.plan = await Filter.plan({ keys: 2e7, rate: 0.01 });
  found.guava = await Filter.plan({ keys: 2e7, rate: 0.01, dialect: "guava" });
  found.info = (({ adds, kindName, dialect }) => ({ adds, kindName, dialect }))(integers.info());
  const refusals = {
    keys: () => Filter.create({ keys: -1, rate: 0.01 }),
    rate: () => Filter.create({ keys: 10, rate: 2 }),
    kind: () => Filter.create({ keys: 10, rate: 0.01, kind: "round" }),
    static: () => Filter.create({ keys: 10, rate: 0.01, kind: "static" }),
    dialect: () => Filter.create({ keys: 10, rate: 0.01, dialect: "none" }),
    bytes: () => Filter.open(new Uint8Array(100)),
    cut: () => Filter.open(integers.save().subarray(0, 500)),
    empty: () => Filter.open(new Uint8Array(0)),
    text: () => Filter.open(new TextEncoder().encode("pear\nfig\n")),
    gzip: () => Filter.open(Uint8Array.of(0x1f, 0x8b, 8, 0, 1, 2, 3)),
    dump: () => Filter.open(new TextEncoder().encode("REDIS0011\xfa\tredis-ver")),
    path: () => Filter.open("seen.bloom"),
    options: () => Filter.open(integers.save(), "guava"),
    named: () => Filter.open(integers.save(), { dialect: "guava", kind: "classic" }),
    nothing: () => Filter.create(),
    numbers: () => Filter.create(1000, 0.01),
    size: () => Filter.create({ rate: 0.01 }),
    three: () => Filter.create({ keys: 10, rate: 0.01, bytes: 100 }),
    misspelt: () => Filter.create({ keys: 10, rate: 0.01, Kind: "classic" }),
    texts: () => Filter.create({ keys: "10", rate: 0.01 }),
    rates: () => Filter.plan({ keys: 10, rate: "0.01" }),
    foreign: () => Filter.create({ keys: -1, rate: 0.01, dialect: "guava" }),
    unused: () => Filter.create({ keys: 10, rate: 0.01, kind: "classic", dialect: "guava" }),
    format: () => integers.save({ format: "json" }),
    made: () => new Filter(),
    many: () => integers.addMany({}),
    holes: () => integers.hasMany(["a", undefined]),
    key: () => integers.add(0.5),
    object: () => integers.add({}),
    width: () => integers.addMany(new Uint8Array(10)),
    string: () => integers.addMany("a text"),
    remove: () => integers.remove("a"),
    freed: () => counting.has((counting.free(), "a")),
  };
  for (const [name, call] of Object.entries(refusals))
    try {
      await call();
      found.refusals[name] = "not refused";
    } catch (error) {
      const code = error instanceof BloomeryError ? `${error.code}: ` : "";
      found.refusals[name] = `${error.name}: ${code}${error.message}`;
    }
  return found;
}
