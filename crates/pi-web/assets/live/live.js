// The transcript of the live session: entries of the current branch, then messages that are not stored yet, then
// the response that is being received. An entry is rendered once; only what changed is rendered again.

import { asText, element } from "../shared/element.js";
import { renderCall, renderEntry, renderNode, view } from "../shared/entry.js";
import { applyCarriageReturns, terminalText } from "../shared/terminal_text.js";
import { HIDDEN_KINDS } from "../shared/transcript.js";
import { GrowingResponse } from "./growing.js";
import { outline } from "./outline.js";

/** Number of entries that are shown at first: a few screens, so that the end appears at once. */
const WINDOW = 30;

/** Number of entries that are added when scrolling to the top, and that stay until the reader is back at the end. */
const STEP = 150;
const LONGEST_WINDOW = 900;

/** Distance from the top within which earlier entries are added, in pixels. */
const EXTEND_DISTANCE = 600;

/** Tools that only look at files. */
const QUIET_TOOLS = new Set(["read", "ls", "find", "grep"]);

/** Distance from the end within which the transcript follows new text, in pixels. */
const FOLLOW_DISTANCE = 80;

export class LiveTranscript {
  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} scroller
   * @param {{ loadOlder: () => Promise<void>, isFollowing: (isFollowing: boolean) => void }} handlers
   */
  constructor(root, scroller, handlers) {
    this.root = root;
    this.scroller = scroller;
    this.handlers = handlers;
    this.list = element("div", { class: "entries" });
    this.tail = element("div", { class: "tail" });
    root.replaceChildren(this.list, this.tail);
    /** @type {import("./session_state.js").LiveSession | undefined} */
    this.session = undefined;
    /** Articles by entry ID, with what they were rendered from. @type {Map<string, { version: string, article: HTMLElement }>} */
    this.articles = new Map();
    this.limit = WINDOW;
    this.isFollowing = true;
    /** @type {HTMLElement | undefined} */
    this.older = undefined;
    /** @type {Set<string>} */
    this.dirty = new Set();
    scroller.addEventListener("scroll", () => this.onScroll(), { passive: true });
    // Content that grows by folding or by images must not lose the end.
    new ResizeObserver(() => { if (this.isFollowing) this.scrollToEnd(); }).observe(root);
    root.addEventListener("click", (event) => this.toggleCard(event));
    /** Cards that the user folded or unfolded. @type {Map<string, boolean>} */
    this.folded = new Map();
  }

  /** Shows another session, or the same one after a snapshot. */
  show(session) {
    const isOther = this.session !== session;
    this.session = session;
    if (isOther) {
      this.articles.clear();
      this.folded.clear();
      this.limit = WINDOW;
      this.isFollowing = true;
      this.list.replaceChildren();
    }
    this.growing = undefined;
    this.tail.replaceChildren();
    this.render();
    if (isOther || this.isFollowing) this.scrollToEnd();
    this.fill();
  }

  /** Shows earlier entries if those that are shown are short: a page that is not full cannot be scrolled. */
  fill() {
    if (this.isFollowing && this.scroller.clientHeight > 0 && this.scroller.scrollTop < EXTEND_DISTANCE) this.extend();
  }

  /** Renders parts of the page in the next frame. */
  schedule(...parts) {
    for (const part of parts) this.dirty.add(part);
    if (this.frame !== undefined) return;
    const run = () => {
      cancelAnimationFrame(this.frame ?? 0);
      clearTimeout(this.timer);
      this.frame = undefined;
      this.flush();
    };
    this.frame = requestAnimationFrame(run);
    // A page in the background has no frames.
    this.timer = setTimeout(run, 250);
  }

  flush() {
    if (this.session === undefined) return;
    const { dirty } = this;
    this.dirty = new Set();
    if (dirty.has("transcript")) this.render();
    else {
      if (dirty.has("call")) this.renderCalls();
      if (dirty.has("growing")) this.renderGrowing();
      if (dirty.has("shell")) this.renderShell();
    }
    if (this.isFollowing) this.scrollToEnd();
  }

  render() {
    const { session } = this;
    if (session === undefined) return;
    session.openCall = (id) => this.openCall(id);
    const path = session.leaf === undefined ? [] : session.path(session.leaf);
    const results = session.results(path);
    const attached = new Set([...results.values()].flatMap((calls) => [...calls.values()]));
    const items = path.filter((index) => !attached.has(index) && this.isListed(session.nodes[index].kind));
    this.hiddenCount = Math.max(0, items.length - this.limit);
    const shown = items.slice(this.hiddenCount);
    this.lastCalls = lastCalls(session, path);
    const wanted = shown.map((index) => this.article(index, results.get(index)));
    const note = this.olderNote();
    reconcile(this.list, note ? [note, ...wanted] : wanted);
    const kept = new Set(shown.map((index) => session.nodes[index].id));
    for (const id of this.articles.keys()) if (!kept.has(id)) this.articles.delete(id);
    this.renderTail();
  }

  isListed(kind) {
    return !HIDDEN_KINDS.has(kind) || (kind === "hidden" && view.hidden);
  }

  olderNote() {
    if (this.hiddenCount === 0 && !this.session?.hasOlder) return undefined;
    this.older ??= element("button", { type: "button", class: "older", click: () => this.extend() }, "Show earlier messages");
    return this.older;
  }

  article(index, results) {
    const session = /** @type {any} */ (this.session);
    const node = session.nodes[index];
    const states = (node.calls ?? []).map((call) => `${results?.has(call)}:${this.openCall(call)?.isRunning}`);
    const version = [index, node.label, ...states, view.thinking, view.outputs].join(" ");
    const known = this.articles.get(node.id);
    if (known?.version === version) return known.article;
    const article = this.guarded(() => renderEntry(session, index, results));
    this.prepare(article);
    this.articles.set(node.id, { version, article });
    return article;
  }

  /** An entry that fails to render must not affect the others. */
  guarded(build) {
    try {
      return build();
    } catch (error) {
      return element("article", { class: "entry unknown" }, element("p", { class: "error-text" }, `This entry cannot be shown: ${error.message}`));
    }
  }

  /** Adds what only the live page has: cards that fold. */
  prepare(root) {
    for (const card of root.matches?.(".call") ? [root] : root.querySelectorAll(".call")) {
      const isFolded = this.folded.get(card.dataset.call) ?? isQuiet(card);
      card.classList.toggle("folded", isFolded);
      const head = card.querySelector(".call-head");
      if (card.children.length < 2 || head.querySelector(".fold-card")) continue;
      head.append(element("button", { type: "button", class: "fold-card", "aria-expanded": String(!isFolded), "aria-label": "Details of the call" }));
    }
  }

  toggleCard(event) {
    const head = event.target.closest?.(".call-head");
    if (!head || event.target.closest("a") || getSelection()?.isCollapsed === false) return;
    const card = head.parentElement;
    const isFolded = card.classList.toggle("folded");
    head.querySelector(".fold-card")?.setAttribute("aria-expanded", String(!isFolded));
    this.folded.set(card.dataset.call, isFolded);
  }

  /** Returns the state of a call without a stored result. */
  openCall(id) {
    const call = this.session?.calls.get(id);
    if (call === undefined) return this.session?.isRunning && this.lastCalls?.has(id) ? { isRunning: true } : undefined;
    return { isRunning: call.state === "running", result: call.result };
  }

  /** Renders the cards of calls that are running or have just ended. */
  renderCalls() {
    for (const id of this.session?.calls.keys() ?? []) {
      const card = this.root.querySelector(`.call[data-call="${CSS.escape(id)}"]`);
      const call = this.findCall(id);
      if (card === null || call === undefined) continue;
      const fresh = this.guarded(() => renderCall(call, undefined, undefined, this.openCall(id)));
      this.prepare(fresh);
      card.replaceWith(fresh);
    }
  }

  findCall(id) {
    const session = /** @type {any} */ (this.session);
    const messages = [...session.provisional, session.growing];
    for (let index = session.nodes.length - 1; index >= 0 && messages.length < 20; index--) {
      if (session.nodes[index].calls?.includes(id)) messages.push(session.entry(index).message);
    }
    return messages.flatMap((message) => message?.content ?? []).find((block) => block?.type === "toolCall" && block.id === id);
  }

  /** Renders what comes after the stored entries. */
  renderTail() {
    const session = /** @type {any} */ (this.session);
    const provisional = session.provisional.filter((message) => message.role !== "toolResult").map((message, at) => {
      const entry = { type: "message", id: `provisional-${at}`, timestamp: new Date(Number(message.timestamp) || Date.now()).toISOString(), message };
      const node = outline(entry);
      if (!this.isListed(node.kind)) return undefined;
      const article = this.guarded(() => renderNode(session, node, entry, undefined, undefined));
      article.removeAttribute("id");
      this.prepare(article);
      return article;
    });
    this.renderGrowing();
    this.renderShell();
    reconcile(this.tail, [...provisional, this.growing?.article, this.shell].filter(Boolean));
  }

  renderGrowing() {
    const message = this.session?.growing;
    if (message === undefined) {
      this.growing?.article.remove();
      this.growing = undefined;
      return;
    }
    if (this.growing === undefined) {
      this.growing = new GrowingResponse();
      this.tail.append(this.growing.article);
    }
    this.growing.update(message);
    this.prepare(this.growing.article);
  }

  renderShell() {
    const shell = this.session?.shell;
    this.shell?.remove();
    this.shell = shell && element("article", { class: "entry bash growing" }, element("header", { class: "entry-head" }, element("span", { class: "who" }, "Shell")),
      element("pre", { class: "command" }, asText(shell.command)), element("pre", { class: "output tail" }, terminalText(applyCarriageReturns(shell.output.slice(-8000)).split("\n").slice(-20).join("\n"))));
    if (this.shell) this.tail.append(this.shell);
  }

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const isFollowing = scrollHeight - scrollTop - clientHeight < FOLLOW_DISTANCE;
    if (isFollowing !== this.isFollowing) {
      this.isFollowing = isFollowing;
      this.handlers.isFollowing(isFollowing);
      if (isFollowing && this.limit > LONGEST_WINDOW) {
        this.limit = WINDOW;
        this.schedule("transcript");
      }
    }
    if (scrollTop < EXTEND_DISTANCE) this.extend();
  }

  /** Shows earlier entries and keeps the position of those that are shown. */
  async extend() {
    if (this.isExtending || !this.olderNote()) return;
    this.isExtending = true;
    try {
      if (this.hiddenCount < STEP && this.session?.hasOlder) await this.handlers.loadOlder();
      const { scrollHeight, scrollTop } = this.scroller;
      this.limit += STEP;
      this.render();
      if (this.isFollowing) this.scrollToEnd();
      else this.scroller.scrollTop = scrollTop + this.scroller.scrollHeight - scrollHeight;
    } finally {
      this.isExtending = false;
    }
    this.fill();
  }

  scrollToEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** Follows new text again. */
  follow() {
    this.isFollowing = true;
    this.handlers.isFollowing(true);
    this.scrollToEnd();
  }

  /** Scrolls to an entry of the current branch. Returns whether it is on it. */
  jump(index) {
    const session = /** @type {any} */ (this.session);
    const find = () => this.root.querySelector(`#${CSS.escape(`e-${session.nodes[index].id}`)}`);
    if (!session.path(session.leaf).includes(index)) return false;
    if (find() === null && this.hiddenCount > 0) {
      this.limit = session.nodes.length;
      this.render();
    }
    const target = find();
    if (target === null) return false;
    this.isFollowing = false;
    this.handlers.isFollowing(false);
    target.scrollIntoView({ block: "start" });
    for (const marked of this.root.querySelectorAll(".marked")) marked.classList.remove("marked");
    target.classList.add("marked");
    return true;
  }
}

/** Whether a card starts folded: its result is for the model, and it succeeded. */
function isQuiet(card) {
  return card.classList.contains("done") && QUIET_TOOLS.has(card.querySelector(".call-name")?.textContent);
}

/** Returns the calls that the last response made, if no message came after it. */
function lastCalls(session, path) {
  const response = session.provisional.findLast((message) => message.role === "assistant");
  if (response !== undefined) return new Set((response.content ?? []).filter((block) => block?.type === "toolCall").map((block) => block.id));
  const last = path.findLast((index) => session.nodes[index].kind !== "toolResult");
  return new Set(last === undefined ? [] : session.nodes[last].calls ?? []);
}

/** Makes the children of a node equal to a list, touching only what differs. */
function reconcile(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  let next = parent.firstElementChild;
  for (const node of wanted) {
    if (node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
}
