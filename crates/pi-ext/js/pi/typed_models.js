// Image and classifier models of providers that extensions register.
import { call } from "pi:host";
import { extensions } from "pi:pi/registry";

const typeOf = (model) => model.type ?? "chat";

// Lists the providers that extensions registered; the last registration of a name applies.
function providers() {
  const known = new Map();
  for (const extension of extensions) for (const { name, config } of extension.providers) known.set(name, config);
  return known;
}

// Lists the models of a type, optionally of one provider.
export function modelsOfType(type, provider) {
  if (type === "chat") return call("models.all").filter((model) => provider === undefined || model.provider === provider);
  const found = [];
  for (const [name, config] of providers()) {
    if (provider !== undefined && provider !== name) continue;
    for (const model of config.models ?? []) {
      if (typeOf(model) === type) found.push({ api: config.api, baseUrl: config.baseUrl, ...model, provider: name });
    }
  }
  return found;
}

export function modelOfType(type, provider, id) {
  return modelsOfType(type, provider).find((model) => model.id === id);
}

// Calls the implementation that a provider registered for the API of a model.
export async function runModel(kind, method, model, context, options) {
  const implementation = providers().get(model?.provider)?.[kind]?.[model.api];
  if (typeof implementation?.[method] !== "function") {
    throw new Error(`no extension implements ${method} for ${model?.provider}/${model?.id}`);
  }
  return implementation[method](model, context, options ?? {});
}
