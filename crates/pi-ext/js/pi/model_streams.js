// Model responses as event streams. The program sends deltas; the partial message is assembled here.
import { AssistantMessageEventStream } from "pi:pi/event_stream";
import { requestWithCallbacks } from "pi:pi/callbacks";

// Returns a usage record of zeros.
export function noUsage() {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
}

function emptyMessage(model) {
  return { role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: noUsage(), stopReason: "stop", timestamp: Date.now() };
}

// Applies each type of event to the partial message.
const reducers = {
  text_start: (content, { contentIndex }) => void (content[contentIndex] = { type: "text", text: "" }),
  text_delta: (content, { contentIndex, delta }) => void (content[contentIndex].text += delta),
  text_end: (content, event) => void (content[event.contentIndex].text = event.content),
  thinking_start: (content, { contentIndex }) => void (content[contentIndex] = { type: "thinking", thinking: "" }),
  thinking_delta: (content, { contentIndex, delta }) => void (content[contentIndex].thinking += delta),
  thinking_end: (content, event) => void (content[event.contentIndex].thinking = event.content),
  toolcall_start: (content, { contentIndex, id, name }) => void (content[contentIndex] = { type: "toolCall", id, name, arguments: {} }),
  toolcall_end: (content, { contentIndex, toolCall }) => void (content[contentIndex] = { type: "toolCall", ...toolCall }),
};

// Translates the options of an API into those of the program. `reasoning` is no option of an API.
function apiOptions(model, { reasoning, ...options }) {
  if (model.api !== "anthropic-messages" || !options.thinkingEnabled || !model.reasoning) return options;
  const level = options.effort ?? "high";
  const budget = options.thinkingBudgetTokens ?? 1024;
  return { ...options, reasoning: level, thinkingBudgets: { minimal: budget, low: budget, medium: budget, high: budget } };
}

// Removes from a request what its caller did not ask for: an API has no default limit and no default for thinking.
function withoutDefaults(model, options, payload) {
  const { generationConfig } = payload;
  if (options.maxTokens === undefined) {
    if (model.api !== "anthropic-messages") delete payload.max_tokens;
    delete payload.max_completion_tokens;
    delete payload.max_output_tokens;
    delete generationConfig?.maxOutputTokens;
  }
  if (options.thinking === undefined) delete generationConfig?.thinkingConfig;
  if (model.api === "anthropic-messages") {
    if (options.thinkingEnabled === undefined) delete payload.thinking;
    if (options.effort === undefined) delete payload.output_config?.effort;
    if (payload.output_config && Object.keys(payload.output_config).length === 0) delete payload.output_config;
    if (payload.thinking?.display && options.thinkingDisplay) payload.thinking.display = options.thinkingDisplay;
  }
  return payload;
}

// Calls a model and returns the stream of its response. `forApi`: the options are those of the model's API.
export function streamModel(model, context = {}, options = {}, { onWire = false, forApi = false } = {}) {
  const { signal, onPayload, onResponse, ...given } = options ?? {};
  const requestOptions = forApi ? apiOptions(model, given) : given;
  const payload = async (body) => {
    const adapted = forApi ? withoutDefaults(model, given, body) : body;
    return (await onPayload?.(adapted, model)) ?? adapted;
  };
  const response = async (head) => void (await onResponse?.(head, model));
  const stream = new AssistantMessageEventStream();
  const partial = emptyMessage(model);
  let last;
  const events = (batch) => {
    for (const event of batch) {
      if (event.type === "done" || event.type === "error") {
        last = event;
        continue;
      }
      reducers[event.type]?.(partial.content, event);
      stream.push({ ...event, partial });
    }
  };
  const { systemPrompt, messages = [], tools } = context;
  const conversation = { systemPrompt, messages, tools: tools?.map(({ name, description, parameters }) => ({ name, description, parameters })) };
  const hooks = { payload: forApi || onPayload !== undefined, response: onResponse !== undefined };
  requestWithCallbacks("models.stream", { model, context: conversation, options: requestOptions, onWire, hooks }, { events, payload, response }, signal).then(
    (message) => {
      const isFailure = message.stopReason === "error" || message.stopReason === "aborted";
      const reason = last?.reason ?? message.stopReason;
      stream.push(isFailure ? { type: "error", reason, error: message } : { type: "done", reason, message });
      stream.end(message);
    },
    (error) => {
      const message = { ...partial, stopReason: signal?.aborted ? "aborted" : "error", errorMessage: error.message };
      stream.push({ type: "error", reason: message.stopReason, error: message });
      stream.end(message);
    },
  );
  return stream;
}

// APIs implemented by the program.
export const WIRE_APIS = [
  "anthropic-messages", "azure-openai-responses", "bedrock-converse-stream", "google-generative-ai", "google-vertex",
  "mistral-conversations", "openai-codex-responses", "openai-completions", "openai-responses", "pi-messages",
];

// Call a model directly through its API, bypassing its provider, which an extension may have replaced.
export function streamOnWire(model, context, options) {
  return streamModel(model, context, options, { onWire: WIRE_APIS.includes(model.api) });
}
export function streamApiOnWire(model, context, options) {
  return streamModel(model, context, options, { onWire: WIRE_APIS.includes(model.api), forApi: true });
}

// Calls a model with the options of its API.
export function streamApi(model, context, options) {
  return streamModel(model, context, options, { forApi: true });
}
