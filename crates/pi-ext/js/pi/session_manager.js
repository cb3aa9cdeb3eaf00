// Sessions that an extension opens in addition to the live one. The program owns them; this class holds an ID.
import { call, request } from "pi:host";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const optional = (value) => value ?? undefined;
const finalizers = new FinalizationRegistry((session) => call("sessionFile.close", { session }));

// Builds the tree of all entries.
export function treeOf(entries, labelOf) {
  const nodes = new Map();
  const roots = [];
  for (const entry of entries) {
    const node = { entry, children: [], label: labelOf(entry.id) };
    nodes.set(entry.id, node);
    (nodes.get(entry.parentId)?.children ?? roots).push(node);
  }
  return roots;
}

export class SessionManager {
  #session;
  #openOptions;
  #reopen;
  // Whether an agent writes the session.
  #isInUse = false;

  constructor(options) {
    this.#open(options);
  }
  static create(cwd, sessionDir, options = {}) {
    return new SessionManager({ kind: "create", cwd, sessionDir, ...options });
  }
  static open(path, sessionDir, cwd) {
    return new SessionManager({ kind: "open", path: resolve(path), sessionDir, cwd });
  }
  static continueRecent(cwd, sessionDir) {
    return new SessionManager({ kind: "recent", cwd, sessionDir });
  }
  static inMemory(cwd, options = {}, entries = []) {
    return new SessionManager({ kind: "memory", cwd, id: options.id, entries });
  }
  static forkFrom(path, cwd, sessionDir, options = {}) {
    return new SessionManager({ kind: "fork", path: resolve(path), cwd, sessionDir, id: options.id });
  }
  static findById(cwd, id, sessionDir) {
    return optional(call("sessionFile.find", { cwd, id, sessionDir }));
  }
  static list(cwd, sessionDir, onProgress) {
    return listSessions({ cwd, sessionDir }, onProgress);
  }
  static listAll(sessionDir, onProgress) {
    return typeof sessionDir === "string" ? listSessions({ sessionDir }, onProgress) : listSessions({}, sessionDir);
  }

  #open(options) {
    const before = this.#session;
    this.#session = call("sessionFile.open", options);
    this.#openOptions = options;
    if (before !== undefined) {
      finalizers.unregister(this);
      call("sessionFile.close", { session: before });
    }
    finalizers.register(this, this.#session, this);
  }
  // Prepares for the end of the agent that uses the session: from then on, it is opened again on use.
  release() {
    const path = this.getSessionFile();
    const { sessionDir } = this.#openOptions;
    this.#isInUse = false;
    this.#reopen = path ? { kind: "open", path, sessionDir } : { kind: "memory", cwd: this.getCwd(), id: this.getSessionId(), entries: this.getEntries() };
  }
  #call(method, args) {
    if (this.#reopen) {
      const options = this.#reopen;
      this.#reopen = undefined;
      this.#open(options);
    }
    return call(method, { ...args, session: this.#session });
  }
  #append(entry) {
    return this.#call("sessionFile.append", { entry }).id;
  }

