// A line to type into.
import { paintOf, partFor } from "pi:tui/part";

export class Input {
  onSubmit;
  onEscape;
  focused = false;
  #part;

  constructor(options = {}) {
    const { prompt, placeholder, placeholderStyle } = options;
    this.#part = partFor(this, "field", {
      prompt,
      placeholder,
      placeholderStyle: placeholderStyle && paintOf(placeholderStyle),
    });
  }
  getValue() {
    return this.#part("value");
  }
  setValue(value) {
    this.#part("setValue", { value: String(value) });
  }
  invalidate() {}
  render(width) {
    return this.#part("render", { width: Math.max(0, Math.floor(width)), focused: Boolean(this.focused) });
  }
  handleInput(data) {
    for (const event of this.#part("input", { data })) {
      if (event.type === "submit") this.onSubmit?.(event.text);
      else this.onEscape?.();
    }
  }
  handleMouse(event) {
    if (event.button !== "left" || event.type !== "press") return undefined;
    return { handled: true, focus: true };
  }
}
