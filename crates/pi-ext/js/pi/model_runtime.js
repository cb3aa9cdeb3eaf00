// The model registry with the interface that code embedding an agent expects.
import { ModelRegistry } from "pi:pi/model_registry";

export class ModelRuntime extends ModelRegistry {
  static async create() {
    return new ModelRuntime();
  }
  getModels() {
    return this.getAll();
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
  getAuth(model) {
    return this.getProviderAuth(model.provider);
  }
  registerNativeProvider(provider) {
    this.registerProvider(provider);
  }
  async checkAuth(provider) {
    return this.getProviderAuthStatus(provider).configured;
  }
  isUsingSubscription(model) {
    return this.isUsingOAuth(model);
  }
}
