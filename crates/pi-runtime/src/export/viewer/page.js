// Puts the page together: the session's facts, the tree, the conversation, and the keys.

const SHORTCUTS = [
  ["/", "search", () => focusSearch()],
  ["j", "next entry", () => transcript.step(1)],
  ["k", "previous entry", () => transcript.step(-1)],
  ["n", "next message of the user", () => transcript.step(1, "user")],
  ["p", "previous message of the user", () => transcript.step(-1, "user")],
  ["g", "to the beginning", () => window.scrollTo(0, 0)],
  ["G", "to the end", () => transcript.items.length > 0 && transcript.jump(transcript.items.at(-1), { isMarked: false })],
  ["t", "thinking: all open or all closed", () => toggleView("thinking")],
  ["o", "outputs of tools: all or the first lines", () => toggleView("outputs")],
  ["b", "session tree", () => toggleSidebar()],
  ["d", "light or dark", () => switchScheme()],
  ["?", "this list", () => document.getElementById("help").showModal()],
];

const session = new Session();
const transcript = new Transcript(session, document.getElementById("transcript"));
const tree = new Tree(session, document.getElementById("tree"), document.getElementById("tree-status"), (index) => openEntry(index));

/** Shows an entry, on the branch that is open or on its own. */
function openEntry(index, { isMarked = true } = {}) {
  if (transcript.onPath?.has(index) !== true) showBranch(session.nodes[index].newest);
  document.body.classList.remove("sidebar-open");
  transcript.jump(index, { isMarked });
  tree.mark(index);
  // Without an event: the page is there already.
  history.replaceState(null, "", `#e-${encodeURIComponent(session.nodes[index].id)}`);
}

function showBranch(leaf) {
  transcript.show(leaf, tree.filter === "all");
  tree.setPath(transcript.onPath, leaf);
  const note = document.getElementById("branch-note");
  note.hidden = leaf === session.leaf || leaf === undefined;
  document.body.classList.toggle("other-branch", !note.hidden);
  note.replaceChildren("This is another branch than the one the session stands on. ",
    element("button", { type: "button", click: () => { showBranch(session.leaf); window.scrollTo(0, 0); } }, "Back to it"));
}

function openAddress() {
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
  const title = session.name ?? first?.text ?? "A session";
  document.getElementById("bar-title").textContent = title;
  const facts = [
    ["Began", moment(Date.parse(header.timestamp))],
    ["Folder", asText(header.cwd)],
    ["Session", asText(header.id)],
    ["From", asText(header.parentSession)],
    ["Messages", `${counting.format(totals.userMessages)} of the user, ${counting.format(totals.assistantMessages)} answers, ${counting.format(totals.toolCalls)} tool calls`],
    ["Tokens", totals.tokens.total > 0 && tokensText(totals.tokens)],
    ["Cost", totals.cost > 0 && dollars(totals.cost)],
  ].filter(([, value]) => value);
  const models = totals.models.length > 0 && element("table", { class: "models" }, totals.models.map((model) => element("tr", null, element("td", null, model.name), element("td", null, `${shortCount(model.tokens)} tokens`), element("td", null, dollars(model.cost)))));
  append(document.getElementById("summary"), [
    element("h1", null, title),
    element("dl", null, facts.map(([name, value]) => [element("dt", null, name), element("dd", null, value)])),
    models,
    folded("System prompt", () => systemPrompt()),
    toolList(knownTools(), "Tools"),
    element("p", { class: "actions" }, element("button", { type: "button", click: download }, "Download as JSONL")),
  ]);
  document.getElementById("colophon").textContent = `Exported by pi ${session.version} on ${moment(session.exportedAt)}. Everything is in this file.`;
}

function tokensText(tokens) {
  const parts = [`${shortCount(tokens.input)} in`, `${shortCount(tokens.output)} out`];
  if (tokens.cacheRead > 0) parts.push(`${shortCount(tokens.cacheRead)} read from cache`);
  if (tokens.cacheWrite > 0) parts.push(`${shortCount(tokens.cacheWrite)} written to cache`);
  return `${shortCount(tokens.total)}: ${parts.join(", ")}`;
}

/** Returns the system messages on the way to where the session stands. */
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
  if (sections.size === 0) return element("p", { class: "remark" }, "The session file does not hold it.");
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
  const address = URL.createObjectURL(new Blob([session.jsonLines()], { type: "application/jsonl" }));
  element("a", { href: address, download: `${asText(session.header.id).replace(/[^\w.-]/g, "_") || "session"}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function filters() {
  const buttons = Object.entries(FILTERS).map(([name, { title, hint }]) => element("button", { type: "button", title: hint, "aria-pressed": String(name === tree.filter), "data-filter": name }, title));
  const group = document.getElementById("filters");
  group.append(...buttons);
  group.addEventListener("click", ({ target }) => {
    const name = target.dataset?.filter;
    if (name === undefined) return;
    const before = tree.filter;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === target));
    tree.setFilter(name);
    // With everything listed, everything is shown: rows must lead somewhere.
    if ((before === "all") !== (name === "all")) transcript.show(transcript.leaf, name === "all");
  });
}

function toggleView(what) {
  view[what] = !view[what];
  const current = transcript.current();
  transcript.refresh();
  if (current !== undefined) transcript.jump(current, { isMarked: false });
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
  // A theme's backgrounds fit one scheme only.
  delete root.dataset.colors;
}

function focusSearch() {
  if (matchMedia("(max-width: 900px)").matches) document.body.classList.add("sidebar-open");
  document.body.classList.remove("sidebar-closed");
  document.getElementById("search").focus();
}

function keys() {
  const help = document.getElementById("help");
  append(help, [element("h2", null, "Keys"), element("dl", null, SHORTCUTS.map(([key, meaning]) => [element("dt", null, element("kbd", null, key)), element("dd", null, meaning)])),
    element("button", { type: "button", click: () => help.close() }, "Close")]);
  const actions = new Map(SHORTCUTS.map(([key, , action]) => [key, action]));
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches?.("input, textarea, select");
    if (event.key === "Escape") {
      document.body.classList.remove("sidebar-open");
      if (isTyping) event.target.blur();
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
  document.getElementById("open-help").addEventListener("click", () => document.getElementById("help").showModal());
  const search = document.getElementById("search");
  search.addEventListener("input", () => tree.search(search.value));
  window.addEventListener("hashchange", openAddress);
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
openAddress();
