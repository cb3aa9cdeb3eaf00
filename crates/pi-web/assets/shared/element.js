// Builds elements and validates URLs. Session text only becomes text nodes here; no other file of the
// viewer creates markup from strings, and the content security policy would block it.

/** Allowed protocols of links. */
const LINK_PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** Image types that are shown. SVG is excluded, since it can contain scripts and references. */
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Builds an element. Children are nodes or text; empty ones are skipped. */
export function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

/** Appends nodes and text from a nested list. */
export function append(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child !== undefined && child !== null && child !== false) parent.append(child);
  }
}

/** Returns the URL if it is safe to follow, otherwise undefined. */
export function safeUrl(text) {
  try {
    const url = new URL(text);
    return LINK_PROTOCOLS.has(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** Builds a link, or plain text if the URL is not safe to follow. */
export function link(url, ...children) {
  const href = safeUrl(url);
  if (href === undefined) return element("span", { class: "dead-link", title: url }, children);
  return element("a", { href, target: "_blank", rel: "noopener noreferrer" }, children);
}

/** Builds an image from its data, or a note if its type is not supported. */
export function imageElement(mimeType, data, description) {
  const type = String(mimeType).toLowerCase();
  if (!IMAGE_TYPES.has(type) || typeof data !== "string" || !/^[A-Za-z0-9+/=\s]*$/.test(data)) {
    return element("span", { class: "note" }, `[image of type ${mimeType} not shown]`);
  }
  const image = element("img", {
    class: "inline-image",
    src: `data:${type};base64,${data}`,
    alt: description,
    loading: "lazy",
  });
  return element("button", { type: "button", class: "image-button", title: "Enlarge", click: () => showImage(image.src) }, image);
}

function showImage(source) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("image-dialog"));
  dialog.replaceChildren(element("img", { src: source, alt: "", click: () => dialog.close() }));
  dialog.showModal();
}

/** Looks up an untrusted name in a table, ignoring inherited properties. */
export function lookup(table, name) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Converts a value to text: strings unchanged, everything else as JSON. */
export function asText(value) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  return JSON.stringify(value, null, 2);
}

export const numberFormat = new Intl.NumberFormat("en");

/** Formats a count as `950`, `12.3k` or `4.5M`. */
export function formatCount(count) {
  if (!(count >= 1000)) return String(count ?? 0);
  const [size, unit] = count < 1e6 ? [1e3, "k"] : [1e6, "M"];
  return `${(count / size).toFixed(count < size * 100 ? 1 : 0)}${unit}`;
}

/** Formats a cost in US dollars, with more digits for small amounts. */
export function formatCost(cost) {
  const amount = Number(cost) || 0;
  return `$${amount.toFixed(amount !== 0 && amount < 0.1 ? 4 : 2)}`;
}

/** Formats a duration as `340 ms`, `4.2 s` or `3 min 20 s`. */
export function formatDuration(milliseconds) {
  const time = Number(milliseconds);
  if (milliseconds === undefined || milliseconds === null || !(time >= 0)) return "";
  if (time < 1000) return `${Math.round(time)} ms`;
  if (time < 60_000) return `${(time / 1000).toFixed(1)} s`;
  return `${Math.floor(time / 60_000)} min ${Math.round((time % 60_000) / 1000)} s`;
}

/** Formats of times; building one takes far longer than using it. @type {Record<string, Intl.DateTimeFormat>} */
const timeFormats = {};

/** Formats a time in the reader's time zone, with its date unless that is left out. */
export function formatTime(milliseconds, hasDate = true) {
  const date = new Date(Number(milliseconds));
  if (!milliseconds || Number.isNaN(date.getTime())) return "";
  const name = hasDate ? "full" : "time";
  timeFormats[name] ??= new Intl.DateTimeFormat([], hasDate ? { dateStyle: "medium", timeStyle: "short" } : { timeStyle: "short" });
  return timeFormats[name].format(date);
}

/** Builds a button that copies text. */
export function copyButton(text) {
  const button = element("button", { type: "button", class: "copy", title: "Copy" }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "copied";
    } catch {
      button.textContent = "not allowed";
    }
    setTimeout(() => { button.textContent = "copy"; }, 1200);
  });
  return button;
}

/** Returns the content blocks of a message; the content may also be a plain string. */
export function blocksOf(content) {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((block) => block !== null && typeof block === "object") : [];
}
