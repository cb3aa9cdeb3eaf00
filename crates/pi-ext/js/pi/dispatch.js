// Dispatches events to extension handlers sequentially, in load order, and combines their results.
// Failing handlers are reported and skipped, unless the rule of an event says otherwise.
import { createCommandContext, createContext, createTrustContext } from "pi:pi/context";
import { messageOf, reportError } from "pi:pi/report";
import { extensionOf, extensions } from "pi:pi/registry";
import { releaseSignal, signalOf } from "pi:pi/signals";
import { shellHandlers } from "pi:pi/tool_operations";
import { register } from "pi:pi/callbacks";

// Events in progress by dispatch ID, so that a dispatch can continue after an extension was interrupted.
const dispatches = new Map();
const POSITION = Symbol("position");

// Iterates over the extensions that have not received an event yet.
function* remaining(event) {
  const position = event[POSITION];
  while (position.next < extensions.length) yield extensions[position.next++];
}

// Calls all handlers of an event. `onResult` receives each result and stops the dispatch by returning true.
// `onError` receives each exception and does the same; if it returns false, the exception is reported.
async function runHandlers(event, context, onResult, onError = undefined) {
  for (const extension of remaining(event)) {
    for (const handler of extension.handlers.get(event.type) ?? []) {
      try {
        const result = await handler(event, context);
        if (onResult?.(result, extension)) return;
      } catch (error) {
        if (onError?.(error, extension)) return;
        reportError(extension.path, event.type, error);
      }
    }
  }
}

// The last result wins; a result that cancels stops the dispatch.
async function cancellable(event, context) {
  let last;
  await runHandlers(event, context, (result) => {
    if (result === undefined || result === null) return false;
    last = result;
    return result.cancel === true;
  });
  return last;
}

async function turnEnd(event, context) {
  let changed = false;
  await runHandlers(event, context, (result) => {
    if (Array.isArray(result?.entries)) {
      event.entries = result.entries;
      changed = true;
    }
    if (typeof result?.continue === "boolean") {
      event.continue = result.continue;
      changed = true;
    }
    return false;
  });
  return changed ? { entries: event.entries, continue: event.continue } : undefined;
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
    const found = { skillPaths: [], promptPaths: [], themePaths: [] };
    await runHandlers(event, context, (result, extension) => {
      for (const kind of Object.keys(found)) {
        for (const path of result?.[kind] ?? []) found[kind].push({ path, extension: extension.path });
      }
      return false;
    });
    return found;
  },

  async input(event, context) {
    let changed = false;
    let handled = false;
    await runHandlers(event, context, (result) => {
      if (result?.action === "handled") {
        handled = true;
        return true;
      }
      if (result?.action === "transform") {
        event.text = result.text;
        if (result.images !== undefined) event.images = result.images;
        changed = true;
      }
      return false;
    });
    if (handled) return { action: "handled" };
    return changed ? { action: "transform", text: event.text, images: event.images } : undefined;
  },

  async before_agent_start(event, context) {
    const messages = [];
    let systemPrompt;
    await runHandlers(event, context, (result) => {
      if (result?.message) messages.push(result.message);
      if (typeof result?.systemPrompt === "string") {
        systemPrompt = result.systemPrompt;
        event.systemPrompt = result.systemPrompt;
      }
      return false;
    });
    return { messages, systemPrompt, options: event.systemPromptOptions };
  },

  async message_end(event, context) {
    let changed = false;
    await runHandlers(event, context, (result, extension) => {
      if (!result?.message) return false;
      if (result.message.role !== event.message.role) {
        reportError(extension.path, event.type, new Error("a message can only be replaced by a message with the same role"));
        return false;
      }
      event.message = result.message;
      changed = true;
      return false;
    });
    return changed ? { message: event.message } : undefined;
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
    const changes = {};
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
        reportError(extension.path, event.type, error);
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
  for (const extension of remaining(event)) {
    for (const handler of extension.handlers.get(event.type) ?? []) {
      const copy = structuredClone(messages);
      try {
        const result = await handler({ ...event, messages: copy }, context);
        event.messages = messages = Array.isArray(result?.messages) ? result.messages : copy;
      } catch (error) {
        reportError(extension.path, event.type, error);
      }
    }
  }
  return messages;
}

// Called by the program with an event; returns the combined result. Without an event, continues the dispatch with
// this ID after the engine interrupted a handler.
export async function emit(newEvent, signalId, dispatchId) {
  const event = newEvent ?? dispatches.get(dispatchId);
  if (!event) return undefined;
  if (newEvent) Object.defineProperty(event, POSITION, { value: { next: 0 } });
  if (dispatchId !== undefined) dispatches.set(dispatchId, event);
  const context = event.type === "project_trust" ? undefined : createContext(signalId);
  const signal = signalOf(signalId);
  if (signal) event.signal = signal;
  try {
    const rule = rules[event.type];
    return rule ? await rule(event, context) : void (await runHandlers(event, context));
  } finally {
    dispatches.delete(dispatchId);
    if (signalId !== undefined && signalId !== null) releaseSignal(signalId);
  }
}

// Called by the program to run a command.
export async function runCommand(path, name, args) {
  try {
    await extensionOf(path).commands.get(name).handler(args, createCommandContext());
  } catch (error) {
    // Commands are identified by name, regardless of their extension.
    reportError(`command:${name}`, "command", error);
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
