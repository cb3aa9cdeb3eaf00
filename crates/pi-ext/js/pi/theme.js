// Colours for the text of extensions. Without a terminal there are none, so text passes as it is.
export class Theme {
  constructor(name, colors = {}) {
    this.name = name;
    this.colors = colors;
  }
  #wrap(open, close, text) {
    return open ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  }
  fg(color, text) {
    return this.#wrap(this.colors[color]?.fg, 39, text);
  }
  bg(color, text) {
    return this.#wrap(this.colors[color]?.bg, 49, text);
  }
  bold(text) {
    return this.#wrap("1", 22, text);
  }
  italic(text) {
    return this.#wrap("3", 23, text);
  }
  underline(text) {
    return this.#wrap("4", 24, text);
  }
  inverse(text) {
    return this.#wrap("7", 27, text);
  }
  strikethrough(text) {
    return this.#wrap("9", 29, text);
  }
  getFgAnsi(color) {
    const code = this.colors[color]?.fg;
    return code ? `\u001b[${code}m` : "";
  }
  getBgAnsi(color) {
    const code = this.colors[color]?.bg;
    return code ? `\u001b[${code}m` : "";
  }
  getColorMode() {
    return "truecolor";
  }
  getThinkingBorderColor() {
    return (text) => text;
  }
  getBashModeBorderColor() {
    return (text) => text;
  }
}

export const theme = new Theme("dark");
