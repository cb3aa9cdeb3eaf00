// Built-in dialogs as components: select, input, editor and list selectors.
import { getEditorTheme, getSelectListTheme, theme } from "pi:pi/theme";
import { call } from "pi:host";
import { Container } from "pi:tui/container";
import { DynamicBorder } from "pi:tui/dynamic_border";
import { Editor } from "pi:tui/editor";
import { Input } from "pi:tui/input";
import { getKeybindings } from "pi:tui/keybindings";
import { keyHint, rawKeyHint } from "pi:tui/key_hints";
import { truncateToWidth } from "pi:tui/measure";
import { SelectList, windowOf } from "pi:tui/select_list";
import { Spacer } from "pi:tui/spacer";
import { Text } from "pi:tui/text";

const SECOND = 1000;
const navigateHint = () => rawKeyHint("↑↓", "navigate");

// Counts down until a dialog times out.
function countDown(milliseconds, tui, show, onTimeout) {
  let remaining = Math.ceil(milliseconds / SECOND);
  show(remaining);
  const timer = setInterval(() => {
    remaining -= 1;
    show(remaining);
    tui?.requestRender();
    if (remaining > 0) return;
    clearInterval(timer);
    onTimeout();
  }, SECOND);
  return () => clearInterval(timer);
}

// A dialog between two borders: title, body and key hints.
class Dialog extends Container {
  #stop;

  constructor(title, body, hints, { description, timeout, tui } = {}, onCancel = undefined) {
    super();
    const styleTitle = (text) => theme.fg("accent", theme.bold(text));
    const head = new Text(styleTitle(title), 1, 0);
    const parts = [new DynamicBorder(), new Spacer(1), head];
    if (description) parts.push(new Spacer(1), new Text(theme.fg("text", description), 1, 0));
    parts.push(new Spacer(1), body, new Spacer(1), new Text(hints.join("  "), 1, 0), new Spacer(1), new DynamicBorder());
    for (const part of parts) this.addChild(part);
    if (timeout > 0 && tui) this.#stop = countDown(timeout, tui, (remaining) => head.setText(styleTitle(`${title} (${remaining}s)`)), onCancel);
  }
  dispose() {
    this.#stop?.();
  }
}

const confirmHints = (verb) => [keyHint("tui.select.confirm", verb), keyHint("tui.select.cancel", "cancel")];

export class ExtensionSelectorComponent extends Dialog {
  #options;
  #onSelect;
  #onCancel;
  #onExpand;
  #list;
  #selected = 0;

  constructor(title, options, onSelect, onCancel, dialogOptions = {}) {
    const list = new Container();
    super(title, list, [navigateHint(), ...confirmHints("select")], dialogOptions, onCancel);
    this.#options = options;
    this.#onSelect = onSelect;
    this.#onCancel = onCancel;
    this.#onExpand = dialogOptions.onToggleToolsExpanded;
    this.#list = list;
    this.#build();
  }
  #build() {
    this.#list.clear();
    this.#options.forEach((option, index) => {
      const line = index === this.#selected ? theme.fg("accent", `→ ${option}`) : `  ${theme.fg("text", option)}`;
      this.#list.addChild(new Text(line, 1, 0));
    });
  }
  #move(step) {
    this.#selected = Math.max(0, Math.min(this.#options.length - 1, this.#selected + step));
    this.#build();
  }
  handleInput(data) {
    const keys = getKeybindings();
    if (keys.matches(data, "app.tools.expand")) this.#onExpand?.();
    else if (keys.matches(data, "tui.select.up") || data === "k") this.#move(-1);
    else if (keys.matches(data, "tui.select.down") || data === "j") this.#move(1);
    else if (keys.matches(data, "tui.select.cancel")) this.#onCancel();
    else if (keys.matches(data, "tui.select.confirm") || data === "\n") {
      const option = this.#options[this.#selected];
      if (option) this.#onSelect(option);
    }
  }
}

export class ExtensionInputComponent extends Dialog {
  #input;
  #onSubmit;
  #onCancel;

  constructor(title, placeholder, onSubmit, onCancel, dialogOptions = {}) {
    const input = new Input({ placeholder, placeholderStyle: (text) => theme.fg("dim", text) });
    super(title, input, confirmHints("submit"), dialogOptions, onCancel);
    this.#input = input;
    this.#onSubmit = onSubmit;
    this.#onCancel = onCancel;
    if (dialogOptions.initialValue) input.setValue(dialogOptions.initialValue);
  }
  get focused() {
    return this.#input.focused;
  }
  set focused(value) {
    this.#input.focused = value;
  }
  handleInput(data) {
    const keys = getKeybindings();
    if (keys.matches(data, "tui.select.confirm") || data === "\n") this.#onSubmit(this.#input.getValue());
    else if (keys.matches(data, "tui.select.cancel")) this.#onCancel();
    else this.#input.handleInput(data);
  }
}

export class ExtensionEditorComponent extends Dialog {
  #editor;
  #onCancel;

  constructor(tui, keybindings, title, prefill, onSubmit, onCancel, options = {}) {
    const editor = new Editor(tui, getEditorTheme(), options);
    super(title, editor, [keyHint("tui.input.submit", "submit"), keyHint("tui.input.newLine", "new line"), keyHint("tui.select.cancel", "cancel")], options);
    this.#editor = editor;
    this.#onCancel = onCancel;
    editor.onSubmit = (text) => onSubmit(text);
    if (prefill) editor.setText(prefill);
  }
  get focused() {
    return this.#editor.focused;
  }
  set focused(value) {
    this.#editor.focused = value;
  }
  handleInput(data) {
    if (getKeybindings().matches(data, "tui.select.cancel")) this.#onCancel();
    else this.#editor.handleInput(data);
  }
}

