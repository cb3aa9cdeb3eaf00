// `@earendil-works/pi-agent-core`: the agent loop and compaction.
import { agentLoop, agentLoopContinue, runToolCall, setDefaultStreamFn } from "pi:pi/agent_loop";
import { PI_ATTRIBUTION } from "pi:modules/pi-ai";

export { Agent } from "pi:pi/agent";
export { agentLoop, agentLoopContinue, runToolCall, setDefaultStreamFn };

// How agents identify themselves to providers.
export const DEFAULT_AGENT_IDENTITY = { attribution: PI_ATTRIBUTION };

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
