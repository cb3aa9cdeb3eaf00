// The state of the open session: what the snapshot had, changed by the events after it. No DOM here, so that
// folding events is the same after a reconnect as without one.

import { asText } from "../shared/element.js";
import { SessionTree } from "../shared/session_tree.js";
import { outline } from "./outline.js";

/** Number of entries among which a message that has just ended is looked up. */
const STORED_SEARCH = 50;

/**
 * A call whose result is not among the entries yet.
 * @typedef {object} CallState
 * @property {"running" | "done"} state
 * @property {any} [result] the result so far, or the final one
 * @property {number} since milliseconds since the epoch
 */

export class LiveSession extends SessionTree {
  /** @param {string} id */
  constructor(id) {
    super();
    this.id = id;
    /** @type {any[]} */
    this.entries = [];
    /** Facts of the session: model, thinking level, name, directory. @type {any} */
    this.facts = {};
    /** Messages that are not among the entries yet. @type {any[]} */
    this.provisional = [];
    /** The response that is being received. @type {any} */
    this.growing = undefined;
    /** @type {Map<string, CallState>} */
    this.calls = new Map();
    this.queue = { steering: [], followUp: [] };
    /** Open requests by ID. @type {Map<string, any>} */
    this.requests = new Map();
    this.isRunning = false;
    this.isCompacting = false;
    /** A retry that is waited for. @type {any} */
    this.retry = undefined;
    /** A shell command of the user that is running. @type {{ command: string, output: string } | undefined} */
    this.shell = undefined;
    /** State of a call without a stored result; set by the view. @type {((id: string) => any) | undefined} */
    this.openCall = undefined;
    /** Whether older entries exist than those loaded. */
    this.hasOlder = false;
    /** Whether the entries of all branches are loaded. */
    this.hasBranches = false;
    /** Whether entries are being requested, and whether newer ones came meanwhile. */
    this.isLoading = false;
    this.isStale = false;
  }

  /** Takes over a snapshot. Entries that are known already are kept. */
  reset(snapshot) {
    const { entries, leafId, message, queue, pending, status, hasOlder, ...facts } = snapshot;
    this.facts = facts;
    this.provisional = [];
    this.calls.clear();
    this.retry = undefined;
    this.shell = undefined;
    this.growing = message ?? undefined;
    this.isRunning = status.isRunning;
    this.isCompacting = status.isCompacting;
    this.queue = queue;
    this.requests = new Map(pending.map((request) => [request.id, request]));
    if (entries !== undefined) {
      this.rebuild(entries, leafId);
      this.facts.name = facts.name;
      this.hasOlder = hasOlder === true;
      this.hasBranches = false;
    } else this.setLeaf(leafId);
  }

  /** @param {string | null | undefined} id */
  setLeaf(id) {
    if (id !== undefined && id !== null && this.byId.has(id)) this.leaf = this.byId.get(id);
    else if (id === null) this.leaf = undefined;
  }

  entry(index) {
    return this.entries[index] ?? {};
  }

  json(index) {
    return JSON.stringify(this.entry(index));
  }

  /** The ID of the newest entry, from which the next ones are requested. */
  newestId() {
    return this.nodes.at(-1)?.id;
  }

  /** Adds an entry unless it is known. Returns whether it is new. */
  addEntry(entry) {
    if (entry === null || typeof entry !== "object" || this.byId.has(entry.id)) return false;
    const node = outline(entry);
    const index = this.nodes.length;
    const parent = this.byId.get(entry.parentId);
    node.parent = parent;
    node.children = [];
    node.newest = index;
    this.nodes.push(node);
    this.entries.push(entry);
    this.byId.set(node.id, index);
    if (parent === undefined) this.roots.push(index);
    else this.nodes[parent].children.push(index);
    for (let at = parent; at !== undefined; at = this.nodes[at].parent) this.nodes[at].newest = index;
    if (entry.type === "label") this.applyLabel(entry);
    else if (entry.type === "session_info") this.facts.name = entry.name;
    this.dropProvisional(entry);
    this.leaf = index;
    return true;
  }

  applyLabel({ targetId, label }) {
    const target = this.byId.get(targetId);
    if (target !== undefined) this.nodes[target].label = label || undefined;
  }

