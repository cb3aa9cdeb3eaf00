// The user interface of an extension. Dialogs wait for an answer; the rest is told and forgotten. What needs a
// terminal does nothing without one.
import { call } from "pi:host";
import { startAbortable } from "pi:operations";
import { requireModule } from "pi:native";
import { theme, themeNamed, Theme } from "pi:pi/theme";

// What only a terminal needs is loaded when it is first used.
const terminalPart = (name) => requireModule(`pi:pi/${name}`);
const hasTerminal = () => call("context").mode === "tui";

// The keys of the user, with which components compare what is typed.
const keybindings = () => requireModule("pi:tui/keybindings").getKeybindings();

// Asks something; an abort or the timeout ends the dialog without an answer.
function ask(kind, question, options = {}, none = undefined) {
  const { signal, timeout } = options;
  if (signal?.aborted) return Promise.resolve(none);
  const { promise, abort } = startAbortable("host", "ui.ask", { kind, ...question, timeout });
  const withdraw = () => abort(signal.reason);
  signal?.addEventListener("abort", withdraw, { once: true });
  return promise
    .then(
      (answer) => answer ?? none,
      (error) => {
        if (signal?.aborted) return none;
        throw error;
      },
    )
    .finally(() => signal?.removeEventListener("abort", withdraw));
}

function tell(kind, what) {
  call("ui.tell", { kind, ...what });
}

// The components by the place each stands in, such as a widget's key.
const placed = new Map();

// Puts what a factory makes into a place, where nothing else is any more.
function place(name, make, how) {
  const { mount, unmount } = terminalPart("mount");
  const before = placed.get(name);
  placed.delete(name);
  if (before !== undefined) unmount(before);
  if (make) placed.set(name, mount(make(terminalPart("screen").tui), how));
}

function setWidget(key, content, options) {
  const isComponent = typeof content === "function";
  if (hasTerminal()) place(`widget ${key}`, isComponent ? (tui) => content(tui, theme) : undefined, { kind: "widget", key, placement: options?.placement });
  if (isComponent) return;
  // Lines go everywhere.
  if (content === undefined || Array.isArray(content)) tell("widget", { key, lines: content?.map(String), placement: options?.placement });
}

// Counts as a dialog, of which other extensions hear, until the work is done.
async function held(work) {
  if (!call("context").hasUI) return undefined;
  const { promise, abort } = startAbortable("host", "ui.hold");
  promise.catch(() => {});
  try {
    return await work();
  } finally {
    abort();
  }
}

// Shows a component with the keyboard until it is done.
async function show(factory, options = {}) {
  if (!hasTerminal()) return undefined;
  const { mount, unmount } = terminalPart("mount");
  const { showOverlay, tui } = terminalPart("screen");
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
    const wanted = typeof options.overlayOptions === "function" ? options.overlayOptions() : options.overlayOptions;
    const handle = showOverlay(component, wanted ?? (component.width ? { width: component.width } : undefined));
    remove = () => handle.hide();
    options.onHandle?.(handle);
  } else {
    const id = mount(component, { kind: "custom" });
    remove = () => unmount(id);
  }
  return closed;
}

function setTheme(wanted) {
  const name = wanted instanceof Theme ? wanted.name : wanted;
  if (typeof name !== "string") return { success: false, error: "only a theme with a name can be put into use" };
  return call("ui.setTheme", { name });
}

// Makes the interface.
export function createUi() {
  return {
    select: (title, options, how) => ask("select", { title, options }, how),
    confirm: (title, message, how) => ask("confirm", { title, message }, how, false),
    input: (title, placeholder, how) => ask("input", { title, placeholder }, how),
    editor: (title, prefill) => ask("editor", { title, prefill }),
    notify: (message, type) => tell("notify", { message: String(message), notifyType: type }),
    onTerminalInput: (listener) => (hasTerminal() ? terminalPart("screen").listenRaw(listener) : () => {}),
    setStatus: (key, text) => tell("status", { key, text }),
    setWorkingMessage: (message) => tell("workingMessage", { message }),
    setWorkingVisible: (visible) => tell("workingVisible", { visible }),
    setWorkingIndicator: (indicator) => tell("workingIndicator", { indicator }),
    setHiddenThinkingLabel: (label) => tell("hiddenThinkingLabel", { label }),
    setWidget,
    setFooter(factory) {
      if (hasTerminal()) place("footer", factory && ((tui) => factory(tui, theme, terminalPart("screen").footerData)), { kind: "footer" });
    },
    setHeader(factory) {
      if (hasTerminal()) place("header", factory && ((tui) => factory(tui, theme)), { kind: "header" });
    },
    setTitle: (title) => tell("title", { title }),
    custom: (factory, options) => held(() => show(factory, options)),
    pasteToEditor: (text) => tell("editorPaste", { text: String(text) }),
    setEditorText: (text) => tell("editorText", { text: String(text) }),
    getEditorText: () => (hasTerminal() ? terminalPart("prompt_editor").editorText() : undefined) ?? call("ui.editorText"),
    addAutocompleteProvider(factory) {
      if (hasTerminal()) terminalPart("completion").wrapProvider(factory);
    },
    setEditorComponent(factory) {
      if (hasTerminal()) terminalPart("prompt_editor").setEditorComponent(factory, keybindings());
    },
    getEditorComponent: () => (hasTerminal() ? terminalPart("prompt_editor").editorFactory() : undefined),
    get theme() {
      return theme;
    },
    getAllThemes: () => call("ui.themes"),
    getTheme: (name) => themeNamed(name),
    setTheme,
    getToolsExpanded: () => call("ui.screen")?.expanded === true,
    setToolsExpanded(expanded) {
      if (hasTerminal()) call("ui.change", { kind: "expanded", expanded: Boolean(expanded) });
    },
  };
}
