// Markdown, rendered by the TUI library with the styles of a theme.
import { getCapabilities } from "pi:tui/capabilities";
import { styleOf, stylesOf, widgetFor } from "pi:tui/widget";
import { syntaxStyles } from "pi:tui/syntax";

export class Markdown {
  #text;
  #paddingX;
  #paddingY;
  #theme;
  #base;
  #options;
  #widget;
  #rendered;

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
    this.#rendered = undefined;
  }
  invalidate() {
    // The theme may have changed.
    this.#widget = undefined;
    this.#rendered = undefined;
  }
  render(width) {
    const columns = Math.max(1, Math.floor(width));
    if (this.#rendered?.width !== columns) this.#rendered = { width: columns, lines: this.#renderLines(columns) };
    return this.#rendered.lines;
  }
  #renderLines(width) {
    const room = Math.max(1, width - this.#paddingX * 2);
    const text = String(this.#options.transform?.(this.#text, room) ?? this.#text);
    if (this.#widget) this.#widget("setText", { text });
    else this.#widget = widgetFor(this, "markdown", this.#widgetOptions(text));
    return this.#widget("render", { width });
  }
  #widgetOptions(text) {
    const { color, bgColor, ...attributes } = this.#base ?? {};
    const { preserveOrderedListMarkers, preserveBackslashEscapes, renderLatex } = this.#options;
    return {
      text,
      paddingX: this.#paddingX,
      paddingY: this.#paddingY,
      paint: {
        ...stylesOf(this.#theme),
        codeBlockIndent: this.#theme?.codeBlockIndent,
        syntax: this.#theme?.highlightCode && syntaxStyles(),
        hyperlinks: getCapabilities().hyperlinks,
      },
      base: { ...attributes, color: styleOf(color) },
      background: bgColor && styleOf(bgColor),
      preserveOrderedListMarkers,
      preserveBackslashEscapes,
      renderLatex,
    };
  }
}
