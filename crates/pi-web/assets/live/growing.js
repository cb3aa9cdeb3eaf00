// The response that is being received. Finished blocks of its Markdown stay as they are; only the open one is
// parsed again, at most once per frame, and text inside of a code block is appended to one text node.

import { asText, element } from "../shared/element.js";
import { renderCall, view } from "../shared/entry.js";
import { codeBlock, markdown } from "../shared/markdown.js";
import { plainText } from "../shared/terminal_text.js";

/** An open block longer than this is shown as plain text until it ends. */
const MAX_OPEN_LENGTH = 20_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;

export class GrowingResponse {
  constructor() {
    this.body = element("div", { class: "growing-body" });
    this.article = element("article", { class: "entry assistant growing", "aria-busy": "true" },
      element("header", { class: "entry-head" }, element("span", { class: "who" }, "Assistant"), element("span", { class: "pulse", "aria-hidden": "true" })), this.body);
    /** @type {any[]} */
    this.blocks = [];
  }

  /** Shows a response as it is now. */
  update(message) {
    (message.content ?? []).forEach((block, at) => {
      if (block === null || typeof block !== "object") return;
      let shown = this.blocks[at];
      if (shown?.type !== block.type) {
        shown?.root.remove();
        shown = createBlock(block);
        this.blocks[at] = shown;
        this.body.append(shown.root);
      }
      shown.update(block);
    });
  }
}

function createBlock(block) {
  if (block.type === "text") return new GrowingText();
  if (block.type === "thinking") return new GrowingThinking();
  return new GrowingCall(block);
}

class GrowingText {
  constructor() {
    this.type = "text";
    this.root = element("div", { class: "growing-text" });
    this.start();
  }

  start() {
    this.length = 0;
    this.closed = 0;
    /** @type {Text | undefined} */
    this.code = undefined;
    this.fence = "";
    this.open = element("div", { class: "markdown" });
    this.root.replaceChildren(this.open);
  }

  update(block) {
    const text = asText(block.text);
    if (text.length === this.length) return;
    if (text.length < this.length) this.start();
    this.length = text.length;
    for (;;) {
      const end = this.blockEnd(text);
      if (end === undefined) break;
      this.close(text.slice(this.closed, end));
      this.closed = end;
    }
    this.showOpen(text.slice(this.closed));
  }

  /** Returns where the open block ends, if it has ended. */
  blockEnd(text) {
    const open = text.slice(this.closed);
    const first = open.search(/\S/);
    if (first < 0) return undefined;
    const lineStart = open.lastIndexOf("\n", first) + 1;
    const lineEnd = open.indexOf("\n", first);
    if (lineEnd < 0) return undefined;
    const fence = FENCE.exec(open.slice(lineStart, lineEnd));
    if (fence) {
      const closing = new RegExp(`^ {0,3}${fence[1][0] === "~" ? "~" : "\\`"}{${fence[1].length},}[ \\t]*\\n`, "gm");
      closing.lastIndex = lineEnd + 1;
      const found = closing.exec(open);
      return found ? this.closed + found.index + found[0].length : undefined;
    }
    // A paragraph ends at a blank line that no continued list or quote follows.
    for (let at = open.indexOf("\n\n", first); at >= 0; at = open.indexOf("\n\n", at + 1)) {
      const next = open.slice(at).search(/[^\n]/);
      if (next < 0) return undefined;
      const following = open.slice(at + next);
      if (following.length > 4 && !/^(?:[ \t]|[-*+>|]|\d{1,9}[.)])/.test(following)) return this.closed + at + next;
    }
    return undefined;
  }

  close(text) {
    this.open.replaceChildren(...markdown(text).childNodes);
    this.open = element("div", { class: "markdown" });
    this.code = undefined;
    this.root.append(this.open);
  }

  showOpen(text) {
    const start = text.search(/\S/);
    if (start < 0) return;
    const lineEnd = text.indexOf("\n", start);
    const fence = lineEnd > 0 ? FENCE.exec(text.slice(text.lastIndexOf("\n", start) + 1, lineEnd)) : undefined;
    if (fence) this.appendCode(text.slice(lineEnd + 1), fence[2].trim().split(/\s/)[0]);
    else if (text.length > MAX_OPEN_LENGTH) this.appendPlain(text);
    else this.open.replaceChildren(...markdown(text).childNodes);
  }

  appendCode(text, language) {
    if (this.code === undefined) {
      const block = codeBlock("", language);
      this.code = document.createTextNode("");
      block.querySelector("code")?.replaceChildren(this.code);
      this.open.replaceChildren(block);
    }
    this.extend(plainText(text));
  }

  appendPlain(text) {
    if (this.code === undefined) {
      this.code = document.createTextNode("");
      this.open.replaceChildren(element("p", null, this.code));
    }
    this.extend(plainText(text));
  }

  /** Makes the text node show a text that starts with what it shows. */
  extend(text) {
    const shown = this.code?.length ?? 0;
    if (text.length >= shown) this.code?.appendData(text.slice(shown));
    else if (this.code) this.code.data = text;
  }
}

class GrowingThinking {
  constructor() {
    this.type = "thinking";
    this.text = document.createTextNode("");
    this.root = element("details", { class: "thinking-block", open: view.thinking }, element("summary", null, "Thinking"),
      element("div", { class: "markdown" }, element("p", null, this.text)));
  }

  update(block) {
    const text = plainText(asText(block.thinking));
    if (text.length >= this.text.length) this.text.appendData(text.slice(this.text.length));
    else this.text.data = text;
    this.root.hidden = text.trim() === "";
  }
}

class GrowingCall {
  constructor(block) {
    this.type = block.type;
    this.root = element("div", { class: "growing-call" });
    this.shown = "";
  }

  update(block) {
    const version = `${block.id} ${block.name} ${block.json === undefined}`;
    if (version !== this.shown) {
      this.shown = version;
      this.root.replaceChildren(renderCall(block, undefined, undefined, { isRunning: true }));
      if (block.json !== undefined) this.root.querySelector(".call")?.append(element("pre", { class: "output arguments" }, document.createTextNode("")));
    }
    const json = this.root.querySelector("pre.arguments");
    if (json && block.json !== undefined) json.textContent = plainText(block.json.slice(-400));
  }
}
