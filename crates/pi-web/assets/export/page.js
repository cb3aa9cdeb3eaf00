// Sets up the page: session summary, tree, transcript, and keyboard shortcuts.

import { append, asText, blocksOf, element, formatCost, formatCount, formatTime, numberFormat } from "../shared/element.js";
import { folded, toolList, view } from "../shared/entry.js";
import { plainText } from "../shared/terminal_text.js";
import { Transcript } from "../shared/transcript.js";
import { FILTERS, Tree } from "../shared/tree.js";
import { Session } from "./session.js";

/** @type {[string, string, () => void][]} */
const SHORTCUTS = [
  ["/", "search", () => focusSearch()],
  ["j", "next entry", () => transcript.step(1)],
  ["k", "previous entry", () => transcript.step(-1)],
  ["n", "next user message", () => transcript.step(1, "user")],
  ["p", "previous user message", () => transcript.step(-1, "user")],
  ["g", "go to the beginning", () => window.scrollTo(0, 0)],
  ["G", "go to the end", () => transcript.items.length > 0 && transcript.jump(transcript.items.at(-1), { isMarked: false })],
  ["t", "expand or collapse all thinking", () => toggleView("thinking")],
  ["o", "expand or collapse all tool output", () => toggleView("outputs")],
  ["H", "show or hide hidden messages of extensions", () => toggleHidden()],
  ["b", "toggle session tree", () => toggleSidebar()],
  ["d", "toggle light or dark", () => switchScheme()],
  ["?", "show this help", () => dialog("help").showModal()],
];

const session = /** @type {any} */ (new Session());
const transcript = new Transcript(session, document.getElementById("transcript"));
const tree = new Tree(session, document.getElementById("tree"), document.getElementById("tree-status"), (index) => openEntry(index));

/** @returns {HTMLDialogElement} */
function dialog(id) {
  return /** @type {any} */ (document.getElementById(id));
}

/** Shows an entry, switching to its branch if it is not on the current one. */
function openEntry(index, { isMarked = true } = {}) {
  if (transcript.onPath?.has(index) !== true) showBranch(session.nodes[index].newest);
  document.body.classList.remove("sidebar-open");
  transcript.jump(index, { isMarked });
  tree.mark(index);
  // `replaceState` fires no hashchange event; the entry is already shown.
  history.replaceState(null, "", `#e-${encodeURIComponent(session.nodes[index].id)}`);
}

function showBranch(leaf) {
  transcript.show(leaf, tree.filter === "all");
  tree.setPath(transcript.onPath, leaf);
  const note = document.getElementById("branch-note");
  note.hidden = leaf === session.leaf || leaf === undefined;
  document.body.classList.toggle("other-branch", !note.hidden);
  note.replaceChildren("This is not the session's current branch. ",
    element("button", { type: "button", click: () => { showBranch(session.leaf); window.scrollTo(0, 0); } }, "Show current branch"));
}

