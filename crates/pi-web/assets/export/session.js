// Data of an exported session: the outline of all entries, and the entries, which are parsed on demand.

import { SessionTree } from "../shared/session_tree.js";

/** Number of parsed entries that are cached. */
const MAX_CACHED_ENTRIES = 400;

export class Session extends SessionTree {
  constructor() {
    super();
    /** The first line of a session file. @type {any} */
    this.header = undefined;
    const overview = JSON.parse(document.getElementById("overview").textContent);
    Object.assign(this, overview);
    this.lines = [];
    for (const block of document.querySelectorAll("script.entries")) {
      // A JSON array with one entry per line, so lines can be parsed individually.
      const lines = block.textContent.split("\n");
      for (let at = 1; at < lines.length - 1; at++) this.lines.push(lines[at]);
    }
    this.parsed = new Map();
    this.byId = new Map(this.nodes.map((node, index) => [node.id, index]));
    this.buildTree();
  }

  /** Returns an entry's JSON. */
  json(index) {
    const line = this.lines[index] ?? "null";
    return line.endsWith(",") ? line.slice(0, -1) : line;
  }

  /** Returns a parsed entry, from the cache if possible. */
  entry(index) {
    let entry = this.parsed.get(index);
    if (entry === undefined) {
      try {
        entry = JSON.parse(this.json(index)) ?? {};
      } catch {
        entry = {};
      }
      if (this.parsed.size >= MAX_CACHED_ENTRIES) this.parsed.delete(this.parsed.keys().next().value);
      this.parsed.set(index, entry);
    }
    return entry;
  }

  /** Returns the complete session as JSON lines. */
  jsonLines() {
    const lines = [JSON.stringify(this.header)];
    for (let index = 0; index < this.lines.length; index++) lines.push(this.json(index));
    return `${lines.join("\n")}\n`;
  }
}
