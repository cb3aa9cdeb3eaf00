// The `ctx.ui` object. Dialogs wait for a response; other calls return immediately. Functions that need a terminal
// do nothing without one.
import { call } from "pi:host";
import { startAbortable } from "pi:operations";
import { requireModule } from "pi:native";
import { refreshTheme, theme, themeNamed, Theme } from "pi:pi/theme";
import { choose, textOf } from "pi:pi/tolerance";

// Terminal modules are loaded on first use.
const terminalModule = (name) => requireModule(`pi:pi/${name}`);
const hasTerminal = () => call("program.context").mode === "tui";

// The user's keybindings, for components.
const keybindings = () => requireModule("pi:tui/keybindings").getKeybindings();

// Shows a dialog. On abort or timeout, it resolves to `fallback`.
function prompt(kind, dialog, options = {}, fallback = undefined) {
  const { signal, timeout } = options;
  if (signal?.aborted) return Promise.resolve(fallback);
  const { promise, abort } = startAbortable("host", "ui.showDialog", { kind, ...dialog, timeout: timeout === undefined || timeout === null ? undefined : Number(timeout) });
  const dismiss = () => abort(signal.reason);
  signal?.addEventListener("abort", dismiss, { once: true });
  return promise
    .then(
      (response) => response ?? fallback,
      (error) => {
        if (signal?.aborted) return fallback;
        throw error;
      },
    )
    .finally(() => signal?.removeEventListener("abort", dismiss));
}

function notifyHost(kind, values) {
  call("ui.notify", { kind, ...values });
}

// Mounted component IDs by slot, such as the footer or a widget's key.
const slots = new Map();

// What to mount once there is a screen, by slot: clients may connect one later.
const waiting = new Map();

// Mounts the component of a factory in a slot, replacing the previous one.
function mountInSlot(name, make, placement) {
  if (!hasTerminal()) {
    waiting.delete(name);
    if (make && call("program.context").mode === "rpc") waiting.set(name, { make, placement });
    return;
  }
  const { mount, unmount } = terminalModule("mount");
  const previous = slots.get(name);
  slots.delete(name);
  if (previous !== undefined) unmount(previous);
  if (make) slots.set(name, mount(make(terminalModule("screen").tui), placement));
}

// The editor to mount once there is a screen.
let waitingEditor;

function setEditorComponent(factory) {
  waitingEditor = undefined;
  if (hasTerminal()) terminalModule("prompt_editor").setEditorComponent(factory, keybindings());
  else if (call("program.context").mode === "rpc") waitingEditor = factory;
}

// Called by the program when a screen opens.
export function screenOpened() {
  refreshTheme();
  const editor = waitingEditor;
  if (editor) terminalModule("mount").guarded("screen", () => setEditorComponent(editor));
  const slotsToMount = [...waiting];
  waiting.clear();
  for (const [name, { make, placement }] of slotsToMount) terminalModule("mount").guarded("screen", () => mountInSlot(name, make, placement));
}

function setWidget(key, content, options) {
  const isComponent = typeof content === "function";
  mountInSlot(`widget ${key}`, isComponent ? (tui) => content(tui, theme) : undefined, { kind: "widget", key, placement: options?.placement });
  if (isComponent) return;
  // Plain lines work in every mode.
  if (content === undefined || Array.isArray(content)) notifyHost("widget", { key, lines: content?.map(String), placement: options?.placement });
}

// Marks a dialog as open, which other extensions can observe, until `work` is done.
async function asDialog(work) {
  if (!call("program.context").hasUI) return undefined;
  const { promise, abort } = startAbortable("host", "ui.holdDialog");
  promise.catch(() => {});
  try {
    return await work();
  } finally {
    abort();
  }
}

// Returns what the terminal shows while a component waits for the user.
function blockedStatus(blocked) {
  const isKnown = ["question", "permission", "auth"].includes(blocked?.kind);
  return isKnown ? { kind: blocked.kind, message: String(blocked.message ?? "") } : undefined;
}

// Whether clients know that a component was not shown.
let isMissingReported = false;

