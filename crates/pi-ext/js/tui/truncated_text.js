// The first line of a text, truncated to the width.
import { padToWidth, truncateToWidth } from "pi:tui/measure";

export class TruncatedText {
  #text;
  #paddingX;
  #paddingY;

  constructor(text, paddingX = 0, paddingY = 0) {
    this.#text = text;
    this.#paddingX = paddingX;
    this.#paddingY = paddingY;
  }
  setText(text) {
    this.#text = text;
  }
  invalidate() {}
  render(width) {
    const side = " ".repeat(this.#paddingX);
    const line = truncateToWidth(String(this.#text).split("\n", 1)[0], Math.max(1, width - this.#paddingX * 2));
    const space = Array.from({ length: this.#paddingY }, () => " ".repeat(width));
    return [...space, padToWidth(side + line + side, width), ...space];
  }
}
