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

/** Put in by build.mjs: the module, gzipped, in base64; and the worker's script. */
declare const MODULE: string;
declare const WORKER: string;

const sections: { id: string; prefix: string; build: Section }[] = [
  { id: "story", prefix: "s", build: story },
  { id: "play", prefix: "p", build: play },
  { id: "calculator", prefix: "n", build: calculator },
  { id: "curve", prefix: "c", build: curve },
  { id: "lab", prefix: "l", build: lab },
  { id: "inspect", prefix: "i", build: inspect },
];

async function unpack(base64: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
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

async function start(): Promise<void> {
  if (typeof WebAssembly !== "object")
    return complain(
      "This part runs the library itself as WebAssembly, which this browser does not have.",
    );
  if (typeof DecompressionStream !== "function")
    return complain(
      "This part is compressed, and this browser cannot decompress it (it has no DecompressionStream).",
    );
  const wasm = await unpack(MODULE);
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
    script ??= URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
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
  // A page with a file in it begins where the file is.
  const named =
    address.named() || (document.querySelector("#given-file[data-name='']") ? "" : "inspect");
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
