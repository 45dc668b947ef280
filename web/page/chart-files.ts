// SPDX-License-Identifier: Apache-2.0
// A chart to take away: as SVG and PNG for articles and slides, and its numbers as CSV.

import type { Drawing } from "./chart";
import { h, s } from "./dom";

/** What the page's style decides of a drawing. */
const STYLED = [
  ...["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity"],
  ...["font-family", "font-size", "font-weight", "text-anchor"],
];

const LEGEND = 26;

function styled(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const name of STYLED) to.setAttribute(name, style.getPropertyValue(name));
  to.removeAttribute("class");
  [...from.children].forEach((child, i) => styled(child, to.children[i]!));
}

/** The drawing by itself: its style in it, on a ground, with its legend below. */
function svgOf(figure: HTMLElement, drawing: Drawing): { text: string; size: [number, number] } {
  const from = figure.querySelector("svg")!;
  const copy = from.cloneNode(true) as SVGElement;
  styled(from, copy);
  const { width, height } = from.viewBox.baseVal;
  const all = height + LEGEND;
  const { backgroundColor, color, fontFamily } = getComputedStyle(document.body);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `0 0 ${width} ${all}`);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(all));
  copy.removeAttribute("role");
  copy.prepend(
    s("title", {}, drawing.summary),
    s("rect", { width, height: all, fill: backgroundColor }),
  );
  const entries = figure.parentElement!.querySelectorAll<HTMLElement>(".legend li");
  let at = 12;
  for (const entry of entries) {
    const swatch = entry.querySelector("svg")!;
    const group = s("g", { transform: `translate(${at},${height})` });
    for (const shape of swatch.children) {
      const same = shape.cloneNode(true) as Element;
      styled(shape, same);
      group.append(same);
    }
    const text = { x: 34, y: 11, fill: color, "font-family": fontFamily, "font-size": 13 };
    group.append(s("text", text, entry.textContent));
    copy.append(group);
    at += 50 + 7.5 * (entry.textContent ?? "").length;
  }
  return { text: new XMLSerializer().serializeToString(copy), size: [width, all] };
}

/** Twice the size, for screens and slides. */
async function pngOf(svg: string, [width, height]: [number, number]): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = h("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d")!.drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"),
  );
}

const quoted = (value: string | number): string => {
  // A table cell that begins like a formula stays a text.
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function csvOf({ table }: Drawing): string {
  return [table.head, ...table.rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

function save(blob: Blob, name: string): void {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const nameOf = (drawing: Drawing): string =>
  drawing.table.caption
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);

/** Three buttons under a chart. */
export function takeAway(figure: HTMLElement, drawn: () => Drawing | undefined): HTMLElement {
  const button = (label: string, make: (drawing: Drawing) => Blob | Promise<Blob>) => {
    const element = h("button", { type: "button", class: "quiet" }, label);
    element.setAttribute("aria-label", `Save the chart as ${label}`);
    element.addEventListener("click", async () => {
      const drawing = drawn();
      if (drawing) save(await make(drawing), `${nameOf(drawing)}.${label.toLowerCase()}`);
    });
    return element;
  };
  return h(
    "div",
    { class: "take-away", role: "group", "aria-label": "Take the chart away" },
    button("SVG", (drawing) => {
      return new Blob([svgOf(figure, drawing).text], { type: "image/svg+xml" });
    }),
    button("PNG", (drawing) => {
      const { text, size } = svgOf(figure, drawing);
      return pngOf(text, size);
    }),
    button("CSV", (drawing) => new Blob([csvOf(drawing)], { type: "text/csv" })),
  );
}
