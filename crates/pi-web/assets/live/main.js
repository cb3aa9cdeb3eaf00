// Sets up the page: sign-in, the open session and its event stream, and the parts that show it.

import { asText, element, formatCost, formatCount, formatTime } from "../shared/element.js";
import { view } from "../shared/entry.js";
import { terminalText } from "../shared/terminal_text.js";
import { EventStream, SharedStream, request, sendCommand } from "./api.js";
import { Composer } from "./composer.js";
import { numberedDiff } from "./diff.js";
import { fillIcons } from "./icons.js";
import { LiveTranscript } from "./live.js";
import { alertHidden, failure, hasNotifications, notice, setTitle, toggleNotifications } from "./notify.js";
import { ask, pick, pickModel, pickThinking } from "./pickers.js";
import { RequestPanel } from "./requests.js";
import { ScreenPanel } from "./screen.js";
import { LiveSession } from "./session_state.js";
import { SessionList, moveFocus, shortDirectory } from "./sessions.js";
import { readSnapshot } from "./snapshot.js";
import { TextSearch } from "./text_search.js";
import { TreePanel } from "./tree_panel.js";

/** Entries of a snapshot, and of a request of earlier ones. */
const SNAPSHOT_SIZE = 100;
const PAGE_SIZE = 300;

/** @param {string} id */
const byId = (id) => /** @type {any} */ (document.getElementById(id));

view.isLive = true;
view.diff = numberedDiff;
view.draw = (body, row) => screen.draw(body, row);
view.thinking = localStorage.getItem("pi-thinking") === "on";
fillIcons(document);

/** @type {LiveSession | undefined} */
let session;
/** @type {EventStream | undefined} */
let stream;
/** @type {SharedStream | undefined} */
let hostStream;

const transcript = new LiveTranscript(byId("transcript"), byId("scroller"), {
  loadOlder,
  isFollowing: (isFollowing) => { byId("to-end").hidden = isFollowing; },
});
const composer = new Composer(byId("composer"), { session: () => session, command: runCommand, sent: () => { transcript.schedule("transcript"); transcript.follow(); } });
const requests = new RequestPanel(byId("requests"));
const screen = new ScreenPanel({
  main: byId("main"), header: byId("screen-header"), above: byId("screen-above"), below: byId("screen-below"), overlays: byId("screen-overlays"), prompt: byId("prompt"),
  resized: () => { if (stream && session) stream.path = eventsPath(session.id); },
});
const sessions = new SessionList({ list: byId("session-list"), search: byId("session-search"), add: byId("new-session") }, { open: openSession, current: () => session?.id, screen: screenSize });
const textSearch = new TextSearch({ toggle: byId("search-text"), search: byId("session-search"), list: byId("session-list"), hits: byId("text-hits") }, { changed: () => sessions.load() });
const tree = new TreePanel(byId("tree-panel"), {
  jump: (index) => transcript.jump(index),
  forked: (text, from) => takeText(text, from),
  moved: (text) => {
    if (text !== undefined) composer.setText(text);
    loadEntries();
  },
  closed: () => byId("open-tree").setAttribute("aria-expanded", "false"),
});

// Sessions

const eventsPath = (id) => `/v1/sessions/${encodeURIComponent(id)}/events?entries=${SNAPSHOT_SIZE}&screen=${screenSize()}`;

/** The size of the screen for components of extensions, in cells. */
function screenSize() {
  return `${screen.size.cols}x${screen.size.rows}`;
}

/** The entry at which the session is opened. @type {string | undefined} */
let wantedEntry;

/**
 * Opens a session: the stream starts with a snapshot.
 * @param {string} id
 * @param {string} [entry] where to open it
 */
function openSession(id, entry) {
  wantedEntry = entry;
  if (session?.id === id) {
    showWantedEntry();
    return;
  }
  stream?.close();
  showSession(id);
  const opened = new EventStream(eventsPath(id), {
    event: (name, data) => { if (stream === opened) receive(name, data); },
    online: (isOnline) => { if (stream === opened) setOnline(isOnline); },
    isNeeded: () => session === undefined || session.isRunning || session.requests.size > 0 || hasNotifications(),
  }, ["snapshot", "closed"]);
  stream = opened;
}

