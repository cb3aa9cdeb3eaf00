// The entries of a session as a tree. A page provides the outline and the entries.

import { plainText } from "./terminal_text.js";

/** Entries that only change settings; hidden from the tree by default. */
export const SETTINGS_KINDS = new Set(["model", "thinking", "label", "name", "usage", "edit", "state", "hidden", "system"]);

/**
 * One entry in the outline.
 * @typedef {object} OutlineNode
 * @property {string} id
 * @property {number} [parent] index of the parent entry
 * @property {string} kind
 * @property {number} time milliseconds since the epoch
 * @property {string} [text]
 * @property {string} [label]
 * @property {string} [call] the call that a result belongs to
 * @property {string[]} [calls] the calls of a response
 * @property {boolean} [failed]
 * @property {number[]} [children]
 * @property {number} [newest] index of the newest descendant
 */

export class SessionTree {
  constructor() {
    /** @type {OutlineNode[]} */
    this.nodes = [];
    /** @type {Map<string, number>} */
    this.byId = new Map();
    /** @type {number[]} */
    this.roots = [];
    /** @type {number | undefined} */
    this.leaf = undefined;
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

  /**
   * Returns a parsed entry.
   * @param {number} _index
   * @returns {any}
   */
  entry(_index) {
    return {};
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
