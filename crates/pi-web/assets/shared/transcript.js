// The conversation along one path. Entries are rendered in chunks when they come near the viewport and
// dropped when they are far from it, so the cost does not depend on the length of the session.

import { element } from "./element.js";
import { applyView, renderEntry, view } from "./entry.js";

const CHUNK_SIZE = 25;

/** Estimated height of an entry that was not rendered yet, in pixels. */
const ESTIMATED_ENTRY_HEIGHT = 140;

/** Entries that are shown only with the "All" filter. */
export const HIDDEN_KINDS = new Set(["system", "label", "usage", "edit", "state", "hidden"]);

export class Transcript {
  constructor(session, root) {
    this.session = session;
    this.root = root;
    this.chunks = [];
    this.nearby = new IntersectionObserver((changes) => this.fill(changes), { rootMargin: "1500px 0px" });
    this.around = new IntersectionObserver((changes) => this.drop(changes), { rootMargin: "25000px 0px" });
  }

  /** Shows the path to an entry. */
  show(leaf, showsAll) {
    this.leaf = leaf;
    const path = leaf === undefined ? [] : this.session.path(leaf);
    this.onPath = new Set(path);
    this.results = this.session.results(path);
    const attached = new Map();
    for (const [response, results] of this.results) for (const result of results.values()) attached.set(result, response);
    this.attached = attached;
    this.items = path.filter((index) => this.isShown(index, showsAll));
    this.positions = new Map(this.items.map((index, position) => [index, position]));
    this.layout();
  }

  isShown(index, showsAll) {
    const { kind } = this.session.nodes[index];
    const isListed = showsAll || !HIDDEN_KINDS.has(kind) || (kind === "hidden" && view.hidden);
    return !this.attached.has(index) && isListed;
  }

  layout() {
    this.nearby.disconnect();
    this.around.disconnect();
    this.chunks = [];
    for (let first = 0; first < this.items.length; first += CHUNK_SIZE) {
      const section = element("section", { class: "chunk" });
      const chunk = { section, first, last: Math.min(first + CHUNK_SIZE, this.items.length), isFilled: false };
      section.style.minHeight = `${(chunk.last - first) * ESTIMATED_ENTRY_HEIGHT}px`;
      section.chunk = chunk;
      this.chunks.push(chunk);
    }
    this.root.replaceChildren(...this.chunks.map((chunk) => chunk.section));
    if (this.chunks.length > 0) this.build(this.chunks[0]);
    else this.root.append(element("p", { class: "note" }, "This session has no messages."));
    for (const chunk of this.chunks) {
      this.nearby.observe(chunk.section);
      this.around.observe(chunk.section);
    }
  }

  fill(changes) {
    for (const { isIntersecting, target } of changes) if (isIntersecting) this.build(target.chunk);
  }

  drop(changes) {
    for (const { isIntersecting, target } of changes) {
      if (isIntersecting || !target.chunk.isFilled) continue;
      target.style.minHeight = `${target.offsetHeight}px`;
      target.replaceChildren();
      target.chunk.isFilled = false;
    }
  }

  build(chunk) {
    if (chunk.isFilled) return;
    chunk.isFilled = true;
    const items = this.items.slice(chunk.first, chunk.last);
    chunk.section.replaceChildren(...items.map((index) => this.buildEntry(index)));
    chunk.section.style.minHeight = "";
  }

  /** An entry that fails to render must not affect the others. */
  buildEntry(index) {
    try {
      return renderEntry(this.session, index, this.results.get(index));
    } catch (error) {
      return element("article", { class: "entry unknown" }, element("p", { class: "error-text" }, `This entry cannot be shown: ${error.message}`));
    }
  }

  /** Returns the position of the item that shows an entry; a tool result is shown inside its response. */
  position(index) {
    const position = this.positions.get(index) ?? this.positions.get(this.attached.get(index));
    if (position !== undefined || !this.onPath.has(index)) return position;
    // A hidden entry: use the next one that is shown.
    const following = this.items.findIndex((item) => item > index);
    return following < 0 ? this.items.length - 1 : following;
  }

  /** Scrolls to an entry on the path. */
  jump(index, { isMarked = true } = {}) {
    const position = this.position(index);
    if (position === undefined || position < 0) return;
    const at = Math.floor(position / CHUNK_SIZE);
    // Render the neighbors first; rendering them later would shift the target.
    for (const chunk of this.chunks.slice(Math.max(0, at - 1), at + 2)) this.build(chunk);
    const article = this.chunks[at].section.children[position - this.chunks[at].first];
    const inner = this.attached.has(index) ? document.getElementById(`e-${this.session.nodes[index].id}`) : undefined;
    const target = inner ?? article;
    target.scrollIntoView({ block: "start" });
    requestAnimationFrame(() => requestAnimationFrame(() => target.scrollIntoView({ block: "start" })));
    if (!isMarked) return;
    for (const marked of this.root.querySelectorAll(".marked")) marked.classList.remove("marked");
    target.classList.add("marked");
  }

  /** Returns the entry at the top of the viewport. */
  current() {
    const box = this.root.getBoundingClientRect();
    for (const height of [130, 160, 220]) {
      const article = /** @type {HTMLElement | null | undefined} */ (document.elementFromPoint(box.left + box.width / 2, height)?.closest("article.entry"));
      if (article?.dataset.index !== undefined) return Number(article.dataset.index);
    }
    return undefined;
  }

  /** Moves to the next or previous entry, or to the next or previous one of a kind. */
  step(direction, kind) {
    const current = this.positions.get(this.current());
    let position = current === undefined ? (direction > 0 ? 0 : -1) : current + direction;
    while (kind !== undefined && this.items[position] !== undefined && this.session.nodes[this.items[position]].kind !== kind) position += direction;
    if (this.items[position] !== undefined) this.jump(this.items[position]);
  }

  refresh() {
    applyView(this.root);
  }
}
