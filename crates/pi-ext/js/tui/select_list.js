// Selection list with labels and descriptions. The selection wraps around.
import { getKeybindings } from "pi:tui/keybindings";
import { truncateToWidth, visibleWidth } from "pi:tui/measure";

const DEFAULT_COLUMN_WIDTH = 32;
const GAP = 2;
const MIN_DESCRIPTION = 10;
// Minimum width for showing descriptions.
const MIN_WIDTH_FOR_DESCRIPTIONS = 40;

const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
const oneLine = (text) => text.replace(/[\r\n]+/g, " ").trim();
const labelOf = (item) => item.label || item.value;

// Returns the visible range of a long list, centered on the selection.
export function windowOf(count, selected, size) {
  const start = Math.max(0, Math.min(selected - Math.floor(size / 2), count - size));
  return { start, end: Math.min(start + size, count) };
}

export class SelectList {
  onSelect;
  onCancel;
  onSelectionChange;
  #items;
  #matching;
  #maxVisible;
  #theme;
  #layout;
  #selected = 0;
  #pressed;

  constructor(items, maxVisible, theme, layout = {}) {
    this.#items = this.#matching = items;
    this.#maxVisible = maxVisible;
    this.#theme = theme;
    this.#layout = layout;
  }
  setFilter(filter) {
    const start = filter.toLowerCase();
    this.#matching = this.#items.filter((item) => item.value.toLowerCase().startsWith(start));
    this.#selected = 0;
  }
  setSelectedIndex(index) {
    this.#selected = clamp(index, 0, Math.max(0, this.#matching.length - 1));
  }
  getSelectedItem() {
    return this.#matching[this.#selected] ?? null;
  }
  invalidate() {}

  render(width) {
    if (this.#matching.length === 0) return [this.#theme.noMatch("  No matching commands")];
    const column = this.#columnWidth();
    const { start, end } = this.#window();
    const lines = this.#matching.slice(start, end).map((item, row) => this.#line(item, start + row === this.#selected, width, column));
    if (start > 0 || end < this.#matching.length) {
      const position = `  (${this.#selected + 1}/${this.#matching.length})`;
      lines.push(this.#theme.scrollInfo(truncateToWidth(position, width - 2, "")));
    }
    return lines;
  }

  handleInput(data) {
    const keys = getKeybindings();
    const last = this.#matching.length - 1;
    if (keys.matches(data, "tui.select.up")) this.#choose(this.#selected === 0 ? last : this.#selected - 1);
    else if (keys.matches(data, "tui.select.down")) this.#choose(this.#selected === last ? 0 : this.#selected + 1);
    else if (keys.matches(data, "tui.select.confirm")) this.#confirm();
    else if (keys.matches(data, "tui.select.cancel")) this.onCancel?.();
  }

  handleMouse(event) {
    if (this.#matching.length === 0) return undefined;
    if (event.type === "wheel" && event.wheelDelta) {
      const before = this.#selected;
      const next = clamp(before + Math.sign(event.wheelDelta), 0, this.#matching.length - 1);
      if (next !== before) this.#choose(next);
      return { handled: true, render: next !== before };
    }
    const { start, end } = this.#window();
    const index = start + event.y;
    if (event.button !== "left" || index < start || index >= end) return undefined;
    if (event.type === "press") {
      this.#pressed = index;
      if (index !== this.#selected) this.#choose(index);
      return { handled: true, focus: true };
    }
    if (event.type !== "click") return undefined;
    // The visible range may have moved since the button was pressed.
    const clicked = this.#pressed ?? index;
    this.#pressed = undefined;
    if (clicked !== this.#selected) this.#choose(clicked);
    this.#confirm();
    return { handled: true };
  }

  #window() {
    return windowOf(this.#matching.length, this.#selected, this.#maxVisible);
  }
  #choose(index) {
    this.#selected = index;
    const item = this.#matching[index];
    if (item) this.onSelectionChange?.(item);
  }
  #confirm() {
    const item = this.#matching[this.#selected];
    if (item) this.onSelect?.(item);
  }
  #columnWidth() {
    const { minPrimaryColumnWidth: min, maxPrimaryColumnWidth: max } = this.#layout;
    const bounds = [min ?? max ?? DEFAULT_COLUMN_WIDTH, max ?? min ?? DEFAULT_COLUMN_WIDTH];
    const widest = Math.max(0, ...this.#matching.map((item) => visibleWidth(labelOf(item)) + GAP));
    return clamp(widest, Math.max(1, Math.min(...bounds)), Math.max(1, ...bounds));
  }
  #label(item, isSelected, maxWidth, columnWidth) {
    const text = labelOf(item);
    const cut = this.#layout.truncatePrimary?.({ text, maxWidth, columnWidth, item, isSelected }) ?? text;
    return truncateToWidth(cut, maxWidth, "");
  }
  #line(item, isSelected, width, column) {
    const pointer = isSelected ? "→ " : "  ";
    const withDescription = item.description && width > MIN_WIDTH_FOR_DESCRIPTIONS && this.#lineWithDescription(item, isSelected, width, column, pointer);
    if (withDescription) return withDescription;
    const room = width - pointer.length - 2;
    const line = pointer + this.#label(item, isSelected, room, room);
    return isSelected ? this.#theme.selectedText(line) : line;
  }
  // Returns the line with its description, or undefined if there is too little room.
  #lineWithDescription(item, isSelected, width, column, pointer) {
    const columnWidth = Math.max(1, Math.min(column, width - pointer.length - 4));
    const label = this.#label(item, isSelected, Math.max(1, columnWidth - GAP), columnWidth);
    const gap = " ".repeat(Math.max(1, columnWidth - visibleWidth(label)));
    const room = width - pointer.length - visibleWidth(label) - gap.length - 2;
    if (room <= MIN_DESCRIPTION) return undefined;
    const description = gap + truncateToWidth(oneLine(item.description), room, "");
    if (isSelected) return this.#theme.selectedText(pointer + label + description);
    return pointer + label + this.#theme.description(description);
  }
}
