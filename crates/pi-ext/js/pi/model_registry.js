// The models and providers as extensions see them.
import { call, request } from "pi:host";
import { missing } from "pi:missing";

// Makes the view of the models.
export function createModelRegistry() {
  return {
    refresh: () => request("models.refresh"),
    getError: () => undefined,
    getAll: () => call("models.all"),
    getAvailable: () => call("models.available"),
    find: (provider, id) => call("models.find", { provider, id }) ?? undefined,
    hasConfiguredAuth: (model) => call("models.hasAuth", { provider: model.provider }),
    getApiKeyAndHeaders: (model) => request("models.auth", { provider: model.provider, id: model.id }),
    getApiKeyForProvider: (provider) => request("models.key", { provider }),
    getProviderAuthStatus: (provider) => ({ configured: call("models.hasAuth", { provider }) }),
    getProviderDisplayName: (provider) => call("models.providerName", { provider }),
    isUsingOAuth: (model) => call("models.usesOAuth", { provider: model.provider }),
    stream: missing("modelRegistry", "stream"),
    streamSimple: missing("modelRegistry", "streamSimple"),
    complete: missing("modelRegistry", "complete"),
  };
}
