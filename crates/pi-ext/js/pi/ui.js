// The user interface of an extension. Dialogs wait for an answer; the rest is told and forgotten.
import { call } from "pi:host";
import { startAbortable } from "pi:operations";
import { theme } from "pi:pi/theme";

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

// Makes the interface.
export function createUi() {
  return {
    select: (title, options, how) => ask("select", { title, options }, how),
    confirm: (title, message, how) => ask("confirm", { title, message }, how, false),
    input: (title, placeholder, how) => ask("input", { title, placeholder }, how),
    editor: (title, prefill) => ask("editor", { title, prefill }),
    notify: (message, type) => tell("notify", { message: String(message), notifyType: type }),
    onTerminalInput: () => () => {},
    setStatus: (key, text) => tell("status", { key, text }),
    setWorkingMessage: (message) => tell("workingMessage", { message }),
    setWorkingVisible: (visible) => tell("workingVisible", { visible }),
    setWorkingIndicator: (indicator) => tell("workingIndicator", { indicator }),
    setHiddenThinkingLabel: (label) => tell("hiddenThinkingLabel", { label }),
    setWidget(key, content, options) {
      // A component needs a terminal; lines go everywhere.
      if (content === undefined || Array.isArray(content)) {
        tell("widget", { key, lines: content, placement: options?.placement });
      }
    },
    setFooter: () => {},
    setHeader: () => {},
    setTitle: (title) => tell("title", { title }),
    custom: async () => undefined,
    pasteToEditor: (text) => tell("editorText", { text }),
    setEditorText: (text) => tell("editorText", { text }),
    getEditorText: () => call("ui.editorText"),
    addAutocompleteProvider: () => {},
    setEditorComponent: () => {},
    getEditorComponent: () => undefined,
    get theme() {
      return theme;
    },
    getAllThemes: () => call("ui.themes"),
    getTheme: () => undefined,
    setTheme: (wanted) => call("ui.setTheme", { name: typeof wanted === "string" ? wanted : wanted?.name }),
    getToolsExpanded: () => false,
    setToolsExpanded: () => {},
  };
}
