// SPDX-License-Identifier: Apache-2.0
// Inspect: a filter file that is dropped, chosen, pasted, or was put into the page by the command. Its
// bytes stay in this browser. Whatever it says is text.

import type { Context, Section } from "./context";
import { h } from "./dom";
import { type Info, Refusal } from "./engine";
import { type Form, NO_MEMORY, UNREADABLE } from "./inspect-desk";
import { dialectForm } from "./inspect-form";
import { headOf, hex, isGzip, isOurs, type Source, tooLarge, unpack } from "./inspect-open";
import { Remote, Superseded } from "./inspect-remote";
import { type Chosen, example, fromDrop, fromList, fromPage } from "./inspect-sources";
import { queryBox } from "./inspect-query";
import { View } from "./inspect-view";
import { formatCount, formatOneIn } from "./numbers";

const NOTHING =
  "No file is open. The page recognizes files of bloomery build and of some other systems; " +
  "for other files, name the system.";

/** Says how far it is; throws Superseded where nobody waits for it any more. */
type Progress = (sentence: string) => void;

class Inspect {
  private readonly context: Context;
  private readonly section: HTMLElement;
  private source: Source | undefined;
  private remote: Remote | undefined;
  private opened = false;
  private info: Info | undefined;
  private turn = 0;
  private over = 0;

  private readonly fileInput = h("input", { type: "file", id: "inspect-file" });
  private readonly zone = h("div", { class: "inspect-zone" });
  private readonly invitation = h("p", { class: "inspect-invitation" });
  private readonly status = h("p", { class: "inspect-status" }, NOTHING);
  private readonly problem = h("p", { class: "problem", hidden: true });
  private readonly others = h("details", { class: "inspect-others" });
  private readonly form;
  private readonly query = queryBox(
    (cells) => this.view.mark(cells),
    (text, how) => {
      this.context.state.set({ q: text }, how);
      void this.query.ask().then((sentence) => {
        if (sentence !== "") this.context.announce(sentence);
      });
    },
  );
  private readonly view = new View(this.query);

  constructor(host: HTMLElement, context: Context) {
    this.context = context;
    this.section = host.closest("section") ?? host;
    this.form = dialectForm(context.engine, () => void this.openAsChosen());
    host.append(this.layout());
    this.listen();
    context.state.onChange(() => this.restore());
    this.restore();
    const given = fromPage();
    if (given) void this.take(given, context.state.get("d") !== undefined);
  }

