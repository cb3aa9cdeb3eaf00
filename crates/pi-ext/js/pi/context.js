// The context passed to handlers. Properties are read from the program on access, so they are never stale; after
// the session ends, access throws.
import { requestWithCallbacks } from "pi:pi/callbacks";
import { createModelRegistry } from "pi:pi/model_registry";
import { reportError } from "pi:pi/report";
import { mainScope } from "pi:pi/scope";
import { createSessionView } from "pi:pi/session_view";
import { signalOf } from "pi:pi/signals";
import { createUi } from "pi:pi/ui";

const sessionView = createSessionView();
const modelRegistry = createModelRegistry();
const ui = createUi();

function compact(scope, options = {}) {
  const { request } = scope;
  request("run.compact", { customInstructions: options.customInstructions }).then(
    (result) => options.onComplete?.(result),
    (error) => (options.onError ? options.onError(error) : reportError(undefined, "compact", error, scope)),
  );
}

// The `ctx.ui` of agents without one.
const noUi = new Proxy(
  {
    select: async () => undefined,
    confirm: async () => false,
    input: async () => undefined,
    editor: async () => undefined,
    custom: async () => undefined,
    onTerminalInput: () => () => {},
    getEditorText: () => "",
    getAllThemes: () => [],
    setTheme: () => ({ success: false, error: "UI not available" }),
    getToolsExpanded: () => false,
  },
  { get: (members, name) => (name === "theme" ? ui.theme : typeof name === "symbol" || Object.hasOwn(members, name) ? members[name] : () => undefined) },
);

// What the context of an agent's session has instead of that of the main one.
function agentMembers(scope) {
  return {
    get ui() {
      return scope.bindings.uiContext ?? noUi;
    },
    get mode() {
      return scope.bindings.mode ?? "print";
    },
    get hasUI() {
      return scope.bindings.uiContext !== undefined;
    },
    get sessionManager() {
      return (scope.sessionManager ??= createSessionView(scope));
    },
    abort: () => (scope.bindings.abortHandler ? void scope.bindings.abortHandler() : void scope.call("run.abort")),
    shutdown: () => void scope.bindings.shutdownHandler?.(),
  };
}

// Creates the context of a handler. `signalId` identifies its abort signal.
export function createContext(signalId, scope = mainScope) {
  const context = createBaseContext(signalId, scope);
  return scope === mainScope ? context : withLiveMembers(context, agentMembers(scope));
}

function createBaseContext(signalId, scope) {
  const { call } = scope;
  return {
    get ui() {
      call("program.context");
      return ui;
    },
    get mode() {
      return call("program.context").mode;
    },
    get hasUI() {
      return call("program.context").hasUI;
    },
    get cwd() {
      return call("program.context").cwd;
    },
    get sessionManager() {
      call("program.context");
      return sessionView;
    },
    get modelRegistry() {
      return modelRegistry;
    },
    get model() {
      return call("model.current") ?? undefined;
    },
    get scopedModels() {
      return call("model.scoped");
    },
    get thinkingLevel() {
      return call("thinking.level");
    },
    get signal() {
      return signalOf(signalId);
    },
    isIdle: () => call("run.isIdle"),
    isProjectTrusted: () => call("program.context").trusted,
    abort: () => void call("run.abort"),
    hasPendingMessages: () => call("run.hasPendingMessages"),
    shutdown: () => void call("program.shutdown"),
    getContextUsage: () => call("run.contextUsage") ?? undefined,
    compact: (options) => compact(scope, options),
    getSystemPrompt: () => call("run.systemPrompt"),
  };
}

// Runs another tool for a running tool. Failures are results.
function executeTool(callId, signalId, name, args, { signal, onUpdate } = {}) {
  const handlers = { update: (partial) => void onUpdate?.(partial) };
  const isAborted = signal?.aborted === true;
  return requestWithCallbacks("job.executeTool", { signalId, callId, name, arguments: args ?? {}, isAborted }, handlers, signal);
}

// Creates the context of a tool call. `signalId` identifies the call.
export function createToolContext(callId, signalId, scope = mainScope) {
  const { call } = mainScope;
  return withLiveMembers(createContext(signalId, scope), {
    get tools() {
      return call("job.callableTools", { signalId });
    },
    executeTool: (name, args, options) => executeTool(callId, signalId, name, args, options),
  });
}

async function runWithSession({ call }, result, options) {
  if (!result.cancelled && options?.withSession) {
    call("replacement.bind");
    try {
      await options.withSession(createReplacementContext());
    } finally {
      call("replacement.release");
    }
  }
  return result;
}

// Actions that are available only to commands, such as replacing the session.
function sessionActions(scope) {
  const { call, request } = scope;
  const actions = scope.bindings.commandContextActions;
  return {
    getSystemPromptOptions: () => call("run.systemPromptOptions"),
    waitForIdle: () => request("run.waitForIdle"),
    newSession: async (options) => runWithSession(scope, await request("replacement.newSession", { parentSession: options?.parentSession }), options),
    fork: async (entryId, options) => runWithSession(scope, await request("replacement.fork", { entryId, position: options?.position }), options),
    navigateTree: (targetId, options) => request("session.navigate", { targetId, ...options }),
    switchSession: async (path, options) => runWithSession(scope, await request("replacement.switchSession", { path }), options),
    reload: () => request("replacement.reload"),
    ...actions,
  };
}

function withLiveMembers(context, members) {
  return Object.defineProperties(context, Object.getOwnPropertyDescriptors(members));
}

// Creates the context of a command.
export function createCommandContext(scope = mainScope) {
  return withLiveMembers(createContext(undefined, scope), sessionActions(scope));
}

// Creates the context of the session that replaced the one a command started in.
function createReplacementContext() {
  const { request } = mainScope;
  return withLiveMembers(createCommandContext(), {
    sendMessage: (message, options) => request("run.deliverMessage", { message, options: options ?? {} }),
    sendUserMessage: (content, options) => request("run.deliverUserMessage", { content, options: options ?? {} }),
  });
}

// Creates the context of `project_trust` handlers, which run before a session exists.
export function createTrustContext() {
  const { call } = mainScope;
  const { cwd, mode } = call("program.context");
  // Only the terminal UI can show dialogs before the session starts.
  const hasUI = mode === "tui";
  const noUi = { select: async () => undefined, confirm: async () => false, input: async () => undefined, notify: ui.notify };
  return { cwd, mode, hasUI, ui: hasUI ? { select: ui.select, confirm: ui.confirm, input: ui.input, notify: ui.notify } : noUi };
}
