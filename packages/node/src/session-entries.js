// Session entries: parsing, the path to an entry, and the messages that a model sees.

export const CURRENT_SESSION_VERSION = 3;

/** Parses the lines of a session file; invalid lines are skipped. */
export function parseSessionEntries(content) {
  const entries = [];
  for (const line of content.split("\n")) {
    if (line.trim() === "") continue;
    try {
      entries.push(JSON.parse(line));
    } catch {
      // A torn last line, or damage that `pi fsck` repairs.
    }
  }
  return entries;
}

/** Converts entries of older versions in place. */
export function migrateSessionEntries(entries) {
  const header = entries.find((entry) => entry.type === "session");
  const version = header?.version ?? 1;
  if (version < 2) {
    let parentId = null;
    let number = 0;
    for (const entry of entries) {
      if (entry.type === "session") continue;
      number += 1;
      entry.id ??= number.toString(16).padStart(8, "0");
      entry.parentId = parentId;
      parentId = entry.id;
    }
    for (const entry of entries) {
      if (entry.type !== "compaction" || entry.firstKeptEntryIndex === undefined) continue;
      entry.firstKeptEntryId = entries[entry.firstKeptEntryIndex]?.id ?? entry.id;
      delete entry.firstKeptEntryIndex;
    }
  }
  if (version < 3) {
    for (const entry of entries) {
      if (entry.message?.role === "hookMessage") entry.message.role = "custom";
    }
  }
  if (header) header.version = CURRENT_SESSION_VERSION;
}

function index(entries) {
  return new Map(entries.map((entry) => [entry.id, entry]));
}

/** Returns the entries from the root to an entry. */
export function pathTo(byId, leafId) {
  const path = [];
  const seen = new Set();
  let entry = leafId ? byId.get(leafId) : undefined;
  while (entry && !seen.has(entry.id)) {
    seen.add(entry.id);
    path.push(entry);
    entry = entry.parentId ? byId.get(entry.parentId) : undefined;
  }
  return path.reverse();
}

function resolveLeaf(entries, leafId) {
  return leafId === undefined ? (entries.at(-1)?.id ?? null) : leafId;
}

export function getLatestCompactionEntry(entries) {
  return entries.findLast((entry) => entry.type === "compaction") ?? null;
}

/** Returns the entries on the path that contribute to the context, the latest compaction first. */
export function buildContextEntries(entries, leafId, byId = index(entries)) {
  const path = pathTo(byId, resolveLeaf(entries, leafId));
  const at = path.findLastIndex((entry) => entry.type === "compaction");
  if (at < 0) return path;
  const compaction = path[at];
  const first = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const kept = first < 0 || first > at ? [] : path.slice(first, at);
  const isKept = (entry) => entry.type !== "compaction" && entry.message?.role !== "system";
  return [compaction, ...kept.filter(isKept), ...path.slice(at + 1)];
}

const time = (entry) => new Date(entry.timestamp).getTime();

/** Returns the messages of one entry. */
export function sessionEntryToContextMessages(entry) {
  switch (entry.type) {
    case "message":
      return [{ ...entry.message, content: entry.message.content ?? [] }];
    case "custom_message": {
      const { customType, content, display, details } = entry;
      return [{ role: "custom", customType, content: content ?? [], display, details, timestamp: time(entry) }];
    }
    case "branch_summary":
      if (!entry.summary) return [];
      return [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp: time(entry) }];
    case "compaction": {
      const { summary, tokensBefore, systemMessage } = entry;
      const message = { role: "compactionSummary", summary, tokensBefore, timestamp: time(entry) };
      return systemMessage ? [systemMessage, message] : [message];
    }
    default:
      return [];
  }
}

function editedMessages(entry, edit) {
  if (!edit) return sessionEntryToContextMessages(entry);
  if (edit.replacement === null) return [];
  return sessionEntryToContextMessages(entry).map((message) => {
    const { content } = edit.replacement;
    const needsBlocks = message.role === "assistant" || message.role === "toolResult";
    const blocks = needsBlocks && typeof content === "string" ? [{ type: "text", text: content }] : content;
    return { ...message, content: blocks };
  });
}

/** Returns the context with the entry of each message. */
export function buildSessionProjection(entries, leafId, byId = index(entries)) {
  const path = pathTo(byId, resolveLeaf(entries, leafId));
  const context = buildContextEntries(entries, leafId, byId);
  const edits = new Map();
  for (const entry of context) {
    if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  }
  const projected = [];
  for (const sourceEntry of context) {
    const messages = editedMessages(sourceEntry, edits.get(sourceEntry.id));
    if (messages.length > 0) projected.push({ sourceEntry, messages });
  }
  let model = null;
  let thinkingLevel = "off";
  for (const entry of path) {
    if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    if (entry.message?.role === "assistant") model = { provider: entry.message.provider, modelId: entry.message.model };
  }
  return { entries: projected, messages: projected.flatMap((it) => it.messages), thinkingLevel, model };
}

export function buildSessionContext(entries, leafId, byId) {
  const { messages, thinkingLevel, model } = buildSessionProjection(entries, leafId, byId);
  return { messages, thinkingLevel, model };
}

/** Returns the text of a message. */
export function messageText(message) {
  const { content } = message ?? {};
  if (typeof content === "string") return content;
  const texts = (content ?? []).filter((block) => block.type === "text").map((block) => block.text);
  return texts.join("");
}
