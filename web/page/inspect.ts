// SPDX-License-Identifier: Apache-2.0
// Inspect: a filter file that is dropped, chosen, pasted, or was put into the page by the command. Its
// bytes stay in this browser. Whatever it says is text. A file that names its system, or looks like that
// of one, is opened without a question.

import type { Context, Section } from "./context";
import { h, replace } from "./dom";
import { type Info, Refusal } from "./engine";
import { type Form, NO_MEMORY, UNREADABLE } from "./inspect-desk";
import { dialectForm } from "./inspect-form";
import { headOf, hex, isGzip, isOurs, type Source, tooLarge, unpack } from "./inspect-open";
import { Remote, Superseded } from "./inspect-remote";
import { type Chosen, example, fromDrop, fromList, fromPage } from "./inspect-sources";
import { queryBox } from "./inspect-query";
import { View } from "./inspect-view";
import { formatCount, formatOneIn, readable } from "./numbers";

const NOTHING = "No file is open.";

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
  private readonly title = document.title;

  private readonly fileInput = h("input", { type: "file", id: "inspect-file" });
  private readonly zone = h("div", { class: "inspect-zone" });
  private readonly invitation = h("label", {
    class: "inspect-invitation",
    for: this.fileInput.id,
  });
  private readonly status = h("p", { class: "inspect-status" }, NOTHING);
  private readonly problem = h("p", { class: "problem", hidden: true });
  private readonly others = h("details", { class: "inspect-others" });
  /** Where the system was guessed: what it could be besides. */
  private readonly guessed = h("p", { class: "inspect-guessed", hidden: true });
  private readonly bytes = h("details", { hidden: true });
  private readonly form;
  private readonly query = queryBox(
    (cells) => this.view.mark(cells),
    (sentence) => this.context.announce(sentence),
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
    this.others.append(
      h("summary", {}, "Choose the system that made the file"),
      h("p", { class: "hint" }, this.unmarked()),
      this.form.element,
    );
    return h(
      "div",
      { class: "inspect" },
      this.zone,
      this.status,
      this.problem,
      this.guessed,
      this.bytes,
      this.others,
      this.view.element,
    );
  }

  /** The systems that a file cannot be known by: they need numbers that are not in it. */
  private unmarked(): string {
    const names = this.context.engine
      .dialects()
      .filter(({ reads, magic, loadNeeds }) => reads && !magic && loadNeeds !== "")
      .map(({ name }) => name);
    return `Most systems are recognised. Files of these need numbers that they do not contain: ${names.join(", ")}.`;
  }

  private invite(over: boolean): void {
    this.section.classList.toggle("inspect-over", over);
    document.body.classList.toggle("dropping", over);
    this.invitation.textContent = over
      ? "Drop the file to open it here."
      : "Drop a filter file anywhere on this page, paste one, or choose it.";
  }

  private listen(): void {
    // So that the same file can be chosen again.
    this.fileInput.addEventListener("click", () => (this.fileInput.value = ""));
    this.fileInput.addEventListener("change", () => {
      const chosen = fromList(this.fileInput.files);
      if (chosen) void this.take(chosen);
    });
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    addEventListener("dragenter", (event) => {
      if (hasFiles(event)) this.invite(++this.over > 0);
    });
    addEventListener("dragleave", (event) => {
      if (hasFiles(event)) this.invite((this.over = Math.max(0, this.over - 1)) > 0);
    });
    addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.dataTransfer!.dropEffect = "copy";
    });
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.over = 0;
      this.invite(false);
      if (!(event.target instanceof Node && this.section.contains(event.target)))
        this.section.scrollIntoView({ behavior: "instant" });
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
  }

  // ---- Opening ----

  private close(): void {
    this.view.clear();
    this.remote?.close();
    this.remote = undefined;
    this.opened = false;
    this.info = undefined;
    this.guessed.hidden = this.bytes.hidden = true;
    document.title = this.title;
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
    // Many sentences have the place already.
    const isNamed = new RegExp(`\\b${error.offset}\\b`).test(error.message);
    const where = error.offset > 0 && !isNamed ? `, at byte ${formatCount(error.offset)}` : "";
    const about = this.source ? `“${this.source.name}”: ` : "";
    return `${about}${readable(error.message)}${where}.`;
  }

  private async take({ source, remark }: Chosen, asChosen = false): Promise<void> {
    this.source = source;
    // What was chosen for the last file says nothing about this one.
    if (!asChosen) this.form.set(undefined, () => undefined);
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
      else await this.guess(remote, head, progress, remark);
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

  /** No first bytes say whose it is: it is opened as what it looks like. */
  private async guess(remote: Remote, head: Uint8Array, progress: Progress, remark?: string) {
    const source = this.source!;
    const [first, ...rest] = await remote.want("guess", { blob: source.blob });
    if (remote !== this.remote) throw new Superseded();
    replace(
      this.bytes,
      h("summary", {}, "Its first bytes"),
      h("p", {}, h("code", {}, hex(head.subarray(0, 16))), "; a Bloomery file begins with "),
      h("p", {}, h("code", {}, "89 42 4c 4f 4f 4d 0d 0a")),
    );
    this.bytes.hidden = false;
    if (first === undefined) {
      this.others.open = true;
      throw new Error(
        `“${source.name}” is not a filter file that this page recognises. If a system made it that is not recognised, choose it below.`,
      );
    }
    this.form.set(first, () => undefined);
    const chosen = this.form.read();
    if (typeof chosen === "string") throw new Error(chosen);
    await this.open(remote, { form: "dialect", ...chosen }, progress, remark);
    const also = rest.length > 0 ? ` It could also be of ${rest.join(" or ")}.` : "";
    replace(
      this.guessed,
      `It looks like a filter of ${first}, judging by its numbers; nothing in it says so.${also} `,
      h(
        "button",
        {
          type: "button",
          class: "link",
          onclick: () => {
            this.others.open = true;
            this.form.focus();
          },
        },
        "Not that? Choose another system",
      ),
    );
    this.guessed.hidden = false;
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
    progress(`“${name}” is open${damage ? ", but damaged" : ""}. ${remarks}`);
    document.title = `${name}: ${this.title}`;
    if (damage) {
      this.view.checked("this file is damaged");
      this.say(`“${name}”: ${readable(damage.error)}.`);
    } else {
      this.view.checked(ours ? "all right" : "this format has none");
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
