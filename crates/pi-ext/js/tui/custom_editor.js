// An editor with the application keybindings, as a base class for extension editors.
import { Editor } from "pi:tui/editor";
import { getKeybindings } from "pi:tui/keybindings";

export class CustomEditor extends Editor {
  actionHandlers = new Map();
  onEscape;
  onCtrlD;
  onPasteImage;
  onExtensionShortcut;
  keybindings;

  constructor(tui, theme, keybindings, options) {
    super(tui, theme, options);
    this.keybindings = keybindings ?? getKeybindings();
  }
  onAction(action, handler) {
    this.actionHandlers.set(action, handler);
  }
  setWorkingStatusIndicator() {}

  handleInput(data) {
    if (this.onExtensionShortcut?.(data)) return;
    const matches = (action) => this.keybindings.matches(data, action);
    if (matches("app.clipboard.pasteImage")) return void this.onPasteImage?.();
    const handler = this.#handlerOf(matches);
    if (handler) handler();
    else super.handleInput(data);
  }

  // Returns the application action of a key, or undefined if the editor handles it.
  #handlerOf(matches) {
    if (matches("app.interrupt")) {
      return this.isShowingAutocomplete() ? undefined : (this.onEscape ?? this.actionHandlers.get("app.interrupt"));
    }
    if (matches("app.exit") && this.getText() === "") {
      return this.onCtrlD ?? this.actionHandlers.get("app.exit") ?? (() => {});
    }
    // Explicit history keybindings take precedence over application actions.
    if (matches("tui.editor.historyPrevious") || matches("tui.editor.historyNext")) return undefined;
    for (const [action, handler] of this.actionHandlers) {
      if (action !== "app.interrupt" && action !== "app.exit" && matches(action)) return handler;
    }
    return undefined;
  }
}
