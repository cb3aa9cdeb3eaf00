// `@earendil-works/pi-ai` and its `compat`: messages, schemas and streams.
import { call } from "pi:host";
import {
  complete, completeSimple, getApiProvider, getApiProviders, registerApiProvider, resetApiProviders, stream, streamSimple,
  unregisterApiProviders,
} from "pi:pi/api_registry";
import { AssistantMessageEventStream, EventStream } from "pi:pi/event_stream";
import { noUsage, streamApiOnWire, streamOnWire } from "pi:pi/model_streams";
import { Type } from "pi:pi/schema";
import { VERSION } from "pi:pi/version";
import { errorsOf } from "pi:pi/schema_check";

export { AssistantMessageEventStream, EventStream, Type };
export { complete, completeSimple, getApiProvider, getApiProviders, registerApiProvider, resetApiProviders, stream, streamSimple, unregisterApiProviders };

export {
  appendAssistantMessageDiagnostic, cleanupSessionResources, createAssistantMessageDiagnostic, createProvider, defaultProviderAuthContext, envApiKeyAuth,
  extractDiagnosticError, InMemoryCredentialStore, InMemoryModelsStore, lazyApi, lazyOAuth, lazyStream, ModelsError, parseJsonWithRepair,
  registerSessionResourceCleanup, repairJson,
} from "pi:pi/provider_library";

export {
  createImagesModels, createImagesProvider, generateImages, generateImagesOpenRouter, getImageModel, getImageModels, getImageProviders, getImagesApiProvider,
  openrouterImagesProvider, registerBuiltInImagesApiProviders, registerImagesApiProvider,
} from "pi:pi/image_library";

const protocol = () => ({ stream: streamApiOnWire, streamSimple: streamOnWire });
export const anthropicMessagesApi = protocol;
export const azureOpenAIResponsesApi = protocol;
export const bedrockConverseStreamApi = protocol;
export const googleGenerativeAIApi = protocol;
export const googleVertexApi = protocol;
export const mistralConversationsApi = protocol;
export const openAICodexResponsesApi = protocol;
export const openAICompletionsApi = protocol;
export const openAIResponsesApi = protocol;
export const piMessagesApi = protocol;
export const streamAnthropic = streamApiOnWire;
export const streamAzureOpenAIResponses = streamApiOnWire;
export const streamGoogle = streamApiOnWire;
export const streamGoogleVertex = streamApiOnWire;
export const streamMistral = streamApiOnWire;
export const streamOpenAICodexResponses = streamApiOnWire;
export const streamOpenAICompletions = streamApiOnWire;
export const streamOpenAIResponses = streamApiOnWire;
export const streamSimpleAnthropic = streamOnWire;
export const streamSimpleAzureOpenAIResponses = streamOnWire;
export const streamSimpleGoogle = streamOnWire;
export const streamSimpleGoogleVertex = streamOnWire;
export const streamSimpleMistral = streamOnWire;
export const streamSimpleOpenAICodexResponses = streamOnWire;
export const streamSimpleOpenAICompletions = streamOnWire;
export const streamSimpleOpenAIResponses = streamOnWire;
export function registerBuiltInApiProviders() {}

export function isContextOverflow(message, contextWindow) {
  return call("messages.isOverflow", { message, contextWindow: contextWindow ?? 0 });
}
export function isRecoverableLength(message, model) {
  return call("messages.isRecoverable", { message, model });
}
export function findEnvKeys(provider, env = process.env) {
  const found = call("models.environmentKeys", { provider }).filter((name) => env[name]);
  return found.length > 0 ? found : undefined;
}
export function getEnvApiKey(provider, env = process.env) {
  const [name] = findEnvKeys(provider, env) ?? [];
  return name && env[name];
}
export function parseStreamingJson(text) {
  return call("messages.parsePartialJson", { text: text ?? "" });
}
export function hasApi(model, api) {
  return model.api === api;
}
export function toToolDeclaration({ name, description, parameters, constrainedSampling }) {
  return constrainedSampling === undefined ? { name, description, parameters } : { name, description, parameters, constrainedSampling };
}

// Fake message parts for tests of extensions.
export function fauxText(text) {
  return { type: "text", text };
}
export function fauxThinking(thinking) {
  return { type: "thinking", thinking };
}
export function fauxToolCall(name, args, options = {}) {
  return { type: "toolCall", id: options.id ?? `call_${uuidv7()}`, name, arguments: args };
}
export function fauxAssistantMessage(content, options = {}) {
  const blocks = typeof content === "string" ? [fauxText(content)] : [content].flat();
  const { stopReason = "stop", errorMessage, timestamp = Date.now() } = options;
  return { role: "assistant", content: blocks, api: "faux", provider: "faux", model: "faux", usage: noUsage(), stopReason, errorMessage, timestamp };
}

export function createAssistantMessageEventStream() {
  return new AssistantMessageEventStream();
}

// A string enum in the form that all providers support.
export function StringEnum(values, options = {}) {
  return Type.Unsafe({ type: "string", enum: [...values], ...options });
}

export function contentText(content, separator = "\n") {
  if (typeof content === "string") return content;
  return content.filter((block) => block.type === "text").map((block) => block.text).join(separator);
}

