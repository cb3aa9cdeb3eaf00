// Single-line text input.
import { styleOf, widgetFor } from "pi:tui/widget";

export class Input {
  onSubmit;
  onEscape;
  focused = false;
  #widget;

  constructor(options = {}) {
    const { prompt, placeholder, placeholderStyle } = options;
    this.#widget = widgetFor(this, "field", {
      prompt,
      placeholder,
      placeholderStyle: placeholderStyle && styleOf(placeholderStyle),
    });
  }
  getValue() {
    return this.#widget("value");
  }
  setValue(value) {
    this.#widget("setValue", { value: String(value) });
  }
  invalidate() {}
  render(width) {
    return this.#widget("render", { width: Math.max(0, Math.floor(width)), focused: Boolean(this.focused) });
  }
  handleInput(data) {
    for (const event of this.#widget("input", { data })) {
      if (event.type === "submit") this.onSubmit?.(event.text);
      else this.onEscape?.();
    }
  }
  handleMouse(event) {
    if (event.button !== "left" || event.type !== "press") return undefined;
    return { handled: true, focus: true };
  }
}
