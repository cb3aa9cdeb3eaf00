// An extension's own editor at the prompt. The program asks it for its text and is told of every change; keys of
// the application that the editor does not want come back as actions.
import { call } from "pi:host";
import { provider } from "pi:pi/completion";
import { matchesKey } from "pi:tui/keys";
import { guarded, mount, unmount } from "pi:pi/mount";
import { tui } from "pi:pi/screen";
import { getEditorTheme, theme } from "pi:pi/theme";

let active;

const change = (kind, what) => void call("ui.change", { kind, ...what });

// Runs the shortcut a key stands for, if an extension has one; tells whether that is so.
function runShortcut(data) {
  for (const { extension, key } of call("ui.shortcuts")) {
    if (!matchesKey(data, key)) continue;
    change("shortcut", { extension, key });
    return true;
  }
  return false;
}

function connect(editor) {
  editor.onSubmit = (text) => change("editorSubmitted", { text: String(text) });
  editor.onChange = (text) => change("editorChanged", { text: String(text) });
  const { padding, completions, border, actions } = call("ui.editor");
  if (editor.borderColor !== undefined) editor.borderColor = (text) => theme.fg(call("ui.editor").border ?? border, text);
  editor.setPaddingX?.(padding);
  editor.setAutocompleteMaxVisible?.(completions);
  editor.setAutocompleteProvider?.(provider((wrapped) => active?.editor === editor && editor.setAutocompleteProvider(wrapped)));
  if (!(editor.actionHandlers instanceof Map)) return;
  const act = (action) => change("editorAction", { action });
  editor.onEscape ??= () => act("app.interrupt");
  editor.onCtrlD ??= () => act("app.exit");
  editor.onPasteImage ??= () => act("app.clipboard.pasteImage");
  editor.onExtensionShortcut ??= runShortcut;
  for (const action of actions) {
    if (!editor.actionHandlers.has(action)) editor.actionHandlers.set(action, () => act(action));
  }
}

// Puts an extension's editor at the prompt, or the program's own again.
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
    throw new TypeError("an editor component needs getText and setText");
  }
  connect(editor);
  editor.setText(text);
  active = { factory, editor, id: mount(editor, { kind: "editor" }) };
}

export function editorFactory() {
  return active?.factory;
}

// Returns the text of the extension's editor; undefined where the program's own is in use.
export function editorText() {
  return active && (active.editor.getExpandedText?.() ?? active.editor.getText());
}

// Called by the program with another text for the editor.
export function setText(text) {
  active?.editor.setText(text);
}

// Called by the program with a text for the place of the cursor.
export function insertText(text) {
  const editor = active?.editor;
  if (!editor) return;
  if (editor.insertTextAtCursor) editor.insertTextAtCursor(text);
  else editor.handleInput(`\u001b[200~${text}\u001b[201~`);
}

// Called by the program with a text that was sent.
export function remember(text) {
  guarded("addToHistory", () => active?.editor.addToHistory?.(text));
}
