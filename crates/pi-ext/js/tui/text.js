// Text that is wrapped at words.
import { padAndStyle, wrapTextWithAnsi } from "pi:tui/measure";

export class Text {
  #text;
  #paddingX;
  #paddingY;
  #background;
  #rendered;

  constructor(text = "", paddingX = 1, paddingY = 1, background = undefined) {
    this.#text = text;
    this.#paddingX = paddingX;
    this.#paddingY = paddingY;
    this.#background = background;
  }
  setText(text) {
    this.#text = text;
    this.#rendered = undefined;
  }
  setCustomBgFn(background) {
    this.#background = background;
    this.#rendered = undefined;
  }
  invalidate() {
    this.#rendered = undefined;
  }
  render(width) {
    if (this.#rendered?.width !== width) this.#rendered = { width, lines: this.#renderLines(width) };
    return this.#rendered.lines;
  }
  #renderLines(width) {
    const text = String(this.#text ?? "");
    if (text.trim() === "") return [];
    // Leave at least one column for the text.
    const padding = Math.min(this.#paddingX, Math.max(0, Math.floor((width - 1) / 2)));
    const side = " ".repeat(padding);
    const fill = (line) => padAndStyle(line, width, this.#background);
    const lines = wrapTextWithAnsi(text.replaceAll("\t", "   "), Math.max(1, width - padding * 2));
    const space = Array.from({ length: this.#paddingY }, () => fill(""));
    return [...space, ...lines.map((line) => fill(side + line + side)), ...space];
  }
}
