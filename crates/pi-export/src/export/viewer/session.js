// Session data: the outline of all entries, the tree, and the entries themselves, which are parsed on
// demand.

/** Number of parsed entries that are cached. */
const MAX_CACHED_ENTRIES = 400;

/** Entries that only change settings; hidden from the tree by default. */
const SETTINGS_KINDS = new Set(["model", "thinking", "label", "name", "usage", "edit", "state", "hidden", "system"]);

class Session {
  constructor() {
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

  /** Computes the children and the newest descendant of each entry. */
  buildTree() {
    this.roots = [];
    this.nodes.forEach((node, index) => {
      if (node.text !== undefined) node.text = plainText(node.text);
      node.children = [];
      node.newest = index;
      // A parent must come earlier in the file, so invalid parents cannot create a cycle.
      const hasParent = node.parent !== undefined && node.parent < index;
      node.parent = hasParent ? node.parent : undefined;
      if (hasParent) this.nodes[node.parent].children.push(index);
      else this.roots.push(index);
    });
    for (let index = this.nodes.length - 1; index >= 0; index--) {
      const { parent, newest } = this.nodes[index];
      if (parent !== undefined) this.nodes[parent].newest = Math.max(this.nodes[parent].newest, newest);
    }
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

  /** Returns the path from the root to an entry. */
  path(leaf) {
    const path = [];
    for (let index = leaf; index !== undefined; index = this.nodes[index].parent) path.push(index);
    return path.reverse();
  }

  /** Pairs the calls on a path with their results: a map from response to a map from call to result. */
  results(path) {
    const open = new Map();
    const results = new Map();
    for (const index of path) {
      const node = this.nodes[index];
      for (const call of node.calls ?? []) open.set(call, index);
      if (node.kind !== "toolResult" || !open.has(node.call)) continue;
      const response = open.get(node.call);
      open.delete(node.call);
      if (!results.has(response)) results.set(response, new Map());
      results.get(response).set(node.call, index);
    }
    return results;
  }

  /** Returns all visible text of an entry. */
  text(index) {
    const texts = [this.nodes[index].label ?? ""];
    collectText(this.entry(index), texts);
    return texts.join("\n");
  }

  /** Returns the complete session as JSON lines. */
  jsonLines() {
    const lines = [JSON.stringify(this.header)];
    for (let index = 0; index < this.lines.length; index++) lines.push(this.json(index));
    return `${lines.join("\n")}\n`;
  }
}

/** Keys whose values are not searched: IDs, image data, signatures. */
const SKIPPED_KEYS = new Set(["id", "parentId", "timestamp", "type", "role", "data", "mimeType", "toolCallId", "textSignature", "thinkingSignature", "thoughtSignature"]);

function collectText(value, texts, depth = 0) {
  if (typeof value === "string") texts.push(value);
  else if (value !== null && typeof value === "object" && depth < 40) {
    for (const [key, inner] of Object.entries(value)) {
      if (Array.isArray(value) || !SKIPPED_KEYS.has(key)) collectText(inner, texts, depth + 1);
    }
  }
}

/** Returns the content blocks of a message; the content may also be a plain string. */
function blocksOf(content) {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((block) => block !== null && typeof block === "object") : [];
}
