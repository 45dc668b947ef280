// SPDX-License-Identifier: Apache-2.0
// An opened filter: its header at once, its bits when they were counted, its checksums when they were
// compared.

import { field, h, replace } from "./dom";
import type { Info } from "./engine";
import { bitFacts, factList, headerFacts, layerTable } from "./inspect-facts";
import { quoted } from "./inspect-open";
import { formatNumber, visible } from "./numbers";
import type { QueryBox } from "./inspect-query";
import type { Remote } from "./inspect-remote";
import { PARTS, strip } from "./inspect-strip";

const STATIC =
  "A static filter has no bits that are set one by one: its table is solved so that every key meets " +
  "its own fingerprint. So it has no fill to show, and its rate does not change.";

/** More keys than planned, or an attack, or bad luck: the rate says it all. */
function overText(info: Info): string | undefined {
  const { liveRate, plannedRate } = info;
  if (liveRate === null || plannedRate <= 0 || liveRate < 1.1 * plannedRate) return undefined;
  return `Its live rate is ${formatNumber(liveRate / plannedRate)} times the planned one.`;
}

function keyedText(info: Info, name: string): string {
  const secret = info.secretInFile ? "" : " --secret-file FILE";
  return (
    "This filter is keyed: its hash is SipHash with a secret, which the library takes from libsodium. " +
    "libsodium is not in this page, so the page shows the structure and cannot look up keys. The command " +
    `answers: bloomery query${secret} ${quoted(name)}`
  );
}

export class View {
  readonly element = h("div", { class: "inspect-result" });
  private readonly strip = strip();
  private readonly layerBox = h("select", {});
  private readonly query: QueryBox;
  private readonly checks = h("p", { class: "inspect-checks" });
  private shown: { remote: Remote; info: Info } | undefined;

  constructor(query: QueryBox) {
    this.query = query;
    this.layerBox.addEventListener("change", () => void this.layer().catch(() => {}));
  }

  clear(): void {
    this.shown = undefined;
    this.query.use(undefined);
    this.element.replaceChildren();
  }

  mark(cells: number[]): void {
    this.strip.mark(cells);
  }

  /** Before its bits were counted. */
  header(info: Info, ours: boolean, fileBytes: number): void {
    this.checks.textContent = "Checksums: not compared yet.";
    replace(
      this.element,
      h("h3", {}, "What the file says"),
      factList(headerFacts(info, ours, fileBytes)),
      ...info.remarks.map((remark) =>
        h("p", { class: "inspect-remark" }, `Remark: ${visible(remark)}.`),
      ),
      this.checks,
    );
  }

  /** `text` as of the command: "all right". */
  checked(text: string): void {
    this.checks.textContent = `Checksums: ${text}.`;
  }

  /** With an info of a scan. */
  async bits(remote: Remote, info: Info, name: string): Promise<void> {
    this.shown = { remote, info };
    const over = overText(info);
    this.element.append(
      h("h3", {}, "What its bits say"),
      factList(bitFacts(info)),
      ...(over === undefined ? [] : [h("p", { class: "inspect-remark" }, over)]),
      ...(info.layers > 1 ? [layerTable(info)] : []),
      info.hasBits ? this.heat(info) : h("p", {}, STATIC),
      h("h3", {}, "Look up a key"),
      info.keyed ? h("p", { class: "inspect-keyed" }, keyedText(info, name)) : this.query.element,
    );
    await this.layer();
  }

  private heat(info: Info): HTMLElement {
    replace(
      this.layerBox,
      ...info.layerList.map((_, i) =>
        h("option", { value: i + info.firstLayer }, `Layer ${i + info.firstLayer + 1}`),
      ),
    );
    this.layerBox.value = String(info.layers - 1);
    return h(
      "div",
      { class: "inspect-heat" },
      info.layers > 1 && field("Layer that is drawn", this.layerBox),
      this.strip.element,
    );
  }

  /** Draws the chosen layer, and asks in it. */
  private async layer(): Promise<void> {
    const { shown } = this;
    if (!shown) return;
    const { remote, info } = shown;
    const layer = info.hasBits ? Number(this.layerBox.value) || 0 : 0;
    if (!info.keyed) this.query.use({ remote, info, layer });
    if (info.hasBits) {
      const fill = await remote.want("fill", { layer, parts: PARTS });
      // Another file was opened during the scan, or another layer chosen.
      if (this.shown !== shown || Number(this.layerBox.value) !== layer) return;
      this.strip.show(fill, info, layer);
    }
    if (!info.keyed) await this.query.ask();
  }
}
