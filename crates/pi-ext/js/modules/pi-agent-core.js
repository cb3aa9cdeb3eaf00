// `@earendil-works/pi-agent-core`: the agent loop and compaction.
import { agentLoop, agentLoopContinue } from "pi:pi/agent_loop";

export { Agent } from "pi:pi/agent";
export { agentLoop, agentLoopContinue };
export { uuidv7 } from "pi:modules/pi-ai";
export {
  calculateContextTokens,
  collectEntriesForBranchSummary,
  compact,
  convertToLlm,
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  generateBranchSummary,
  generateSummary,
  generateSummaryWithUsage,
  getLastAssistantUsage,
  serializeConversation,
  shouldCompact,
} from "pi:pi/summaries";
export { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, GREP_MAX_LINE_LENGTH, truncateHead, truncateLine, truncateTail } from "pi:pi/truncate";

// Runs a loop to completion and emits all events.
async function runToEnd(events, emit) {
  for await (const event of events) await emit(event);
  return events.result();
}
export function runAgentLoop(prompts, context, config, emit, signal, streamFn) {
  return runToEnd(agentLoop(prompts, context, config, signal, streamFn), emit);
}
export function runAgentLoopContinue(context, config, emit, signal, streamFn) {
  return runToEnd(agentLoopContinue(context, config, signal, streamFn), emit);
}
