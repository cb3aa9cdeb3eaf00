// The search in the text of all sessions: hits with title, date and snippet, which lead to an entry.

import { asText, element } from "../shared/element.js";
import { plainText } from "../shared/terminal_text.js";
import { request } from "./api.js";
import { relativeTime, shortDirectory } from "./sessions.js";

/** Time without a key before a search starts, and before it is repeated while sessions are being indexed, in milliseconds. */
const SEARCH_DELAY = 180;
const REPEAT_DELAY = 1000;

/** What the roles of hits are called. */
const ROLES = { user: "prompt", assistant: "response", tool: "tool result", other: "message", name: "name" };

export class TextSearch {
  /**
   * @param {{ toggle: HTMLElement, search: HTMLInputElement, list: HTMLElement, hits: HTMLElement }} parts
   * @param {{ changed: () => void }} page
   */
  constructor(parts, page) {
    this.parts = parts;
    this.page = page;
    this.placeholder = parts.search.placeholder;
    this.status = element("p", { class: "note", role: "status" });
    this.rows = element("div", null);
    parts.hits.replaceChildren(this.status, this.rows);
    parts.toggle.addEventListener("click", () => this.toggle());
    parts.search.addEventListener("input", () => this.schedule(SEARCH_DELAY));
    parts.search.addEventListener("keydown", (event) => {
      if (!this.isOn || event.key !== "Enter") return;
      event.preventDefault();
      const first = this.rows.querySelector("a");
      if (first === null || this.shown !== this.query) this.load(true);
      else first.click();
    });
  }

  get isOn() {
    return !this.parts.hits.hidden;
  }

  get query() {
    return this.parts.search.value.trim();
  }

  /** Switches between the list of sessions and the search in their text. */
  toggle() {
    const { toggle, search, list, hits } = this.parts;
    const isOn = !this.isOn;
    toggle.setAttribute("aria-pressed", String(isOn));
    list.hidden = isOn;
    hits.hidden = !isOn;
    search.placeholder = isOn ? "Search the text of sessions" : this.placeholder;
    search.setAttribute("aria-label", search.placeholder);
    search.focus();
    if (isOn) this.load();
    else this.page.changed();
  }

  schedule(delay) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), delay);
  }

  /**
   * Shows the hits of the query.
   * @param {boolean} [opensFirst]
   */
  async load(opensFirst = false) {
    const { query } = this;
    clearTimeout(this.timer);
    if (!this.isOn) return;
    if (query === "") {
      this.show(query, [], "Words, \"a phrase\", or the start of a word*: in prompts, responses and tool results");
      return;
    }
    try {
      const { hits, total, indexing } = await request("GET", `/v1/search?${new URLSearchParams({ q: query, incomplete: "true" })}`);
      if (!this.isOn || query !== this.query) return;
      const matches = total === 1 ? "1 match" : `${Number(total)} matches`;
      const percent = indexing && Math.floor((100 * indexing.done) / (indexing.total || 1));
      this.show(query, hits, indexing ? `Indexing ${percent}% · ${matches}` : matches);
      if (indexing) this.schedule(REPEAT_DELAY);
      if (opensFirst) this.rows.querySelector("a")?.click();
    } catch (error) {
      if (query === this.query) this.show(query, [], error.message);
    }
  }

  show(query, hits, status) {
    this.status.textContent = status;
    // The same hits, while sessions are being indexed, keep the focus.
    const rows = JSON.stringify(hits);
    if (rows !== this.last) {
      const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.hit;
      this.rows.replaceChildren(...hits.map((hit) => row(hit)));
      if (focused !== undefined) [.../** @type {any} */ (this.rows).children].find((hit) => hit.dataset.hit === focused)?.focus();
    }
    this.last = rows;
    this.shown = query;
  }
}

function row({ sessionId, entryId, title, cwd, role, timestamp, snippet }) {
  const place = new URLSearchParams({ s: asText(sessionId), e: asText(entryId) });
  const facts = [ROLES[role], timestamp && relativeTime(timestamp), shortDirectory(asText(cwd))].filter(Boolean);
  const parts = snippet.map((part) => (part.match ? element("mark", null, plainText(asText(part.text))) : plainText(asText(part.text))));
  return element("a", { class: "session hit", href: `#${place}`, "data-hit": String(place) },
    element("span", { class: "session-title" }, plainText(asText(title)) || "New session"),
    element("span", { class: "snippet" }, parts),
    element("span", { class: "session-facts" }, facts.join(" · ")));
}
