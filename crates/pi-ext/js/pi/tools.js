// Runs tools of extensions.
import { call } from "pi:host";
import { mainScope } from "pi:pi/scope";
import { createToolContext } from "pi:pi/context";
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

// Runs the `prepareLoadout` hook of a tool.
export function prepareLoadout(path, name, { tools, declared, callable }) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const named = (names) => names.map((known) => byName.get(known));
  const changes = toolOf(path, name).prepareLoadout({
    declared: named(declared),
    callable: named(callable),
    registered: tools,
    getExposure: (known) => byName.get(known)?.exposure ?? "direct",
    getNamespace: (known) => byName.get(known)?.namespace ?? undefined,
    getPromptGuidelines: (known) => byName.get(known)?.promptGuidelines ?? [],
  });
  return { descriptions: changes?.descriptions ?? {}, hidden: [...(changes?.hiddenDeclarations ?? [])] };
}

// Returns the result of a tool without unknown members.
export function toolResult(result) {
  const { content, details, structuredContent, isError, usage, terminate } = result ?? {};
  return { content: content ?? [], details, structuredContent, isError: isError === true ? true : undefined, usage, terminate };
}

// Runs a tool. `signalId` also identifies the call for partial results and calls of other tools.
export async function execute(path, name, callId, args, signalId) {
  const onUpdate = (partial) => void call("job.toolUpdate", { signalId, partial });
  try {
    return toolResult(await toolOf(path, name).execute(callId, args, signalOf(signalId), onUpdate, createToolContext(callId, signalId, extensionOf(path).scope)));
  } finally {
    releaseSignal(signalId);
  }
}

// Lists all tools of the session.
export function allTools({ call, extensions } = mainScope) {
  return call("tools.all").map((tool) => (tool.reachesTools ? { ...tool, reachesTools: reachOf(extensions, tool.name) } : tool));
}

function reachOf(extensions, name) {
  const owner = extensions.find((extension) => extension.tools.has(name));
  return owner ? (input) => owner.tools.get(name).reachesTools(input) : () => "all";
}
