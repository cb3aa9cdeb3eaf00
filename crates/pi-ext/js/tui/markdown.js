// Markdown, drawn by the terminal library in the colors of a theme's functions.
import { getCapabilities } from "pi:tui/capabilities";
import { paintOf, paintsOf, partFor } from "pi:tui/part";
import { syntaxPaints } from "pi:tui/syntax";

export class Markdown {
  #text;
  #paddingX;
  #paddingY;
  #theme;
  #base;
  #options;
  #part;
  #drawn;

  constructor(text, paddingX, paddingY, theme, defaultTextStyle = undefined, options = {}) {
    this.#text = text ?? "";
    this.#paddingX = paddingX ?? 0;
    this.#paddingY = paddingY ?? 0;
    this.#theme = theme;
    this.#base = defaultTextStyle;
    this.#options = options;
  }
  setText(text) {
    this.#text = text;
    this.#drawn = undefined;
  }
  invalidate() {
    // The theme may be another one.
    this.#part = undefined;
    this.#drawn = undefined;
  }
  render(width) {
    const columns = Math.max(1, Math.floor(width));
    if (this.#drawn?.width !== columns) this.#drawn = { width: columns, lines: this.#lay(columns) };
    return this.#drawn.lines;
  }
  #lay(width) {
    const room = Math.max(1, width - this.#paddingX * 2);
    const text = String(this.#options.transform?.(this.#text, room) ?? this.#text);
    if (this.#part) this.#part("setText", { text });
    else this.#part = partFor(this, "markdown", this.#described(text));
    return this.#part("render", { width });
  }
  #described(text) {
    const { color, bgColor, ...attributes } = this.#base ?? {};
    const { preserveOrderedListMarkers, preserveBackslashEscapes, renderLatex } = this.#options;
    return {
      text,
      paddingX: this.#paddingX,
      paddingY: this.#paddingY,
      paint: {
        ...paintsOf(this.#theme),
        codeBlockIndent: this.#theme?.codeBlockIndent,
        syntax: this.#theme?.highlightCode && syntaxPaints(),
        hyperlinks: getCapabilities().hyperlinks,
      },
      base: { ...attributes, color: paintOf(color) },
      background: bgColor && paintOf(bgColor),
      preserveOrderedListMarkers,
      preserveBackslashEscapes,
      renderLatex,
    };
  }
}