  private layout(): HTMLElement {
    this.invite(false);
    this.zone.append(
      this.invitation,
      h("label", { class: "inspect-choose", for: this.fileInput.id }, "Choose a filter file"),
      this.fileInput,
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => void this.takeOrSay(() => example(this.context.engine)),
        },
        "Try an example",
      ),
      h(
        "p",
        { class: "hint" },
        "The file stays in this browser: the page reads it and neither sends nor stores any of it.",
      ),
    );
    this.others.append(h("summary", {}, "A file of another system"), this.form.element);
    return h(
      "div",
      { class: "inspect" },
      this.zone,
      this.others,
      this.status,
      this.problem,
      this.view.element,
    );
  }

  private invite(over: boolean): void {
    this.section.classList.toggle("inspect-over", over);
    this.invitation.textContent = over
      ? "Drop the file to open it here."
      : "Drop a file anywhere in this part, paste one, or choose it.";
  }

  private listen(): void {
    // So that the same file can be chosen again.
    this.fileInput.addEventListener("click", () => (this.fileInput.value = ""));
    this.fileInput.addEventListener("change", () => {
      const chosen = fromList(this.fileInput.files);
      if (chosen) void this.take(chosen);
    });
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const { section } = this;
    section.addEventListener("dragenter", (event) => {
      if (hasFiles(event)) this.invite(++this.over > 0);
    });
    section.addEventListener("dragleave", (event) => {
      if (hasFiles(event)) this.invite((this.over = Math.max(0, this.over - 1)) > 0);
    });
    // Elsewhere on the page a browser would leave it and show the file.
    addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      const here = event.target instanceof Node && section.contains(event.target);
      event.dataTransfer!.dropEffect = here ? "copy" : "none";
    });
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.over = 0;
      this.invite(false);
      if (!(event.target instanceof Node && section.contains(event.target))) return;
      void this.takeOrSay(() => fromDrop(event.dataTransfer!));
    });
    addEventListener("paste", (event) => {
      const files = event.clipboardData?.files;
      if (!files || files.length === 0) return;
      event.preventDefault();
      void this.takeOrSay(() => fromList(files));
    });
  }

  private restore(): void {
    const { get } = this.context.state;
    this.form.set(get("d"), get);
    this.others.open ||= get("d") !== undefined;
    this.query.input.value = get("q") ?? "";
    void this.query.ask();
  }

  // ---- Opening ----

  private close(): void {
    this.view.clear();
    this.remote?.close();
    this.remote = undefined;
    this.opened = false;
    this.info = undefined;
    this.say(undefined);
  }

  private say(problem: string | undefined): void {
    this.problem.hidden = problem === undefined;
    this.problem.textContent = problem ?? "";
    if (problem !== undefined) this.context.announce(problem);
  }

  private async takeOrSay(choose: () => Chosen | undefined): Promise<void> {
    this.fileInput.value = "";
    try {
      const chosen = choose();
      if (chosen) await this.take(chosen);
    } catch (error) {
      this.turn += 1;
      this.close();
      this.source = undefined;
      this.section.removeAttribute("aria-busy");
      this.status.textContent = "No file is open.";
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** Runs one opening, in a worker; a later one supersedes it. */
  private async run(open: (remote: Remote, progress: Progress) => Promise<void>) {
    const turn = ++this.turn;
    this.close();
    this.section.setAttribute("aria-busy", "true");
    const progress = (sentence: string) => {
      if (this.turn !== turn) throw new Superseded();
      this.status.textContent = sentence;
    };
    try {
      this.remote = new Remote(this.context.newWorker());
      await open(this.remote, progress);
    } catch (error) {
      if (error instanceof Superseded || this.turn !== turn) return;
      if (!this.opened) {
        this.status.textContent = `“${this.source?.name}” is not open.`;
        this.remote?.close();
      }
      this.say(this.sentence(error));
    } finally {
      if (this.turn === turn) this.section.removeAttribute("aria-busy");
    }
  }

  private sentence(error: unknown): string {
    const { source } = this;
    if (!(error instanceof Error)) return String(error);
    if (source && error.message === NO_MEMORY) return tooLarge(source).message;
    if (source && error.message === UNREADABLE) return `“${source.name}” ${UNREADABLE}.`;
    if (!(error instanceof Refusal)) return error.message;
    const where = error.offset > 0 ? `, at byte ${formatCount(error.offset)}` : "";
    const about = this.source ? `“${this.source.name}”: ` : "";
    return `${about}${error.message}${where}.`;
  }

  private async take({ source, remark }: Chosen, asChosen = false): Promise<void> {
    this.source = source;
    await this.run(async (remote, progress) => {
      progress(`Reading “${source.name}”.`);
      if (source.blob.size === 0)
        throw new Error(`“${source.name}” is empty: it has zero bytes, and a filter is longer.`);
      let head = await headOf(source);
      if (isGzip(head)) {
        progress(`Decompressing “${source.name}”.`);
        const unpacked = await unpack(source, () => this.remote === remote);
        progress(`Reading “${source.name}”.`);
        if (unpacked) {
          this.source = unpacked;
          head = await headOf(unpacked);
        }
      }
      progress(`Reading “${source.name}”.`);
      const form = this.formOf(head, asChosen);
      if (form) await this.open(remote, form, progress, remark);
      else await this.offer(remote, head);
    });
  }

  /** By the first bytes; by what the address names only if it came with the file. */
  private formOf(head: Uint8Array, asChosen: boolean): Form | undefined {
    const { engine } = this.context;
    if (isOurs(head)) return { form: "ours" };
    const found = engine.sniff(head);
    const dialect = engine.dialects().find(({ id }) => id === found);
    if (dialect) return { form: "dialect", dialect, given: {} };
    const chosen = asChosen ? this.form.read() : "";
    return typeof chosen === "string" ? undefined : { form: "dialect", ...chosen };
  }

  /** Not ours, and of no system whose files say it. */
  private async offer(remote: Remote, head: Uint8Array): Promise<void> {
    const source = this.source!;
    const looks = await remote.want("guess", { blob: source.blob });
    if (remote !== this.remote) throw new Superseded();
    this.others.open = true;
    const [first] = looks;
    if (first) this.form.set(first, () => undefined);
    const names = looks.join(" or ");
    throw new Error(
      `“${source.name}” is not a Bloomery filter: those begin with the bytes 89 42 4c 4f 4f 4d 0d 0a, ` +
        `and this file with ${hex(head.subarray(0, 8))}. ` +
        (first
          ? `It looks like a filter of ${names}: if it is one, press “Open as this”.`
          : "If another system made it, name the system and its parameters."),
    );
  }

  private async openAsChosen(): Promise<void> {
    const chosen = this.form.read();
    this.context.state.set(this.form.state(), "push");
    if (typeof chosen === "string") return this.say(chosen);
    if (!this.source) return this.say("Choose or drop a file first.");
    await this.run((remote, progress) =>
      this.open(remote, { form: "dialect", ...chosen }, progress),
    );
  }

  private async open(remote: Remote, form: Form, progress: Progress, remark?: string) {
    const source = this.source!;
    const { blob, name } = source;
    const header = await remote.want("open", { blob, bytes: blob.size, form }, progress);
    progress(`“${name}”: counting its bits.`);
    this.opened = true;
    const ours = form.form === "ours";
    this.view.header(header, ours, blob.size);
    const info = await remote.want("info", {});
    progress(`“${name}”: comparing its checksums.`);
    // Before a key is asked: in a damaged file no bit proves anything.
    const damage = await remote.want("verify", {});
    progress(`“${name}” is open.`);
    this.info = info;
    if (damage) this.query.damaged();
    await this.view.bits(remote, info, name);
    const remarks = [source.remark, remark].filter(Boolean).join(" ");
    progress(`“${name}” is open. ${remarks}`);
    if (damage) {
      const where = `damaged at byte ${formatCount(damage.offset)}`;
      this.view.checked(where);
      this.say(`“${name}” is ${where}: ${damage.error}.`);
    } else {
      this.view.checked(ours ? "all right" : "none: this format has none");
      this.context.announce(this.told());
    }
  }

  private told(): string {
    const { info, source } = this;
    if (!info || !source) return "";
    const keys =
      info.estimatedKeys === null ? "" : ` with about ${formatCount(info.estimatedKeys)} keys`;
    const rate = info.liveRate === null ? "" : `, live rate ${formatOneIn(info.liveRate)}`;
    return `“${source.name}” is open: a ${info.kindName} filter${keys}${rate}.`;
  }
}

export const inspect: Section = (host, context) => {
  new Inspect(host, context);
};