/** Shows a session before its snapshot arrives. */
function showSession(id) {
  session = new LiveSession(id);
  history.replaceState(null, "", `#s=${encodeURIComponent(id)}`);
  localStorage.setItem("pi-last", id);
  document.body.classList.remove("sidebar-open");
  byId("welcome").hidden = true;
  byId("main").classList.add("has-session");
  for (const part of ["widgets", "extension-status"]) {
    byId(part).replaceChildren();
    byId(part).hidden = true;
  }
  transcript.show(session);
  composer.open(id);
  requests.show(session);
  screen.reset(id);
  showStatus();
  sessions.mark();
}

function receive(name, data) {
  if (session === undefined) return;
  if (name === "closed") {
    showClosed(session.id);
    return;
  }
  if (name === "snapshot") {
    if (asText(data.session) !== session.id) followReplacement(asText(data.session));
    const { isRunning, requests: known } = session;
    session.reset(readSnapshot(data));
    alertMissed(session, isRunning, known);
    transcript.show(session);
    if (data.entries === undefined) loadEntries();
    else if (tree.isOpen) loadBranches();
    showAll();
    showWantedEntry();
    loadFacts();
    return;
  }
  if (screen.apply(data)) return;
  const opened = session;
  const changed = opened.apply(data);
  transcript.schedule(...changed);
  if (changed.includes("entries")) loadEntries();
  if (changed.includes("facts") || changed.includes("settled")) loadFacts();
  if (changed.includes("lost")) stream?.restart();
  if (changed.includes("tree")) tree.show(opened);
  if (changed.includes("status")) showStatus();
  if (changed.includes("status") || changed.includes("queue") || changed.includes("shell")) composer.update();
  if (changed.includes("requests")) showRequests(data);
  if (changed.includes("notice")) showNotice(data);
  if (changed.includes("settled")) {
    alertHidden(sessionTitle(), data.aborted ? "Stopped" : "Done", "✓");
    announce(opened, data.aborted);
  }
}

/** Notifies about what a hidden page has missed between two snapshots. */
function alertMissed(opened, wasRunning, known) {
  const asked = [...opened.requests.values()].find((request) => !known.has(request.id));
  if (asked !== undefined) alertRequest(asked);
  else if (wasRunning && !opened.isRunning) alertHidden(sessionTitle(), "Done", "✓");
}

function alertRequest(asked) {
  alertHidden(sessionTitle(), asText(asked.title ?? `Allow ${asText(asked.toolName)}?`), "?");
}

/** Requests the entries after those that are known. One request at a time; changes meanwhile start another one. */
async function loadEntries() {
  const opened = session;
  if (opened === undefined) return;
  if (opened.isLoading) {
    opened.isStale = true;
    return;
  }
  opened.isLoading = true;
  try {
    do {
      opened.isStale = false;
      const since = opened.newestId();
      const before = opened.leaf;
      const { entries, leafId } = await sendCommand(opened.id, { type: "get_entries", since });
      let hasNew = false;
      for (const entry of entries) hasNew = opened.addEntry(entry) || hasNew;
      opened.setLeaf(leafId);
      if (session !== opened) return;
      if (hasNew || opened.leaf !== before) {
        transcript.render();
        if (transcript.isFollowing) transcript.scrollToEnd();
        tree.show(opened);
        showStatus();
      }
    } while (opened.isStale);
  } catch (error) {
    // The next event or the next snapshot loads them.
    if (error.status !== 0 && error.status !== 401) failure(error);
  } finally {
    opened.isLoading = false;
  }
}

async function loadOlder() {
  const opened = session;
  const first = opened?.nodes[0]?.id;
  if (opened === undefined || first === undefined) return;
  const answer = await request("GET", `/v1/sessions/${encodeURIComponent(opened.id)}/entries?${new URLSearchParams({ before: first, limit: String(PAGE_SIZE) })}`);
  opened.addOlder(answer.entries ?? [], answer.hasMore === true);
  tree.show(opened);
}

