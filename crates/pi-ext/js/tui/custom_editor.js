// An editor that knows the program's own keys, for extensions to build theirs on.
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
    const means = (action) => this.keybindings.matches(data, action);
    if (means("app.clipboard.pasteImage")) return void this.onPasteImage?.();
    const handler = this.#handlerOf(means);
    if (handler) handler();
    else super.handleInput(data);
  }

  // Finds what a key does outside of the text; none where it belongs to the text.
  #handlerOf(means) {
    if (means("app.interrupt")) {
      return this.isShowingAutocomplete() ? undefined : (this.onEscape ?? this.actionHandlers.get("app.interrupt"));
    }
    if (means("app.exit") && this.getText() === "") {
      return this.onCtrlD ?? this.actionHandlers.get("app.exit") ?? (() => {});
    }
    // Whoever binds the history to keys of its own means it, whatever else is on them.
    if (means("tui.editor.historyPrevious") || means("tui.editor.historyNext")) return undefined;
    for (const [action, handler] of this.actionHandlers) {
      if (action !== "app.interrupt" && action !== "app.exit" && means(action)) return handler;
    }
    return undefined;
  }
}
