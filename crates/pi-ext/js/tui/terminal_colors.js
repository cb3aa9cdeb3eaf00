// Parsing of terminal color reports.
const channel = (digits) => Math.round((Number.parseInt(digits, 16) / (16 ** digits.length - 1)) * 255);

// Parses the response to an OSC 11 background color query.
export function parseOsc11BackgroundColor(data) {
  const rgb = /^\u001b\]11;rgba?:([\da-f]{1,4})\/([\da-f]{1,4})\/([\da-f]{1,4})/i.exec(data);
  if (rgb) return { r: channel(rgb[1]), g: channel(rgb[2]), b: channel(rgb[3]) };
  const hex = /^\u001b\]11;#([\da-f]{2})([\da-f]{2})([\da-f]{2})(?:\u0007|\u001b\\)/i.exec(data);
  return hex ? { r: channel(hex[1]), g: channel(hex[2]), b: channel(hex[3]) } : undefined;
}

// Parses a light or dark color scheme report.
export function parseTerminalColorSchemeReport(data) {
  const scheme = /^\u001b\[\?997;([12])n$/.exec(data);
  return scheme ? { 1: "dark", 2: "light" }[scheme[1]] : undefined;
}
