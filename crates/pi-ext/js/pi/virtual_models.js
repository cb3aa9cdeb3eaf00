// Virtual models of extensions: what they register, and the routes of their requests.
import { createContext } from "pi:pi/context";
import { extensionOf } from "pi:pi/registry";
import { releaseSignal, signalOf } from "pi:pi/signals";

// Called by the program for the model of a request. A state is returned only if it is another object than the one of
// the request.
export async function route(path, provider, id, request, signalId) {
  const definition = extensionOf(path).virtualModels.find((known) => known.provider === provider && known.id === id);
  if (!definition) throw new Error(`virtual model ${provider}/${id} is not registered`);
  const { state: given } = request;
  try {
    const routed = await definition.route({ ...request, signal: signalOf(signalId) }, createContext(signalId));
    const { model, thinkingLevel, state } = routed ?? {};
    if (!model) throw new Error(`virtual model ${provider}/${id} returned no model`);
    return { model: { provider: model.provider, id: model.id }, thinkingLevel, state: state === given ? undefined : state };
  } finally {
    releaseSignal(signalId);
  }
}
