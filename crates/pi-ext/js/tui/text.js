// Text, wrapped at words.
import { filled, wrapTextWithAnsi } from "pi:tui/measure";

export class Text {
  #text;
  #paddingX;
  #paddingY;
  #background;
  #drawn;

  constructor(text = "", paddingX = 1, paddingY = 1, background = undefined) {
    this.#text = text;
    this.#paddingX = paddingX;
    this.#paddingY = paddingY;
    this.#background = background;
  }
  setText(text) {
    this.#text = text;
    this.#drawn = undefined;
  }
  setCustomBgFn(background) {
    this.#background = background;
    this.#drawn = undefined;
  }
  invalidate() {
    this.#drawn = undefined;
  }
  render(width) {
    if (this.#drawn?.width !== width) this.#drawn = { width, lines: this.#lay(width) };
    return this.#drawn.lines;
  }
  #lay(width) {
    const text = String(this.#text ?? "");
    if (text.trim() === "") return [];
    // Narrow places keep a column for the text.
    const padding = Math.min(this.#paddingX, Math.max(0, Math.floor((width - 1) / 2)));
    const side = " ".repeat(padding);
    const fill = (line) => filled(line, width, this.#background);
    const lines = wrapTextWithAnsi(text.replaceAll("\t", "   "), Math.max(1, width - padding * 2));
    const space = Array.from({ length: this.#paddingY }, () => fill(""));
    return [...space, ...lines.map((line) => fill(side + line + side)), ...space];
  }
}
