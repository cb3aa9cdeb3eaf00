// Settings list. Values are changed in place or in a submenu.
import { fuzzyFilter } from "pi:tui/fuzzy";
import { Input } from "pi:tui/input";
import { getKeybindings } from "pi:tui/keybindings";
import { padToWidth, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "pi:tui/measure";
import { windowOf } from "pi:tui/select_list";

const MAX_LABEL_WIDTH = 36;
const HINT = "  Enter/Space to change · Esc to cancel";
const SEARCH_HINT = "  Type to search · Enter/Space to change · Esc to cancel";

export class SettingsList {
  #items;
  #matching;
  #maxVisible;
  #theme;
  #onChange;
  #onCancel;
  #search;
  #selected = 0;
  #pressed;
  #submenu;

  constructor(items, maxVisible, theme, onChange, onCancel, options = {}) {
    this.#items = this.#matching = items;
    this.#maxVisible = maxVisible;
    this.#theme = theme;
    this.#onChange = onChange;
    this.#onCancel = onCancel;
    if (options.enableSearch) this.#search = new Input();
  }
  updateValue(id, value) {
    const item = this.#items.find((candidate) => candidate.id === id);
    if (item) item.currentValue = value;
  }
  selectItem(id) {
    const index = this.#matching.findIndex((item) => item.id === id);
    if (index >= 0) this.#selected = index;
  }
  invalidate() {
    this.#submenu?.component.invalidate?.();
  }

  render(width) {
    if (this.#submenu) return this.#submenu.component.render(width);
    const lines = this.#search ? [...this.#search.render(width), ""] : [];
    if (this.#items.length === 0) {
      lines.push(this.#theme.hint("  No settings available"));
      return this.#search ? [...lines, ...this.#hint(width)] : lines;
    }
    if (this.#matching.length === 0) {
      return [...lines, truncateToWidth(this.#theme.hint("  No matching settings"), width), ...this.#hint(width)];
    }
    return [...lines, ...this.#rows(width), ...this.#description(width), ...this.#hint(width)];
  }

  handleInput(data) {
    if (this.#submenu) return void this.#submenu.component.handleInput?.(data);
    const keys = getKeybindings();
    const last = this.#matching.length - 1;
    const isSpace = data === " " && !this.#search?.getValue();
    if (keys.matches(data, "tui.select.up")) {
      if (last >= 0) this.#selected = this.#selected === 0 ? last : this.#selected - 1;
    } else if (keys.matches(data, "tui.select.down")) {
      if (last >= 0) this.#selected = this.#selected === last ? 0 : this.#selected + 1;
    } else if (keys.matches(data, "tui.select.confirm") || isSpace) {
      this.#activate();
    } else if (keys.matches(data, "tui.select.cancel")) {
      this.#onCancel();
    } else if (this.#search) {
      this.#search.handleInput(data);
      this.#matching = fuzzyFilter(this.#items, this.#search.getValue(), (item) => item.label);
      this.#selected = 0;
    }
  }

  handleMouse(event) {
    const focused = (result) => (result ? { ...result, focus: true } : undefined);
    if (this.#submenu) return focused(this.#submenu.component.handleMouse?.(event));
    if (this.#search && event.y < 2) return event.y === 0 ? focused(this.#search.handleMouse?.(event)) : undefined;
    if (this.#matching.length === 0) return undefined;
    if (event.type === "wheel" && event.wheelDelta) {
      const before = this.#selected;
      this.#selected = Math.max(0, Math.min(this.#matching.length - 1, before + Math.sign(event.wheelDelta)));
      return { handled: true, render: this.#selected !== before };
    }
    const { start, end } = this.#window();
    const index = start + event.y - (this.#search ? 2 : 0);
    if (event.button !== "left" || index < start || index >= end) return undefined;
    if (event.type === "press") {
      this.#pressed = this.#selected = index;
      return { handled: true, focus: true };
    }
    if (event.type !== "click") return undefined;
    this.#selected = this.#pressed ?? index;
    this.#pressed = undefined;
    this.#activate();
    return { handled: true };
  }

  #window() {
    return windowOf(this.#matching.length, this.#selected, this.#maxVisible);
  }
  #rows(width) {
    const { start, end } = this.#window();
    const labelWidth = Math.min(MAX_LABEL_WIDTH, Math.max(...this.#items.map((item) => visibleWidth(item.label))));
    const rows = this.#matching.slice(start, end).map((item, row) => {
      const isSelected = start + row === this.#selected;
      const pointer = isSelected ? this.#theme.cursor : "  ";
      const label = this.#theme.label(padToWidth(item.label, labelWidth), isSelected);
      const room = width - visibleWidth(pointer) - labelWidth - 4;
      const value = this.#theme.value(truncateToWidth(item.currentValue, room, ""), isSelected);
      return truncateToWidth(`${pointer}${label}  ${value}`, width);
    });
    if (start > 0 || end < this.#matching.length) {
      const position = `  (${this.#selected + 1}/${this.#matching.length})`;
      rows.push(this.#theme.hint(truncateToWidth(position, width - 2, "")));
    }
    return rows;
  }
  #description(width) {
    const text = this.#matching[this.#selected]?.description;
    if (!text) return [];
    return ["", ...wrapTextWithAnsi(text, width - 4).map((line) => this.#theme.description(`  ${line}`))];
  }
  #hint(width) {
    return ["", truncateToWidth(this.#theme.hint(this.#search ? SEARCH_HINT : HINT), width)];
  }

  #activate() {
    const item = this.#matching[this.#selected];
    if (!item) return;
    if (item.submenu) {
      const opened = { index: this.#selected };
      this.#submenu = opened;
      opened.component = item.submenu(item.currentValue, (value, options) => this.#close(item, opened, value, options?.navigateTo));
    } else if (item.values?.length > 0) {
      this.#set(item, item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length]);
    }
  }
  #set(item, value) {
    item.currentValue = value;
    this.#onChange(item.id, value);
  }
  #close(item, opened, value, navigateTo) {
    if (value !== undefined) this.#set(item, value);
    this.#submenu = undefined;
    if (navigateTo) {
      this.selectItem(navigateTo);
      this.#activate();
    } else {
      this.#selected = opened.index;
    }
  }
}
