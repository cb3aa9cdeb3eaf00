// Summaries of conversations, written by a model with the program's own prompts.
import { call } from "pi:host";
import { perform } from "pi:pi/work";

export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

// Returns messages as a model is given them.
export function convertToLlm(messages) {
  return call("messages.toModel", { messages });
}
// Returns messages as the text a summary is written from.
export function serializeConversation(messages) {
  return call("messages.serialize", { messages });
}
export function estimateTokens(message) {
  return call("convert.tokens", { message });
}
export function calculateContextTokens(usage) {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}
export function getLastAssistantUsage(entries) {
  const isAnswer = ({ message }) => message?.role === "assistant" && message.stopReason !== "aborted" && message.stopReason !== "error";
  return entries.findLast((entry) => entry.type === "message" && isAnswer(entry) && entry.message.usage)?.message.usage;
}
export function shouldCompact(tokens, contextWindow, settings) {
  return settings.enabled && call("convert.needsRoom", { tokens, contextWindow, reserveTokens: settings.reserveTokens });
}

// Writes the summary of a compaction that was prepared.
export async function compact(preparation, model, apiKey, headers, customInstructions, signal, thinkingLevel) {
  const { messagesToSummarize, turnPrefixMessages = [], previousSummary, firstKeptEntryId, tokensBefore, settings } = preparation;
  const { text, usage, ...result } = await perform(
    "summary.compact",
    {
      model, apiKey, headers, customInstructions, thinkingLevel, previousSummary, firstKeptEntryId, tokensBefore,
      messages: messagesToSummarize,
      turnPrefix: turnPrefixMessages,
      reserveTokens: settings?.reserveTokens,
    },
    {},
    signal,
  );
  return usage ? { ...result, usage } : result;
}

export async function generateSummaryWithUsage(messages, model, reserveTokens, apiKey, headers, signal, customInstructions, previousSummary, thinkingLevel) {
  const wanted = { model, apiKey, headers, customInstructions, previousSummary, thinkingLevel, messages, reserveTokens };
  const { text, usage } = await perform("summary.compact", wanted, {}, signal);
  return { text, usage };
}
export async function generateSummary(...args) {
  return (await generateSummaryWithUsage(...args)).text;
}

// Writes the summary of a branch that is left.
export async function generateBranchSummary(entries, { model, apiKey, headers, signal, customInstructions, replaceInstructions, reserveTokens }) {
  try {
    const wanted = { model, apiKey, headers, customInstructions, replaceInstructions, entries, reserveTokens };
    return await perform("summary.branch", wanted, {}, signal);
  } catch (error) {
    return signal?.aborted ? { aborted: true } : { error: error.message };
  }
}

// The entries that going from one leaf to another leaves behind.
export function collectEntriesForBranchSummary(session, oldLeafId, targetId) {
  if (!oldLeafId) return { entries: [], commonAncestorId: null };
  const target = new Set(session.getBranch(targetId).map((entry) => entry.id));
  const old = session.getBranch(oldLeafId);
  const common = old.findLast((entry) => target.has(entry.id));
  return { entries: common ? old.slice(old.indexOf(common) + 1) : old, commonAncestorId: common?.id ?? null };
}
