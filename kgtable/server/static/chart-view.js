// A chart that the server drew, with its downloads; the table or the cells beside it say the same in words.

import { h } from "./shell.js";

const DOTS = 2;

/** The figure of a chart: `{ svg, description }`. */
export function chartView({ svg, description }) {
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  const picture = h("img", { src: source, alt: description });
  const save = h("button", { type: "button", onclick: () => savePng(picture) }, "PNG");
  return h("figure", { class: "chart" }, picture,
    h("figcaption", { class: "downloads" }, h("span", { class: "quiet" }, "Download"), h("a", { class: "button", href: source, download: "chart.svg" }, "SVG"), save));
}

function savePng(picture) {
  const canvas = h("canvas", { width: picture.naturalWidth * DOTS, height: picture.naturalHeight * DOTS });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  h("a", { href: canvas.toDataURL("image/png"), download: "chart.png" }).click();
}
