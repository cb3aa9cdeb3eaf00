// The extensions that are loaded, what each has registered, and who hears of what.
import { restoreIntrinsics } from "pi:intrinsics";
import { finish, resolve } from "pi:native";
import { call } from "pi:host";
import { createApi } from "pi:pi/api";

// In load order, which is the order of every dispatch.
export const extensions = [];

// Keeps what one extension registers.
class Extension {
  constructor(path) {
    this.path = path;
    this.handlers = new Map();
    this.tools = new Map();
    this.commands = new Map();
    this.shortcuts = new Map();
    this.flags = new Map();
    this.messageRenderers = new Map();
    this.entryRenderers = new Map();
    this.markdownTransformer = undefined;
    this.providers = [];
    // Set once the program is ready for it; until then registrations only wait.
    this.isBound = false;
    this.api = createApi(this);
  }
}

// Runs code of an extension and puts back what it did to the language.
async function contained(work) {
  try {
    return await work();
  } finally {
    restoreIntrinsics();
  }
}

// Runs an extension's factory and tells what it has registered. A failure leaves nothing behind.
export async function loadExtension(path) {
  // A folder stands for its index.
  const namespace = await contained(() => import(resolve(path, path, "import")));
  finish();
  let factory = namespace.default;
  if (factory !== null && typeof factory === "object" && typeof factory.default === "function") {
    factory = factory.default;
  }
  if (typeof factory !== "function") {
    throw new Error("it has no default export that is a function");
  }
  const extension = new Extension(path);
  await contained(() => factory(extension.api));
  extensions.push(extension);
  return {
    tools: [...extension.tools.values()].map(describeTool),
    commands: [...extension.commands].map(([name, command]) => describeCommand(name, command)),
    flags: [...extension.flags].map(([name, flag]) => ({ name, type: flag.type, default: flag.default, description: flag.description })),
    shortcuts: [...extension.shortcuts].map(([key, shortcut]) => ({ key, description: shortcut.description })),
    messageRenderers: [...extension.messageRenderers.keys()],
    entryRenderers: [...extension.entryRenderers.keys()],
    transformsMarkdown: typeof extension.markdownTransformer === "function",
    providers: extension.providers.map(({ name, config }) => describeProvider(name, config)),
    events: subscribedEvents(),
  };
}

// Lets the extensions act: from here on registrations take effect at once.
export function bind() {
  for (const extension of extensions) extension.isBound = true;
}

// Sets what the command line says about flags.
export function setFlags(values) {
  for (const extension of extensions) {
    for (const [name, flag] of extension.flags) {
      if (Object.hasOwn(values, name)) flag.value = values[name];
    }
  }
}

// Finds the extension that was loaded from a file.
export function extensionOf(path) {
  const found = extensions.find((extension) => extension.path === path);
  if (!found) throw new Error(`no extension is loaded from ${path}`);
  return found;
}

// The extension whose code runs, where it registers something outside of its own `pi` object.
export function ownerOfCall() {
  const path = call("owner");
  const owner = path ? extensionOf(path) : extensions.at(-1);
  if (!owner) throw new Error("no extension is loaded");
  return owner;
}

// Lists the events anybody hears.
function subscribedEvents() {
  const names = new Set();
  for (const extension of extensions) {
    for (const [name, handlers] of extension.handlers) if (handlers.length > 0) names.add(name);
  }
  return [...names];
}

// Tells the program which events are heard, once it would not ask by itself.
export function tellSubscriptions(extension) {
  if (extension.isBound) call("subscriptions", subscribedEvents());
}

// The part of a tool that is data.
export function describeTool(tool) {
  return {
    name: tool.name,
    label: tool.label,
    description: tool.description,
    parameters: tool.parameters,
    promptSnippet: tool.promptSnippet,
    promptGuidelines: tool.promptGuidelines,
    executionMode: tool.executionMode,
    constrainedSampling: tool.constrainedSampling,
    renderShell: tool.renderShell,
    preparesArguments: typeof tool.prepareArguments === "function",
    rendersCall: typeof tool.renderCall === "function",
    rendersResult: typeof tool.renderResult === "function",
  };
}

// The part of a command that is data.
export function describeCommand(name, command) {
  return { name, description: command.description, completes: typeof command.getArgumentCompletions === "function" };
}

// The part of a provider that is data.
export function describeProvider(name, config) {
  const data = {};
  for (const [key, value] of Object.entries(config)) if (typeof value !== "function" && key !== "oauth") data[key] = value;
  return {
    name,
    config: data,
    streams: typeof config.streamSimple === "function" || typeof config.stream === "function",
    refreshes: typeof config.refreshModels === "function",
    signIn: config.oauth ? describeSignIn(config.oauth) : undefined,
  };
}

// The part of a sign-in that is data. How a key is made of a credential is found out by making one of names.
function describeSignIn(oauth) {
  const names = new Proxy({}, { get: (_, name) => (typeof name === "string" ? `{{${name}}}` : undefined) });
  let key = "{{access}}";
  try {
    const made = oauth.getApiKey?.(names);
    if (typeof made === "string" && made !== "") key = made;
  } catch {
    // A key that cannot be made of names is taken to be the token itself.
  }
  return { name: oauth.name, isSubscription: oauth.isSubscription === true, key, changesModels: typeof oauth.modifyModels === "function" };
}
