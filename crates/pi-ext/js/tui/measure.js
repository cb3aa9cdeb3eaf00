// Text measurement, truncation, wrapping and padding, implemented by the TUI library with a fast path for ASCII.
import { query, sliceText, truncateText, widthOf, wrapText } from "pi:terminal";

const PLAIN = /^[\x20-\x7e]*$/;

export function visibleWidth(text) {
  return PLAIN.test(text) ? text.length : widthOf(text);
}

export function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
  if (maxWidth <= 0) return "";
  const fits = text.length <= maxWidth && PLAIN.test(text);
  const cut = fits ? text : truncateText(text, maxWidth, ellipsis);
  return pad ? padToWidth(cut, maxWidth) : cut;
}

export function wrapTextWithAnsi(text, width) {
  if (!text) return [""];
  return text.length <= width && PLAIN.test(text) ? [text] : wrapText(text, width);
}

export function sliceByColumn(line, start, length, strict = false) {
  return length <= 0 ? "" : sliceText(line, start, length, strict);
}

export function stripTerminalSequences(text) {
  return text.includes("\u001b") || text.includes("\u009b") ? query("text.strip", { text }) : text;
}

export function getOsc8LinkAtColumn(line, column) {
  return query("text.link", { line, column }) ?? undefined;
}

// Pads a line with spaces.
export function padToWidth(line, width) {
  const missing = width - visibleWidth(line);
  return missing > 0 ? line + " ".repeat(missing) : line;
}

// Pads a line and applies a style function, if any.
export function padAndStyle(line, width, style) {
  const padded = padToWidth(line, width);
  return style ? style(padded) : padded;
}
