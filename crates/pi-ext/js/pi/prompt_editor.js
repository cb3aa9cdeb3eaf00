// Custom prompt editor of an extension. The program reads its text and is notified of changes; application keys
// that the editor does not handle are sent back as actions.
import { call } from "pi:host";
import { provider } from "pi:pi/completion";
import { matchesKey } from "pi:tui/keys";
import { guarded, mount, unmount } from "pi:pi/mount";
import { tui } from "pi:pi/screen";
import { getEditorTheme, theme } from "pi:pi/theme";

let active;

const change = (kind, values) => void call("screen.change", { kind, ...values });

// Runs the extension shortcut bound to a key. Returns whether there is one.
function runShortcut(data) {
  for (const { extension, key } of call("screen.shortcuts")) {
    if (!matchesKey(data, key)) continue;
    change("shortcut", { extension, key });
    return true;
  }
  return false;
}

function connect(editor) {
  editor.onSubmit = (text) => change("editorSubmitted", { text: String(text) });
  editor.onChange = (text) => change("editorChanged", { text: String(text) });
  const { padding, completions, border, actions } = call("screen.editor");
  if (editor.borderColor !== undefined) editor.borderColor = (text) => theme.fg(call("screen.editor").border ?? border, text);
  editor.setPaddingX?.(padding);
  editor.setAutocompleteMaxVisible?.(completions);
  editor.setAutocompleteProvider?.(provider((wrapped) => active?.editor === editor && editor.setAutocompleteProvider(wrapped)));
  if (!(editor.actionHandlers instanceof Map)) return;
  const sendAction = (action) => change("editorAction", { action });
  editor.onEscape ??= () => sendAction("app.interrupt");
  editor.onCtrlD ??= () => sendAction("app.exit");
  editor.onPasteImage ??= () => sendAction("app.clipboard.pasteImage");
  editor.onExtensionShortcut ??= runShortcut;
  for (const action of actions) {
    if (!editor.actionHandlers.has(action)) editor.actionHandlers.set(action, () => sendAction(action));
  }
}

// Replaces the prompt editor, or restores the built-in one if there is no factory.
export function setEditorComponent(factory, keybindings) {
  const text = call("ui.editorText");
  if (active) {
    const { id } = active;
    active = undefined;
    unmount(id);
  }
  if (!factory) {
    change("editorRestored", { text });
    return;
  }
  const editor = factory(tui, getEditorTheme(), keybindings);
  if (typeof editor?.getText !== "function" || typeof editor.setText !== "function") {
    throw new TypeError("an editor component must have getText and setText");
  }
  connect(editor);
  editor.setText(text);
  active = { factory, editor, id: mount(editor, { kind: "editor" }) };
}

export function editorFactory() {
  return active?.factory;
}

// Returns the text of the custom editor, or undefined if the built-in one is active.
export function editorText() {
  return active && (active.editor.getExpandedText?.() ?? active.editor.getText());
}

// Called by the program to replace the text.
export function setText(text) {
  active?.editor.setText(text);
}

// Called by the program to insert text at the cursor.
export function insertText(text) {
  const editor = active?.editor;
  if (!editor) return;
  if (editor.insertTextAtCursor) editor.insertTextAtCursor(text);
  else editor.handleInput(`\u001b[200~${text}\u001b[201~`);
}

// Called by the program to add a submitted text to the history.
export function addToHistory(text) {
  guarded("addToHistory", () => active?.editor.addToHistory?.(text));
}
