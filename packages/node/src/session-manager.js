// SessionManager: session files, and the entries of a running session.

import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { expandHome, getAgentDir, getDefaultSessionDir } from "./paths.js";
import {
  buildContextEntries,
  buildSessionProjection,
  CURRENT_SESSION_VERSION,
  messageText,
  migrateSessionEntries,
  parseSessionEntries,
  pathTo,
} from "./session-entries.js";
import { UnsupportedError } from "./unsupported-error.js";

const HEADER_LIMIT = 1024 * 1024;
const PARALLEL_READS = 10;

/** Returns a time-ordered UUID (version 7). */
function newSessionId() {
  const random = randomUUID().replaceAll("-", "");
  const time = Date.now().toString(16).padStart(12, "0");
  const hex = `${time}7${random.slice(13)}`;
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

function checkId(id) {
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(id)) {
    throw new Error("Session id must consist of letters, digits, '.', '_' and '-', and start and end with a letter or digit");
  }
  return id;
}

const now = () => new Date().toISOString();

export class SessionManager {
  #header;
  #entries = [];
  #byId = new Map();
  #labels = new Map();
  #leafId = null;
  #cwd;
  #sessionDir;
  #file;
  #persist;
  #flushed = false;
  #live = null;
  #isExplicit = false;

  /** Use `create`, `open`, `continueRecent`, `inMemory` or `forkFrom`. */
  constructor({ cwd, sessionDir, file, persist, records, id, parentSession }) {
    this.#cwd = resolve(cwd);
    this.#sessionDir = sessionDir;
    this.#persist = persist;
    this.#file = file;
    if (records?.length) {
      this.#load(records);
      this.#flushed = persist;
    } else {
      this.newSession({ id, parentSession });
      if (file) this.#file = file;
      this.#isExplicit = file !== undefined;
    }
  }

  static create(cwd, sessionDir, options = {}) {
    const directory = sessionDir ? resolve(expandHome(sessionDir)) : getDefaultSessionDir(cwd);
    return new SessionManager({ cwd, sessionDir: directory, persist: true, ...options });
  }

  static open(path, sessionDir, cwdOverride) {
    const file = resolve(expandHome(path));
    const directory = sessionDir ? resolve(expandHome(sessionDir)) : dirname(file);
    const content = existsSync(file) ? readFileSync(file, "utf8") : "";
    const records = parseSessionEntries(content);
    const header = records[0];
    if (content.trim() !== "" && (header?.type !== "session" || typeof header.id !== "string")) {
      throw new Error(`Session file is not a valid session: ${file}`);
    }
    const cwd = cwdOverride ?? header?.cwd ?? process.cwd();
    return new SessionManager({ cwd, sessionDir: directory, file, persist: true, records });
  }

  static continueRecent(cwd, sessionDir) {
    const directory = sessionDir ? resolve(expandHome(sessionDir)) : getDefaultSessionDir(cwd);
    const recent = findMostRecentSession(directory, sessionDir ? resolve(cwd) : undefined);
    return recent ? SessionManager.open(recent, directory) : SessionManager.create(cwd, directory);
  }

  static inMemory(cwd = process.cwd(), options = {}, records = undefined) {
    return new SessionManager({ cwd, sessionDir: "", persist: false, records, ...options });
  }

