// Syntax highlighting.
import { query } from "pi:terminal";
import { theme } from "pi:pi/theme";
import { styleOf } from "pi:tui/widget";

const TOKENS = ["Comment", "Keyword", "Function", "Variable", "String", "Number", "Type", "Operator", "Punctuation"];

// Returns the theme's styles of syntax tokens.
export function syntaxStyles() {
  return Object.fromEntries(TOKENS.map((token) => [token.toLowerCase(), styleOf((text) => theme.fg(`syntax${token}`, text))]));
}

// Highlights code. Returns one line per source line.
export function highlightCode(code, language) {
  const plain = styleOf((text) => theme.fg("mdCodeBlock", text));
  return query("text.highlight", { code, language, syntax: syntaxStyles(), plain });
}
