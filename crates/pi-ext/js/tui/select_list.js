// A list to choose from: labels, descriptions, a selection that goes around.
import { getKeybindings } from "pi:tui/keybindings";
import { truncateToWidth, visibleWidth } from "pi:tui/measure";

const COLUMN = 32;
const GAP = 2;
const SHORTEST_DESCRIPTION = 10;
// Narrower than this there is no room for descriptions.
const DESCRIPTIONS_FROM = 40;

const between = (value, low, high) => Math.max(low, Math.min(value, high));
const oneLine = (text) => text.replace(/[\r\n]+/g, " ").trim();
const shownAs = (item) => item.label || item.value;

// The rows of a long list that are in sight, with the selection in their middle.
export function windowOf(count, selected, size) {
  const start = Math.max(0, Math.min(selected - Math.floor(size / 2), count - size));
  return { start, end: Math.min(start + size, count) };
}

export class SelectList {
  onSelect;
  onCancel;
  onSelectionChange;
  #items;
  #fitting;
  #maxVisible;
  #theme;
  #layout;
  #selected = 0;
  #pressed;

  constructor(items, maxVisible, theme, layout = {}) {
    this.#items = this.#fitting = items;
    this.#maxVisible = maxVisible;
    this.#theme = theme;
    this.#layout = layout;
  }
  setFilter(filter) {
    const start = filter.toLowerCase();
    this.#fitting = this.#items.filter((item) => item.value.toLowerCase().startsWith(start));
    this.#selected = 0;
  }
  setSelectedIndex(index) {
    this.#selected = between(index, 0, Math.max(0, this.#fitting.length - 1));
  }
  getSelectedItem() {
    return this.#fitting[this.#selected] ?? null;
  }
  invalidate() {}

  render(width) {
    if (this.#fitting.length === 0) return [this.#theme.noMatch("  No matching commands")];
    const column = this.#columnWidth();
    const { start, end } = this.#window();
    const lines = this.#fitting.slice(start, end).map((item, row) => this.#line(item, start + row === this.#selected, width, column));
    if (start > 0 || end < this.#fitting.length) {
      const position = `  (${this.#selected + 1}/${this.#fitting.length})`;
      lines.push(this.#theme.scrollInfo(truncateToWidth(position, width - 2, "")));
    }
    return lines;
  }

  handleInput(data) {
    const keys = getKeybindings();
    const last = this.#fitting.length - 1;
    if (keys.matches(data, "tui.select.up")) this.#choose(this.#selected === 0 ? last : this.#selected - 1);
    else if (keys.matches(data, "tui.select.down")) this.#choose(this.#selected === last ? 0 : this.#selected + 1);
    else if (keys.matches(data, "tui.select.confirm")) this.#confirm();
    else if (keys.matches(data, "tui.select.cancel")) this.onCancel?.();
  }

  handleMouse(event) {
    if (this.#fitting.length === 0) return undefined;
    if (event.type === "wheel" && event.wheelDelta) {
      const before = this.#selected;
      const next = between(before + Math.sign(event.wheelDelta), 0, this.#fitting.length - 1);
      if (next !== before) this.#choose(next);
      return { handled: true, render: next !== before };
    }
    const { start, end } = this.#window();
    const place = start + event.y;
    if (event.button !== "left" || place < start || place >= end) return undefined;
    if (event.type === "press") {
      this.#pressed = place;
      if (place !== this.#selected) this.#choose(place);
      return { handled: true, focus: true };
    }
    if (event.type !== "click") return undefined;
    // The window may have moved with the selection since the button went down.
    const clicked = this.#pressed ?? place;
    this.#pressed = undefined;
    if (clicked !== this.#selected) this.#choose(clicked);
    this.#confirm();
    return { handled: true };
  }

  #window() {
    return windowOf(this.#fitting.length, this.#selected, this.#maxVisible);
  }
  #choose(place) {
    this.#selected = place;
    const item = this.#fitting[place];
    if (item) this.onSelectionChange?.(item);
  }
  #confirm() {
    const item = this.#fitting[this.#selected];
    if (item) this.onSelect?.(item);
  }
  #columnWidth() {
    const { minPrimaryColumnWidth: min, maxPrimaryColumnWidth: max } = this.#layout;
    const bounds = [min ?? max ?? COLUMN, max ?? min ?? COLUMN];
    const widest = Math.max(0, ...this.#fitting.map((item) => visibleWidth(shownAs(item)) + GAP));
    return between(widest, Math.max(1, Math.min(...bounds)), Math.max(1, ...bounds));
  }
  #label(item, isSelected, maxWidth, columnWidth) {
    const text = shownAs(item);
    const cut = this.#layout.truncatePrimary?.({ text, maxWidth, columnWidth, item, isSelected }) ?? text;
    return truncateToWidth(cut, maxWidth, "");
  }
  #line(item, isSelected, width, column) {
    const pointer = isSelected ? "→ " : "  ";
    const withDescription = item.description && width > DESCRIPTIONS_FROM && this.#described(item, isSelected, width, column, pointer);
    if (withDescription) return withDescription;
    const room = width - pointer.length - 2;
    const line = pointer + this.#label(item, isSelected, room, room);
    return isSelected ? this.#theme.selectedText(line) : line;
  }
  // The line with its description, unless too little of that would be seen.
  #described(item, isSelected, width, column, pointer) {
    const columnWidth = Math.max(1, Math.min(column, width - pointer.length - 4));
    const label = this.#label(item, isSelected, Math.max(1, columnWidth - GAP), columnWidth);
    const gap = " ".repeat(Math.max(1, columnWidth - visibleWidth(label)));
    const room = width - pointer.length - visibleWidth(label) - gap.length - 2;
    if (room <= SHORTEST_DESCRIPTION) return undefined;
    const description = gap + truncateToWidth(oneLine(item.description), room, "");
    if (isSelected) return this.#theme.selectedText(pointer + label + description);
    return pointer + label + this.#theme.description(description);
  }
}
