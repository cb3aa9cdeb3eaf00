// Components of extensions: widgets, headers, footers, dialogs and overlays. pi draws them as lines of text; this page
// shows the lines in a grid and sends keys back as a terminal does.

import { asText, element } from "../shared/element.js";
import { terminalText } from "../shared/terminal_text.js";
import { sendCommand } from "./api.js";
import { failure } from "./notify.js";

const ESCAPE = "\u001b";

/** Keys that end in a letter after `ESC [`. */
const LETTER_KEYS = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F", F1: "P", F2: "Q", F3: "R", F4: "S" };

/** Keys that are a number before `~`. */
const NUMBER_KEYS = { Insert: 2, Delete: 3, PageUp: 5, PageDown: 6, F5: 15, F6: 17, F7: 18, F8: 19, F9: 20, F10: 21, F11: 23, F12: 24 };

/** Rows of the transcript that are kept. */
const MAX_DRAWN = 1000;

/** Keys of the bar, for screens without a keyboard. */
const BAR = [["Esc", ESCAPE], ["Tab", "\t"], ["←", `${ESCAPE}[D`], ["↑", `${ESCAPE}[A`], ["↓", `${ESCAPE}[B`], ["→", `${ESCAPE}[C`], ["Enter", "\r"]];

/**
 * Returns what a terminal sends for a key; `undefined` for text, which arrives as input.
 * @param {{ key: string, shiftKey: boolean, altKey: boolean, ctrlKey: boolean, metaKey: boolean, isComposing?: boolean }} event
 * @returns {string | undefined}
 */
export function keySequence(event) {
  const { key, shiftKey, altKey, ctrlKey } = event;
  if (event.metaKey || event.isComposing) return undefined;
  const modifiers = 1 + (shiftKey ? 1 : 0) + (altKey ? 2 : 0) + (ctrlKey ? 4 : 0);
  if (Object.hasOwn(LETTER_KEYS, key)) {
    const letter = LETTER_KEYS[key];
    if (modifiers > 1) return `${ESCAPE}[1;${modifiers}${letter}`;
    return key.startsWith("F") ? `${ESCAPE}O${letter}` : `${ESCAPE}[${letter}`;
  }
  if (Object.hasOwn(NUMBER_KEYS, key)) return `${ESCAPE}[${NUMBER_KEYS[key]}${modifiers > 1 ? `;${modifiers}` : ""}~`;
  const alt = altKey ? ESCAPE : "";
  if (key === "Escape") return alt + ESCAPE;
  if (key === "Enter") return shiftKey || ctrlKey ? `${ESCAPE}[13;${modifiers}u` : `${alt}\r`;
  if (key === "Tab") return shiftKey ? `${ESCAPE}[Z` : `${alt}\t`;
  if (key === "Backspace") return `${alt}${ctrlKey ? "\b" : "\u007f"}`;
  if (key === " " && ctrlKey) return `${alt}\u0000`;
  if (key.length !== 1) return undefined;
  if (ctrlKey && /[a-z[\]\\^_]/i.test(key)) return alt + String.fromCharCode(key.toUpperCase().charCodeAt(0) & 31);
  return altKey && !ctrlKey ? alt + key : undefined;
}

