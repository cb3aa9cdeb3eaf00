// Runs providers of extensions and forwards their stream events to the program.
import { call, request } from "pi:host";
import { extensions } from "pi:pi/registry";
import { releaseSignal, signalOf } from "pi:pi/signals";
import { keepTypedModels } from "pi:pi/typed_models";

function configOf(path, name) {
  const extension = extensions.find((candidate) => candidate.path === path);
  const provider = extension?.providers.find((candidate) => candidate.name === name);
  if (!provider) throw new Error(`provider ${name} is not registered`);
  return provider.config;
}

// Calls a provider, forwards its events to the program and returns the final message.
export async function stream(path, name, model, context, options, signalId) {
  const config = configOf(path, name);
  const streamFunction = config.streamSimple ?? config.stream;
  try {
    const onProviderStreamEvent = async (data) => void call("job.providerEvent", { signalId, event: { type: "provider_event", data } });
    const events = await streamFunction.call(config, model, context, { ...options, onProviderStreamEvent, signal: signalOf(signalId) });
    let final;
    for await (const event of events) {
      if (event.type === "done") final = event.message;
      else if (event.type === "error") final = event.error;
      else call("job.providerEvent", { signalId, event: withoutPartial(event) });
    }
    return final ?? (await events.result?.());
  } finally {
    releaseSignal(signalId);
  }
}

// Removes the partial message, which the program assembles from the deltas.
function withoutPartial({ partial, ...event }) {
  const block = partial?.content?.[event.contentIndex];
  if (event.type === "toolcall_start" && block) return { ...event, id: block.id, name: block.name };
  return event;
}

// Adds the fields that a model inherits from its provider.
function withProviderFields(name, config, model) {
  return { ...model, provider: name, api: model.api ?? config.api, baseUrl: model.baseUrl ?? config.baseUrl };
}

// Refreshes the models of a provider and applies the changes of its OAuth configuration.
export async function refreshModels(path, name, { credential, apiKey, allowNetwork, force }) {
  const config = configOf(path, name);
  const signal = new AbortController().signal;
  const models = await config.refreshModels?.({ credential, apiKey, allowNetwork, force, signal });
  const change = config.oauth?.modifyModels;
  if (!credential || !change) return keepTypedModels(config, models);
  const known = (models ?? config.models ?? []).map((model) => withProviderFields(name, config, model));
  return keepTypedModels(config, await change.call(config.oauth, known, credential));
}

// Signs in. Prompts and notices are shown by the program.
export async function signIn(path, name, signalId) {
  const { oauth } = configOf(path, name);
  const show = (notice) => void call("signIn.notify", { signalId, notice });
  const ask = (prompt) => request("signIn.prompt", { signalId, prompt });
  try {
    return await oauth.login({
      onAuth: ({ url, instructions }) => show({ kind: "address", url, instructions }),
      onDeviceCode: (info) => show({ kind: "deviceCode", ...info }),
      onProgress: (message) => show({ kind: "progress", message }),
      onPrompt: ({ message, placeholder }) => ask({ kind: "text", message, placeholder }),
      onManualCodeInput: () => ask({ kind: "manualCode" }),
      onSelect: ({ message, options }) => ask({ kind: "select", message, options: options.map(({ id, label }) => ({ id, label })) }),
      signal: signalOf(signalId),
    });
  } finally {
    releaseSignal(signalId);
  }
}

// Refreshes an OAuth credential.
export async function refreshCredential(path, name, credential) {
  const refreshed = await configOf(path, name).oauth.refreshToken(credential, new AbortController().signal);
  return { ...credential, ...refreshed };
}