export function uuidv7() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  let now = Date.now();
  for (let index = 5; index >= 0; index--) {
    bytes[index] = now % 256;
    now = Math.floor(now / 256);
  }
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}

// Prices are per million tokens; the cost is also written into the usage.
export function calculateCost(model, usage) {
  const priceOf = (kind) => ((model.cost?.[kind] ?? 0) / 1_000_000) * (usage[kind] ?? 0);
  const cost = { input: priceOf("input"), output: priceOf("output"), cacheRead: priceOf("cacheRead"), cacheWrite: priceOf("cacheWrite") };
  usage.cost = { ...cost, total: cost.input + cost.output + cost.cacheRead + cost.cacheWrite };
  return usage.cost;
}

export function modelsAreEqual(left, right) {
  return !!left && !!right && left.id === right.id && left.provider === right.provider;
}

// Models without a type are chat models.
export function getModelType(model) {
  return model?.type ?? "chat";
}
export function isModelType(model, type) {
  return getModelType(model) === type;
}

export const PI_AI_VERSION = VERSION;
export const ANTHROPIC_API_KEY_ENV = "ANTHROPIC_API_KEY";
export const ANTHROPIC_AUTH_TOKEN_ENV = "ANTHROPIC_AUTH_TOKEN";
export const ANTHROPIC_OAUTH_TOKEN_ENV = "ANTHROPIC_OAUTH_TOKEN";
export const ANTHROPIC_FEDERATION_RULE_ID_ENV = "ANTHROPIC_FEDERATION_RULE_ID";
export const ANTHROPIC_IDENTITY_TOKEN_FILE_ENV = "ANTHROPIC_IDENTITY_TOKEN_FILE";
export const ANTHROPIC_ORGANIZATION_ID_ENV = "ANTHROPIC_ORGANIZATION_ID";
export const ANTHROPIC_SERVICE_ACCOUNT_ID_ENV = "ANTHROPIC_SERVICE_ACCOUNT_ID";
export const ANTHROPIC_WORKSPACE_ID_ENV = "ANTHROPIC_WORKSPACE_ID";

export function getModel(provider, id) {
  return call("models.find", { provider, id }) ?? undefined;
}
export function getModels(provider) {
  return call("models.all").filter((model) => provider === undefined || model.provider === provider);
}
export function getProviders() {
  return [...new Set(call("models.all").map((model) => model.provider))];
}

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
// Levels that a model must declare explicitly.
const OPT_IN_LEVELS = ["xhigh", "max"];
export function getSupportedThinkingLevels(model) {
  if (!model.reasoning) return ["off"];
  const map = model.thinkingLevelMap ?? {};
  return LEVELS.filter((level) => map[level] !== null && (map[level] !== undefined || !OPT_IN_LEVELS.includes(level)));
}
// Returns the level if the model supports it, otherwise the next higher or else the highest supported level.
export function clampThinkingLevel(model, level) {
  const supported = getSupportedThinkingLevels(model);
  const requested = LEVELS.indexOf(level);
  if (requested < 0) return supported[0] ?? "off";
  const isAbove = (candidate) => LEVELS.indexOf(candidate) >= requested;
  return supported.find(isAbove) ?? supported.at(-1) ?? "off";
}

export function validateToolArguments(tool, toolCall) {
  const args = structuredClone(toolCall.arguments ?? {});
  const errors = errorsOf(tool.parameters, args);
  if (errors.length > 0) {
    const list = errors.map((error) => `  - ${error.path.slice(1) || "root"}: ${error.message}`).join("\n");
    throw new Error(`Invalid arguments for ${toolCall.name}:\n${list}`);
  }
  return args;
}
export function validateToolCall(tools, toolCall) {
  const tool = tools.find((candidate) => candidate.name === toolCall.name);
  if (!tool) throw new Error(`Tool ${toolCall.name} not found`);
  return validateToolArguments(tool, toolCall);
}

export function getCurrentSystemMessage(messages) {
  return call("messages.system", { messages }) ?? undefined;
}
export function getCurrentSystemPrompt(messages) {
  return call("messages.systemText", { messages });
}
export function getInitialSystemMessage(messages) {
  return messages[0]?.role === "system" ? messages[0] : undefined;
}
export function getSystemMessageText(message) {
  return call("messages.systemText", { messages: [message] });
}
export function getDeclaredTools(messages) {
  return getCurrentTools(messages);
}
export function declarationsEqual(left, right) {
  return JSON.stringify(toToolDeclaration(left)) === JSON.stringify(toToolDeclaration(right));
}
export function getCurrentTools(messages) {
  return getCurrentSystemMessage(messages)?.toolsAdded ?? [];
}
export function collapseSystemMessages(context) {
  const system = getCurrentSystemMessage(context.messages);
  const others = context.messages.filter((message) => message.role !== "system");
  return { ...context, messages: system ? [system, ...others] : others };
}
export function withoutInitialSystemMessage(messages) {
  return messages[0]?.role === "system" ? messages.slice(1) : messages;
}
export function formatThrownValue(value) {
  return value instanceof Error ? value.message : String(value);
}

// How pi identifies itself to providers that count requests by client.
export const PI_ATTRIBUTION = Object.freeze({ name: "pi", url: "https://pi.dev", categories: Object.freeze(["cli-agent"]) });
