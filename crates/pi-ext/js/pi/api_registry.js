// API implementations by name: built-in ones and those registered by extensions.
import { streamApiOnWire, streamOnWire, WIRE_APIS } from "pi:pi/model_streams";

const registered = new Map();

export function registerApiProvider(provider, sourceId = undefined) {
  registered.set(provider.api, { ...provider, sourceId });
}
export function unregisterApiProviders(sourceId) {
  for (const [api, provider] of registered) if (provider.sourceId === sourceId) registered.delete(api);
}
export function resetApiProviders() {
  registered.clear();
}
export function getApiProvider(api) {
  const own = WIRE_APIS.includes(api) ? { api, stream: streamApiOnWire, streamSimple: streamOnWire } : undefined;
  return registered.get(api) ?? own;
}
export function getApiProviders() {
  const names = new Set([...WIRE_APIS, ...registered.keys()]);
  return [...names].map(getApiProvider);
}

// Calls a model through the implementation of its API.
export function stream(model, context, options) {
  return (registered.get(model.api)?.stream ?? streamApiOnWire)(model, context, options);
}
export function streamSimple(model, context, options) {
  return (registered.get(model.api)?.streamSimple ?? streamOnWire)(model, context, options);
}
export async function complete(model, context, options) {
  return stream(model, context, options).result();
}
export async function completeSimple(model, context, options) {
  return streamSimple(model, context, options).result();
}
