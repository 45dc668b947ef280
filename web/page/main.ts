// SPDX-License-Identifier: Apache-2.0
// Starts the module, and builds the sections. What cannot start says why, and the text stays.

import { calculator } from "./calculator";
import type { Context, Section } from "./context";
import { curve } from "./curve";
import { replace } from "./dom";
import { Engine } from "./engine";
import { inspect } from "./inspect";
import { lab } from "./lab";
import { play } from "./play";
import { Address } from "./state";
import { story } from "./story";

/** Put in by build.mjs, gzipped and in base 85: the module, and the worker's script. */
declare const MODULE: [string, number];
declare const WORKER: [string, number];

const sections: { id: string; prefix: string; build: Section }[] = [
  { id: "story", prefix: "s", build: story },
  { id: "play", prefix: "p", build: play },
  { id: "calculator", prefix: "n", build: calculator },
  { id: "curve", prefix: "c", build: curve },
  { id: "lab", prefix: "l", build: lab },
  { id: "inspect", prefix: "i", build: inspect },
];

/** Five letters are four bytes, the lowest digit first. Letters are # to ; and ? to z, less the backslash, whose
 * place ~ has. The last ones may be zeros that are not part of it. */
function bytesOf(text: string, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array((text.length / 5) * 4);
  const view = new DataView(bytes.buffer);
  const digit = (at: number) => {
    const code = text.charCodeAt(at);
    return code === 126 ? 54 : code - (code < 60 ? 35 : 38);
  };
  for (let from = 0, to = 0; from < text.length; from += 5, to += 4) {
    let word = 0;
    for (let i = 4; i >= 0; i--) word = word * 85 + digit(from + i);
    view.setUint32(to, word);
  }
  return bytes.subarray(0, length);
}

async function unpack([text, length]: [string, number]): Promise<ArrayBuffer> {
  const stream = new Blob([bytesOf(text, length)])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Says the last of several sentences that come fast one after the other. */
function announcer(): (sentence: string) => void {
  const region = document.getElementById("announcements")!;
  let waiting = 0;
  return (sentence) => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => (region.textContent = sentence), 500);
  };
}

/** Marks the part that is being read in the menu. */
function watchParts(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("nav a")];
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const link = links.find(({ hash }) => hash === `#${target.id}`)!;
        if (!isIntersecting) link.removeAttribute("aria-current");
        else {
          link.setAttribute("aria-current", "true");
          // On a phone the menu is wider than the screen. The page itself must not scroll.
          link.parentElement!.scrollLeft = link.offsetLeft - 60;
        }
      }
    },
    { rootMargin: "-35% 0px -64% 0px" },
  );
  for (const { hash } of links) watcher.observe(document.querySelector(hash)!);
}

function complain(sentence: string): void {
  for (const host of document.querySelectorAll(".host")) {
    const paragraph = document.createElement("p");
    paragraph.className = "problem";
    paragraph.textContent = sentence;
    replace(host, paragraph);
  }
}

/** ?embed=play: one part alone, for an article or a slide. */
function embed(query: URLSearchParams): string {
  const part = query.get("embed") ?? "";
  if (!["play", "curve", "calculator"].includes(part)) return "";
  document.documentElement.dataset["embed"] = part;
  const whole = document.querySelector<HTMLAnchorElement>("a.whole")!;
  query.delete("embed");
  const rest = query.toString();
  whole.href = `${location.pathname}${rest === "" ? "" : `?${rest}`}#${part}`;
  return part;
}

/** The part where the page begins: what the address names; else the calculator if there is a query, as
 * links to other calculators have; else the file that is in the page. */
function beginning(address: Address, embedded: string): string {
  if (document.getElementById(address.named())) return address.named();
  if (embedded !== "") return "";
  if (location.search.length > 1) return "calculator";
  return document.querySelector("#given-file[data-name='']") ? "" : "inspect";
}

async function start(): Promise<void> {
  const embedded = embed(new URLSearchParams(location.search));
  if (typeof WebAssembly !== "object")
    return complain(
      "This part runs the library itself as WebAssembly, which this browser does not have.",
    );
  if (typeof DecompressionStream !== "function")
    return complain(
      "This part is compressed, and this browser cannot decompress it (it has no DecompressionStream).",
    );
  const [wasm, workerScript] = await Promise.all([unpack(MODULE), unpack(WORKER)]);
  const engine = await Engine.start(wasm);
  const address = new Address();
  const announce = announcer();
  for (const link of document.querySelectorAll<HTMLAnchorElement>("a[href^='#']"))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.getElementById(link.hash.slice(1))!;
      if (target.id === "main") target.focus();
      else address.go(target.id);
    });
  let script: string | undefined;
  const newWorker = (): Worker => {
    if (typeof Worker !== "function") throw new Error("This browser has no workers.");
    script ??= URL.createObjectURL(new Blob([workerScript], { type: "text/javascript" }));
    const worker = new Worker(script);
    worker.postMessage(wasm);
    return worker;
  };
  let measuring: Worker | undefined;
  for (const { id, prefix, build } of sections) {
    const host = document.querySelector<HTMLElement>(`#${id} .host`)!;
    const context: Context = {
      engine,
      state: address.slice(prefix, id),
      announce,
      worker: () => (measuring ??= newWorker()),
      newWorker,
    };
    try {
      host.replaceChildren();
      build(host, context);
    } catch (error) {
      console.error(error);
      host.append(`This part did not start: ${String(error)}`);
    }
    performance.mark(id);
    // A reader who begins with the first part need not wait for the others.
    await new Promise((resolve) => setTimeout(resolve));
  }
  document.documentElement.dataset["ready"] = "yes";
  const named = beginning(address, embedded);
  const go = () => document.getElementById(named)?.scrollIntoView({ behavior: "instant" });
  if (named !== "") {
    go();
    // Drawings that depend on their width are there a frame later.
    requestAnimationFrame(() => requestAnimationFrame(go));
  }
  watchParts();
}

start().catch((error: unknown) => {
  console.error(error);
  complain(`The library did not start in this browser: ${String(error)}`);
});
