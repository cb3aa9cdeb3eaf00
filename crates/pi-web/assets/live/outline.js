// Outlines entries for the tree and the transcript: kind, one line of text, calls. Exported pages receive the
// same facts from the program.

import { asText, blocksOf } from "../shared/element.js";
import { plainText } from "../shared/terminal_text.js";

/** Maximum number of characters per entry in the tree. */
const LINE_LENGTH = 140;

/** @typedef {import("../shared/session_tree.js").OutlineNode} OutlineNode */

/** Kinds by type of entry; messages have their own. */
const ENTRY_KINDS = {
  model_change: "model", thinking_level_change: "thinking", usage: "usage", compaction: "compaction", branch_summary: "branchSummary",
  context_edit: "edit", custom: "state", label: "label", session_info: "name",
};

const MESSAGE_KINDS = {
  system: "system", user: "user", assistant: "assistant", toolResult: "toolResult", bashExecution: "bash",
  branchSummary: "branchSummary", compactionSummary: "compaction",
};

/** Returns the beginning of a text on one line. */
export function firstLine(text) {
  const line = plainText(asText(text).slice(0, LINE_LENGTH * 8)).trim().replace(/\s+/g, " ");
  return line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)}…` : line;
}

function joinedText(content) {
  return blocksOf(content).filter((block) => block.type === "text").map((block) => asText(block.text)).join("\n");
}

/**
 * Outlines an entry. The position in the tree is added by the session.
 * @param {any} entry
 * @returns {OutlineNode}
 */
export function outline(entry) {
  const node = { id: asText(entry.id), kind: "unknown", time: Date.parse(entry.timestamp), text: undefined };
  if (entry.type === "message") return { ...node, ...outlineMessage(entry.message ?? {}) };
  if (entry.type === "custom_message") return { ...node, kind: entry.display ? "custom" : "hidden", text: firstLine(joinedText(entry.content)) };
  const texts = {
    model_change: () => `${asText(entry.provider)}/${asText(entry.modelId)}`,
    thinking_level_change: () => entry.thinkingLevel,
    usage: () => entry.kind,
    compaction: () => entry.summary,
    branch_summary: () => entry.summary,
    context_edit: () => entry.targetId,
    custom: () => entry.customType,
    label: () => entry.label,
    session_info: () => entry.name,
  };
  const isKnown = Object.hasOwn(ENTRY_KINDS, entry.type);
  return { ...node, kind: isKnown ? ENTRY_KINDS[entry.type] : "unknown", text: firstLine(isKnown ? texts[entry.type]() : entry.type) };
}

function outlineMessage(message) {
  const kind = Object.hasOwn(MESSAGE_KINDS, message.role) ? MESSAGE_KINDS[message.role] : "unknown";
  switch (message.role) {
    case "system": return { kind, text: "" };
    case "assistant": return outlineResponse(message);
    case "toolResult": {
      const text = blocksOf(message.content).find((block) => block.type === "text")?.text ?? "";
      return { kind, failed: message.isError === true, call: asText(message.toolCallId), text: `${asText(message.toolName)}: ${firstLine(text)}` };
    }
    case "bashExecution":
      return { kind, failed: message.cancelled === true || (typeof message.exitCode === "number" && message.exitCode !== 0), text: firstLine(message.command) };
    case "custom": return { kind: message.display ? "custom" : "hidden", text: firstLine(joinedText(message.content)) };
    case "branchSummary":
    case "compactionSummary": return { kind, text: firstLine(message.summary) };
    default: return { kind, text: firstLine(joinedText(message.content)) };
  }
}

function outlineResponse(message) {
  const blocks = blocksOf(message.content);
  const calls = blocks.filter((block) => block.type === "toolCall");
  const text = blocks.find((block) => block.type === "text" && asText(block.text).trim() !== "")?.text;
  const fallback = calls.length > 0 ? calls.map((call) => asText(call.name)).join(", ") : message.errorMessage;
  return {
    kind: "assistant",
    failed: message.stopReason === "error" || message.stopReason === "aborted",
    calls: calls.map((call) => asText(call.id)),
    text: firstLine(text ?? fallback),
  };
}
