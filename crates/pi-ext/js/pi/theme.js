// Theme colors for extensions. Without a terminal, text gets colors but no other attributes.
import { call } from "pi:host";
import { requireModule } from "pi:native";

const FOREGROUND_END = "\u001b[39m";
const BACKGROUND_END = "\u001b[49m";
const FAINT = "\u001b[2m";
// Changes only when a screen opens, which refreshes the theme.
let terminal;
const hasTerminal = () => (terminal ??= call("program.context").mode === "tui");

const THINKING = {
  off: "thinkingOff", minimal: "thinkingMinimal", low: "thinkingLow", medium: "thinkingMedium", high: "thinkingHigh", xhigh: "thinkingXhigh", max: "thinkingMax",
};

const BACKGROUNDS = ["userMessageBg", "customMessageBg", "toolPendingBg", "toolSuccessBg", "toolErrorBg"];

// Loaded when an extension first computes with colors.
const colorFunctions = () => requireModule("pi:tui/colors");

// Returns the escape sequence of a theme color: `#rrggbb`, a palette index, or nothing.
function sequence(value, layer, mode) {
  if (typeof value === "number") return `\u001b[${layer};5;${value}m`;
  if (!/^#[0-9a-f]{6}$/i.test(value ?? "")) return layer === 38 ? FOREGROUND_END : BACKGROUND_END;
  const [red, green, blue] = [1, 3, 5].map((start) => Number.parseInt(value.slice(start, start + 2), 16));
  if (mode !== "256color") return `\u001b[${layer};2;${red};${green};${blue}m`;
  const step = (part) => Math.round((part / 255) * 5);
  return `\u001b[${layer};5;${16 + 36 * step(red) + 6 * step(green) + step(blue)}m`;
}

function sequences(fgColors, bgColors, mode) {
  const colors = {};
  for (const [name, value] of Object.entries(fgColors ?? {})) colors[name] = sequence(value, 38, mode);
  for (const [name, value] of Object.entries(bgColors ?? {})) colors[name] = sequence(value, 48, mode);
  return colors;
}

const sgr = (open, close, text) => (hasTerminal() ? `\u001b[${open}m${text}\u001b[${close}m` : text);

// Writes one of the 16 basic colors as an index of the palette, and the default color explicitly.
function indexed(token, open) {
  const faint = open.endsWith(FAINT);
  const color = faint ? open.slice(0, -FAINT.length) : open;
  const [, layer, digit] = /^\u001b\[(3|4|9|10)([0-7])m$/.exec(color) ?? [];
  const index = layer && `\u001b[${layer === "4" || layer === "10" ? 48 : 38};5;${Number(digit) + (layer.length > 1 || layer === "9" ? 8 : 0)}m`;
  return (index ?? (color || (token.endsWith("Bg") ? BACKGROUND_END : FOREGROUND_END))) + (faint ? FAINT : "");
}

export class Theme {
  // Name, path, mode and escape sequences by token. For the current theme, loaded on first use.
  #data;
  #load;
  constructor(fgColors, bgColors, mode = "truecolor", options = {}) {
    this.#data = { name: options.name, path: options.sourcePath, mode, colors: sequences(fgColors, bgColors, mode) };
    this.sourceInfo = options.sourceInfo;
  }
  // Creates a theme from data of the program.
  static of(data) {
    const theme = new Theme();
    theme.#data = data;
    return theme;
  }
  // Creates a theme that always reflects the current one. `reload` discards the loaded data.
  static current(load) {
    const theme = Theme.of(undefined);
    theme.#load = load;
    return { theme, reload: () => (theme.#data = undefined) };
  }
  get #loaded() {
    return (this.#data ??= this.#load());
  }
  get name() {
    return this.#loaded.name;
  }
  get sourcePath() {
    return this.#loaded.path;
  }
  #sequenceOf(color) {
    const { colors } = this.#loaded;
    if (!colors) return undefined;
    if (!Object.hasOwn(colors, color)) throw new Error(`unknown theme color: ${color}`);
    return colors[color];
  }
  fg(color, text) {
    const open = this.#sequenceOf(color);
    return open === undefined ? text : `${open}${text}${open.endsWith(FAINT) ? "\u001b[22;39m" : FOREGROUND_END}`;
  }
  bg(color, text) {
    const open = this.#sequenceOf(color);
    return open === undefined ? text : `${open}${text}${BACKGROUND_END}`;
  }
  bold(text) {
    return sgr(1, 22, text);
  }
  italic(text) {
    return sgr(3, 23, text);
  }
  underline(text) {
    return sgr(4, 24, text);
  }
  inverse(text) {
    return sgr(7, 27, text);
  }
  strikethrough(text) {
    return sgr(9, 29, text);
  }
  getFgAnsi(color) {
    return this.#sequenceOf(color) ?? "";
  }
  getBgAnsi(color) {
    return this.#sequenceOf(color) ?? "";
  }
  getColorMode() {
    return this.#loaded.mode;
  }
  // Applies colors, which are tokens or colors of `pi-tui`, and attributes.
  style(text, options) {
    const { fg, bg } = options;
    const { mode } = this.#loaded;
    const colors = colorFunctions();
    const open = (color, make) => (typeof color === "string" ? this.#sequenceOf(color) : color && make(color, mode));
    return colors.styleTextWithAnsi(text, open(fg, colors.foregroundAnsi), open(bg, colors.backgroundAnsi), options);
  }
  // The background that the theme is for: of its background colors, else of its text.
  get appearance() {
    const { fixed } = this.#fixedColors;
    const lightness = (token) => fixed[token] && colorFunctions().colorToOklch(fixed[token]).l;
    const backgrounds = BACKGROUNDS.map(lightness).filter((value) => value !== undefined);
    if (backgrounds.length > 0) return backgrounds.reduce((sum, value) => sum + value, 0) / backgrounds.length > 0.5 ? "light" : "dark";
    return (lightness("text") ?? 1) < 0.5 ? "light" : "dark";
  }
  // The colors of all tokens. Those that the terminal decides are guessed from the appearance.
  get colors() {
    const { fixed, defaults } = this.#fixedColors;
    const [dark, light] = [colorFunctions().rgbColor(30, 30, 30), colorFunctions().rgbColor(229, 229, 231)];
    const isLight = this.appearance === "light";
    const colors = { ...fixed };
    for (const [token, isBackground] of defaults) colors[token] = isBackground === isLight ? light : dark;
    return Object.freeze(colors);
  }
  // Splits the tokens into those with a color and those with the terminal's default.
  get #fixedColors() {
    const [fixed, defaults] = [{}, []];
    const { rgbColor, indexedColor } = colorFunctions();
    for (const [token, open] of Object.entries(this.#loaded.colors ?? {})) {
      const [, kind, parts] = /^\u001b\[[34]8;([25]);([\d;]+)m/.exec(open) ?? [];
      const numbers = parts?.split(";").map(Number) ?? [];
      if (kind === "2" && numbers.length === 3) fixed[token] = rgbColor(...numbers);
      else if (kind === "5") fixed[token] = indexedColor(numbers[0]);
      else defaults.push([token, open === BACKGROUND_END]);
    }
    return { fixed, defaults };
  }
  getThinkingBorderColor(level) {
    return (text) => this.fg(THINKING[level] ?? "thinkingOff", text);
  }
  getBashModeBorderColor() {
    return (text) => this.fg("bashMode", text);
  }
}

const PLAIN = { name: "dark", mode: "truecolor", colors: undefined };
const current = Theme.current(() => {
  const data = call("screen.theme", {}) ?? PLAIN;
  if (hasTerminal() || !data.colors) return data;
  const colors = Object.fromEntries(Object.entries(data.colors).map(([token, open]) => [token, indexed(token, open)]));
  return { ...data, colors };
});

// The current theme.
export const theme = current.theme;

// Called when the theme changed.
export function refreshTheme() {
  terminal = undefined;
  current.reload();
}

// Returns a theme by name.
export function themeNamed(name) {
  const data = call("screen.theme", { name });
  return data ? Theme.of(data) : undefined;
}

const fg = (color) => (text) => theme.fg(color, text);

// Returns the lines of highlighted code.
function highlightCode(code, language) {
  return requireModule("pi:tui/syntax").highlightCode(code, language);
}

export function getMarkdownTheme() {
  return {
    heading: fg("mdHeading"),
    link: fg("mdLink"),
    linkUrl: fg("mdLinkUrl"),
    code: fg("mdCode"),
    codeBlock: fg("mdCodeBlock"),
    codeBlockBorder: fg("mdCodeBlockBorder"),
    quote: fg("mdQuote"),
    quoteBorder: fg("mdQuoteBorder"),
    hr: fg("mdHr"),
    listBullet: fg("mdListBullet"),
    bold: (text) => theme.bold(text),
    italic: (text) => theme.italic(text),
    underline: (text) => theme.underline(text),
    strikethrough: (text) => theme.strikethrough(text),
    highlightCode,
  };
}

export function getSelectListTheme() {
  return { selectedPrefix: fg("accent"), selectedText: fg("accent"), description: fg("muted"), scrollInfo: fg("muted"), noMatch: fg("muted") };
}

export function getEditorTheme() {
  return { borderColor: fg("borderMuted"), selectList: getSelectListTheme() };
}

export function getSettingsListTheme() {
  return {
    label: (text, selected) => (selected ? theme.fg("accent", text) : text),
    value: (text, selected) => theme.fg(selected ? "accent" : "muted", text),
    description: fg("dim"),
    cursor: theme.fg("accent", "→ "),
    hint: fg("dim"),
  };
}