  /** Puts older entries in front of those that are loaded. */
  addOlder(entries, hasOlder) {
    this.rebuild([...entries, ...this.entries], this.leaf === undefined ? null : this.nodes[this.leaf].id);
    this.hasOlder = hasOlder;
  }

  /** Takes over all entries of the session, with all branches. */
  replaceEntries(entries, leafId) {
    // Those that came meanwhile are kept.
    this.rebuild([...entries, ...this.entries], leafId);
    this.hasOlder = false;
    this.hasBranches = true;
  }

  rebuild(entries, leafId) {
    const { name } = this.facts;
    this.entries = [];
    this.nodes = [];
    this.byId.clear();
    this.roots = [];
    this.leaf = undefined;
    for (const entry of entries) this.addEntry(entry);
    this.facts.name = name;
    this.setLeaf(leafId);
  }

  /** A message that became an entry is no longer provisional. */
  dropProvisional(entry) {
    if (entry.type !== "message" && entry.type !== "custom_message") return;
    const message = entry.message ?? entry;
    if (message.role === "toolResult") this.calls.delete(asText(message.toolCallId));
    const at = this.provisional.findIndex((candidate) => isSameMessage(candidate, message));
    if (at >= 0) this.provisional.splice(0, at + 1);
    if (message.role === "assistant" && this.growing?.timestamp === message.timestamp) this.growing = undefined;
  }

  /** Whether a message is among the newest entries: entries may be read before the event arrives. */
  isStored(message) {
    return this.entries.slice(-STORED_SEARCH).some((entry) => (entry.type === "message" ? isSameMessage(message, entry.message ?? {}) : false));
  }

  /**
   * Applies an event. Returns what changed, as names of parts of the page.
   * @param {any} event
   * @returns {string[]}
   */
  apply(event) {
    const handler = Object.hasOwn(EVENTS, event.type) ? EVENTS[event.type] : undefined;
    return handler?.(this, event) ?? [];
  }
}

function isSameMessage(one, other) {
  if (one.role !== (other.role ?? "custom")) return false;
  return one.role === "toolResult" ? one.toolCallId === other.toolCallId : one.timestamp === other.timestamp || other.timestamp === undefined || typeof other.timestamp === "string";
}

