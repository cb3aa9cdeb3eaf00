// A horizontal line across the full width.
import { theme } from "pi:pi/theme";

export class DynamicBorder {
  #color;

  constructor(color = (text) => theme.fg("border", text)) {
    this.#color = color;
  }
  invalidate() {}
  render(width) {
    return [this.#color("─".repeat(Math.max(1, width)))];
  }
}
