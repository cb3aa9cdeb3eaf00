// The tree of all branches in the sidebar, as a virtual list of fixed-height rows. A linear conversation is
// a flat list; rows are indented only where it branches.

import { blocksOf, element, numberFormat } from "./element.js";
import { KIND_NAMES, callLine } from "./entry.js";
import { SETTINGS_KINDS } from "./session_tree.js";

/** Height of a row, in pixels; the live page has larger ones on phones. */
const ROW_HEIGHT = 26;
const MAX_INDENT = 12;

/** Time a search may run before it yields to the page, in milliseconds. */
const SEARCH_SLICE_MS = 12;

export const FILTERS = {
  default: { title: "Conversation", hint: "Messages, tools and summaries", accepts: (node) => !SETTINGS_KINDS.has(node.kind) },
  noTools: { title: "No tools", hint: "Without tool results", accepts: (node) => !SETTINGS_KINDS.has(node.kind) && node.kind !== "toolResult" && !(node.kind === "assistant" && isOnlyCalls(node)) },
  user: { title: "User", hint: "Messages of the user", accepts: (node) => node.kind === "user" },
  labeled: { title: "Labels", hint: "Entries with a label", accepts: (node) => node.label !== undefined },
  all: { title: "All", hint: "All entries, including settings", accepts: () => true },
};

export const KIND_MARKS = {
  system: "⚙", user: "❯", assistant: "●", toolResult: "→", bash: "$", custom: "✦", hidden: "✧", compaction: "≡", branchSummary: "↰",
  model: "◇", thinking: "◇", label: "⚑", name: "✎", usage: "◇", edit: "✂", state: "▫", unknown: "?", unreadable: "!",
};

function isOnlyCalls(node) {
  return node.calls !== undefined && node.text !== undefined && /^[\w-]+(, [\w-]+)*$/.test(node.text);
}

/** Returns the text of a row; that of a result is its call. */
function rowText(session, node) {
  if (node.kind !== "toolResult") return node.text;
  let at = node.parent;
  while (session.nodes[at]?.kind === "toolResult") at = session.nodes[at].parent;
  const call = at !== undefined && blocksOf(session.entry(at).message?.content).find((block) => block.type === "toolCall" && block.id === node.call);
  return call ? callLine(call) : node.text;
}

