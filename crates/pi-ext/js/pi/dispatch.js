// Dispatches events to extension handlers sequentially, in load order, and combines their results.
// Failing handlers are reported and skipped, unless the rule of an event says otherwise.
import { followMessages, followSystemPrompt } from "pi:pi/costs";
import { createCommandContext, createContext, createTrustContext } from "pi:pi/context";
import { messageOf, reportError } from "pi:pi/report";
import { extensionOf } from "pi:pi/registry";
import { scopeOf } from "pi:pi/scope";
import { releaseSignal, signalOf } from "pi:pi/signals";
import { shellHandlers } from "pi:pi/tool_operations";
import { register } from "pi:pi/callbacks";
import { enterHandler } from "pi:host";

// Events in progress by dispatch ID, so that a dispatch can continue after an extension was interrupted or abandoned.
const dispatches = new Map();
const POSITION = Symbol("position");

// Events whose handlers decide whether something runs.
const FAIL_CLOSED = new Set(["tool_call", "user_bash"]);

// Iterates over the extensions that have not received an event yet.
function* remaining(event) {
  const position = event[POSITION];
  const { run, scope } = position;
  const { extensions } = scope;
  while (position.run === run && position.next < extensions.length) {
    const extension = extensions[position.next++];
    if (!extension.handlers.get(event.type)?.length) continue;
    if (Object.hasOwn(position.skipped, extension.key)) {
      if (position.skipped[extension.key] && FAIL_CLOSED.has(event.type)) throw new Error(`the extension ${extension.path} ${typeof position.skipped[extension.key] === "string" ? position.skipped[extension.key] : "is not responding"}`);
      continue;
    }
    if (position.dispatch > 0) enterHandler(position.dispatch, extension.key);
    yield extension;
  }
}

// Returns whether the program has abandoned the handlers of a run and continues with the next extension.
function isAbandoned(event, run) {
  return event[POSITION].run !== run;
}

// Returns what the rule of an event collects, which survives a handler that was abandoned.
function collected(event, initial) {
  return (event[POSITION].collected ??= initial);
}

// Calls all handlers of an event. `onResult` receives each result and stops the dispatch by returning true.
// `onError` receives each exception and does the same; if it returns false, the exception is reported.
async function runHandlers(event, context, onResult, onError = undefined) {
  const { run } = event[POSITION];
  for (const extension of remaining(event)) {
    for (const handler of extension.handlers.get(event.type) ?? []) {
      try {
        const result = await handler(event, context);
        if (isAbandoned(event, run) || onResult?.(result, extension)) return;
      } catch (error) {
        if (isAbandoned(event, run)) return reportError(extension.path, event.type, error, extension.scope);
        if (onError?.(error, extension)) return;
        reportError(extension.path, event.type, error, extension.scope);
      }
    }
  }
}

// The last result wins; a result that cancels stops the dispatch.
async function cancellable(event, context) {
  const results = collected(event, { last: undefined });
  await runHandlers(event, context, (result) => {
    if (result === undefined || result === null) return false;
    results.last = result;
    return result.cancel === true;
  });
  return results.last;
}

async function turnEnd(event, context) {
  const results = collected(event, { changed: false });
  await runHandlers(event, context, (result) => {
    if (Array.isArray(result?.entries)) {
      event.entries = result.entries;
      results.changed = true;
    }
    if (typeof result?.continue === "boolean") {
      event.continue = result.continue;
      results.changed = true;
    }
    return false;
  });
  return results.changed ? { entries: event.entries, continue: event.continue } : undefined;
}

