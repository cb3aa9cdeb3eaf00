// Cuts what a terminal sends into whole sequences: one event for each, and one for a paste.
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";

const ESCAPE = "\u001b";
const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";
const LONGEST_SEQUENCE = 64 * 1024;

// Returns how long the sequence at the start of a text is; 0 while its end is missing.
function lengthOf(text) {
  if (text[0] !== ESCAPE) return String.fromCodePoint(text.codePointAt(0)).length;
  const kind = text[1];
  if (kind === undefined) return 0;
  // Escape and another sequence: that one with Alt.
  if (kind === ESCAPE) {
    const rest = text.length > 2 ? lengthOf(text.slice(1)) : 1;
    return rest === 0 ? 0 : rest + 1;
  }
  if (kind === "O") return text.length < 3 ? 0 : 3;
  if (kind === "[") {
    // A mouse of the old kind sends three bytes more.
    if (text[2] === "M") return text.length < 6 ? 0 : 6;
    const end = /[@-~]/.exec(text.slice(2));
    return end ? end.index + 3 : 0;
  }
  if ("]P_^X".includes(kind)) {
    const end = /\u0007|\u001b\\/.exec(text.slice(2));
    return end ? 2 + end.index + end[0].length : 0;
  }
  return 1 + String.fromCodePoint(text.codePointAt(1)).length;
}

export class StdinBuffer extends EventEmitter {
  #held = "";
  #paste;
  #timer;
  #sequenceTimeout;
  #escapeTimeout;

  constructor({ timeout = 50, escapeTimeout = 10 } = {}) {
    super();
    this.#sequenceTimeout = timeout;
    this.#escapeTimeout = escapeTimeout;
  }
  process(data) {
    clearTimeout(this.#timer);
    let text = data;
    if (typeof data !== "string") {
      // A single byte above ASCII is a key with Alt.
      const bytes = Buffer.from(data);
      text = bytes.length === 1 && bytes[0] > 127 ? ESCAPE + String.fromCharCode(bytes[0] - 128) : bytes.toString();
    }
    this.#held += text;
    this.#cut();
    if (this.#held === "") return;
    this.#timer = setTimeout(() => this.flush().forEach((sequence) => this.emit("data", sequence)), this.#held === ESCAPE ? this.#escapeTimeout : this.#sequenceTimeout);
  }
  #cut() {
    while (this.#held !== "" || this.#paste !== undefined) {
      if (this.#paste !== undefined) {
        this.#paste += this.#held;
        this.#held = "";
        const end = this.#paste.indexOf(PASTE_END);
        if (end < 0) return;
        const pasted = this.#paste.slice(0, end);
        this.#held = this.#paste.slice(end + PASTE_END.length);
        this.#paste = undefined;
        this.emit("paste", pasted);
        continue;
      }
      const length = this.#held.length > LONGEST_SEQUENCE ? this.#held.length : lengthOf(this.#held);
      if (length === 0) return;
      const sequence = this.#held.slice(0, length);
      this.#held = this.#held.slice(length);
      if (sequence === PASTE_START) this.#paste = "";
      else this.emit("data", sequence);
    }
  }
  // Returns what is held, though its end is missing.
  flush() {
    clearTimeout(this.#timer);
    const held = this.#held;
    this.#held = "";
    return held === "" ? [] : [held];
  }
  clear() {
    clearTimeout(this.#timer);
    this.#held = "";
    this.#paste = undefined;
  }
  getBuffer() {
    return this.#held;
  }
  destroy() {
    this.clear();
    this.removeAllListeners();
  }
}
