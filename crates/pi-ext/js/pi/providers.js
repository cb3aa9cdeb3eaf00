// Runs the providers of extensions: streams in JavaScript, told to the program event by event.
import { call } from "pi:host";
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
  const events = await ask.call(config, model, context, { ...options, signal: signalOf(signalId) });
  try {
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

// Looks up a provider's models anew.
export async function refreshModels(path, name) {
  return (await configOf(path, name).refreshModels({})) ?? null;
}