const rules = {
  session_before_switch: cancellable,
  session_before_fork: cancellable,
  session_before_compact: cancellable,
  session_before_tree: cancellable,
  turn_end: turnEnd,
  agent_before_settle: turnEnd,

  async project_trust(event) {
    let decision;
    await runHandlers(event, createTrustContext(), (result) => {
      if (!result || result.trusted === undefined || result.trusted === "undecided") return false;
      decision = result;
      return true;
    });
    return decision;
  },

  async resources_discover(event, context) {
    const found = collected(event, { skillPaths: [], promptPaths: [], themePaths: [] });
    await runHandlers(event, context, (result, extension) => {
      for (const kind of Object.keys(found)) {
        for (const path of result?.[kind] ?? []) found[kind].push({ path, extension: extension.path });
      }
      return false;
    });
    return found;
  },

  async input(event, context) {
    const results = collected(event, { changed: false });
    let handled = false;
    await runHandlers(event, context, (result) => {
      if (result?.action === "handled") {
        handled = true;
        return true;
      }
      if (result?.action === "transform") {
        event.text = result.text;
        if (result.images !== undefined) event.images = result.images;
        results.changed = true;
      }
      return false;
    });
    if (handled) return { action: "handled" };
    return results.changed ? { action: "transform", text: event.text, images: event.images } : undefined;
  },

  async before_agent_start(event, context) {
    const results = collected(event, { messages: [], systemPrompt: undefined });
    const follow = followSystemPrompt(event);
    await runHandlers(event, context, (result, extension) => {
      if (result?.message) results.messages.push(result.message);
      if (typeof result?.systemPrompt === "string") {
        results.systemPrompt = result.systemPrompt;
        event.systemPrompt = result.systemPrompt;
      }
      follow(extension.path);
      return false;
    });
    follow();
    return { ...results, options: event.systemPromptOptions };
  },

  async message_end(event, context) {
    const results = collected(event, { changed: false });
    await runHandlers(event, context, (result, extension) => {
      if (!result?.message) return false;
      if (result.message.role !== event.message.role) {
        reportError(extension.path, event.type, new Error("a message can only be replaced by a message with the same role"), extension.scope);
        return false;
      }
      event.message = result.message;
      results.changed = true;
      return false;
    });
    return results.changed ? { message: event.message } : undefined;
  },

  async tool_call(event, context) {
    let verdict;
    await runHandlers(
      event,
      context,
      (result) => {
        if (result?.block) verdict = { block: true, reason: result.reason, terminate: result.terminate };
        return result?.block === true;
      },
      (error) => {
        verdict = { failure: messageOf(error) };
        return true;
      },
    );
    return verdict ?? { input: event.input };
  },

  async tool_result(event, context) {
    const changes = collected(event, {});
    await runHandlers(event, context, (result) => {
      // Structured content that is not replaced along with the content would contradict it.
      if (result?.content !== undefined) {
        delete event.structuredContent;
        delete changes.structuredContent;
      }
      for (const field of ["content", "details", "structuredContent", "isError", "usage"]) {
        if (result?.[field] !== undefined) changes[field] = event[field] = result[field];
      }
      return false;
    });
    return changes;
  },

  async context(event, context) {
    return { messages: await transformMessages(event, context) };
  },

  async context_with_system(event, context) {
    return { messages: await transformMessages(event, context) };
  },

  async before_provider_request(event, context) {
    await runHandlers(event, context, (result) => {
      if (result !== undefined) event.payload = result;
      return false;
    });
    return { payload: event.payload };
  },

  async before_provider_headers(event, context) {
    await runHandlers(event, context);
    return { headers: event.headers };
  },

  async user_bash(event, context) {
    let verdict;
    await runHandlers(
      event,
      context,
      (result) => {
        if (result === undefined || result === null) return false;
        verdict = result.operations ? { operations: register(shellHandlers(result.operations)) } : { result: result.result };
        return true;
      },
      (error, extension) => {
        reportError(extension.path, event.type, error, extension.scope);
        verdict = { failure: messageOf(error) };
        return true;
      },
    );
    return verdict;
  },
};

// Each handler gets its own copy, so that a failing handler leaves no partial changes.
async function transformMessages(event, context) {
  let messages = event.messages;
  const { run } = event[POSITION];
  const follow = followMessages();
  for (const extension of remaining(event)) {
    for (const handler of extension.handlers.get(event.type) ?? []) {
      const copy = structuredClone(messages);
      const known = new Set(copy);
      try {
        const result = await handler({ ...event, messages: copy }, context);
        if (isAbandoned(event, run)) return messages;
        event.messages = messages = Array.isArray(result?.messages) ? result.messages : copy;
      } catch (error) {
        reportError(extension.path, event.type, error, extension.scope);
        continue;
      }
      follow(extension.path, known, messages);
    }
  }
  follow();
  return messages;
}

// Called by the program with an event; returns the combined result. Without an event, continues the dispatch with
// this ID after a handler was interrupted or abandoned. `skipped` has the extensions that receive no events; its values
// state whether events whose handlers decide about something must fail then, or say why.
// `agent` is the agent whose session emits it.
export async function emit(newEvent, signalId, dispatchId, skipped, agent) {
  const event = newEvent ?? dispatches.get(dispatchId);
  const scope = scopeOf(agent);
  if (!event || !scope) return undefined;
  if (newEvent) Object.defineProperty(event, POSITION, { value: { next: 0, run: 0, dispatch: dispatchId, scope } });
  const position = event[POSITION];
  const run = ++position.run;
  position.skipped = skipped ?? {};
  dispatches.set(dispatchId, event);
  const context = event.type === "project_trust" ? undefined : createContext(signalId, scope);
  const signal = signalOf(signalId);
  if (signal) event.signal = signal;
  try {
    const rule = rules[event.type];
    return rule ? await rule(event, context) : void (await runHandlers(event, context));
  } finally {
    if (!isAbandoned(event, run)) dispatches.delete(dispatchId);
    if (signalId !== undefined && signalId !== null) releaseSignal(signalId);
  }
}

// Emits `mcp_servers_change` for a registration.
export async function emitServersChange(scope, servers) {
  const event = { type: "mcp_servers_change", servers };
  const context = createContext(undefined, scope);
  for (const extension of scope.extensions) {
    for (const handler of extension.handlers.get(event.type) ?? []) {
      try {
        await handler(event, context);
      } catch (error) {
        reportError(extension.path, event.type, error, extension.scope);
      }
    }
  }
}

// Called by the program to run a command.
export async function runCommand(path, name, args) {
  const { commands, scope } = extensionOf(path);
  try {
    await commands.get(name).handler(args, createCommandContext(scope));
  } catch (error) {
    // Commands are identified by name, regardless of their extension.
    reportError(`command:${name}`, "command", error, scope);
  }
}

// Called by the program to complete the arguments of a command.
export async function completeCommand(path, name, prefix) {
  return (await extensionOf(path).commands.get(name).getArgumentCompletions?.(prefix)) ?? null;
}

// Called by the program to run a shortcut.
export async function runShortcut(path, key) {
  await extensionOf(path).shortcuts.get(key).handler(createContext());
}
