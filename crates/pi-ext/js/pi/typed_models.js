// Image and classifier models: those of the program, and those of providers that extensions register.
import { call } from "pi:host";
import { requestWithCallbacks } from "pi:pi/callbacks";
import { extensions } from "pi:pi/registry";

const typeOf = (model) => model?.type ?? "chat";

// Models that are not for chats, by the configuration of the provider that refreshed them.
const refreshed = new WeakMap();

// Keeps the refreshed models of other types and returns those for chats.
export function keepTypedModels(config, models) {
  if (!Array.isArray(models)) return models ?? null;
  refreshed.set(config, models.filter((model) => typeOf(model) !== "chat"));
  return models.filter((model) => typeOf(model) === "chat");
}

// Lists the providers that extensions registered; the last registration of a name applies.
function providers() {
  const known = new Map();
  for (const extension of extensions) for (const { name, config } of extension.providers) known.set(name, config);
  return known;
}

// Lists the models of a type, optionally of one provider. The models of a registration replace all others of its
// provider.
export function modelsOfType(type, provider) {
  if (type === "chat") return call("models.all").filter((model) => provider === undefined || model.provider === provider);
  const registered = providers();
  const found = call("models.ofType", { type, provider }).filter(({ provider: owner }) => {
    const config = registered.get(owner);
    return !config || !(Array.isArray(config.models) || refreshed.has(config));
  });
  for (const [name, config] of registered) {
    if (provider !== undefined && provider !== name) continue;
    for (const model of refreshed.get(config) ?? config.models ?? []) {
      if (typeOf(model) === type) found.push({ api: config.api, baseUrl: config.baseUrl, ...model, provider: name });
    }
  }
  return found;
}

export function modelOfType(type, provider, id) {
  return modelsOfType(type, provider).find((model) => model.id === id);
}

// The result of a task that failed.
function failure(model, content, error, signal) {
  const stopReason = signal?.aborted ? "aborted" : "error";
  return { api: model?.api, provider: model?.provider, model: model?.id, ...content, stopReason, timestamp: Date.now(), errorMessage: error?.message ?? String(error) };
}

// Runs a task with the implementation that a provider registered for the API of a model, or with the program's.
// Never rejects.
export async function runModel(kind, method, model, context, options) {
  const content = kind === "images" ? { output: [] } : { answers: {} };
  const { signal, onPayload, onResponse, ...rest } = options ?? {};
  try {
    const implementation = providers().get(model?.provider)?.[kind]?.[model.api];
    if (typeof implementation?.[method] === "function") return await implementation[method](model, context, options ?? {});
    return await requestWithCallbacks("models.runTask", { model, task: method, context, options: rest }, {}, signal);
  } catch (error) {
    return failure(model, content, error, signal);
  }
}