/** A component: its lines, and what is typed into it. */
class ScreenComponent {
  constructor(panel, id) {
    this.panel = panel;
    this.id = id;
    /** @type {HTMLElement[]} */
    this.rows = [];
    this.grid = element("div", { class: "screen-grid", "aria-hidden": "true" });
    // Takes the keys, also those of phones and input methods.
    this.keys = element("textarea", { class: "screen-keys", rows: 1, "aria-label": "Keys for the extension", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
    this.text = element("div", { class: "visually-hidden", role: "status" });
    const bar = BAR.map(([label, data]) => element("button", { type: "button", click: () => { this.send(data); this.keys.focus(); } }, label));
    this.bar = element("div", { class: "screen-bar" }, bar);
    this.root = element("div", { class: "screen-component", click: () => this.keys.focus() }, this.grid, this.keys, this.text, this.bar);
    this.keys.addEventListener("keydown", (event) => {
      const data = keySequence(event);
      event.stopPropagation();
      if (data === undefined) return;
      event.preventDefault();
      this.send(data);
    });
    this.keys.addEventListener("input", (event) => {
      if (/** @type {InputEvent} */ (event).isComposing) return;
      const typed = this.keys.value;
      this.keys.value = "";
      if (typed !== "") this.send(typed.replaceAll("\n", "\r"));
    });
    this.keys.addEventListener("paste", (event) => {
      event.preventDefault();
      const pasted = event.clipboardData?.getData("text") ?? "";
      if (pasted !== "") this.send(`${ESCAPE}[200~${pasted.replaceAll(ESCAPE, "")}${ESCAPE}[201~`);
    });
  }

  send(data) {
    this.panel.send(this.id, data);
  }

  mount({ place, cols, focused }) {
    const kind = asText(place?.kind);
    this.kind = kind;
    this.key = asText(place?.key);
    this.root.className = `screen-component screen-${kind}${focused ? " is-focused" : ""}`;
    if (kind === "overlay") {
      this.root.setAttribute("role", "dialog");
      this.root.setAttribute("aria-label", "Extension");
      this.root.dataset.anchor = asText(place.anchor);
    }
    this.grid.style.width = `${Number(cols) || 0}ch`;
    const parent = this.panel.parentOf(place);
    if (this.root.parentElement !== parent) parent?.append(this.root);
    const takesFocus = focused && !this.isFocused;
    this.isFocused = focused;
    if (takesFocus && parent) this.keys.focus({ preventScroll: true });
  }

  show({ rows, lines, cursor }) {
    while (this.rows.length > rows) this.rows.pop()?.remove();
    while (this.rows.length < rows) {
      const row = element("div", { class: "screen-row" });
      this.rows.push(row);
      this.grid.append(row);
    }
    for (const { row, text } of Array.isArray(lines) ? lines : []) this.rows[row]?.replaceChildren(terminalText(asText(text)));
    // Input methods show their window at the field.
    this.keys.style.top = `${cursor?.row ?? 0}lh`;
    this.keys.style.left = `${cursor?.col ?? 0}ch`;
    const isDialog = this.kind === "custom" || this.kind === "overlay";
    if (isDialog) this.text.textContent = this.rows.map((row) => asText(row.textContent).trim()).join("\n");
  }
}

export class ScreenPanel {
  /** @param {{ main: HTMLElement, header: HTMLElement, above: HTMLElement, below: HTMLElement, overlays: HTMLElement, prompt: HTMLElement, resized: () => void }} parts */
  constructor(parts) {
    this.parts = parts;
    /** @type {Map<number, ScreenComponent>} */
    this.components = new Map();
    this.waiting = [];
    /** Kinds of rows that no extension draws. */
    this.plain = new Set();
    /** @type {Map<string, Promise<any>>} */
    this.drawn = new Map();
    this.isSending = false;
    let timer;
    this.size = this.measure();
    new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => this.resize(), 200);
    }).observe(parts.main);
  }

  /** Removes everything; the server sends all components of a session again with each stream. */
  reset(sessionId) {
    if (sessionId !== this.sessionId) {
      this.plain.clear();
      this.drawn.clear();
    }
    this.sessionId = sessionId;
    this.waiting = [];
    for (const component of this.components.values()) component.root.remove();
    this.components.clear();
    this.update();
  }

  /** The size of the screen in cells. */
  measure() {
    const probe = element("span", { class: "screen-probe" }, "x".repeat(100));
    this.parts.above.after(probe);
    const cell = probe.getBoundingClientRect();
    const width = this.parts.main.clientWidth - 24;
    probe.remove();
    const cols = cell.width > 0 ? Math.floor(width / (cell.width / 100)) : 80;
    const rows = cell.height > 0 ? Math.floor(window.innerHeight / cell.height) : 24;
    return { cols: Math.min(160, Math.max(20, cols)), rows: Math.min(120, Math.max(10, rows)) };
  }

  resize() {
    const size = this.measure();
    if (size.cols === this.size.cols && size.rows === this.size.rows) return;
    this.size = size;
    this.parts.resized();
    if (this.sessionId !== undefined) sendCommand(this.sessionId, { type: "screen_size", ...size }).catch(() => {});
  }

  /** Applies an event; returns whether it is one of the screen. */
  apply(event) {
    const id = Number(event.id);
    if (event.type === "screen_mount") {
      let component = this.components.get(id);
      if (component === undefined) this.components.set(id, (component = new ScreenComponent(this, id)));
      component.mount(event);
      this.update();
      return true;
    }
    if (event.type === "screen_lines") {
      this.components.get(id)?.show(event);
      return true;
    }
    if (event.type !== "screen_unmount") return false;
    const component = this.components.get(id);
    const hadFocus = component?.root.contains(document.activeElement);
    component?.root.remove();
    this.components.delete(id);
    this.update();
    if (hadFocus) this.returnFocus();
    return true;
  }

  /** Focuses what has the focus now: another component, or the prompt. */
  returnFocus() {
    const next = [...this.components.values()].findLast((component) => component.isFocused && component.root.isConnected);
    (next?.keys ?? this.parts.prompt).focus({ preventScroll: true });
  }

  /** Returns where a component belongs; `undefined` if this page has its own. */
  parentOf(place) {
    const { header, above, below, overlays } = this.parts;
    if (place?.kind === "header") return header;
    if (place?.kind === "overlay") return overlays;
    if (place?.kind === "custom") return above;
    if (place?.kind === "widget") return place.placement === "belowEditor" ? below : above;
    return place?.kind === "footer" || place?.kind === "bottom" ? below : undefined;
  }

  /** Replaces the body of an element by what an extension draws, if one has a renderer for the row. */
  async draw(body, row) {
    const session = this.sessionId;
    const type = `${row.kind} ${row.toolName ?? (row.message ?? row.entry).customType}`;
    if (session === undefined || this.plain.has(type)) return;
    const key = JSON.stringify(row);
    let drawn = this.drawn.get(key);
    if (drawn === undefined) {
      drawn = sendCommand(session, { type: "screen_render", row }).catch(() => ({}));
      if (this.drawn.size >= MAX_DRAWN) this.drawn.clear();
      this.drawn.set(key, drawn);
    }
    const { call, result, lines } = (await drawn) ?? {};
    if (call === undefined && lines === undefined) this.plain.add(type);
    const rows = [...(call ?? []), ...(result ?? []), ...(lines ?? [])];
    if (rows.length === 0 || session !== this.sessionId) return;
    const grid = element("div", { class: "screen-grid" }, rows.map((text) => element("div", { class: "screen-row" }, terminalText(asText(text)))));
    const head = call ? [] : [...body.children].filter((child) => child.classList.contains("call-head"));
    body.replaceChildren(...head, grid);
  }

  update() {
    const { header, above, below, overlays, main } = this.parts;
    for (const part of [header, above, below, overlays]) part.hidden = part.childElementCount === 0;
    const isReplaced = [...this.components.values()].some(({ kind }) => kind === "custom");
    main.classList.toggle("has-custom", isReplaced);
  }

  /** Sends input in the order in which it was typed. */
  async send(component, data) {
    const last = this.waiting.at(-1);
    if (last?.component === component) last.data += data;
    else this.waiting.push({ component, data });
    if (this.isSending) return;
    this.isSending = true;
    try {
      while (this.waiting.length > 0 && this.sessionId !== undefined) await sendCommand(this.sessionId, { type: "screen_input", ...this.waiting.shift() });
    } catch (error) {
      this.waiting = [];
      failure(error);
    } finally {
      this.isSending = false;
    }
  }
}