/** Requests the entries of all branches; the snapshot has only the current one. */
async function loadBranches() {
  const opened = session;
  if (opened === undefined || opened.hasBranches) return;
  try {
    const { entries, leafId } = await sendCommand(opened.id, { type: "get_entries" });
    opened.replaceEntries(entries, leafId);
    if (session !== opened) return;
    transcript.render();
    tree.show(opened);
  } catch (error) {
    failure(error);
  }
}

/** Scrolls to the entry that a search found, once its session is there; an entry of another branch is shown in the panel. */
async function showWantedEntry() {
  const [opened, id] = [session, wantedEntry];
  if (opened === undefined || id === undefined || opened.nodes.length === 0) return;
  wantedEntry = undefined;
  history.replaceState(null, "", `#s=${encodeURIComponent(opened.id)}`);
  document.body.classList.remove("sidebar-open");
  if (!opened.byId.has(id)) await loadBranches();
  if (session !== opened) return;
  const index = opened.byId.get(id);
  if (index === undefined) {
    notice("The session no longer has this entry", "warning");
    return;
  }
  const path = opened.leaf === undefined ? [] : opened.path(opened.leaf);
  if (!path.includes(index)) {
    if (!tree.isOpen) toggleTree();
    tree.pick(index);
    return;
  }
  // A result is part of the response that made the call.
  /** @type {number | undefined} */
  let at = index;
  while (at !== undefined && !transcript.jump(at)) at = opened.nodes[at].parent;
}

/** Requests model, cost and context usage. */
async function loadFacts() {
  const opened = session;
  if (opened === undefined) return;
  try {
    const [state, stats] = await Promise.all([sendCommand(opened.id, { type: "get_state" }), sendCommand(opened.id, { type: "get_session_stats" })]);
    opened.facts = { ...opened.facts, model: state.model, thinkingLevel: state.thinkingLevel, name: state.sessionName, stats };
    if (session === opened) showStatus();
  } catch {
    // Shown again after the next run.
  }
}

/** Text for the composer of the session that a fork creates. @type {string | undefined} */
let forkedText;

/** A fork, a clone or a new session replaced the one that is open; the stream continues with the new one. */
function followReplacement(id) {
  showSession(id);
  if (stream !== undefined) stream.path = eventsPath(id);
  if (forkedText !== undefined) composer.setText(forkedText);
  forkedText = undefined;
  sessions.refresh();
}

/** Puts the text of a fork into the composer: now if the new session is open, otherwise once it is. */
function takeText(text, from) {
  if (session?.id !== from) composer.setText(text);
  else forkedText = text;
}

// Status

function sessionTitle() {
  const first = session?.nodes.find((node) => node.kind === "user")?.text;
  return asText(session?.facts.name) || first || "New session";
}

function showAll() {
  showStatus();
  composer.update();
  requests.show(session);
  tree.show(session);
}

function showStatus() {
  if (session === undefined) return;
  const { facts } = session;
  byId("title").textContent = sessionTitle();
  byId("directory").textContent = shortDirectory(asText(facts.cwd));
  byId("directory").title = asText(facts.cwd);
  setTitle(sessionTitle());
  const hasModel = facts.model && facts.model.id !== "unknown";
  byId("pick-model").textContent = hasModel ? asText(facts.model.name || facts.model.id) : "Choose a model";
  byId("pick-thinking").textContent = asText(facts.thinkingLevel) || "off";
  byId("pick-thinking").hidden = hasModel ? facts.model.reasoning === false : true;
  showUsage(facts);
  const activity = session.retry ? retryText(session.retry) : session.isCompacting ? "Compacting…" : session.isRunning ? "Working…" : "";
  byId("activity").textContent = activity;
  byId("activity").hidden = activity === "";
  byId("main").classList.toggle("is-running", session.isRunning || session.isCompacting);
}

function retryText({ attempt, maxAttempts, errorMessage, delayMs }) {
  return `Retry ${attempt} of ${maxAttempts} in ${Math.ceil(Number(delayMs) / 1000)} s: ${asText(errorMessage).slice(0, 120)}`;
}

