// Multi-line editor. History, completion, pastes, undo and the kill ring are implemented by the TUI library.
import { stylesOf, widgetFor } from "pi:tui/widget";

const ROWS = 24;

// Returns a border with the number of hidden lines.
function border(width, arrow, hidden) {
  const label = hidden > 0 ? ` ${arrow} ${hidden} more ` : "";
  if (label === "") return "─".repeat(width);
  if (label.length + 2 > width) return `───${label}`.slice(0, width).padEnd(width, "─");
  const left = Math.floor((width - label.length) / 2);
  return "─".repeat(left) + label + "─".repeat(width - left - label.length);
}

export class Editor {
  onSubmit;
  onChange;
  focused = false;
  disableSubmit = false;
  borderColor;
  tui;
  #widget;
  #paddingX;
  #maxVisible;
  #provider;
  #search;
  #timer;
  #isCompleting = false;

  constructor(tui, theme, options = {}) {
    this.tui = tui;
    this.borderColor = theme?.borderColor ?? ((text) => text);
    this.#paddingX = Math.max(0, Math.floor(options.paddingX ?? 0) || 0);
    this.#maxVisible = options.autocompleteMaxVisible ?? 5;
    this.#widget = widgetFor(this, "editor", {
      paddingX: this.#paddingX,
      autocompleteMaxVisible: this.#maxVisible,
      list: stylesOf(theme?.selectList),
    });
  }

  getText() {
    return this.#do("text");
  }
  getExpandedText() {
    return this.#do("expandedText");
  }
  getLines() {
    return this.getText().split("\n");
  }
  getCursor() {
    return this.#do("cursor");
  }
  setText(text) {
    this.#do("setText", { text: String(text) });
  }
  insertTextAtCursor(text) {
    this.#do("insert", { text: String(text) });
  }
  addToHistory(text) {
    this.#do("addHistory", { text: String(text) });
  }
  getPaddingX() {
    return this.#paddingX;
  }
  setPaddingX(padding) {
    this.#paddingX = Math.max(0, Math.floor(padding) || 0);
    this.#do("setPadding", { padding: this.#paddingX });
    this.tui?.requestRender?.();
  }
  getAutocompleteMaxVisible() {
    return this.#maxVisible;
  }
  setAutocompleteMaxVisible(count) {
    this.#maxVisible = Math.max(3, Math.min(20, Math.floor(count) || 5));
    this.#do("setMaxVisible", { count: this.#maxVisible });
    this.tui?.requestRender?.();
  }
  setAutocompleteProvider(provider) {
    this.#provider = provider;
    this.#do("setTriggers", { characters: provider?.triggerCharacters ?? [] });
  }
  isShowingAutocomplete() {
    return this.#isCompleting;
  }
  invalidate() {}

  renderTopBorder(width, hiddenLineCount) {
    return this.borderColor(border(width, "↑", hiddenLineCount));
  }
  renderBottomBorder(width, hiddenLineCount) {
    return this.borderColor(border(width, "↓", hiddenLineCount));
  }
  render(width) {
    const columns = Math.max(1, Math.floor(width));
    const { lines, above, below, shown } = this.#do("render", { width: columns, focused: Boolean(this.focused), rows: this.#rows() });
    lines[0] = this.renderTopBorder(columns, above);
    lines[shown + 1] = this.renderBottomBorder(columns, below);
    return lines;
  }
  handleInput(data) {
    this.#widget("setSubmit", { enabled: !this.disableSubmit });
    this.#do("input", { data, rows: this.#rows() });
  }

  #rows() {
    return this.tui?.terminal?.rows ?? ROWS;
  }

  // Calls the native widget and handles the events and completion requests it returns.
  #do(method, args) {
    const { value, events, questions, tick, isCompleting } = this.#widget(method, args);
    this.#isCompleting = isCompleting;
    for (const question of questions) this.#suggest(question);
    this.#wait(tick);
    for (const event of events) {
      if (event.type === "submit") this.onSubmit?.(event.text);
      else this.onChange?.(this.getText());
    }
    return value;
  }
  #wait(milliseconds) {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    if (milliseconds === null) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#do("tick");
    }, milliseconds);
  }
  async #suggest({ id, lines, line, column, force }) {
    this.#search?.abort();
    const search = new AbortController();
    this.#search = search;
    let found;
    try {
      found = await this.#provider?.getSuggestions(lines, line, column, { signal: search.signal, force });
    } finally {
      // An empty result closes the completion list.
      if (!search.signal.aborted) {
        this.#do("suggest", { id, items: found?.items ?? [], prefix: found?.prefix ?? "" });
        this.tui?.requestRender?.();
      }
    }
  }
}
