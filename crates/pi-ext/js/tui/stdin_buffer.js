// Splits terminal input into complete sequences. Emits one event per sequence or paste.
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";

const ESCAPE = "\u001b";
const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";
const MAX_SEQUENCE = 64 * 1024;

// Returns the length of the sequence at the start of a text, or 0 if it is incomplete.
function lengthOf(text) {
  if (text[0] !== ESCAPE) return String.fromCodePoint(text.codePointAt(0)).length;
  const kind = text[1];
  if (kind === undefined) return 0;
  // Escape before another sequence means Alt.
  if (kind === ESCAPE) {
    const rest = text.length > 2 ? lengthOf(text.slice(1)) : 1;
    return rest === 0 ? 0 : rest + 1;
  }
  if (kind === "O") return text.length < 3 ? 0 : 3;
  if (kind === "[") {
    // Legacy mouse sequences have three more bytes.
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
  #buffered = "";
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
      // A single byte above ASCII is a key with the Alt modifier.
      const bytes = Buffer.from(data);
      text = bytes.length === 1 && bytes[0] > 127 ? ESCAPE + String.fromCharCode(bytes[0] - 128) : bytes.toString();
    }
    this.#buffered += text;
    this.#emitSequences();
    if (this.#buffered === "") return;
    this.#timer = setTimeout(() => this.flush().forEach((sequence) => this.emit("data", sequence)), this.#buffered === ESCAPE ? this.#escapeTimeout : this.#sequenceTimeout);
  }
  #emitSequences() {
    while (this.#buffered !== "" || this.#paste !== undefined) {
      if (this.#paste !== undefined) {
        this.#paste += this.#buffered;
        this.#buffered = "";
        const end = this.#paste.indexOf(PASTE_END);
        if (end < 0) return;
        const pasted = this.#paste.slice(0, end);
        this.#buffered = this.#paste.slice(end + PASTE_END.length);
        this.#paste = undefined;
        this.emit("paste", pasted);
        continue;
      }
      const length = this.#buffered.length > MAX_SEQUENCE ? this.#buffered.length : lengthOf(this.#buffered);
      if (length === 0) return;
      const sequence = this.#buffered.slice(0, length);
      this.#buffered = this.#buffered.slice(length);
      if (sequence === PASTE_START) this.#paste = "";
      else this.emit("data", sequence);
    }
  }
  // Returns the buffered input, even if it is incomplete.
  flush() {
    clearTimeout(this.#timer);
    const buffered = this.#buffered;
    this.#buffered = "";
    return buffered === "" ? [] : [buffered];
  }
  clear() {
    clearTimeout(this.#timer);
    this.#buffered = "";
    this.#paste = undefined;
  }
  getBuffer() {
    return this.#buffered;
  }
  destroy() {
    this.clear();
    this.removeAllListeners();
  }
}