function showUsage(facts) {
  const usage = facts.stats?.contextUsage ?? facts.contextUsage;
  const percent = usage?.percent ?? undefined;
  const meter = byId("context");
  meter.hidden = percent === undefined;
  if (percent !== undefined) {
    const text = `${formatCount(usage.tokens)} of ${formatCount(usage.contextWindow)} tokens`;
    meter.title = `Context: ${text}. Click to compact.`;
    meter.setAttribute("aria-label", `Context: ${Math.round(percent)} percent, ${text}`);
    byId("context-fill").style.width = `${Math.min(100, percent)}%`;
    byId("context-text").textContent = `${Math.round(percent)}%`;
    meter.classList.toggle("full", percent > 80);
  }
  const cost = facts.stats?.cost;
  byId("cost").textContent = cost > 0 ? formatCost(cost) : "";
}

function showRequests(event) {
  requests.show(session);
  sessions.refresh();
  const asked = event.request ?? event;
  if (/request(ed)?$/.test(event.type)) alertRequest(asked);
}

function showNotice(event) {
  if (event.type === "session_warning") notice(event.message, "warning");
  else if (event.type === "extension_error") notice(asText(event.error), "error");
  else if (event.method === "notify") notice(event.message, event.notifyType ?? event.level);
  else if (event.method === "set_editor_text") composer.setText(asText(event.text));
  else if (event.method === "setStatus") showExtensionStatus(event);
  else if (event.method === "setWidget") showWidget(event);
  else if (event.method === "setTitle") setTitle(asText(event.title));
}

/** Shows the lines that an extension keeps above the composer. */
function showWidget(event) {
  const widgets = byId("widgets");
  const key = asText(event.widgetKey);
  [...widgets.children].find((item) => item.dataset.key === key)?.remove();
  const lines = Array.isArray(event.widgetLines) ? event.widgetLines : [];
  if (lines.length > 0) widgets.append(element("pre", { "data-key": key }, terminalText(lines.map(asText).join("\n"))));
  widgets.hidden = widgets.children.length === 0;
}

function showExtensionStatus(event) {
  const line = byId("extension-status");
  const key = asText(event.statusKey ?? event.key);
  const text = asText(event.statusText ?? event.text);
  [...line.children].find((item) => item.dataset.key === key)?.remove();
  if (text !== "") line.append(element("span", { "data-key": key }, terminalText(text)));
  line.hidden = line.children.length === 0;
}

/** Reads the end of a run to users of screen readers; the transcript is not read while it grows. */
function announce(opened, isAborted) {
  const last = opened.nodes.findLast((node) => node.kind === "assistant")?.text;
  byId("announcer").textContent = isAborted ? "Stopped" : `Done. ${asText(last)}`;
}

/** The server closed the session; opening the stream again would open it again. */
function showClosed(id) {
  stream?.close();
  const banner = byId("banner");
  banner.hidden = false;
  banner.replaceChildren("This session was closed. ", element("button", { type: "button", click: () => { session = undefined; banner.hidden = true; openSession(id); } }, "Open again"));
  sessions.refresh();
}

function setOnline(isOnline) {
  const banner = byId("banner");
  banner.hidden = isOnline;
  screen.reset(session?.id);
  if (isOnline) return;
  banner.textContent = "Connection lost. Reconnecting…";
  explainLoss(asText(session?.id));
}

/** A stream that failed has no status: another request finds out why, such as that the session is open in another pi. */
async function explainLoss(id) {
  try {
    await request("POST", "/v1/sessions", { session: id });
  } catch (error) {
    if (session?.id !== id || error.status === 0 || byId("banner").hidden) return;
    byId("banner").textContent = error.message;
    if (error.status === 404) stream?.close();
  }
}

// Commands

