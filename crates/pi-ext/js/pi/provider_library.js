// Parts of `@earendil-works/pi-ai` that build providers: implementations loaded on demand, credentials, diagnostics.
import { noUsage } from "pi:pi/model_streams";
import { AssistantMessageEventStream } from "pi:pi/event_stream";

export class ModelsError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "ModelsError";
    this.code = code;
  }
}

// Returns a stream whose source is set up asynchronously. A failure ends it with an error event.
export function lazyStream(model, setUp) {
  const outer = new AssistantMessageEventStream();
  const forward = async () => {
    const inner = await setUp();
    for await (const event of inner) outer.push(event);
    outer.end(typeof inner.result === "function" ? await inner.result() : undefined);
  };
  forward().catch((error) => {
    const errorMessage = error instanceof Error ? error.message : String(error);
    const { api, provider, id } = model;
    const message = { role: "assistant", content: [], api, provider, model: id, usage: noUsage(), stopReason: "error", errorMessage, timestamp: Date.now() };
    outer.push({ type: "error", reason: "error", error: message });
    outer.end(message);
  });
  return outer;
}

// Loads an implementation with the first request.
export function lazyApi(load) {
  const run = (name) => (model, ...args) => lazyStream(model, async () => (await load())[name](model, ...args));
  return { stream: run("stream"), streamSimple: run("streamSimple") };
}
export function lazyOAuth({ load, name, isSubscription, loginLabel }) {
  let loading;
  const run = (method) => async (...args) => (await (loading ??= load()))[method](...args);
  return { name, isSubscription, loginLabel, login: run("login"), refresh: run("refresh"), toAuth: run("toAuth") };
}

// Builds a provider. `api` is one implementation, or one for each API of its models.
export function createProvider({ id, name = id, baseUrl, headers, auth, models, fetchModels, filterModels, api }) {
  let fetched = [];
  const implementationOf = (model) => (typeof api.stream === "function" ? api : api[model.api]);
  const run = (method) => (model, context, options) => {
    const implementation = implementationOf(model);
    if (implementation) return implementation[method](model, context, options);
    return lazyStream(model, async () => {
      throw new ModelsError("stream", `Provider ${id} has no API implementation for "${model.api}"`);
    });
  };
  const refresh = async (context) => {
    const use = (list) => () => void (fetched = list);
    if (context.stored && !(await context.publish({ update: use(context.stored.models.filter((model) => model.provider === id)) }))) return;
    if (!context.allowNetwork || context.signal?.aborted) return;
    const list = await fetchModels(context);
    if (!context.signal?.aborted) await context.publish({ persist: { models: list, checkedAt: Date.now() }, update: use(list) });
  };
  return {
    id,
    name,
    baseUrl,
    headers,
    auth,
    getModels: () => [...models.filter((model) => !fetched.some((other) => other.id === model.id)), ...fetched],
    refreshModels: fetchModels && refresh,
    filterModels,
    stream: run("stream"),
    streamSimple: run("streamSimple"),
  };
}

// API key authentication: a stored key, or else the first environment variable that is set.
export function envApiKeyAuth(name, variables) {
  return {
    name,
    login: async ({ prompt }) => ({ type: "api_key", key: await prompt({ type: "secret", message: `Enter ${name}` }) }),
    async resolve({ ctx, credential }) {
      if (credential?.key) return { auth: { apiKey: credential.key }, env: credential.env, source: "stored credential" };
      for (const variable of variables) {
        const apiKey = await ctx.env(variable);
        if (apiKey) return { auth: { apiKey }, source: variable };
      }
      return undefined;
    },
  };
}
export function defaultProviderAuthContext() {
  return {
    env: async (name) => process.env[name]?.trim() || undefined,
    async fileExists(path) {
      const [{ existsSync }, { homedir }] = await Promise.all([import("node:fs"), import("node:os")]);
      return existsSync(path.startsWith("~") ? homedir() + path.slice(1) : path);
    },
  };
}

export class InMemoryCredentialStore {
  #credentials = new Map();
  #last = Promise.resolve();

  // One change at a time.
  #change(change) {
    const changed = this.#last.then(change);
    this.#last = changed.catch(() => {});
    return changed;
  }
  async read(provider) {
    return this.#credentials.get(provider);
  }
  async list() {
    return [...this.#credentials].map(([providerId, { type }]) => ({ providerId, type }));
  }
  modify(provider, change) {
    return this.#change(async () => {
      const current = this.#credentials.get(provider);
      const next = await change(current);
      if (next !== undefined) this.#credentials.set(provider, next);
      return next ?? current;
    });
  }
  delete(provider) {
    return this.#change(() => void this.#credentials.delete(provider));
  }
}
export class InMemoryModelsStore {
  #entries = new Map();
  async read(provider) {
    return structuredClone(this.#entries.get(provider));
  }
  async write(provider, entry) {
    this.#entries.set(provider, structuredClone(entry));
  }
  async delete(provider) {
    this.#entries.delete(provider);
  }
}

export function extractDiagnosticError(error) {
  if (!(error instanceof Error)) return { name: "ThrownValue", message: String(error) };
  const { name, message, stack, code } = error;
  return { name: name || undefined, message: message || name, stack, code: ["string", "number"].includes(typeof code) ? code : undefined };
}
export function createAssistantMessageDiagnostic(type, error, details) {
  return { type, timestamp: Date.now(), error: extractDiagnosticError(error), details };
}
export function appendAssistantMessageDiagnostic(message, diagnostic) {
  message.diagnostics = [...(message.diagnostics ?? []), diagnostic];
}

const cleanups = new Set();
export function registerSessionResourceCleanup(cleanup) {
  cleanups.add(cleanup);
  return () => void cleanups.delete(cleanup);
}
export function cleanupSessionResources(sessionId) {
  const errors = [];
  for (const cleanup of cleanups) {
    try {
      cleanup(sessionId);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "Failed to cleanup session resources");
}

// Escapes control characters and invalid escapes inside the strings of JSON.
export function repairJson(json) {
  const control = (text) => ({ "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" })[text] ?? `\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const inString = (text) => text.replace(/\\(?:u[0-9a-fA-F]{4}|["\\/bfnrtu])|\\|[\u0000-\u001f]/g, (found) => (found === "\\" ? "\\\\" : found.length > 1 ? found : control(found)));
  return json.replace(/"((?:[^"\\]|\\[\s\S])*)("|\\?$)/g, (_, body, end) => `"${inString(body)}${end === "\\" ? "\\\\" : end}`);
}
export function parseJsonWithRepair(json) {
  try {
    return JSON.parse(json);
  } catch (error) {
    const repaired = repairJson(json);
    if (repaired === json) throw error;
    return JSON.parse(repaired);
  }
}
