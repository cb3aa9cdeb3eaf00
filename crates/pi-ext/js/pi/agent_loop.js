// Agent loop over any stream function, for extensions that run their own agents.
import { EventStream } from "pi:pi/event_stream";
import { streamModel } from "pi:pi/model_streams";
import { errorsOf } from "pi:pi/schema_check";

const isStop = (reason) => reason === "error" || reason === "aborted";
const textOf = (text) => [{ type: "text", text }];

let defaultStream = streamModel;

// Sets the stream function of loops that are started without one.
export function setDefaultStreamFn(streamFn) {
  defaultStream = streamFn;
}

// Runs one tool call without emitting events. Errors become error results. A call that did not run has no duration.
export async function runToolCall(call, options) {
  const { tools, context, signal, onUpdate = () => {}, beforeToolCall, afterToolCall } = options;
  const tool = (tools ?? context?.tools ?? []).find((candidate) => candidate.name === call.name);
  let result;
  let isError = false;
  let startedAt;
  const elapsed = () => (startedAt === undefined ? {} : { durationMs: Math.round(performance.now() - startedAt) });
  let duration = {};
  try {
    if (!tool) throw new Error(`Tool ${call.name} not found`);
    const args = tool.prepareArguments ? tool.prepareArguments(call.arguments) : structuredClone(call.arguments ?? {});
    const [problem] = errorsOf(tool.parameters, args);
    if (problem) throw new Error(`Invalid arguments: ${problem.path || "root"}: ${problem.message}`);
    const verdict = await beforeToolCall?.({ toolCall: call, args, context }, signal);
    if (verdict?.block) throw new Error(verdict.reason ?? "Tool call was blocked");
    startedAt = performance.now();
    result = await tool.execute(call.id, args, signal, onUpdate);
    duration = elapsed();
    isError = result?.isError === true;
  } catch (error) {
    duration = elapsed();
    result = { content: textOf(error instanceof Error ? error.message : String(error)), details: {} };
    isError = true;
  }
  const changed = startedAt === undefined ? undefined : await afterToolCall?.({ toolCall: call, result, isError, context }, signal);
  if (changed) {
    isError = changed.isError ?? isError;
    result = { ...result, ...changed };
  }
  return { toolCall: call, result, isError, ...duration };
}

// Runs one tool call of a loop and emits its events.
async function runTool(tools, call, config, context, signal, emit) {
  const about = { toolCallId: call.id, toolName: call.name };
  emit({ type: "tool_execution_start", ...about, args: call.arguments });
  const onUpdate = (partialResult) => emit({ type: "tool_execution_update", ...about, args: call.arguments, partialResult });
  const { beforeToolCall, afterToolCall } = config;
  const { result, isError, durationMs } = await runToolCall(call, { tools, context, signal, onUpdate, beforeToolCall, afterToolCall });
  const duration = durationMs === undefined ? {} : { durationMs };
  emit({ type: "tool_execution_end", ...about, result, isError, ...duration });
  const { content = [], details } = result ?? {};
  return { role: "toolResult", ...about, content, details, isError, ...duration, timestamp: Date.now() };
}

async function runCalls(tools, calls, config, context, signal, emit) {
  const isSequential = config.toolExecution === "sequential" || calls.some((call) => tools.find((tool) => tool.name === call.name)?.executionMode === "sequential");
  if (!isSequential) return Promise.all(calls.map((call) => runTool(tools, call, config, context, signal, emit)));
  const results = [];
  for (const call of calls) results.push(await runTool(tools, call, config, context, signal, emit));
  return results;
}

// Streams one assistant message and emits its events.
async function streamMessage(context, config, signal, emit, streamFn) {
  const seen = (await config.transformContext?.(context.messages, signal)) ?? context.messages;
  const messages = (await config.convertToLlm?.(seen)) ?? seen.filter(({ role }) => ["user", "assistant", "toolResult", "system"].includes(role));
  const { model, convertToLlm, transformContext, getApiKey, ...options } = config;
  const apiKey = (await getApiKey?.(model.provider)) ?? options.apiKey;
  const stream = await streamFn(model, { systemPrompt: context.systemPrompt, messages, tools: context.tools }, { ...options, apiKey, signal });
  let isStarted = false;
  const start = (message) => {
    if (!isStarted) emit({ type: "message_start", message });
    isStarted = true;
  };
  for await (const event of stream) {
    if (event.type === "done" || event.type === "error") continue;
    start(event.partial);
    if (event.type !== "start") emit({ type: "message_update", message: event.partial, assistantMessageEvent: event });
  }
  const message = await stream.result();
  start(message);
  emit({ type: "message_end", message });
  return message;
}

async function run(prompts, context, config, signal, emit, streamFn) {
  const added = [];
  const add = (message, shouldEmit) => {
    context.messages.push(message);
    added.push(message);
    if (!shouldEmit) return;
    emit({ type: "message_start", message });
    emit({ type: "message_end", message });
  };
  emit({ type: "agent_start" });
  let pending = prompts;
  for (;;) {
    emit({ type: "turn_start" });
    for (const message of pending) add(message, true);
    const message = await streamMessage(context, config, signal, emit, streamFn);
    add(message, false);
    const calls = isStop(message.stopReason) ? [] : message.content.filter((block) => block.type === "toolCall");
    const toolResults = await runCalls(context.tools ?? [], calls, config, context, signal, emit);
    for (const result of toolResults) add(result, true);
    emit({ type: "turn_end", message, toolResults });
    if (isStop(message.stopReason)) break;
    pending = (await config.getSteeringMessages?.()) ?? [];
    if (calls.length === 0 && pending.length === 0) pending = (await config.getFollowUpMessages?.()) ?? [];
    if (calls.length === 0 && pending.length === 0) break;
  }
  emit({ type: "agent_end", messages: added });
  return added;
}

function loop(prompts, context, config, signal, streamFn) {
  const stream = new EventStream((event) => event.type === "agent_end", (event) => event.messages);
  const copy = { ...context, messages: [...context.messages] };
  run(prompts, copy, config, signal, (event) => stream.push(event), streamFn).then(
    (messages) => stream.end(messages),
    (error) => {
      const message = { role: "assistant", content: [], stopReason: signal?.aborted ? "aborted" : "error", errorMessage: error.message, timestamp: Date.now() };
      stream.push({ type: "agent_end", messages: [message] });
    },
  );
  return stream;
}

// Starts a loop with new prompts.
export function agentLoop(prompts, context, config, signal, streamFn = defaultStream) {
  return loop(prompts, context, config, signal, streamFn);
}

// Continues a conversation without a new prompt.
export function agentLoopContinue(context, config, signal, streamFn = defaultStream) {
  if (context.messages.length === 0) throw new Error("cannot continue: the conversation has no messages");
  if (context.messages.at(-1).role === "assistant") throw new Error("cannot continue: the last message is from the assistant");
  return loop([], context, config, signal, streamFn);
}