// Shows a focused component until it calls `done`.
async function show(factory, options = {}) {
  if (!hasTerminal()) {
    isMissingReported ||= call("screen.missing");
    return undefined;
  }
  const { mount, unmount } = terminalModule("mount");
  const { showOverlay, tui } = terminalModule("screen");
  let close;
  const closed = new Promise((resolve) => (close = resolve));
  let remove;
  let isDone = false;
  const done = (result) => {
    if (isDone) return;
    isDone = true;
    remove?.();
    close(result);
  };
  const component = await factory(tui, theme, keybindings(), done);
  if (isDone) {
    component?.dispose?.();
    return closed;
  }
  if (options.overlay) {
    const overlayOptions = typeof options.overlayOptions === "function" ? options.overlayOptions() : options.overlayOptions;
    const handle = showOverlay(component, overlayOptions ?? (component.width ? { width: component.width } : undefined));
    remove = () => handle.hide();
    options.onHandle?.(handle);
  } else {
    const id = mount(component, { kind: "custom", blocked: blockedStatus(options.blocked) });
    remove = () => unmount(id);
  }
  return closed;
}

function setTheme(nameOrTheme) {
  const name = nameOrTheme instanceof Theme ? nameOrTheme.name : nameOrTheme;
  if (typeof name !== "string") return { success: false, error: "the theme has no name" };
  return call("screen.setTheme", { name });
}

export function createUi() {
  return {
    select: (title, options, dialogOptions) => choose(options, (labels) => prompt("select", { title: String(title), options: labels }, dialogOptions ?? {})),
    confirm: (title, message, dialogOptions) => prompt("confirm", { title: String(title), message: textOf(message) }, dialogOptions ?? {}, false),
    input: (title, placeholder, dialogOptions) => prompt("input", { title: String(title), placeholder: textOf(placeholder) }, dialogOptions ?? {}),
    editor: (title, prefill) => prompt("editor", { title: String(title), prefill: textOf(prefill) }),
    notify: (message, type) => notifyHost("notify", { message: String(message), notifyType: type }),
    onTerminalInput: (listener) => (hasTerminal() ? terminalModule("screen").listenRaw(listener) : () => {}),
    setStatus: (key, text) => notifyHost("status", { key: String(key), text: textOf(text) }),
    setWorkingMessage: (message) => notifyHost("workingMessage", { message: textOf(message) }),
    setWorkingVisible: (visible) => notifyHost("workingVisible", { visible }),
    setWorkingIndicator: (indicator) => notifyHost("workingIndicator", { indicator }),
    setHiddenThinkingLabel: (label) => notifyHost("hiddenThinkingLabel", { label: textOf(label) }),
    setWidget,
    setFooter(factory) {
      mountInSlot("footer", factory && ((tui) => factory(tui, theme, terminalModule("screen").footerData)), { kind: "footer" });
    },
    setHeader(factory) {
      mountInSlot("header", factory && ((tui) => factory(tui, theme)), { kind: "header" });
    },
    setTitle: (title) => notifyHost("title", { title: String(title) }),
    custom: (factory, options) => asDialog(() => show(factory, options)),
    pasteToEditor: (text) => notifyHost("editorPaste", { text: String(text) }),
    setEditorText: (text) => notifyHost("editorText", { text: String(text) }),
    getEditorText: () => (hasTerminal() ? terminalModule("prompt_editor").editorText() : undefined) ?? call("ui.editorText"),
    addAutocompleteProvider(factory) {
      if (hasTerminal()) terminalModule("completion").wrapProvider(factory);
    },
    setEditorComponent,
    getEditorComponent: () => (hasTerminal() ? terminalModule("prompt_editor").editorFactory() : waitingEditor),
    get theme() {
      return theme;
    },
    getAllThemes: () => call("screen.themes"),
    getTheme: (name) => themeNamed(name),
    setTheme,
    getToolsExpanded: () => call("screen.info")?.expanded === true,
    setToolsExpanded(expanded) {
      if (hasTerminal()) call("screen.change", { kind: "expanded", expanded: Boolean(expanded) });
    },
  };
}
