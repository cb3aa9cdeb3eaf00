// Code in color.
import { answer } from "pi:terminal";
import { theme } from "pi:pi/theme";
import { paintOf } from "pi:tui/part";

const PARTS = ["Comment", "Keyword", "Function", "Variable", "String", "Number", "Type", "Operator", "Punctuation"];

// What the theme puts around each part of code.
export function syntaxPaints() {
  return Object.fromEntries(PARTS.map((part) => [part.toLowerCase(), paintOf((text) => theme.fg(`syntax${part}`, text))]));
}

// Colors code; one line of it for each of the source.
export function highlightCode(code, language) {
  const plain = paintOf((text) => theme.fg("mdCodeBlock", text));
  return answer("text.highlight", { code, language, syntax: syntaxPaints(), plain });
}
