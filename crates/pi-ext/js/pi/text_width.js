// How wide text is in a terminal, with its escape sequences left out, and how it is cut and wrapped to a width.
const ESCAPE = /\u001b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|_[^\u0007\u001b]*(?:\u0007|\u001b\\))/y;
const RESET = "\u001b[0m";
const TAB = "   ";

// First and last code points of characters that take two columns.
const WIDE = [
  [0x1100, 0x115f], [0x231a, 0x231b], [0x2329, 0x232a], [0x23e9, 0x23ec], [0x23f0, 0x23f0], [0x23f3, 0x23f3], [0x25fd, 0x25fe],
  [0x2614, 0x2615], [0x2648, 0x2653], [0x267f, 0x267f], [0x2693, 0x2693], [0x26a1, 0x26a1], [0x26aa, 0x26ab], [0x26bd, 0x26be],
  [0x26c4, 0x26c5], [0x26ce, 0x26ce], [0x26d4, 0x26d4], [0x26ea, 0x26ea], [0x26f2, 0x26f3], [0x26f5, 0x26f5], [0x26fa, 0x26fa],
  [0x26fd, 0x26fd], [0x2705, 0x2705], [0x270a, 0x270b], [0x2728, 0x2728], [0x274c, 0x274c], [0x274e, 0x274e], [0x2753, 0x2755],
  [0x2757, 0x2757], [0x2795, 0x2797], [0x27b0, 0x27b0], [0x27bf, 0x27bf], [0x2b1b, 0x2b1c], [0x2b50, 0x2b50], [0x2b55, 0x2b55],
  [0x2e80, 0x303e], [0x3041, 0x33ff], [0x3400, 0x4dbf], [0x4e00, 0x9fff], [0xa000, 0xa4cf], [0xa960, 0xa97f], [0xac00, 0xd7a3],
  [0xf900, 0xfaff], [0xfe10, 0xfe19], [0xfe30, 0xfe6f], [0xff00, 0xff60], [0xffe0, 0xffe6], [0x1f004, 0x1f004], [0x1f0cf, 0x1f0cf],
  [0x1f18e, 0x1f18e], [0x1f191, 0x1f19a], [0x1f1e6, 0x1f202], [0x1f210, 0x1f23b], [0x1f240, 0x1f248], [0x1f250, 0x1f251],
  [0x1f260, 0x1f265], [0x1f300, 0x1f64f], [0x1f680, 0x1f6ff], [0x1f7e0, 0x1f7eb], [0x1f90c, 0x1f9ff], [0x1fa70, 0x1faff],
  [0x20000, 0x3fffd],
];
const COMBINING = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;

function codePointWidth(character) {
  const code = character.codePointAt(0);
  if (code >= 0x20 && code < 0x7f) return 1;
  if (COMBINING.test(character)) return 0;
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

// Splits text into escape sequences and characters with what combines with them.
function* pieces(text) {
  let index = 0;
  while (index < text.length) {
    ESCAPE.lastIndex = index;
    const escape = text[index] === "\u001b" ? ESCAPE.exec(text) : null;
    if (escape) {
      yield { text: escape[0], width: 0, isEscape: true };
      index += escape[0].length;
      continue;
    }
    let piece = String.fromCodePoint(text.codePointAt(index));
    let width = piece === "\t" ? TAB.length : codePointWidth(piece);
    index += piece.length;
    // Marks, joiners and selectors belong to what stands before them.
    while (index < text.length) {
      const next = String.fromCodePoint(text.codePointAt(index));
      const joins = piece.endsWith("\u200d");
      if (!joins && !/[\p{Mn}\p{Me}\u200d\ufe0e\ufe0f]/u.test(next)) break;
      if (next === "\ufe0f" || joins) width = 2;
      piece += next;
      index += next.length;
    }
    yield { text: piece, width, isEscape: false };
  }
}

export function visibleWidth(text) {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const piece of pieces(text)) width += piece.width;
  return width;
}

export function stripTerminalSequences(text) {
  let plain = "";
  for (const piece of pieces(text)) if (!piece.isEscape) plain += piece.text;
  return plain;
}

// Cuts text to a width, with an ellipsis where something is left out.
export function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
  const width = visibleWidth(text);
  if (width <= maxWidth) return pad ? text + " ".repeat(maxWidth - width) : text;
  const room = maxWidth - visibleWidth(ellipsis);
  let cut = "";
  let used = 0;
  let styled = false;
  for (const piece of pieces(text)) {
    if (!piece.isEscape && used + piece.width > Math.max(0, room)) break;
    styled ||= piece.isEscape;
    cut += piece.text;
    used += piece.width;
  }
  const tail = room < 0 ? truncatePlain(ellipsis, maxWidth) : ellipsis;
  const result = styled ? `${cut}${RESET}${tail}` : cut + tail;
  return pad ? result + " ".repeat(Math.max(0, maxWidth - visibleWidth(result))) : result;
}

function truncatePlain(text, maxWidth) {
  let cut = "";
  for (const piece of pieces(text)) {
    if (visibleWidth(cut) + piece.width > maxWidth) break;
    cut += piece.text;
  }
  return cut;
}

// Returns the columns from one place on.
export function sliceByColumn(text, start, length) {
  let column = 0;
  let slice = "";
  for (const piece of pieces(text)) {
    if (piece.isEscape || (column >= start && column + piece.width <= start + length)) slice += piece.text;
    column += piece.width;
  }
  return slice;
}

// Which styles are on after some text.
function stylesAfter(text, before) {
  let open = before;
  for (const piece of pieces(text)) {
    if (!piece.isEscape || !piece.text.endsWith("m")) continue;
    open = piece.text === RESET || piece.text === "\u001b[m" ? "" : open + piece.text;
  }
  return open;
}

function words(line) {
  const parts = [];
  let current = "";
  let isSpace;
  for (const piece of pieces(line)) {
    const space = !piece.isEscape && /^\s$/.test(piece.text);
    if (!piece.isEscape && isSpace !== undefined && space !== isSpace) {
      parts.push(current);
      current = "";
    }
    if (!piece.isEscape) isSpace = space;
    current += piece.text;
  }
  if (current) parts.push(current);
  return parts;
}

// Wraps text at words; styles go on in the next line.
export function wrapTextWithAnsi(text, width) {
  const lines = [];
  let open = "";
  const end = (line) => {
    lines.push(line);
    open = stylesAfter(line, "");
  };
  for (const source of String(text).split("\n")) {
    let line = open;
    for (const word of words(source)) {
      if (visibleWidth(line) + visibleWidth(word) <= width) {
        line += word;
        continue;
      }
      if (visibleWidth(line) > 0) {
        end(line.trimEnd());
        line = open;
        if (word.trim() === "") continue;
      }
      for (const piece of pieces(word)) {
        if (visibleWidth(line) + piece.width > width && visibleWidth(line) > 0) {
          end(line);
          line = open;
        }
        line += piece.text;
      }
    }
    end(line);
  }
  return lines;
}
