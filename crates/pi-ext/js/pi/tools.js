// Runs tools of extensions.
import { call } from "pi:host";
import { createContext } from "pi:pi/context";
import { extensionOf } from "pi:pi/registry";
import { releaseSignal, signalOf } from "pi:pi/signals";

function toolOf(path, name) {
  const tool = extensionOf(path).tools.get(name);
  if (!tool) throw new Error(`tool ${name} is not registered`);
  return tool;
}

// Runs the `prepareArguments` hook of a tool.
export function prepareArguments(path, name, args) {
  return toolOf(path, name).prepareArguments(args);
}

// Runs a tool. `signalId` also identifies the call for partial results.
export async function execute(path, name, callId, args, signalId) {
  const onUpdate = (partial) => void call("job.toolUpdate", { signalId, partial });
  try {
    const result = await toolOf(path, name).execute(callId, args, signalOf(signalId), onUpdate, createContext(signalId));
    const { content, details, structuredContent, isError, usage, terminate } = result ?? {};
    return { content: content ?? [], details, structuredContent, isError: isError === true ? true : undefined, usage, terminate };
  } finally {
    releaseSignal(signalId);
  }
}
