// readline.
import { EventEmitter } from "node:events";
import { StringDecoder } from "node:string_decoder";
import promises from "node:readline/promises";

export class Interface extends EventEmitter {
  #decoder = new StringDecoder("utf8");
  #buffered = "";
  #questions = [];
  closed = false;
  terminal = false;
  line = "";
  cursor = 0;

  constructor(input, output) {
    super();
    const options = input?.input === undefined && typeof input?.on === "function" ? { input, output } : input;
    this.input = options.input;
    this.output = options.output;
    this.#listen();
    options.signal?.addEventListener("abort", () => this.close(), { once: true });
  }

  #listen() {
    let afterReturn = false;
    this.input?.on("data", (chunk) => {
      let text = this.#buffered + (typeof chunk === "string" ? chunk : this.#decoder.write(chunk));
      if (afterReturn && text.startsWith("\n")) text = text.slice(1);
      afterReturn = text.endsWith("\r");
      const lines = text.split(/\r\n|\n|\r/);
      this.#buffered = lines.pop();
      for (const line of lines) this.#emitLine(line);
    });
    this.input?.on("end", () => {
      const rest = this.#buffered + this.#decoder.end();
      this.#buffered = "";
      if (rest) this.#emitLine(rest);
      this.close();
    });
    this.input?.on("error", (error) => this.emit("error", error));
  }

  #emitLine(line) {
    const question = this.#questions.shift();
    if (question) question(line);
    else this.emit("line", line);
  }

  question(query, options, callback) {
    const done = typeof options === "function" ? options : callback;
    this.output?.write(query);
    this.#questions.push(done);
  }
  setPrompt(prompt) {
    this._prompt = prompt;
  }
  getPrompt() {
    return this._prompt ?? "> ";
  }
  prompt() {
    this.output?.write(this.getPrompt());
  }
  write(text) {
    if (typeof text === "string") this.output?.write(text);
  }
  pause() {
    this.input?.pause();
    return this;
  }
  resume() {
    this.input?.resume();
    return this;
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.input?.pause?.();
    this.emit("close");
  }
  async *[Symbol.asyncIterator]() {
    const lines = [];
    let wake = Promise.withResolvers();
    const stir = () => {
      wake.resolve();
      wake = Promise.withResolvers();
    };
    this.on("line", (line) => {
      lines.push(line);
      stir();
    });
    this.on("close", stir);
    for (;;) {
      while (lines.length > 0) yield lines.shift();
      if (this.closed) return;
      await wake.promise;
    }
  }
  [Symbol.dispose ?? Symbol.for("dispose")]() {
    this.close();
  }
}

export function createInterface(input, output) {
  return new Interface(input, output);
}
export function clearLine() {
  return true;
}
export function clearScreenDown() {
  return true;
}
export function cursorTo() {
  return true;
}
export function moveCursor() {
  return true;
}
export function emitKeypressEvents() {}
export { promises };
export default { Interface, createInterface, clearLine, clearScreenDown, cursorTo, moveCursor, emitKeypressEvents, promises };
