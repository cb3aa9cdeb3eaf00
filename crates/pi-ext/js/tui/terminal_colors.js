// What a terminal answers about its colors.
const part = (digits) => Math.round((Number.parseInt(digits, 16) / (16 ** digits.length - 1)) * 255);

// Reads the answer to the question for the background.
export function parseOsc11BackgroundColor(data) {
  const rgb = /^\u001b\]11;rgba?:([\da-f]{1,4})\/([\da-f]{1,4})\/([\da-f]{1,4})/i.exec(data);
  if (rgb) return { r: part(rgb[1]), g: part(rgb[2]), b: part(rgb[3]) };
  const hex = /^\u001b\]11;#([\da-f]{2})([\da-f]{2})([\da-f]{2})(?:\u0007|\u001b\\)/i.exec(data);
  return hex ? { r: part(hex[1]), g: part(hex[2]), b: part(hex[3]) } : undefined;
}

// Reads the report of a light or a dark scheme.
export function parseTerminalColorSchemeReport(data) {
  const scheme = /^\u001b\[\?997;([12])n$/.exec(data);
  return scheme ? { 1: "dark", 2: "light" }[scheme[1]] : undefined;
}
