// `@earendil-works/pi-ai/providers/all`: the built-in models.
import { call } from "pi:host";

export {
  builtinImagesModels, builtinImagesProviders, getAllBuiltinModels, getBuiltinClassifierModel, getBuiltinClassifierModels, getBuiltinImageModel,
  getBuiltinImageModels, openrouterImagesProvider,
} from "pi:pi/image_library";

export function getBuiltinModel(provider, id) {
  return call("models.find", { provider, id }) ?? undefined;
}
export function getBuiltinModels(provider) {
  return call("models.all").filter((model) => model.provider === provider);
}
export function getBuiltinProviders() {
  return [...new Set(call("models.all").map((model) => model.provider))];
}
