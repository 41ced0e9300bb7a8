// Puts a snapshot into the page: texts, attributes, lists. What is shown where stands in the HTML.
import { field, fill, shown } from "./format.js";

const drawn = new WeakMap();
const isPresent = (value) => (Array.isArray(value) ? value.length > 0 : Boolean(value));

export function draw(root, data) {
  const own = (selector) => [...root.querySelectorAll(selector)].filter((el) => !el.closest("[data-list]"));
  for (const el of own("[data-bind]")) setText(el, shown(field(data, el.dataset.bind), el.dataset.format));
  for (const el of own("[data-message]")) setText(el, fill(data, el.dataset.message));
  for (const el of own("[data-attributes]")) setAttributes(el, data);
  for (const el of root.querySelectorAll("[data-phases]")) el.hidden = !el.dataset.phases.split(" ").includes(data.phase);
  for (const el of root.querySelectorAll("[data-with]")) toggle(el, isPresent(field(data, el.dataset.with)));
  for (const el of root.querySelectorAll("[data-without]")) toggle(el, !isPresent(field(data, el.dataset.without)));
  for (const el of root.querySelectorAll("[data-list]")) drawList(el, field(data, el.dataset.list) ?? []);
}

function setText(el, text) {
  if (el.textContent !== text) el.textContent = text; // a selection survives
}

function setAttributes(el, data) {
  for (const pair of el.dataset.attributes.split(";")) {
    const [name, path] = pair.split(":");
    const value = field(data, path);
    if (value !== null && value !== undefined) el.setAttribute(name, value);
  }
}

const toggle = (el, visible) => el.toggleAttribute("hidden", !visible);

function drawList(container, items) {
  const state = JSON.stringify(items);
  if (drawn.get(container) === state) return;
  drawn.set(container, state);
  container.replaceChildren(...items.map((item) => row(container.dataset.row, item)));
}

function row(templateId, item) {
  const { content } = document.getElementById(templateId);
  const first = content.firstElementChild;
  // Only inside <svg> does the parser make SVG elements, so their templates have one around them.
  const node = (first.localName === "svg" ? first.firstElementChild : first).cloneNode(true);
  const holder = document.createDocumentFragment();
  holder.append(node);
  draw(holder, item);
  return node;
}