/** @type {Record<string, (argument: string) => any>} */
const COMMANDS = {
  compact: (argument) => compact(argument),
  new: () => sessions.create(asText(session?.facts.cwd) || undefined),
  name: async (argument) => {
    const name = argument || (await ask("Name of this session", { value: asText(session?.facts.name), action: "Save" }));
    if (name === undefined || session === undefined) return;
    await sendCommand(session.id, { type: "set_session_name", name });
    session.facts.name = name;
    showStatus();
    sessions.refresh();
  },
  model: async () => {
    if (session === undefined) return;
    const model = await pickModel(session.id, session.facts.model);
    if (model === undefined) return;
    session.facts.model = model;
    showStatus();
    loadFacts();
    loadEntries();
  },
  thinking: async () => {
    if (session === undefined) return;
    const level = await pickThinking(session.id, session.facts.thinkingLevel);
    if (level === undefined) return;
    session.facts.thinkingLevel = level;
    showStatus();
    loadEntries();
  },
  tree: () => toggleTree(),
  clone: async () => {
    if (session === undefined) return;
    await sendCommand(session.id, { type: "clone" });
  },
};

async function runCommand(name, argument) {
  try {
    await COMMANDS[name](argument);
  } catch (error) {
    failure(error);
  }
}

async function compact(customInstructions) {
  if (session === undefined) return;
  notice("Compacting the conversation…");
  await sendCommand(session.id, { type: "compact", customInstructions: customInstructions || undefined });
  loadEntries();
  loadFacts();
}

function toggleTree() {
  if (tree.isOpen) tree.close();
  else if (session !== undefined) {
    tree.open(session);
    byId("open-tree").setAttribute("aria-expanded", "true");
    loadBranches();
  }
}

async function openMenu() {
  const choices = [
    session && { value: () => runCommand("name", ""), title: "Rename session" },
    session && { value: () => runCommand("compact", ""), title: "Compact context", detail: "Summarize the conversation" },
    session && { value: () => runCommand("clone", ""), title: "Clone session", detail: "Continue in a copy" },
    session && { value: () => toggleTree(), title: "Branches", detail: "All branches of this session" },
    { value: toggleThinking, title: view.thinking ? "Fold thinking" : "Show thinking" },
    { value: switchScheme, title: isDark() ? "Light colors" : "Dark colors" },
    { value: () => toggleNotifications().catch(failure), title: hasNotifications() ? "Turn notifications off" : "Turn notifications on" },
    { value: showHelp, title: "Keyboard shortcuts" },
    { value: () => showDevices().catch(failure), title: "Devices", detail: "Browsers that are signed in" },
    { value: signOut, title: "Sign out" },
  ].filter(Boolean);
  (await pick("Menu", /** @type {any[]} */ (choices), { hasSearch: false }))?.();
}

function toggleThinking() {
  view.thinking = !view.thinking;
  localStorage.setItem("pi-thinking", view.thinking ? "on" : "off");
  transcript.render();
}

/** Uses the colors of the user's theme, unless the reader has chosen a scheme. */
async function loadTheme() {
  if (localStorage.getItem("pi-scheme") !== null) return;
  const root = document.documentElement;
  const theme = await request("GET", "/v1/theme").catch(() => ({}));
  root.dataset.scheme = asText(theme.scheme) || "auto";
  for (const name of THEME_COLORS) if (typeof theme[name] === "string") root.style.setProperty(`--${name}`, theme[name]);
}

