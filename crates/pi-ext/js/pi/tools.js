// Runs the tools of extensions.
import { call } from "pi:host";
import { createContext } from "pi:pi/context";
import { extensionOf } from "pi:pi/registry";
import { forget, signalOf } from "pi:pi/signals";

function toolOf(path, name) {
  const tool = extensionOf(path).tools.get(name);
  if (!tool) throw new Error(`the tool ${name} is gone`);
  return tool;
}

// Lets a tool mend what the model gave.
export function prepareArguments(path, name, args) {
  return toolOf(path, name).prepareArguments(args);
}

// Runs a tool; `signalId` also names the call for partial results.
export async function execute(path, name, callId, args, signalId) {
  const onUpdate = (partial) => void call("tool.update", { signalId, partial });
  try {
    const result = await toolOf(path, name).execute(callId, args, signalOf(signalId), onUpdate, createContext(signalId));
    const { content, details, usage, terminate } = result ?? {};
    return { content: content ?? [], details, usage, terminate };
  } finally {
    forget(signalId);
  }
}
