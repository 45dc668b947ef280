// SPDX-License-Identifier: Apache-2.0
// The state of the page, all of it, is in the address: #SECTION&name=value&name=value. Each part of
// the page has names with a prefix of its own. Nothing is stored anywhere else.
//
// Moving a slider replaces the address; letting go pushes it, so that "back" undoes one decision.

export type How = "push" | "replace";

/** In an address: a box that was cleared, where no value would mean the usual one. */
export const CLEARED = "-";

export const uncleared = (text: string): string => (text === CLEARED ? "" : text);

/** One section's share of the address. */
export interface Slice {
  get(name: string): string | undefined;
  /** undefined and "" remove a name. */
  /** The address then names the section, or another part of it. */
  set(values: Record<string, string | undefined>, how: How, part?: string): void;
  /** Called when the address was changed by somebody else: back, forward, a pasted address. */
  onChange(listener: () => void): void;
}

export class Address {
  private values = new Map<string, string>();
  private section = "";
  private readonly listeners: (() => void)[] = [];
  private waiting = 0;
  /** The address of the last decision: what a slider that moves has not replaced. */
  private committed = "";

  constructor() {
    this.read();
    this.committed = location.hash;
    const changed = () => {
      const before = this.section;
      this.read();
      this.committed = location.hash;
      this.listeners.forEach((listener) => listener());
      if (this.section !== before)
        document.getElementById(this.section)?.scrollIntoView({ behavior: "instant" });
    };
    addEventListener("popstate", changed);
  }

  /** Goes to a part of the page, and keeps the state: a bare "#curve" would be an address without. */
  go(section: string): void {
    this.section = section;
    this.write("push");
    document.getElementById(section)?.scrollIntoView();
  }

  private read(): void {
    this.values.clear();
    const [section = "", ...rest] = location.hash.slice(1).split("&");
    this.section = section.includes("=") ? "" : section;
    for (const pair of section.includes("=") ? [section, ...rest] : rest) {
      const at = pair.indexOf("=");
      if (at <= 0) continue;
      try {
        this.values.set(pair.slice(0, at), decodeURIComponent(pair.slice(at + 1)));
      } catch {
        // A pair that is not valid text is not a parameter of the page.
      }
    }
  }

  /** The id of the section that the address names. */
  named(): string {
    return this.section;
  }

  private write(how: How): void {
    clearTimeout(this.waiting);
    const pairs = [...this.values].map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    const hash = `#${[this.section, ...pairs].join("&")}`;
    const isNew = hash !== this.committed && !(hash === "#" && this.committed === "");
    try {
      if (how === "replace" || !isNew) {
        if (hash !== location.hash && !(hash === "#" && location.hash === ""))
          history.replaceState(null, "", hash);
      } else {
        // A slider has replaced the entry on its way: that entry gets its own address back.
        if (location.hash !== this.committed)
          history.replaceState(null, "", this.committed || location.pathname + location.search);
        history.pushState(null, "", hash);
        this.committed = hash;
      }
    } catch {
      // Browsers limit how often an address changes: the last value is written a little later.
      this.waiting = window.setTimeout(() => this.write("replace"), 1000);
    }
  }

  slice(prefix: string, section: string): Slice {
    return {
      get: (name) => this.values.get(`${prefix}.${name}`),
      set: (values, how, part = section) => {
        for (const [name, value] of Object.entries(values)) {
          if (value === undefined || value === "") this.values.delete(`${prefix}.${name}`);
          // Half a surrogate pair has no UTF-8, which an address is made of.
          else
            this.values.set(
              `${prefix}.${name}`,
              new TextDecoder().decode(new TextEncoder().encode(value)),
            );
        }
        this.section = part;
        this.write(how);
      },
      onChange: (listener) => this.listeners.push(listener),
    };
  }
}