function isDark() {
  const { scheme } = document.documentElement.dataset;
  return scheme === "dark" || (scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

function switchScheme() {
  const root = document.documentElement;
  // The colors of the theme only fit its own scheme.
  for (const name of THEME_COLORS) root.style.removeProperty(`--${name}`);
  root.dataset.scheme = isDark() ? "light" : "dark";
  localStorage.setItem("pi-scheme", root.dataset.scheme);
}

/** Backgrounds that a theme may set. */
const THEME_COLORS = ["page", "card", "note"];

const SHORTCUTS = [
  ["Enter", "send, or steer the run"], ["Shift+Enter", "new line"], ["Alt+Enter", "queue a follow-up"], ["Esc", "stop the run"], ["↑", "edit the last prompt, in an empty composer"],
  ["/", "write a command"], ["Ctrl+K", "find a session; twice: search in texts"], ["t", "branches"], ["m", "model"], ["n", "new session"], ["g, G", "to the beginning, to the end"], ["?", "this help"],
];

function showHelp() {
  const dialog = byId("picker");
  dialog.replaceChildren(element("h2", null, "Keyboard shortcuts"), element("dl", { class: "keys" }, SHORTCUTS.map(([key, meaning]) => [element("dt", null, element("kbd", null, key)), element("dd", null, meaning)])),
    element("div", { class: "dialog-actions" }, element("button", { type: "button", class: "primary", click: () => dialog.close() }, "Close")));
  dialog.showModal();
}

// Sign-in

async function signOut() {
  await request("DELETE", "/v1/login").catch(() => undefined);
  location.reload();
}

function showSignIn(message = "") {
  localStorage.removeItem("pi-signed-in");
  stream?.close();
  hostStream?.close();
  session = undefined;
  document.body.classList.add("signed-out");
  byId("sign-in").hidden = false;
  byId("sign-in-error").textContent = message;
  byId("sign-in-code").focus();
}

/** Whether the server knows the cookie of this browser. A browser that has none does not ask. */
async function isSignedIn() {
  if (localStorage.getItem("pi-signed-in") === null) return false;
  const answer = await fetch("/v1/health", { credentials: "same-origin" }).catch(() => undefined);
  return answer?.ok === true;
}

/** Signs in with a one-time code or a token. Returns whether it was accepted. */
async function signIn(code) {
  try {
    await request("POST", "/v1/login", { code, name: deviceName() });
    document.body.classList.remove("signed-out");
    byId("sign-in").hidden = true;
    return true;
  } catch (error) {
    showSignIn(error.message);
    return false;
  }
}

/** Names this browser in the list of devices. */
function deviceName() {
  const { userAgentData, platform } = /** @type {any} */ (navigator);
  const brand = userAgentData?.brands?.find(({ brand }) => !/not.?a.?brand|chromium/i.test(brand))?.brand ?? "Browser";
  return `${brand} on ${userAgentData?.platform || platform || "unknown system"}`;
}

/** Lists the signed-in browsers; choosing one signs it out. */
async function showDevices() {
  const { devices } = await request("GET", "/v1/devices");
  const choices = devices.map((device) => ({
    value: device, title: asText(device.name) || "Unnamed device", detail: `signed in ${formatTime(device.created)}, used ${formatTime(device.lastUsed)}`, isCurrent: device.current,
  }));
  const device = await pick("Devices: choose one to sign it out", choices);
  if (device === undefined) return;
  if (device.current) await signOut();
  else {
    await request("DELETE", `/v1/devices/${encodeURIComponent(device.id)}`);
    notice(`Signed out ${asText(device.name)}`);
  }
}

function hashValue(name) {
  return new URLSearchParams(location.hash.slice(1)).get(name) ?? undefined;
}

// Start

function listen() {
  const on = (id, action) => byId(id).addEventListener("click", action);
  on("open-sidebar", () => document.body.classList.toggle("sidebar-open"));
  on("shade", () => document.body.classList.remove("sidebar-open"));
  on("open-tree", toggleTree);
  on("open-menu", openMenu);
  on("side-menu", openMenu);
  on("pick-model", () => runCommand("model", ""));
  on("pick-thinking", () => runCommand("thinking", ""));
  on("context", () => runCommand("compact", ""));
  on("to-end", () => transcript.follow());
  on("welcome-new", () => sessions.create());
  byId("title").addEventListener("dblclick", () => runCommand("name", ""));
  byId("sign-in").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await signIn(byId("sign-in-code").value.trim())) start();
  });
  byId("session-list").addEventListener("click", (event) => {
    const row = event.target.closest(".session");
    if (row === null || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    openSession(row.dataset.id);
  });
  document.addEventListener("pi-signed-out", () => { if (byId("sign-in").hidden) showSignIn(); });
  window.addEventListener("hashchange", () => {
    // The address that signs in was opened in a page that is shown already.
    if (addressCode() !== undefined) {
      enter();
      return;
    }
    const id = hashValue("s");
    if (id !== undefined) openSession(id, hashValue("e"));
  });
  byId("sidebar").addEventListener("keydown", (event) => moveFocus(event, byId(textSearch.isOn ? "text-hits" : "session-list")));
  document.addEventListener("keydown", onKey);
  listenSwipe();
}