export class Tree {
  constructor(session, root, status, onPick, rowHeight = ROW_HEIGHT) {
    this.rowHeight = rowHeight;
    this.session = session;
    this.root = root;
    this.status = status;
    this.onPick = onPick;
    this.filter = "default";
    this.matches = undefined;
    this.window = element("div", { class: "tree-window" });
    root.append(this.window);
    root.addEventListener("scroll", () => this.render(), { passive: true });
    new ResizeObserver(() => this.render()).observe(root);
    this.window.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.onPick(Number(row.dataset.index));
    });
  }

  /** Sets the current path. */
  setPath(onPath, leaf) {
    this.onPath = onPath;
    this.leaf = leaf;
    this.updateRows();
  }

  /** Sets the height of rows, in pixels. */
  setRowHeight(height = ROW_HEIGHT) {
    this.rowHeight = height;
    this.updateRows();
  }

  setFilter(filter) {
    this.filter = filter;
    this.updateRows();
  }

  /** Lists only entries that contain all words. Long sessions are searched in slices. */
  search(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    this.searching = Symbol("search");
    if (words.length === 0) {
      this.matches = undefined;
      this.updateRows();
      return;
    }
    // Searching the raw JSON for the escaped words rules out most entries cheaply.
    const escapedWords = words.map((word) => JSON.stringify(word).slice(1, -1).replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`));
    const matches = new Set();
    this.matches = matches;
    const search = this.searching;
    let index = 0;
    const work = () => {
      if (this.searching !== search) return;
      const until = performance.now() + SEARCH_SLICE_MS;
      for (; index < this.session.nodes.length && performance.now() < until; index++) {
        if (this.matchesQuery(index, words, escapedWords)) matches.add(index);
      }
      this.updateRows(index < this.session.nodes.length);
      if (index < this.session.nodes.length) setTimeout(work);
    };
    work();
  }

  matchesQuery(index, words, escapedWords) {
    const label = (this.session.nodes[index].label ?? "").toLowerCase();
    const line = this.session.json(index).toLowerCase();
    if (!escapedWords.every((escaped, at) => line.includes(escaped) || label.includes(words[at]))) return false;
    const text = this.session.text(index).toLowerCase();
    return words.every((word) => text.includes(word));
  }

  /** Computes the rows: depth first, the current branch first, indented where branches diverge. */
  updateRows(isSearching = false) {
    if (this.onPath === undefined) return;
    const { nodes, roots } = this.session;
    const accepts = FILTERS[this.filter].accepts;
    const rows = [];
    const ordered = (children) => [...children].sort((left, right) => Number(this.onPath.has(right)) - Number(this.onPath.has(left)));
    const pending = ordered(roots).reverse().map((index) => ({ index, depth: roots.length > 1 ? 1 : 0, isFork: roots.length > 1 }));
    while (pending.length > 0) {
      const { index, depth, isFork } = pending.pop();
      const node = nodes[index];
      const isAccepted = accepts(node) && (this.matches === undefined || this.matches.has(index));
      if (isAccepted) rows.push({ index, depth, isFork });
      const forks = node.children.length > 1;
      for (const child of ordered(node.children).reverse()) {
        pending.push({ index: child, depth: forks ? depth + 1 : depth, isFork: forks || (isFork && !isAccepted) });
      }
    }
    this.rows = rows;
    this.rowOf = new Map(rows.map((row, position) => [row.index, position]));
    this.status.textContent = `${numberFormat.format(rows.length)} of ${numberFormat.format(nodes.length)} entries${isSearching ? ", searching…" : ""}`;
    this.window.style.height = `${rows.length * this.rowHeight}px`;
    this.render();
  }

  render() {
    if (this.rows === undefined) return;
    const first = Math.max(0, Math.floor(this.root.scrollTop / this.rowHeight) - 10);
    const last = Math.min(this.rows.length, Math.ceil((this.root.scrollTop + this.root.clientHeight) / this.rowHeight) + 10);
    this.window.replaceChildren(...this.rows.slice(first, last).map((row, offset) => this.renderRow(row, first + offset)));
  }

  renderRow({ index, depth, isFork }, position) {
    const node = this.session.nodes[index];
    const text = rowText(this.session, node);
    const states = [this.onPath.has(index) && "on-path", index === this.session.leaf && "leaf", index === this.marked && "current", node.failed && "failed", isFork && "fork"];
    const row = element("div", { class: ["row", node.kind, ...states.filter(Boolean)].join(" "), role: "treeitem", "aria-level": depth + 1, "aria-selected": String(index === this.marked), "data-index": index, title: text },
      element("span", { class: "mark" }, KIND_MARKS[node.kind] ?? "·"),
      node.label !== undefined && element("span", { class: "label" }, node.label),
      element("span", { class: "row-text" }, text || KIND_NAMES[node.kind]),
      index === this.session.leaf && element("span", { class: "leaf-mark", title: "Current position" }, "◂"));
    row.style.top = `${position * this.rowHeight}px`;
    row.style.paddingInlineStart = `${10 + Math.min(depth, MAX_INDENT) * 14}px`;
    return row;
  }

  /** Marks the entry being read and keeps its row in view. */
  mark(index) {
    if (index === this.marked) return;
    this.marked = index;
    const position = this.rowOf?.get(index);
    if (position !== undefined && !this.root.matches(":hover")) {
      const top = position * this.rowHeight;
      const { scrollTop, clientHeight } = this.root;
      if (top < scrollTop + this.rowHeight || top > scrollTop + clientHeight - 3 * this.rowHeight) this.root.scrollTop = top - clientHeight / 2;
    }
    this.render();
  }

  /** Returns the row before or after the marked one. */
  neighbor(direction) {
    const position = this.rowOf.get(this.marked);
    return this.rows[position === undefined ? 0 : position + direction]?.index;
  }
}