function openHash() {
  let id;
  try {
    id = decodeURIComponent(location.hash.replace(/^#e-/, ""));
  } catch {
    return false;
  }
  const index = session.byId.get(id);
  if (index === undefined) return false;
  openEntry(index);
  return true;
}

function summary() {
  const { header, totals } = session;
  const first = session.nodes.find((node) => node.kind === "user");
  const title = session.name ?? first?.text ?? "Untitled session";
  document.getElementById("bar-title").textContent = title;
  const facts = [
    ["Started", formatTime(Date.parse(header.timestamp))],
    ["Directory", asText(header.cwd)],
    ["Session", asText(header.id)],
    ["Parent", asText(header.parentSession)],
    ["Messages", `${numberFormat.format(totals.userMessages)} from the user, ${counted(totals.assistantMessages, "response")}, ${counted(totals.toolCalls, "tool call")}`],
    ["Tokens", totals.tokens.total > 0 && tokensText(totals.tokens)],
    ["Cost", totals.cost > 0 && formatCost(totals.cost)],
  ].filter(([, value]) => value);
  const models = totals.models.length > 0 && element("table", { class: "models" }, totals.models.map((model) => element("tr", null, element("td", null, model.name), element("td", null, `${formatCount(model.tokens)} tokens`), element("td", null, formatCost(model.cost)))));
  append(document.getElementById("summary"), [
    element("h1", null, title),
    element("dl", null, facts.map(([name, value]) => [element("dt", null, name), element("dd", null, value)])),
    models,
    folded("System prompt", () => systemPrompt()),
    toolList(knownTools(), "Tools"),
    element("p", { class: "actions" }, element("button", { type: "button", click: download }, "Download as JSONL")),
  ]);
  document.getElementById("colophon").textContent = `Exported by pi ${session.version} on ${formatTime(session.exportedAt)}. This file is self-contained.`;
}

function counted(count, noun) {
  return `${numberFormat.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function tokensText(tokens) {
  const parts = [`${formatCount(tokens.input)} in`, `${formatCount(tokens.output)} out`];
  if (tokens.cacheRead > 0) parts.push(`${formatCount(tokens.cacheRead)} read from cache`);
  if (tokens.cacheWrite > 0) parts.push(`${formatCount(tokens.cacheWrite)} written to cache`);
  return `${formatCount(tokens.total)}: ${parts.join(", ")}`;
}

/** Returns the system messages on the current branch. */
function systemMessages() {
  if (session.leaf === undefined || session.leaf === null) return [];
  return session.path(session.leaf).filter((index) => session.nodes[index].kind === "system").map((index) => session.entry(index).message ?? {});
}

function systemPrompt() {
  if (session.systemPrompt) return element("pre", { class: "plain" }, plainText(session.systemPrompt));
  const sections = new Map();
  for (const message of systemMessages()) {
    const text = blocksOf(message.content).map((block) => asText(block.text)).join("\n");
    if (text !== "") sections.set("", text);
    for (const [name, section] of Object.entries(message.sections ?? {})) {
      if (section === null) sections.delete(name);
      else sections.set(name, asText(section));
    }
  }
  if (sections.size === 0) return element("p", { class: "note" }, "Not recorded in the session file.");
  return [...sections].map(([name, text]) => [name && element("h3", null, name), element("pre", { class: "plain" }, plainText(text))]).flat().filter(Boolean);
}

function knownTools() {
  if (session.tools.length > 0) return session.tools;
  const tools = new Map();
  for (const message of systemMessages()) {
    for (const tool of message.toolsRemoved ?? []) tools.delete(asText(tool?.name ?? tool));
    for (const tool of message.toolsAdded ?? []) tools.set(asText(tool?.name), tool);
  }
  return [...tools.values()];
}

function download() {
  const url = URL.createObjectURL(new Blob([session.jsonLines()], { type: "application/jsonl" }));
  element("a", { href: url, download: `${asText(session.header.id).replace(/[^\w.-]/g, "_") || "session"}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function filters() {
  const buttons = Object.entries(FILTERS).map(([name, { title, hint }]) => element("button", { type: "button", title: hint, "aria-pressed": String(name === tree.filter), "data-filter": name }, title));
  const group = document.getElementById("filters");
  group.append(...buttons);
  group.addEventListener("click", (event) => {
    const target = /** @type {any} */ (event.target);
    const name = target.dataset?.filter;
    if (name === undefined) return;
    const before = tree.filter;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === target));
    tree.setFilter(name);
    // If the tree lists all entries, the transcript must show all of them too.
    if ((before === "all") !== (name === "all")) transcript.show(transcript.leaf, name === "all");
  });
}

function toggleView(what) {
  view[what] = !view[what];
  const current = transcript.current();
  transcript.refresh();
  if (current !== undefined) transcript.jump(current, { isMarked: false });
}

function toggleHidden() {
  view.hidden = !view.hidden;
  transcript.show(transcript.leaf, tree.filter === "all");
}

function toggleSidebar() {
  const isNarrow = matchMedia("(max-width: 900px)").matches;
  const isOn = document.body.classList.toggle(isNarrow ? "sidebar-open" : "sidebar-closed");
  document.getElementById("open-sidebar").setAttribute("aria-expanded", String(isNarrow === isOn));
}

function switchScheme() {
  const root = document.documentElement;
  const isDark = root.dataset.scheme === "dark" || (root.dataset.scheme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.scheme = isDark ? "light" : "dark";
  // Theme backgrounds only fit the original scheme.
  delete root.dataset.colors;
}

function focusSearch() {
  if (matchMedia("(max-width: 900px)").matches) document.body.classList.add("sidebar-open");
  document.body.classList.remove("sidebar-closed");
  document.getElementById("search").focus();
}

function keys() {
  const help = dialog("help");
  append(help, [element("h2", null, "Keyboard shortcuts"), element("dl", null, SHORTCUTS.map(([key, meaning]) => [element("dt", null, element("kbd", null, key)), element("dd", null, meaning)])),
    element("button", { type: "button", click: () => help.close() }, "Close")]);
  const actions = new Map(SHORTCUTS.map(([key, , action]) => [key, action]));
  document.addEventListener("keydown", (event) => {
    const target = /** @type {any} */ (event.target);
    const isTyping = target.matches?.("input, textarea, select");
    if (event.key === "Escape") {
      document.body.classList.remove("sidebar-open");
      if (isTyping) target.blur();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (document.activeElement === tree.root && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const next = tree.neighbor(event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      if (next !== undefined) openEntry(next);
      return;
    }
    const action = actions.get(event.key);
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}

function listen() {
  document.getElementById("open-sidebar").addEventListener("click", toggleSidebar);
  document.getElementById("shade").addEventListener("click", toggleSidebar);
  document.getElementById("switch-scheme").addEventListener("click", switchScheme);
  document.getElementById("open-help").addEventListener("click", () => dialog("help").showModal());
  const search = /** @type {HTMLInputElement} */ (document.getElementById("search"));
  search.addEventListener("input", () => tree.search(search.value));
  window.addEventListener("hashchange", openHash);
  let isWaiting = false;
  window.addEventListener("scroll", () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      const current = transcript.current();
      if (current !== undefined) tree.mark(current);
    });
  }, { passive: true });
}

summary();
filters();
keys();
listen();
showBranch(session.leaf ?? (session.nodes.length > 0 ? session.nodes.length - 1 : undefined));
openHash();