function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    document.body.classList.add("sidebar-open");
    if (document.activeElement === byId("session-search")) textSearch.toggle();
    else byId("session-search").focus();
    return;
  }
  const isTyping = event.target.matches?.("input, textarea, select");
  if (event.key === "Escape" && !isTyping) document.body.classList.remove("sidebar-open");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const actions = {
    "/": () => { composer.setText("/"); }, t: toggleTree, m: () => runCommand("model", ""), n: () => sessions.create(), "?": showHelp,
    g: () => byId("scroller").scrollTo(0, 0), G: () => transcript.follow(), i: () => composer.field.focus(),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

/** A swipe from the left edge opens the sessions, one from the right edge the tree. */
function listenSwipe() {
  /** @type {{ x: number, y: number } | undefined} */
  let from;
  document.addEventListener("touchstart", ({ touches }) => { from = touches.length === 1 ? { x: touches[0].clientX, y: touches[0].clientY } : undefined; }, { passive: true });
  document.addEventListener("touchend", ({ changedTouches }) => {
    if (from === undefined) return;
    const x = changedTouches[0].clientX - from.x;
    const isFlat = Math.abs(changedTouches[0].clientY - from.y) < 60;
    if (isFlat && x > 70 && from.x < 30) document.body.classList.add("sidebar-open");
    else if (isFlat && x < -70 && document.body.classList.contains("sidebar-open")) document.body.classList.remove("sidebar-open");
    else if (isFlat && x < -70 && from.x > innerWidth - 30 && !tree.isOpen) toggleTree();
    from = undefined;
  }, { passive: true });
}

/** Keeps the composer above the keyboard of a phone. */
function listenViewport() {
  const viewport = window.visualViewport;
  viewport?.addEventListener("resize", () => {
    document.documentElement.style.setProperty("--height", `${viewport.height}px`);
    if (transcript.isFollowing) transcript.scrollToEnd();
  });
}

function registerWorker() {
  if (!("serviceWorker" in navigator) || !isSecureContext) return;
  const path = "/service-worker.js";
  const { trustedTypes } = /** @type {any} */ (window);
  const address = trustedTypes?.createPolicy("pi-worker", { createScriptURL: () => path }).createScriptURL(path) ?? path;
  navigator.serviceWorker.register(address).catch(() => undefined);
}

const addressCode = () => hashValue("code") ?? hashValue("token");

/** Signs in if the address has a code, then starts. */
async function enter() {
  const code = addressCode();
  if (code !== undefined) {
    const id = hashValue("s");
    history.replaceState(null, "", id === undefined ? location.pathname : `#s=${encodeURIComponent(id)}`);
    // A signed-in browser ignores the code: it may have been used before, or another page may have invented it.
    if (!(await isSignedIn()) && !(await signIn(code))) return;
  }
  await start();
}

async function start() {
  const named = hashValue("s");
  // Does not wait for the list, which may be long.
  if (named !== undefined) openSession(named, hashValue("e"));
  await sessions.load();
  if (document.body.classList.contains("signed-out")) return;
  localStorage.setItem("pi-signed-in", "yes");
  loadTheme();
  hostStream?.close();
  hostStream = new SharedStream("/v1/events", (name, data) => (name === "snapshot" ? sessions.refresh() : sessions.apply(data)), ["snapshot"]);
  if (session !== undefined) return;
  const last = localStorage.getItem("pi-last");
  const isKnown = sessions.sessions.some((candidate) => candidate.id === last);
  if (last !== null && isKnown) openSession(last);
  else byId("welcome").hidden = false;
}

document.documentElement.dataset.scheme = localStorage.getItem("pi-scheme") ?? "auto";
listen();
listenViewport();
registerWorker();
await enter();
document.documentElement.dataset.ready = "true";