/** @type {Record<string, (session: LiveSession, event: any) => string[] | undefined>} */
const EVENTS = {
  agent_start: (session) => {
    session.isRunning = true;
    session.retry = undefined;
    return ["status"];
  },
  agent_settled: (session) => {
    session.isRunning = false;
    session.growing = undefined;
    session.retry = undefined;
    return ["status", "transcript", "entries", "settled"];
  },
  message_start: (session, { message }) => {
    if (message?.role !== "assistant") return [];
    // The message may contain what the following updates report again.
    session.growing = { ...message, content: [] };
    return ["growing"];
  },
  message_update: (session, event) => growResponse(session, event),
  message_end: (session, { message }) => {
    if (message?.role === "assistant") session.growing = undefined;
    if (message !== undefined && message !== null && !session.isStored(message)) session.provisional.push(message);
    return ["transcript", "entries"];
  },
  tool_execution_start: (session, { toolCallId, parentToolCallId }) => {
    if (parentToolCallId) return [];
    session.calls.set(toolCallId, { state: "running", since: Date.now() });
    return ["call"];
  },
  tool_execution_update: (session, { toolCallId, partialResult, parentToolCallId }) => {
    if (parentToolCallId) return [];
    session.calls.set(toolCallId, { state: "running", since: session.calls.get(toolCallId)?.since ?? Date.now(), result: partialResult });
    return ["call"];
  },
  tool_execution_end: (session, { toolCallId, result, isError, durationMs, parentToolCallId }) => {
    if (parentToolCallId) return [];
    session.calls.set(toolCallId, { state: "done", since: session.calls.get(toolCallId)?.since ?? Date.now(), result: { ...result, isError, durationMs } });
    return ["call"];
  },
  queue_update: (session, { steering, followUp }) => {
    session.queue = { steering: steering ?? [], followUp: followUp ?? [] };
    return ["queue"];
  },
  entry_appended: (session, { entry }) => (session.addEntry(entry) ? ["transcript", "entries"] : []),
  session_info_changed: (session, { name }) => {
    session.facts.name = name;
    return ["status", "entries"];
  },
  thinking_level_changed: (session, { level }) => {
    session.facts.thinkingLevel = level;
    return ["status", "entries"];
  },
  model_changed: () => ["facts", "entries"],
  label_changed: (session, event) => {
    session.applyLabel(event);
    return ["transcript", "entries"];
  },
  leaf_moved: (session, { leafId }) => {
    const isKnown = leafId === undefined || leafId === null || session.byId.has(leafId);
    session.setLeaf(leafId ?? null);
    return isKnown ? ["transcript", "status", "tree"] : ["lost"];
  },
  compaction_start: (session) => {
    session.isCompacting = true;
    return ["status"];
  },
  compaction_end: (session) => {
    session.isCompacting = false;
    return ["status", "entries", "facts"];
  },
  auto_retry_start: (session, event) => {
    session.retry = { ...event, until: Date.now() + (Number(event.delayMs) || 0) };
    return ["status"];
  },
  auto_retry_end: (session) => {
    session.retry = undefined;
    return ["status"];
  },
  bash_execution_start: (session, { command }) => {
    session.shell = { command: asText(command), output: "" };
    return ["shell"];
  },
  bash_execution_update: (session, { delta }) => {
    session.shell = { command: session.shell?.command ?? "", output: `${session.shell?.output ?? ""}${asText(delta)}`.slice(-100_000) };
    return ["shell"];
  },
  bash_execution_end: (session) => {
    session.shell = undefined;
    return ["shell", "entries"];
  },
  approval_requested: (session, { request }) => addRequest(session, request),
  dialog_requested: (session, { request }) => addRequest(session, request),
  extension_ui_request: (session, event) => (DIALOGS.has(event.method) ? addRequest(session, event) : ["notice"]),
  approval_resolved: (session, { request }) => dropRequest(session, request),
  dialog_resolved: (session, { request }) => dropRequest(session, request),
  request_resolved: (session, { request }) => dropRequest(session, request),
  session_warning: () => ["notice"],
  extension_error: () => ["notice"],
};

const DIALOGS = new Set(["select", "confirm", "input", "editor", "approval"]);

function addRequest(session, request) {
  if (request === null || typeof request !== "object") return [];
  session.requests.set(request.id, request);
  return ["requests"];
}

function dropRequest(session, id) {
  return session.requests.delete(typeof id === "object" ? id?.id : id) ? ["requests"] : [];
}

/** Appends what an update carries to the response. */
function growResponse(session, { usage, assistantMessageEvent: event, message }) {
  if (event === undefined) return [];
  const { growing } = session;
  // The response is stored already, and its entry is shown.
  if (growing === undefined) return [];
  if (usage !== undefined) growing.usage = usage;
  const at = event.contentIndex;
  const block = growing.content[at];
  switch (event.type) {
    case "text_start": growing.content[at] = { type: "text", text: "" }; break;
    case "text_delta": growing.content[at] = { type: "text", text: `${block?.text ?? ""}${asText(event.delta)}` }; break;
    case "text_end": growing.content[at] = { type: "text", text: asText(event.content) }; break;
    case "thinking_start": growing.content[at] = { type: "thinking", thinking: "" }; break;
    case "thinking_delta": growing.content[at] = { type: "thinking", thinking: `${block?.thinking ?? ""}${asText(event.delta)}` }; break;
    case "thinking_end": growing.content[at] = { type: "thinking", thinking: asText(event.content), redacted: event.redacted ?? undefined }; break;
    case "toolcall_start": growing.content[at] = { type: "toolCall", id: event.id, name: event.toolName, arguments: {}, json: "" }; break;
    case "toolcall_delta": if (block !== undefined) block.json = `${block.json ?? ""}${asText(event.delta)}`; break;
    case "toolcall_end": growing.content[at] = { type: "toolCall", ...event.toolCall }; break;
    case "start": break;
    default: if (message !== undefined) session.growing = message;
  }
  return ["growing"];
}
