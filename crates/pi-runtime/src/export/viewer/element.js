"use strict";
// Builds elements and vets addresses. Text of a session only ever becomes text nodes here; no other
// file of the viewer makes markup from strings, and the page's policy would refuse it.

/** Addresses a reader may follow. */
const LINK_PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** Kinds of pictures that are shown; vector graphics can carry scripts and references. */
const PICTURE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Builds an element. Children are nodes or text; empty ones are left out. */
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

/** Appends nodes and text, however nested the list is. */
function append(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child !== undefined && child !== null && child !== false) parent.append(child);
  }
}

/** Returns an address that is safe to follow, or nothing. */
function safeAddress(text) {
  try {
    const address = new URL(text);
    return LINK_PROTOCOLS.has(address.protocol) ? address.href : undefined;
  } catch {
    return undefined;
  }
}

/** Builds a link, or plain text where the address is not one to follow. */
function link(address, ...children) {
  const href = safeAddress(address);
  if (href === undefined) return element("span", { class: "dead-link", title: address }, children);
  return element("a", { href, target: "_blank", rel: "noopener noreferrer" }, children);
}

/** Builds a picture from its data, or a remark where it is none we show. */
function picture(mimeType, data, description) {
  const type = String(mimeType).toLowerCase();
  if (!PICTURE_TYPES.has(type) || typeof data !== "string" || !/^[A-Za-z0-9+/=\s]*$/.test(data)) {
    return element("span", { class: "remark" }, `[picture of type ${mimeType} not shown]`);
  }
  const image = element("img", {
    class: "picture",
    src: `data:${type};base64,${data}`,
    alt: description,
    loading: "lazy",
  });
  return element("button", { type: "button", class: "picture-button", title: "Enlarge", click: () => showPicture(image.src) }, image);
}

function showPicture(source) {
  const dialog = document.getElementById("picture");
  dialog.replaceChildren(element("img", { src: source, alt: "", click: () => dialog.close() }));
  dialog.showModal();
}

/** Looks a name from a session up in a table of ours, whatever it is called. */
function lookUp(table, name) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Returns any value as text: a string as it is, everything else as JSON. */
function asText(value) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return JSON.stringify(value, null, 2);
}

const counting = new Intl.NumberFormat("en");

/** Spells a count as `950`, `12.3k` or `4.5M`. */
function shortCount(count) {
  if (!(count >= 1000)) return String(count ?? 0);
  const [size, unit] = count < 1e6 ? [1e3, "k"] : [1e6, "M"];
  return `${(count / size).toFixed(count < size * 100 ? 1 : 0)}${unit}`;
}

/** Spells a cost in US dollars, with more digits the smaller it is. */
function dollars(cost) {
  const amount = Number(cost) || 0;
  return `$${amount.toFixed(amount !== 0 && amount < 0.1 ? 4 : 2)}`;
}

/** Spells a moment in the reader's own time. */
function moment(milliseconds, style) {
  const date = new Date(Number(milliseconds));
  if (!milliseconds || Number.isNaN(date.getTime())) return "";
  return date.toLocaleString([], style ?? { dateStyle: "medium", timeStyle: "short" });
}
