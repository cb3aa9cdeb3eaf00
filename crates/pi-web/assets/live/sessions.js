// The list of sessions: live ones first, grouped by directory, with search and a new session.

import { asText, element, formatCost } from "../shared/element.js";
import { plainText } from "../shared/terminal_text.js";
import { request } from "./api.js";
import { failure } from "./notify.js";
import { ask } from "./pickers.js";

/** Time without a key before a search starts, in milliseconds. */
const SEARCH_DELAY = 180;

export class SessionList {
  /**
   * @param {{ list: HTMLElement, search: HTMLInputElement, add: HTMLElement }} parts
   * @param {{ open: (id: string) => void, current: () => string | undefined, screen: () => string }} page
   */
  constructor(parts, page) {
    this.parts = parts;
    this.page = page;
    /** @type {any[]} */
    this.sessions = [];
    this.cursor = undefined;
    this.isReachable = true;
    /** The working directory of the server. */
    this.cwd = "";
    parts.search.addEventListener("input", () => {
      clearTimeout(this.timer);
      if (!parts.list.hidden) this.timer = setTimeout(() => this.load(), SEARCH_DELAY);
    });
    parts.add.addEventListener("click", () => this.create());
  }

  /** Loads the first page. */
  async load() {
    const query = this.parts.search.value.trim();
    try {
      const answer = await request("GET", `/v1/sessions${query === "" ? "" : `?${new URLSearchParams({ q: query })}`}`);
      if (query !== this.parts.search.value.trim()) return;
      this.sessions = answer.sessions ?? [];
      this.cursor = answer.nextCursor ?? undefined;
      this.cwd = asText(answer.cwd);
      this.isReachable = true;
      this.render();
    } catch (error) {
      this.isReachable = error.status !== 0;
      if (this.sessions.length === 0) this.render();
      if (error.status !== 401 && error.status !== 0) failure(error);
    }
  }

  /** Loads again soon; many changes at once load once. */
  refresh() {
    clearTimeout(this.refreshTimer);
    this.refreshTimer = setTimeout(() => this.load(), 300);
  }

  /** Applies an event of the server. */
  apply({ type, session, id }) {
    const known = this.sessions.find((candidate) => candidate.id === (session?.id ?? id));
    if (type === "session_closed" && known !== undefined) known.live = undefined;
    else if (type === "session_changed" && known !== undefined && (known.name || known.preview)) Object.assign(known, { live: session.live, name: session.name });
    else {
      this.refresh();
      return;
    }
    this.render();
  }

  async loadMore() {
    try {
      const answer = await request("GET", `/v1/sessions?${new URLSearchParams({ q: this.parts.search.value.trim(), cursor: asText(this.cursor) })}`);
      this.sessions.push(...(answer.sessions ?? []));
      this.cursor = answer.nextCursor ?? undefined;
      this.render();
    } catch (error) {
      failure(error);
    }
  }

  render() {
    const groups = new Map();
    const live = this.sessions.filter((session) => session.live);
    if (live.length > 0) groups.set("Open", live);
    for (const session of this.sessions) {
      if (session.live) continue;
      const directory = shortDirectory(asText(session.cwd));
      if (!groups.has(directory)) groups.set(directory, []);
      groups.get(directory).push(session);
    }
    const { list } = this.parts;
    const top = list.scrollTop;
    list.replaceChildren(...[...groups].map(([title, sessions]) => element("section", { class: "group" }, element("h2", { title }, title), sessions.map((session) => this.row(session)))));
    if (this.cursor) list.append(element("button", { type: "button", class: "quiet", click: () => this.loadMore() }, "Show more"));
    if (this.sessions.length === 0) list.append(element("p", { class: "note empty" }, !this.isReachable ? "The server is not reachable" : this.parts.search.value === "" ? "No sessions yet" : "No session found"));
    list.scrollTop = top;
  }

  row(session) {
    const id = asText(session.id);
    const title = plainText(asText(session.name || session.preview)) || "New session";
    const state = session.live?.pending > 0 ? "asks" : session.live?.status?.kind === "idle" ? "live" : session.live ? "running" : "";
    const facts = [session.live && shortDirectory(asText(session.cwd)), relativeTime(session.modified), session.live?.cost > 0 && formatCost(session.live.cost)].filter(Boolean);
    return element("a", { class: `session ${state}`, href: `#s=${encodeURIComponent(id)}`, "aria-current": id === this.page.current() ? "page" : undefined, "data-id": id },
      element("span", { class: "dot", role: "img", "aria-label": { asks: "waits for an answer", running: "running", live: "open" }[state] ?? "closed" }),
      element("span", { class: "session-title" }, title),
      element("span", { class: "session-facts" }, facts.join(" · ")));
  }

  /** @returns {HTMLElement[]} */
  rows() {
    return rowsOf(this.parts.list);
  }

  /** Marks the open session. */
  mark() {
    for (const row of this.rows()) {
      if (row.dataset.id === this.page.current()) row.setAttribute("aria-current", "page");
      else row.removeAttribute("aria-current");
    }
  }

  /** Known directories, most recent first, then that of the server. */
  directories() {
    return [...new Set([...this.sessions.map((session) => asText(session.cwd)), this.cwd].filter(Boolean))];
  }

  /** Creates a session in a directory; asks for it if none is given. */
  async create(directory) {
    const options = this.directories();
    const cwd = directory ?? (await ask("New session in directory", { value: options[0] ?? "", placeholder: "Directory on the server's machine", action: "Start", options }));
    if (cwd === undefined) return;
    try {
      const session = await request("POST", "/v1/sessions", { cwd: cwd === "" ? undefined : cwd, screen: this.page.screen() });
      this.page.open(asText(session.session));
      this.refresh();
    } catch (error) {
      failure(error);
    }
  }
}

/** @returns {HTMLElement[]} */
function rowsOf(list) {
  return [...list.querySelectorAll(".session")].map((row) => /** @type {HTMLElement} */ (row));
}

/** Moves the focus with the arrow keys: from the search to the rows that are shown, and among them. */
export function moveFocus(event, list) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const rows = rowsOf(list);
  const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  if (at < 0 && step < 0) return;
  event.preventDefault();
  rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
}

/** Shortens a directory to its last two parts. */
export function shortDirectory(directory) {
  const parts = directory.split(/[\\/]/).filter(Boolean);
  return parts.length <= 2 ? directory : `…/${parts.slice(-2).join("/")}`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const dates = new Intl.DateTimeFormat([], { dateStyle: "medium" });

/** @param {number} time milliseconds since the epoch */
export function relativeTime(time) {
  // A session without a file has no time yet.
  const at = Math.min(Number(time), Date.now());
  if (Number.isNaN(at)) return "";
  const minutes = Math.round((at - Date.now()) / 60_000);
  if (Math.abs(minutes) < 1) return "now";
  if (Math.abs(minutes) < 60) return relative.format(minutes, "minute");
  if (Math.abs(minutes) < 60 * 24) return relative.format(Math.round(minutes / 60), "hour");
  const days = Math.round(minutes / 60 / 24);
  return Math.abs(days) < 30 ? relative.format(days, "day") : dates.format(at);
}