// A list between two borders, with the current value selected.
class Selector extends Container {
  #list;

  constructor(items, current, rows, onSelect, onCancel, onPreview = undefined) {
    super();
    const list = new SelectList(items, rows, getSelectListTheme());
    this.#list = list;
    list.setSelectedIndex(Math.max(0, items.findIndex(({ value }) => value === current)));
    list.onSelect = ({ value }) => onSelect(value);
    list.onCancel = onCancel;
    if (onPreview) list.onSelectionChange = ({ value }) => onPreview(value);
    for (const part of [new DynamicBorder(), list, new DynamicBorder()]) this.addChild(part);
  }
  getSelectList() {
    return this.#list;
  }
  handleInput(data) {
    this.#list.handleInput(data);
  }
}

const LEVELS = {
  off: "No thinking",
  minimal: "Very brief thinking",
  low: "Brief thinking",
  medium: "Moderate thinking",
  high: "Deep thinking",
  xhigh: "Very deep thinking",
  max: "Maximum thinking",
};

export class ThinkingSelectorComponent extends Selector {
  focused = false;
  #onDefault;

  constructor(currentLevel, availableLevels, onSelect, onCancel, onSelectAsDefault = undefined, defaultThinkingLevel = undefined) {
    const described = (level) => (level === defaultThinkingLevel ? `${LEVELS[level] ?? ""} (default)` : LEVELS[level]);
    const items = availableLevels.map((level) => ({ value: level, label: level, description: described(level) }));
    super(items, currentLevel, items.length, onSelect, onCancel);
    this.#onDefault = onSelectAsDefault;
  }
  handleInput(data) {
    const chosen = this.getSelectList().getSelectedItem();
    // Ctrl+S saves the level as the default.
    if (data === "\u0013" && this.#onDefault && chosen) this.#onDefault(chosen.value);
    else super.handleInput(data);
  }
}

export class ThemeSelectorComponent extends Selector {
  constructor(currentTheme, onSelect, onCancel, onPreview) {
    const names = (call("screen.themes") ?? []).map(({ name }) => name);
    super(names.map((name) => ({ value: name, label: name, description: name === currentTheme ? "(current)" : undefined })), currentTheme, 10, onSelect, onCancel, onPreview);
  }
}

export class ShowImagesSelectorComponent extends Selector {
  constructor(currentValue, onSelect, onCancel) {
    const items = [
      { value: "yes", label: "Yes", description: "Show images in the terminal" },
      { value: "no", label: "No", description: "Show the image type as text" },
    ];
    super(items, currentValue ? "yes" : "no", items.length, (value) => onSelect(value === "yes"), onCancel);
  }
}

const MAX_VISIBLE_MESSAGES = 10;

class UserMessageList {
  onSelect;
  onCancel;
  #messages;
  #selected;

  constructor(messages, initialSelectedId) {
    this.#messages = messages;
    const known = messages.findIndex(({ id }) => id === initialSelectedId);
    this.#selected = known >= 0 ? known : Math.max(0, messages.length - 1);
  }
  invalidate() {}
  render(width) {
    const count = this.#messages.length;
    if (count === 0) return [theme.fg("muted", "  No messages yet")];
    const { start, end } = windowOf(count, this.#selected, MAX_VISIBLE_MESSAGES);
    const lines = this.#messages.slice(start, end).flatMap(({ text }, row) => {
      const isSelected = start + row === this.#selected;
      const line = truncateToWidth(text.replace(/\s+/g, " ").trim(), Math.max(1, width - 2));
      return [isSelected ? theme.fg("accent", "› ") + theme.bold(line) : `  ${line}`, theme.fg("muted", `  ${start + row + 1} of ${count}`), ""];
    });
    return lines;
  }
  handleInput(data) {
    const keys = getKeybindings();
    const count = this.#messages.length;
    if (keys.matches(data, "tui.select.up")) this.#selected = (this.#selected + count - 1) % Math.max(1, count);
    else if (keys.matches(data, "tui.select.down")) this.#selected = (this.#selected + 1) % Math.max(1, count);
    else if (keys.matches(data, "tui.select.cancel")) this.onCancel?.();
    else if (keys.matches(data, "tui.select.confirm") && count > 0) this.onSelect?.(this.#messages[this.#selected].id);
  }
}

export class UserMessageSelectorComponent extends Container {
  #list;

  constructor(messages, onSelect, onCancel, initialSelectedId = undefined) {
    super();
    this.#list = new UserMessageList(messages, initialSelectedId);
    this.#list.onSelect = onSelect;
    this.#list.onCancel = onCancel;
    const title = new Text(theme.bold("Continue from a message"), 1, 0);
    const parts = [new Spacer(1), title, new Spacer(1), new DynamicBorder(), new Spacer(1), this.#list, new Spacer(1), new DynamicBorder()];
    for (const part of parts) this.addChild(part);
    // Without messages, cancel as soon as the dialog is shown.
    if (messages.length === 0) setTimeout(onCancel, 100);
  }
  getMessageList() {
    return this.#list;
  }
  handleInput(data) {
    this.#list.handleInput(data);
  }
}