  static forkFrom(sourcePath, targetCwd, sessionDir, options = {}) {
    const source = SessionManager.open(sourcePath);
    const manager = SessionManager.create(targetCwd, sessionDir, { ...options, parentSession: source.getSessionFile() });
    for (const entry of source.#entries) manager.#add(entry);
    manager.#rewrite();
    return manager;
  }

  static findById(cwd, id, sessionDir) {
    const directory = sessionDir ?? getDefaultSessionDir(cwd);
    return sessionFiles(directory).find((file) => basename(file, ".jsonl").endsWith(`_${id}`));
  }

  static async list(cwd, sessionDir, onProgress, signal) {
    const directory = sessionDir ? resolve(expandHome(sessionDir)) : getDefaultSessionDir(cwd);
    const sessions = await readSessions(sessionFiles(directory), onProgress, signal);
    return sessionDir ? sessions.filter((session) => session.cwd === resolve(cwd)) : sessions;
  }

  static async listAll(...args) {
    const sessionDir = typeof args[0] === "string" ? args.shift() : undefined;
    const [onProgress, signal] = args;
    if (sessionDir) return readSessions(sessionFiles(resolve(expandHome(sessionDir))), onProgress, signal);
    const root = join(getAgentDir(), "sessions");
    const directories = existsSync(root) ? readdirSync(root, { withFileTypes: true }) : [];
    const files = directories.filter((it) => it.isDirectory()).flatMap((it) => sessionFiles(join(root, it.name)));
    return readSessions(files, onProgress, signal);
  }

  newSession(options = {}) {
    this.#refuseIfLive("newSession", "Call newSession of the session instead.");
    const id = options.id ? checkId(options.id) : newSessionId();
    const timestamp = now();
    this.#header = { type: "session", version: CURRENT_SESSION_VERSION, id, timestamp, cwd: this.#cwd };
    if (options.parentSession) this.#header.parentSession = options.parentSession;
    this.#entries = [];
    this.#byId.clear();
    this.#labels.clear();
    this.#leafId = null;
    this.#flushed = false;
    if (!this.#persist) return undefined;
    this.#file = join(this.#sessionDir, `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`);
    return this.#file;
  }

  setSessionFile(file) {
    this.#refuseIfLive("setSessionFile", "Call switchSession of the session instead.");
    const opened = SessionManager.open(file, this.#sessionDir || undefined);
    this.#file = opened.#file;
    this.#persist = true;
    this.#load([opened.#header, ...opened.#entries]);
    this.#flushed = true;
  }

  #load(records) {
    migrateSessionEntries(records);
    const [header, ...entries] = records[0]?.type === "session" ? records : [undefined, ...records];
    const fallback = { type: "session", version: CURRENT_SESSION_VERSION, id: newSessionId(), timestamp: now(), cwd: this.#cwd };
    this.#header = header ?? fallback;
    this.#entries = [];
    this.#byId.clear();
    this.#labels.clear();
    this.#leafId = null;
    for (const entry of entries) this.#add(entry);
  }

  #add(entry) {
    if (!entry.id || this.#byId.has(entry.id)) return;
    this.#entries.push(entry);
    this.#byId.set(entry.id, entry);
    this.#leafId = entry.id;
    if (entry.type !== "label") return;
    if (entry.label) this.#labels.set(entry.targetId, { label: entry.label, timestamp: entry.timestamp });
    else this.#labels.delete(entry.targetId);
  }

  // Connection to a running session.

  /** Follows a running session: its process writes the file. */
  _attach(session) {
    this.#live = session;
  }

  _detach() {
    this.#live = null;
  }

  /** Applies the state of the running session. */
  _synchronize({ header, entries, leafId, file }) {
    this.#persist = file !== undefined;
    this.#file = file;
    if (file) this.#sessionDir = dirname(file);
    this.#load([{ ...this.#header, ...header }, ...entries]);
    this.#leafId = leafId ?? null;
    this.#flushed = true;
  }

  _append(entry) {
    this.#add(entry);
  }

  _setLeaf(leafId) {
    this.#leafId = leafId ?? null;
  }

  _isNew() {
    return this.#entries.length === 0 && !(this.#file && existsSync(this.#file));
  }

  /** Whether a program has chosen the path of a file that does not exist yet. */
  _isExplicit() {
    return this.#isExplicit;
  }

  _records() {
    return [this.#header, ...this.#entries];
  }

  /** Writes entries that wait for the first response, so that the process finds them. */
  _flush() {
    if (this.#persist && !this.#flushed && this.#entries.length > 0) this.#rewrite();
  }

  #refuseIfLive(feature, instead) {
    if (this.#live) throw new UnsupportedError(`SessionManager.${feature} of a running session`, instead);
  }

  #rewrite() {
    mkdirSync(dirname(this.#file), { recursive: true });
    const lines = this._records().map((record) => `${JSON.stringify(record)}\n`);
    writeFileSync(this.#file, lines.join(""));
    this.#flushed = true;
  }

  #appendEntry(fields) {
    const instead = "Write entries before you create the session, or from an extension file (resourceLoader option additionalExtensionPaths).";
    this.#refuseIfLive("append…", instead);
    let id = randomUUID().slice(0, 8);
    while (this.#byId.has(id)) id = randomUUID().slice(0, 8);
    const { type, ...rest } = fields;
    const entry = { type, id, parentId: this.#leafId, timestamp: now(), ...rest };
    this.#add(entry);
    if (!this.#persist) return id;
    if (this.#flushed) {
      appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
    } else if (this.#entries.some((it) => it.message?.role === "assistant")) {
      this.#rewrite();
    }
    return id;
  }

  appendMessage(message) {
    if (message.role === "custom") {
      return this.appendCustomMessageEntry(message.customType, message.content, message.display, message.details);
    }
    return this.#appendEntry({ type: "message", message });
  }

  appendThinkingLevelChange(thinkingLevel) {
    return this.#appendEntry({ type: "thinking_level_change", thinkingLevel });
  }

  appendModelChange(provider, modelId) {
    return this.#appendEntry({ type: "model_change", provider, modelId });
  }

  appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook, usage) {
    return this.#appendEntry({ type: "compaction", summary, firstKeptEntryId, tokensBefore, details, usage, fromHook });
  }

  appendCustomEntry(customType, data) {
    return this.#appendEntry({ type: "custom", customType, data });
  }

  appendSessionInfo(name) {
    if (this.#live) {
      this.#live.setSessionName(name);
      return this.#leafId;
    }
    return this.#appendEntry({ type: "session_info", name: name.replace(/[\r\n]+/g, " ").trim() });
  }

  appendCustomMessageEntry(customType, content, display, details) {
    return this.#appendEntry({ type: "custom_message", customType, content, display, details });
  }

  appendContextEdit(targetId, replacement) {
    return this.#appendEntry({ type: "context_edit", targetId, replacement });
  }

  appendLabelChange(targetId, label) {
    if (!this.#byId.has(targetId)) throw new Error(`Entry ${targetId} not found`);
    if (this.#live) {
      this.#live._setLabel(targetId, label);
      return this.#leafId;
    }
    return this.#appendEntry({ type: "label", targetId, label });
  }

  branch(id) {
    this.#refuseIfLive("branch", "Call navigateTree of the session instead.");
    if (!this.#byId.has(id)) throw new Error(`Entry ${id} not found`);
    this.#leafId = id;
  }

  resetLeaf() {
    this.#refuseIfLive("resetLeaf", "Call navigateTree of the session instead.");
    this.#leafId = null;
  }

  branchWithSummary(id, summary, details, fromHook, usage) {
    const fromId = this.#leafId ?? "root";
    if (id === null) this.resetLeaf();
    else this.branch(id);
    return this.#appendEntry({ type: "branch_summary", fromId, summary, details, usage, fromHook });
  }

  /** Writes the path to an entry as a new session and continues with it. */
  createBranchedSession(leafId) {
    this.#refuseIfLive("createBranchedSession", "Call fork of the session instead.");
    const path = pathTo(this.#byId, leafId).filter((entry) => entry.type !== "label");
    if (path.length === 0) throw new Error(`Entry ${leafId} not found`);
    this.newSession({ parentSession: this.#file });
    let parentId = null;
    for (const entry of path) {
      this.#add({ ...entry, parentId });
      parentId = entry.id;
    }
    if (this.#persist && path.some((entry) => entry.message?.role === "assistant")) this.#rewrite();
    return this.#file;
  }

  isPersisted() {
    return this.#persist;
  }

  getCwd() {
    return this.#cwd;
  }

  getSessionDir() {
    return this.#sessionDir;
  }

  usesDefaultSessionDir() {
    return this.#sessionDir === getDefaultSessionDir(this.#cwd);
  }

  getSessionId() {
    return this.#header.id;
  }

  getSessionFile() {
    return this.#persist ? this.#file : undefined;
  }

  getHeader() {
    return this.#header;
  }

  getEntryCount() {
    return this.#entries.length;
  }

  getEntries() {
    return [...this.#entries];
  }

  getEntry(id) {
    return this.#byId.get(id);
  }

  getLeafId() {
    return this.#leafId;
  }

  getLeafEntry() {
    return this.#leafId ? this.#byId.get(this.#leafId) : undefined;
  }

  getChildren(parentId) {
    return this.#entries.filter((entry) => entry.parentId === parentId);
  }

  getLabel(id) {
    return this.#labels.get(id)?.label;
  }

  getSessionName() {
    return this.#entries.findLast((entry) => entry.type === "session_info")?.name || undefined;
  }

  getBranch(fromId = this.#leafId) {
    return pathTo(this.#byId, fromId);
  }

  getTree() {
    const nodes = new Map();
    for (const entry of this.#entries) {
      const label = this.#labels.get(entry.id);
      const labeled = label ? { label: label.label, labelTimestamp: label.timestamp } : {};
      nodes.set(entry.id, { entry, children: [], ...labeled });
    }
    const roots = [];
    for (const node of nodes.values()) {
      const { id, parentId } = node.entry;
      const parent = parentId && parentId !== id ? nodes.get(parentId) : undefined;
      (parent?.children ?? roots).push(node);
    }
    return roots;
  }

  buildContextEntries() {
    return buildContextEntries(this.#entries, this.#leafId, this.#byId);
  }

  buildSessionProjection() {
    return buildSessionProjection(this.#entries, this.#leafId, this.#byId);
  }

  buildSessionContext() {
    const { messages, thinkingLevel, model } = this.buildSessionProjection();
    return { messages, thinkingLevel, model };
  }

  /** Same as buildSessionContext. */
  buildContext() {
    return this.buildSessionContext();
  }
}

function sessionFiles(directory) {
  if (!existsSync(directory)) return [];
  const files = readdirSync(directory, { withFileTypes: true });
  return files.filter((it) => it.isFile() && it.name.endsWith(".jsonl")).map((it) => join(directory, it.name));
}

/** Returns the first line of a session file, if it is a header. */
function readHeader(file) {
  const buffer = Buffer.alloc(64 * 1024);
  let handle;
  try {
    handle = openSync(file, "r");
    let text = "";
    while (!text.includes("\n") && text.length < HEADER_LIMIT) {
      const length = readSync(handle, buffer, 0, buffer.length, null);
      if (length === 0) break;
      text += buffer.toString("utf8", 0, length);
    }
    const header = JSON.parse(text.split("\n", 1)[0]);
    return header.type === "session" && typeof header.id === "string" ? header : undefined;
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** Returns the session file that was modified last. */
export function findMostRecentSession(sessionDir, cwd) {
  const found = [];
  for (const file of sessionFiles(sessionDir)) {
    const header = readHeader(file);
    if (header && (cwd === undefined || header.cwd === cwd)) found.push({ file, time: statSync(file).mtimeMs });
  }
  found.sort((a, b) => b.time - a.time);
  return found[0]?.file ?? null;
}

/** Returns the entries of a file, with the header; none if it is not a session. */
export function loadEntriesFromFile(file) {
  const records = existsSync(file) ? parseSessionEntries(readFileSync(file, "utf8")) : [];
  return records[0]?.type === "session" ? records : [];
}

async function readSessions(files, onProgress, signal) {
  const sessions = [];
  let loaded = 0;
  for (let start = 0; start < files.length; start += PARALLEL_READS) {
    signal?.throwIfAborted();
    const batch = await Promise.all(files.slice(start, start + PARALLEL_READS).map(describeSession));
    sessions.push(...batch.filter(Boolean));
    loaded += batch.length;
    onProgress?.(loaded, files.length, sessions);
  }
  return sessions.sort((a, b) => b.modified - a.modified);
}

async function describeSession(path) {
  let records;
  try {
    records = parseSessionEntries(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
  const [header, ...entries] = records;
  if (header?.type !== "session" || typeof header.id !== "string") return undefined;
  const messages = entries.filter((entry) => entry.type === "message").map((entry) => entry.message);
  const spoken = messages.filter((message) => message?.role === "user" || message?.role === "assistant");
  const texts = spoken.map(messageText).filter(Boolean);
  const last = spoken.at(-1)?.timestamp;
  const info = {
    path,
    id: header.id,
    cwd: header.cwd ?? "",
    name: entries.findLast((entry) => entry.type === "session_info")?.name || undefined,
    created: new Date(header.timestamp),
    modified: new Date(last ?? header.timestamp ?? statSync(path).mtimeMs),
    messageCount: messages.filter((message) => message?.role !== "system").length,
    firstMessage: messageText(spoken.find((message) => message.role === "user")) || "(no messages)",
    allMessagesText: texts.join(" "),
  };
  if (header.parentSession) info.parentSessionPath = header.parentSession;
  return info;
}
