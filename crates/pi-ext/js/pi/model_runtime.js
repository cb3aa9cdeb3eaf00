// The model registry with the interface that code embedding an agent expects.
import { ModelRegistry } from "pi:pi/model_registry";

export class ModelRuntime extends ModelRegistry {
  // API keys for this runtime only, by provider.
  #keys = new Map();

  static async create() {
    return new ModelRuntime();
  }
  getModels(provider) {
    return provider === undefined ? this.getAll() : this.getAll().filter((model) => model.provider === provider);
  }
  getModel(provider, id) {
    return this.find(provider, id);
  }
  async getAvailable() {
    return super.getAvailable();
  }
  getAvailableSnapshot() {
    return super.getAvailable();
  }
  async getAuth(modelOrProvider, { apiKey } = {}) {
    const provider = typeof modelOrProvider === "string" ? modelOrProvider : modelOrProvider.provider;
    const key = apiKey ?? this.#keys.get(provider);
    const found = await this.getProviderAuth(provider);
    return key === undefined ? found : { source: "runtime", ...found, auth: { ...found?.auth, apiKey: key } };
  }
  async setRuntimeApiKey(provider, apiKey) {
    this.#keys.set(provider, apiKey);
  }
  async removeRuntimeApiKey(provider) {
    this.#keys.delete(provider);
  }
  // The options of a call, with the key of this runtime.
  #withKey({ provider }, options) {
    return this.#keys.has(provider) ? { apiKey: this.#keys.get(provider), ...options } : options;
  }
  stream(model, context, options) {
    return super.stream(model, context, this.#withKey(model, options));
  }
  streamSimple(model, context, options) {
    return super.streamSimple(model, context, this.#withKey(model, options));
  }
  complete(model, context, options) {
    return super.complete(model, context, this.#withKey(model, options));
  }
  completeSimple(model, context, options) {
    return super.completeSimple(model, context, this.#withKey(model, options));
  }
  registerNativeProvider(provider) {
    this.registerProvider(provider);
  }
  async checkAuth(provider) {
    return this.getProviderAuthStatus(provider).configured;
  }
  hasConfiguredAuth(modelOrProvider) {
    const provider = typeof modelOrProvider === "string" ? modelOrProvider : modelOrProvider.provider;
    return this.#keys.has(provider) || super.hasConfiguredAuth({ provider });
  }
  isUsingOAuth(modelOrProvider) {
    return super.isUsingOAuth(typeof modelOrProvider === "string" ? { provider: modelOrProvider } : modelOrProvider);
  }
  isUsingSubscription(provider) {
    return this.isUsingOAuth(provider);
  }
}
