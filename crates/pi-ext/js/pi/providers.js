// Runs the providers of extensions: streams in JavaScript, told to the program event by event.
import { call, request } from "pi:host";
import { extensions } from "pi:pi/registry";
import { forget, signalOf } from "pi:pi/signals";

function configOf(path, name) {
  const extension = extensions.find((one) => one.path === path);
  const provider = extension?.providers.find((one) => one.name === name);
  if (!provider) throw new Error(`the provider ${name} is gone`);
  return provider.config;
}

// Asks a provider; its events go to the program as they come, and the last message is returned.
export async function stream(path, name, model, context, options, signalId) {
  const config = configOf(path, name);
  const ask = config.streamSimple ?? config.stream;
  try {
    const events = await ask.call(config, model, context, { ...options, signal: signalOf(signalId) });
    let final;
    for await (const event of events) {
      if (event.type === "done") final = event.message;
      else if (event.type === "error") final = event.error;
      else call("provider.event", { signalId, event: withoutPartial(event) });
    }
    return final ?? (await events.result?.());
  } finally {
    forget(signalId);
  }
}

// What an event adds; the message so far is the program's to keep.
function withoutPartial({ partial, ...event }) {
  const block = partial?.content?.[event.contentIndex];
  if (event.type === "toolcall_start" && block) return { ...event, id: block.id, name: block.name };
  return event;
}

// A model as the whole program would see it.
function whole(name, config, model) {
  return { ...model, provider: name, api: model.api ?? config.api, baseUrl: model.baseUrl ?? config.baseUrl };
}

// Looks up a provider's models anew, and lets a sign-in change them.
export async function refreshModels(path, name, { credential, apiKey, allowNetwork, force }) {
  const config = configOf(path, name);
  const signal = new AbortController().signal;
  const models = await config.refreshModels?.({ credential, apiKey, allowNetwork, force, signal });
  const change = config.oauth?.modifyModels;
  if (!credential || !change) return models ?? null;
  const known = (models ?? config.models ?? []).map((model) => whole(name, config, model));
  return change.call(config.oauth, known, credential);
}

// Signs in; what is shown and asked goes to whoever signs the user in.
export async function signIn(path, name, signalId) {
  const { oauth } = configOf(path, name);
  const show = (shown) => void call("signIn.show", { signalId, shown });
  const ask = (asked) => request("signIn.ask", { signalId, asked });
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
    forget(signalId);
  }
}

// Renews what a sign-in gave.
export async function renewSignIn(path, name, credential) {
  const renewed = await configOf(path, name).oauth.refreshToken(credential, new AbortController().signal);
  return { ...credential, ...renewed };
}
