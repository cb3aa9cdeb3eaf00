// The models and providers available to extensions.
import { call, request } from "pi:host";
import { requireModule } from "pi:native";
import { describeProvider, ownerOfCall } from "pi:pi/registry";

const registered = new Map();

// Loaded when a model is first called.
const streams = () => requireModule("pi:pi/model_streams");
const typed = () => requireModule("pi:pi/typed_models");

// A view of the program's models. All instances share the same models.
export class ModelRegistry {
  refresh() {
    return request("models.refresh");
  }
  getError() {
    return undefined;
  }
  getAll() {
    return call("models.all");
  }
  getAvailable() {
    return call("models.available");
  }
  find(provider, id) {
    return call("models.find", { provider: String(provider), id: String(id) }) ?? undefined;
  }
  getModelsOfType(type, provider) {
    return typed().modelsOfType(type, provider);
  }
  async getAvailableOfType(type, provider) {
    return typed().modelsOfType(type, provider).filter((model) => call("models.isAuthenticated", { provider: model.provider }));
  }
  getModelOfType(type, provider, id) {
    return typed().modelOfType(type, provider, id);
  }
  findOfType(type, provider, id) {
    return typed().modelOfType(type, provider, id);
  }
  classify(model, context, options) {
    return typed().runModel("classifiers", "classify", model, context, options);
  }
  generateImages(model, context, options) {
    return typed().runModel("images", "generateImages", model, context, options);
  }
  registerVirtualModel(definition) {
    ownerOfCall().api.registerVirtualModel(definition);
  }
  unregisterVirtualModel(provider, id) {
    ownerOfCall().api.unregisterVirtualModel(provider, id);
  }
  hasConfiguredAuth(model) {
    return call("models.isAuthenticated", { provider: model.provider });
  }
  async getApiKeyAndHeaders(model) {
    const { isOAuth, apiKey, headers, baseUrl, env, ...auth } = await request("models.requestAuth", { provider: model.provider, id: model.id });
    if (!auth.ok) return auth;
    const present = Object.entries({ apiKey, headers, baseUrl, env }).filter(([, value]) => value !== null && value !== undefined);
    return { ok: true, ...Object.fromEntries(present) };
  }
  async getApiKey(model) {
    return (await request("models.requestAuth", { provider: model.provider, id: model.id })).apiKey ?? undefined;
  }
  async getApiKeyForProvider(provider) {
    return (await request("models.requestAuth", { provider })).apiKey ?? undefined;
  }
  async getProviderAuth(provider) {
    const { ok, isOAuth, error, ...auth } = await request("models.requestAuth", { provider });
    return ok ? { auth, source: call("models.authStatus", { provider }).source } : undefined;
  }
  getProviderAuthStatus(provider) {
    const { configured, source } = call("models.authStatus", { provider });
    return configured ? { configured, source } : { configured };
  }
  getProvider(provider) {
    if (!call("models.providers").includes(provider)) return undefined;
    return {
      id: provider,
      name: this.getProviderDisplayName(provider),
      getModels: () => this.getAll().filter((model) => model.provider === provider),
      stream: streams().streamApi,
      streamSimple: (model, context, options) => streams().streamModel(model, context, options),
    };
  }
  getProviderDisplayName(provider) {
    return call("models.providerName", { provider });
  }
  isUsingOAuth(model) {
    return call("models.authStatus", { provider: model.provider }).isOAuth;
  }
  stream(model, context, options) {
    return streams().streamApi(model, context, options);
  }
  streamSimple(model, context, options) {
    return streams().streamModel(model, context, options);
  }
  complete(model, context, options) {
    return streams().streamApi(model, context, options).result();
  }
  completeSimple(model, context, options) {
    return streams().streamModel(model, context, options).result();
  }
  registerProvider(nameOrProvider, config) {
    const [name, settings] = typeof nameOrProvider === "string" ? [nameOrProvider, config] : [nameOrProvider.id, nameOrProvider];
    const extension = ownerOfCall();
    extension.providers = [...extension.providers.filter((known) => known.name !== name), { name, config: settings }];
    registered.set(name, settings);
    call("registration.provider", { extension: extension.path, provider: describeProvider(name, settings) });
  }
  unregisterProvider(name) {
    registered.delete(name);
    call("registration.removeProvider", { name });
  }
  getRegisteredProviderConfig(name) {
    return registered.get(name);
  }
  getRegisteredNativeProvider(name) {
    const settings = registered.get(name);
    return typeof settings?.getModels === "function" ? settings : undefined;
  }
  getRegisteredProviderIds() {
    return [...registered.keys()];
  }
}

const registry = new ModelRegistry();

// Returns the shared registry.
export function createModelRegistry() {
  return registry;
}
