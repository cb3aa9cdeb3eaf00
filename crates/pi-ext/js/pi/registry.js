// Loaded extensions, their registrations and event subscriptions.
import { restoreIntrinsics } from "pi:intrinsics";
import { markEvaluated, resolve } from "pi:native";
import { call } from "pi:host";
import { createApi } from "pi:pi/api";
import { findExtension, mainScope } from "pi:pi/scope";
import { linesOf, parametersOf, textOf } from "pi:pi/tolerance";

// The extensions of the main session.
export const { extensions } = mainScope;

// The registrations of one extension.
export class Extension {
  constructor(path, scope = mainScope) {
    this.path = path;
    this.resolvedPath = path;
    // Identifies it to the program.
    this.key = path;
    this.scope = scope;
    this.handlers = new Map();
    this.tools = new Map();
    this.commands = new Map();
    this.shortcuts = new Map();
    this.flags = new Map();
    this.messageRenderers = new Map();
    this.entryRenderers = new Map();
    this.markdownTransformer = undefined;
    this.toolRenderers = [];
    this.providers = [];
    this.virtualModels = [];
    // Set by `bind`. Earlier registrations are only recorded.
    this.isBound = false;
    this.api = createApi(this);
  }
}

// Runs code of an extension, then restores builtin objects that it modified.
async function withRestoredIntrinsics(work) {
  try {
    return await work();
  } finally {
    restoreIntrinsics();
  }
}

// Loads an extension for the main session and returns its registrations. On failure, nothing is registered.
export async function loadExtension(path) {
  const extension = new Extension(path);
  await runFactory(extension, await factoryOf(path));
  extensions.push(extension);
  return describeRegistrations(extension);
}

// Runs the factory of an extension.
export function runFactory(extension, factory) {
  return withRestoredIntrinsics(() => factory(extension.api));
}

// Returns the factory that a file exports.
export async function factoryOf(path) {
  // A directory resolves to its index file.
  const namespace = await withRestoredIntrinsics(() => import(resolve(path, path, "import")));
  markEvaluated();
  let factory = namespace.default;
  if (factory !== null && typeof factory === "object" && typeof factory.default === "function") {
    factory = factory.default;
  }
  if (typeof factory !== "function") {
    throw new Error("the default export must be a function");
  }
  return factory;
}

// Returns the registrations of an extension, as the program reads them.
export function describeRegistrations(extension) {
  return {
    tools: [...extension.tools.values()].map(describeTool),
    commands: [...extension.commands].map(([name, command]) => describeCommand(name, command)),
    flags: [...extension.flags].map(([name, flag]) => ({ name, type: flag.type, default: flag.default, description: flag.description })),
    shortcuts: [...extension.shortcuts].map(([key, shortcut]) => ({ key, description: shortcut.description })),
    messageRenderers: [...extension.messageRenderers.keys()],
    entryRenderers: [...extension.entryRenderers.keys()],
    transformsMarkdown: typeof extension.markdownTransformer === "function",
    rendersTools: extension.toolRenderers.length > 0,
    providers: extension.providers.map(({ name, config }) => describeProvider(name, config)),
    virtualModels: extension.virtualModels.map(describeVirtualModel),
    events: subscribedEvents(extension.scope),
  };
}

// From here on, registrations take effect immediately.
export function bind() {
  for (const extension of extensions) extension.isBound = true;
}

// Sets the flag values from the command line.
export function setFlags(values) {
  for (const extension of extensions) {
    for (const [name, flag] of extension.flags) {
      if (Object.hasOwn(values, name)) flag.value = values[name];
    }
  }
}

// Returns the extension with a key, which is its path in the main session.
export function extensionOf(path) {
  const found = findExtension(path);
  if (!found) throw new Error(`no extension loaded from ${path}`);
  return found;
}

// Returns the extension whose code is running, for registrations outside its `pi` object.
export function ownerOfCall() {
  const path = call("program.currentExtension");
  const owner = path ? extensionOf(path) : extensions.at(-1);
  if (!owner) throw new Error("no extension is loaded");
  return owner;
}

// Lists the events that have handlers.
function subscribedEvents(scope) {
  const names = new Set();
  for (const extension of scope.extensions) {
    for (const [name, handlers] of extension.handlers) if (handlers.length > 0) names.add(name);
  }
  return [...names];
}

// Sends the subscribed events to the program. Before `bind`, they are part of the load result.
export function publishSubscriptions(extension) {
  const { call } = extension.scope;
  if (extension.isBound) call("registration.events", { events: subscribedEvents(extension.scope) });
}

// Returns the serializable description of a tool.
export function describeTool(tool) {
  return {
    name: tool.name,
    label: textOf(tool.label),
    description: textOf(tool.description),
    parameters: parametersOf(tool.parameters),
    promptSnippet: textOf(tool.promptSnippet),
    promptGuidelines: linesOf(tool.promptGuidelines),
    executionMode: ["parallel", "sequential"].includes(tool.executionMode) ? tool.executionMode : undefined,
    defaultActive: tool.defaultActive,
    constrainedSampling: tool.constrainedSampling,
    outputSchema: tool.outputSchema,
    exposure: tool.exposure ?? "direct",
    namespace: tool.namespace,
    annotations: tool.annotations,
    reachesTools: typeof tool.reachesTools === "function",
    preparesLoadout: typeof tool.prepareLoadout === "function",
    renderShell: tool.renderShell,
    preparesArguments: typeof tool.prepareArguments === "function",
    rendersCall: typeof tool.renderCall === "function",
    rendersResult: typeof tool.renderResult === "function",
  };
}

// Returns the serializable description of a command.
export function describeCommand(name, command) {
  return { name, description: textOf(command.description), completes: typeof command.getArgumentCompletions === "function" };
}

// Returns the serializable description of a provider.
export function describeProvider(name, config) {
  const data = {};
  // Implementations by API, and models that are not for chats, stay in JavaScript.
  const kept = new Set(["oauth", "images", "classifiers"]);
  for (const [key, value] of Object.entries(config)) if (typeof value !== "function" && !kept.has(key)) data[key] = value;
  if (Array.isArray(config.models)) data.models = config.models.filter((model) => (model?.type ?? "chat") === "chat");
  return {
    name,
    config: data,
    streams: typeof config.streamSimple === "function" || typeof config.stream === "function",
    refreshes: typeof config.refreshModels === "function",
    signIn: config.oauth ? describeSignIn(config.oauth) : undefined,
  };
}

// Returns the serializable description of a virtual model.
export function describeVirtualModel({ provider, id, name, thinkingLevels, contextWindow, maxTokens, input }) {
  return { provider, id, name: name ?? id, thinkingLevels, contextWindow, maxTokens, input };
}

// Returns the serializable description of an OAuth configuration. `getApiKey` is called with placeholders to find
// out how it derives the key from a credential.
function describeSignIn(oauth) {
  const names = new Proxy({}, { get: (_, name) => (typeof name === "string" ? `{{${name}}}` : undefined) });
  let key = "{{access}}";
  try {
    const template = oauth.getApiKey?.(names);
    if (typeof template === "string" && template !== "") key = template;
  } catch {
    // Fall back to the access token.
  }
  return { name: oauth.name, isSubscription: oauth.isSubscription === true, key, changesModels: typeof oauth.modifyModels === "function" };
}
