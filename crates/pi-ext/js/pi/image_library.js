// The image and catalog functions of `@earendil-works/pi-ai`, those of version 0.87 included: one registry answers both.
import { modelOfType, modelsOfType, runModel } from "pi:pi/typed_models";

const builtinApis = ["openrouter-images", "openai-images"];

// Implementations that extensions registered, by API.
const registered = new Map();

const generate = (model, context, options) => runModel("images", "generateImages", model, context, options);

// A request with the implementation of the program.
export function generateImagesOpenRouter(model, context, options) {
  return generate(model, context, options);
}

export function registerImagesApiProvider({ api, generateImages }, sourceId) {
  const checked = (model, context, options) => {
    if (model.api !== api) throw new Error(`Mismatched api: ${model.api} expected ${api}`);
    return generateImages(model, context, options);
  };
  registered.set(api, { provider: { api, generateImages: checked }, sourceId });
}

export function registerBuiltInImagesApiProviders() {}

export function getImagesApiProvider(api) {
  return registered.get(api)?.provider ?? (builtinApis.includes(api) ? { api, generateImages: generate } : undefined);
}

export async function generateImages(model, context, options) {
  const provider = getImagesApiProvider(model.api);
  if (!provider) throw new Error(`No API provider registered for api: ${model.api}`);
  return provider.generateImages(model, context, options);
}

export function getImageModel(provider, id) {
  return modelOfType("image", provider, id);
}

export function getImageModels(provider) {
  return modelsOfType("image", provider);
}

export function getImageProviders() {
  return [...new Set(modelsOfType("image").map((model) => model.provider))];
}

export function getBuiltinImageModel(provider, id) {
  return modelOfType("image", provider, id);
}

export function getBuiltinImageModels(provider) {
  return modelsOfType("image", provider);
}

export function getBuiltinClassifierModel(provider, id) {
  return modelOfType("classifier", provider, id);
}

export function getBuiltinClassifierModels(provider) {
  return modelsOfType("classifier", provider);
}

export function getAllBuiltinModels() {
  return ["chat", "image", "classifier"].flatMap((type) => modelsOfType(type));
}

// A provider of images, from its parts.
export function createImagesProvider({ id, name = id, auth, models, refreshModels, api }) {
  let current = models;
  let refreshing;
  const refresh = async () => {
    try {
      current = await refreshModels();
    } finally {
      refreshing = undefined;
    }
  };
  return {
    id,
    name,
    auth,
    getModels: () => current,
    refreshModels: refreshModels && (() => (refreshing ??= refresh())),
    generateImages: (model, context, options) => api.generateImages(model, context, options),
  };
}

// A provider of the program, with the credentials of the program.
function builtinProvider(id) {
  return { id, name: id, getModels: () => modelsOfType("image", id), generateImages: generate };
}

export function openrouterImagesProvider() {
  return builtinProvider("openrouter");
}

export function builtinImagesProviders() {
  return getImageProviders().map(builtinProvider);
}

const failure = (model, error) => ({
  api: model.api,
  provider: model.provider,
  model: model.id,
  output: [],
  stopReason: "error",
  errorMessage: error?.message ?? String(error),
  timestamp: Date.now(),
});

class ImagesModels {
  #providers = new Map();
  #credentials;

  constructor(options) {
    this.#credentials = options?.credentials;
  }
  setProvider(provider) {
    this.#providers.set(provider.id, provider);
  }
  deleteProvider(id) {
    this.#providers.delete(id);
  }
  clearProviders() {
    this.#providers.clear();
  }
  getProviders() {
    return [...this.#providers.values()];
  }
  getProvider(id) {
    return this.#providers.get(id);
  }
  getModels(provider) {
    const asked = provider === undefined ? this.getProviders() : [this.#providers.get(provider)];
    return asked.flatMap((known) => {
      try {
        return known?.getModels() ?? [];
      } catch {
        return [];
      }
    });
  }
  getModel(provider, id) {
    return this.getModels(provider).find((model) => model.id === id);
  }
  async refresh(provider) {
    if (provider !== undefined) return this.#providers.get(provider)?.refreshModels?.();
    await Promise.allSettled(this.getProviders().map(async (known) => known.refreshModels?.()));
  }
  async getAuth(providerOrModel, overrides) {
    const id = typeof providerOrModel === "string" ? providerOrModel : providerOrModel.provider;
    if (overrides?.apiKey) return { auth: { apiKey: overrides.apiKey }, source: "request" };
    const credential = await this.#credentials?.read?.(id);
    const env = (name) => overrides?.env?.[name] ?? process.env[name];
    return this.#providers.get(id)?.auth?.apiKey?.resolve?.({ ctx: { env }, credential, signal: overrides?.signal });
  }
  // Never rejects.
  async generateImages(model, context, options) {
    try {
      const provider = this.#providers.get(model.provider);
      if (!provider) throw new Error(`Unknown provider: ${model.provider}`);
      const found = await this.getAuth(model, options);
      if (!found?.auth) return await provider.generateImages(model, context, options);
      const { apiKey, baseUrl, headers } = found.auth;
      const target = baseUrl ? { ...model, baseUrl } : model;
      return await provider.generateImages(target, context, {
        ...options,
        apiKey: options?.apiKey ?? apiKey,
        headers: headers || options?.headers ? { ...headers, ...options?.headers } : undefined,
        env: found.env || options?.env ? { ...found.env, ...options?.env } : undefined,
      });
    } catch (error) {
      return failure(model, error);
    }
  }
}

export function createImagesModels(options) {
  return new ImagesModels(options);
}

export function builtinImagesModels(options) {
  const models = createImagesModels(options);
  for (const provider of builtinImagesProviders()) models.setProvider(provider);
  return models;
}
