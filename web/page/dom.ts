// SPDX-License-Identifier: Apache-2.0
// Elements. Whatever comes from an address, a file or a person becomes text, never markup.

type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | undefined | ((event: never) => void);

const SVG = "http://www.w3.org/2000/svg";

function fill(element: Element, attributes: Record<string, Value>, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function")
      element.addEventListener(name.replace(/^on/, ""), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
}

export function append(element: Element, children: Child[]): void {
  for (const child of children)
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : String(child));
}

/** An HTML element: h("button", { type: "button", onclick: go }, "Go"). */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  fill(element, attributes, children);
  return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, name) as SVGElementTagNameMap[K];
  fill(element, attributes, children);
  return element;
}

/** A text whose parts stay whole where they fit into a line: it breaks before a bracket and after a comma. */
export function inParts(text: string): Child[] {
  return text
    .split(/(?<=,) | (?=\(|n log)/)
    .flatMap((part, i) => [i > 0 && " ", h("span", { class: "part" }, part)]);
}

/** Puts other children into an element. */
export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

let lastId = 0;

/** An id that no other element has. */
export function freshId(stem: string): string {
  lastId += 1;
  return `${stem}-${lastId}`;
}

/** A label with its control below it: field("Keys", input). */
export function field(label: string, control: HTMLElement, hint?: string): HTMLElement {
  if (!control.id) control.id = freshId("field");
  const parts: Child[] = [h("label", { for: control.id }, label), control];
  if (hint !== undefined) {
    const hintId = `${control.id}-hint`;
    control.setAttribute("aria-describedby", hintId);
    parts.push(h("span", { class: "hint", id: hintId }, hint));
  }
  return h("div", { class: "field" }, ...parts);
}

/** Says that what a control has is wrong, and where the sentence about it is; or that all is well. */
export function complain(control: HTMLElement, message: HTMLElement | undefined): void {
  const usual = (control.getAttribute("aria-describedby") ?? "")
    .split(" ")
    .filter((id) => id !== "" && id !== control.getAttribute("aria-errormessage"));
  if (message) {
    if (!message.id) message.id = freshId("message");
    usual.push(message.id);
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-errormessage", message.id);
  } else {
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-errormessage");
  }
  if (usual.length > 0) control.setAttribute("aria-describedby", usual.join(" "));
  else control.removeAttribute("aria-describedby");
}

/** A choice of one of a few: radio buttons in a row, which the arrow keys walk. */
export function choice(
  legend: string,
  options: { value: string; label: string; title?: string }[],
  onchange: (value: string) => void,
): { element: HTMLFieldSetElement; set: (value: string) => void } {
  const name = freshId("choice");
  const inputs = options.map(({ value, label, title }) => {
    const input = h("input", { type: "radio", name, value, id: freshId("radio") });
    input.addEventListener("change", () => onchange(value));
    return {
      input,
      item: h("label", { class: "pill", for: input.id, title }, input, h("span", {}, label)),
    };
  });
  const element = h(
    "fieldset",
    { class: "choice" },
    h("legend", {}, legend),
    ...inputs.map(({ item }) => item),
  );
  return {
    element,
    set: (value) => inputs.forEach(({ input }) => (input.checked = input.value === value)),
  };
}

/** A button that copies a text, and says that it has. */
export function copyButton(what: string, text: () => string): HTMLButtonElement {
  const label = `Copy ${what}`;
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      done = false;
    }
    button.textContent = done ? "Copied" : "The browser forbids copying";
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

/** A table with a caption. Its cells know their column's name, and have their roles where they are drawn as cards. */
export function table(
  caption: string,
  head: string[],
  rows: (string | number | Node)[][],
): HTMLTableElement {
  return h(
    "table",
    { role: "table" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
    h(
      "tbody",
      {},
      ...rows.map((row) =>
        h(
          "tr",
          { role: "row" },
          ...row.map((cell, i) =>
            i === 0
              ? h("th", { scope: "row", role: "rowheader" }, cell)
              : h("td", { role: "cell", "data-head": head[i] }, cell),
          ),
        ),
      ),
    ),
  );
}

/** A table may be wider than a small screen: a box that scrolls by itself, by keyboard too. There each row of `cards` is
 * a card, so that no column is out of sight. */
export function scrolling(name: string, element: HTMLElement, cards = false): HTMLElement {
  const look = cards ? "scrolling cards" : "scrolling";
  return h("div", { class: look, tabindex: 0, role: "region", "aria-label": name }, element);
}