  // Describes this session for `createAgentSession`, which writes it from then on.
  get openOptions() {
    this.#isInUse = true;
    return { session: this.#session, sessionDir: this.#openOptions.sessionDir };
  }
  setSessionFile(path) {
    this.#open({ kind: "open", path: resolve(path) });
  }
  newSession(options = {}) {
    const { cwd = this.getCwd(), sessionDir, kind } = this.#openOptions;
    this.#open(kind === "memory" ? { kind, cwd, id: options.id } : { kind: "create", cwd, sessionDir, ...options });
    return this.getSessionFile();
  }

  isPersisted() {
    return this.#call("sessionFile.info").file !== null;
  }
  getCwd() {
    return this.#call("sessionFile.cwd");
  }
  getSessionDir() {
    return this.#call("sessionFile.info").directory;
  }
  usesDefaultSessionDir() {
    return this.#openOptions.sessionDir === undefined;
  }
  getSessionId() {
    return this.#call("sessionFile.info").id;
  }
  getSessionFile() {
    return optional(this.#call("sessionFile.info").file);
  }
  getSessionName() {
    return optional(this.#call("sessionFile.name"));
  }
  getHeader() {
    return this.#call("sessionFile.header");
  }
  getLeafId() {
    return this.#call("sessionFile.info").leafId;
  }
  getLeafEntry() {
    return this.getEntry(this.getLeafId());
  }
  getEntry(id) {
    return optional(this.#call("sessionFile.entry", { id }));
  }
  getEntryCount() {
    return this.getEntries().length;
  }
  getEntries() {
    return this.#call("sessionFile.entries");
  }
  getChildren(parentId) {
    return this.getEntries().filter((entry) => entry.parentId === parentId);
  }
  getLabel(id) {
    return optional(this.#call("sessionFile.label", { id }));
  }
  getBranch(fromId) {
    return typeof fromId === "string" && !this.getEntry(fromId) ? [] : this.#call("sessionFile.branch", { fromId });
  }
  getTree() {
    return treeOf(this.getEntries(), (id) => this.getLabel(id));
  }
  buildSessionContext() {
    const { messages, thinkingLevel, model } = this.#call("sessionFile.context");
    return { messages, thinkingLevel, model };
  }
  buildSessionProjection() {
    return this.#call("sessionFile.context");
  }
  buildContextEntries() {
    return this.#call("sessionFile.context").entries.map(({ sourceEntry }) => sourceEntry);
  }

  appendMessage(message) {
    return this.#call("sessionFile.appendMessage", { message }).id;
  }
  appendThinkingLevelChange(thinkingLevel) {
    return this.#append({ type: "thinking_level_change", thinkingLevel });
  }
  appendModelChange(provider, modelId) {
    return this.#append({ type: "model_change", provider, modelId });
  }
  appendUsage(kind, provider, model, usage, note) {
    return this.#call("sessionFile.append", { entry: { type: "usage", kind, provider, model, usage, note } });
  }
  appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook, usage) {
    return this.#append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, details, fromHook, usage });
  }
  appendCustomEntry(customType, data) {
    return this.#append({ type: "custom", customType, data });
  }
  appendSessionInfo(name) {
    return this.#call("sessionFile.setName", { name }).id;
  }
  appendCustomMessageEntry(customType, content, display, details) {
    return this.#append({ type: "custom_message", customType, content, display, details });
  }
  appendContextEdit(targetId, replacement) {
    return this.#append({ type: "context_edit", targetId, replacement });
  }
  appendLabelChange(targetId, label) {
    return this.#call("sessionFile.setLabel", { targetId, label }).id;
  }
  branch(id) {
    this.#call("sessionFile.setLeaf", { id });
  }
  resetLeaf() {
    this.#call("sessionFile.resetLeaf");
  }
  branchWithSummary(fromId, summary, details, fromHook, usage) {
    return this.#call("sessionFile.branchWithSummary", { fromId, summary, details, fromHook, usage }).id;
  }
  createBranchedSession(leafId) {
    const path = optional(this.#call("sessionFile.extractBranch", { leafId }));
    // Another manager may write the new file; this one opens it again on use.
    if (path && !this.#isInUse && existsSync(path)) {
      this.#reopen = { kind: "open", path, sessionDir: this.#openOptions.sessionDir };
      call("sessionFile.close", { session: this.#session });
    }
    return path;
  }
}

async function listSessions(options, onProgress) {
  const sessions = (await request("sessionFile.list", options)).map(withDates);
  if (typeof onProgress === "function") onProgress(sessions.length, sessions.length, sessions);
  return sessions;
}

function withDates(info) {
  return { ...info, name: optional(info.name), parentSessionPath: optional(info.parentSessionPath), created: new Date(info.created), modified: new Date(info.modified) };
}

// Parses the lines of a session file, skipping invalid ones.
export function parseSessionEntries(content) {
  return content.split("\n").flatMap((line) => {
    try {
      return line.trim() === "" ? [] : [JSON.parse(line)];
    } catch {
      // Skip an incomplete line.
      return [];
    }
  });
}

// Changes entries of older versions into those of the current one, in place.
export function migrateSessionEntries(entries) {
  const header = entries.find((entry) => entry.type === "session");
  const version = header?.version ?? 1;
  if (version >= 3) return;
  if (header) header.version = 3;
  let parentId = null;
  for (const entry of entries) {
    if (entry.type === "session") continue;
    if (version < 2) {
      entry.id = globalThis.crypto.randomUUID().slice(0, 8);
      entry.parentId = parentId;
      parentId = entry.id;
      if (typeof entry.firstKeptEntryIndex === "number") {
        const kept = entries[entry.firstKeptEntryIndex];
        if (kept && kept.type !== "session") entry.firstKeptEntryId = kept.id;
        delete entry.firstKeptEntryIndex;
      }
    }
    if (entry.message?.role === "hookMessage") entry.message.role = "custom";
  }
}

export function getLatestCompactionEntry(entries) {
  return entries.findLast((entry) => entry.type === "compaction") ?? null;
}

// Returns the entries from the root to a leaf, by default the last entry.
function pathTo(entries, leafId) {
  if (leafId === null) return [];
  const byId = new Map(entries.filter((entry) => entry.id).map((entry) => [entry.id, entry]));
  const path = [];
  let entry = leafId === undefined ? entries.findLast((candidate) => candidate.type !== "session") : byId.get(leafId);
  while (entry) {
    path.unshift(entry);
    entry = byId.get(entry.parentId);
  }
  return path;
}

export function buildSessionContext(entries, leafId) {
  const path = pathTo(entries, leafId);
  const model = path.findLast((entry) => entry.type === "model_change" || entry.message?.role === "assistant");
  const thinking = path.findLast((entry) => entry.type === "thinking_level_change");
  return {
    messages: call("sessionFile.project", { entries: path }).messages,
    thinkingLevel: thinking?.thinkingLevel ?? "off",
    model: model ? { provider: model.provider ?? model.message.provider, modelId: model.modelId ?? model.message.model } : null,
  };
}
export function buildContextEntries(entries, leafId) {
  return call("sessionFile.project", { entries: pathTo(entries, leafId) }).entries;
}
export function buildSessionProjection(entries, leafId) {
  const context = buildSessionContext(entries, leafId);
  const kept = buildContextEntries(entries, leafId);
  return { ...context, entries: kept.map((sourceEntry) => ({ sourceEntry, messages: sessionEntryToContextMessages(sourceEntry) })) };
}

// An entry with which a turn starts.
const startsTurn = ({ type, message }) => ["branch_summary", "custom_message"].includes(type) || (type === "message" && ["user", "bashExecution"].includes(message.role));

export function findTurnStartIndex(entries, entryIndex, startIndex) {
  for (let index = entryIndex; index >= startIndex; index--) if (startsTurn(entries[index])) return index;
  return -1;
}

// Finds where the entries begin that compaction keeps: about `keepRecentTokens`, and no result without its call.
export function findCutPoint(entries, startIndex, endIndex, keepRecentTokens) {
  const isCutPoint = (entry) => startsTurn(entry) || (entry.type === "message" && entry.message.role === "assistant");
  const candidates = [...entries.keys()].slice(startIndex, endIndex).filter((index) => isCutPoint(entries[index]));
  if (candidates.length === 0) return { firstKeptEntryIndex: startIndex, turnStartIndex: -1, isSplitTurn: false };
  const tokensOf = (entry) => sessionEntryToContextMessages(entry).reduce((sum, message) => sum + call("utility.estimateTokens", { message }), 0);
  let cut = candidates[0];
  let total = 0;
  for (let index = endIndex - 1; index >= startIndex; index--) {
    total += tokensOf(entries[index]);
    if (total >= keepRecentTokens) {
      cut = candidates.find((candidate) => candidate >= index) ?? candidates.at(-1);
      break;
    }
  }
  const isInvisible = (entry) => entry.type !== "compaction" && sessionEntryToContextMessages(entry).length === 0;
  while (cut > startIndex && isInvisible(entries[cut - 1])) cut--;
  const turnStartIndex = startsTurn(entries[cut]) ? -1 : findTurnStartIndex(entries, cut, startIndex);
  return { firstKeptEntryIndex: cut, turnStartIndex, isSplitTurn: turnStartIndex !== -1 };
}

export function sessionEntryToContextMessages(entry) {
  return call("sessionFile.project", { entries: [{ ...entry, parentId: null }] }).messages;
}
