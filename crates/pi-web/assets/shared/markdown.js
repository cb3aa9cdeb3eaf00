// A small Markdown renderer: headings, lists, quotes, tables, code, emphasis, links. HTML in the source is
// rendered as text. The running time is linear, and nesting is bounded.

import { coloredCode } from "./code_colors.js";
import { copyButton, element, imageElement, link } from "./element.js";
import { formula } from "./formula.js";
import { plainText } from "./terminal_text.js";

/** Longer texts are shown as plain text. */
const MAX_MARKDOWN_LENGTH = 300_000;

/** Deeper nesting is shown as plain text. */
const MAX_BLOCK_DEPTH = 8;
const MAX_INLINE_DEPTH = 12;

// The patterns are unambiguous, so malicious input cannot cause excessive backtracking.
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})([ \t].*)?$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** Renders Markdown text. */
export function markdown(text) {
  const container = element("div", { class: "markdown" });
  if (text.length > MAX_MARKDOWN_LENGTH) container.append(element("pre", { class: "plain" }, text));
  else container.append(markdownBlocks(plainText(text.replace(/\r\n?/g, "\n")).split("\n"), 0));
  return container;
}

function markdownBlocks(lines, depth) {
  const fragment = document.createDocumentFragment();
  if (depth > MAX_BLOCK_DEPTH) {
    fragment.append(element("p", null, lines.join("\n")));
    return fragment;
  }
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (line.trim() === "") at++;
    else if (FENCE.test(line)) at = readFence(lines, at, fragment);
    else if (HEADING.test(line)) at = readHeading(lines, at, fragment);
    else if (RULE.test(line)) at = readRule(at, fragment);
    else if (QUOTE.test(line)) at = readQuote(lines, at, fragment, depth);
    else if (ITEM.test(line)) at = readList(lines, at, fragment, depth);
    else if (isTable(lines, at)) at = readTable(lines, at, fragment);
    else at = readParagraph(lines, at, fragment);
  }
  return fragment;
}

function readFence(lines, start, fragment) {
  const [, fence, info] = FENCE.exec(lines[start]);
  const indent = lines[start].search(/\S/);
  const body = [];
  let at = start + 1;
  for (; at < lines.length; at++) {
    const closing = FENCE.exec(lines[at]);
    if (closing && closing[1][0] === fence[0] && closing[1].length >= fence.length && closing[2].trim() === "") break;
    const own = lines[at].search(/\S|$/);
    body.push(lines[at].slice(Math.min(indent, own)));
  }
  fragment.append(codeBlock(body.join("\n"), info.trim().split(/\s/)[0]));
  return at + 1;
}

/** Builds a block of code; changes are colored. */
export function codeBlock(text, language) {
  const code = element("code", null);
  if (language === "diff" || language === "patch") code.append(diffLines(text));
  else code.append(coloredCode(text, language));
  return element("div", { class: "code" }, element("div", { class: "code-head" }, language, copyButton(() => text)), element("pre", null, code));
}

/** Builds lines that are colored by whether they came, went or stayed. */
export function diffLines(text) {
  const fragment = document.createDocumentFragment();
  for (const line of text.split("\n")) {
    const kind = { "+": "added", "-": "removed", "@": "hunk" }[line[0]];
    fragment.append(element("span", { class: `diff-line ${kind ?? ""}` }, `${line}\n`));
  }
  return fragment;
}

function readHeading(lines, at, fragment) {
  const [, marks, text] = HEADING.exec(lines[at]);
  const title = (text ?? "").trim().replace(/(?:^|[ \t])#+$/, "");
  fragment.append(element(`h${marks.length}`, null, inline(title)));
  return at + 1;
}

function readRule(at, fragment) {
  fragment.append(element("hr"));
  return at + 1;
}

function readQuote(lines, start, fragment, depth) {
  let at = start;
  const body = [];
  for (; at < lines.length && lines[at].trim() !== ""; at++) {
    if (!QUOTE.test(lines[at]) && beginsBlock(lines[at])) break;
    body.push(lines[at].replace(QUOTE, ""));
  }
  fragment.append(element("blockquote", null, markdownBlocks(body, depth + 1)));
  return at;
}

function beginsBlock(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

function readList(lines, start, fragment, depth) {
  const marker = ITEM.exec(lines[start])[2];
  const isOrdered = /\d/.test(marker);
  const kind = marker.at(-1);
  const first = isOrdered ? Number.parseInt(marker, 10) : 1;
  const list = element(isOrdered ? "ol" : "ul", { start: first === 1 ? undefined : first });
  let at = start;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (!item || item[2].at(-1) !== kind || RULE.test(lines[at])) break;
    const width = item[3].length > 4 || item[3] === "" ? item[1].length + item[2].length + 1 : item[0].length;
    const body = [lines[at].slice(Math.min(width, item[0].length))];
    let isLoose = false;
    for (at++; at < lines.length; at++) {
      const line = lines[at];
      const indent = indentation(line);
      if (indent < 0) isLoose = true;
      else if (indent >= width) isLoose = false;
      else if (isLoose || beginsBlock(line)) break;
      body.push(indent < 0 ? "" : outdented(line, width));
    }
    list.append(listItem(body, depth));
  }
  fragment.append(list);
  return at;
}

/** Counts the columns before the text of a line; -1 for a blank one. */
function indentation(line) {
  const end = line.search(/\S/);
  let columns = 0;
  for (let at = 0; at < end; at++) columns += line[at] === "\t" ? 4 - (columns % 4) : 1;
  return end < 0 ? -1 : columns;
}

/** Takes columns off the front of a line, as far as they are blank. */
function outdented(line, columns) {
  let at = 0;
  for (let column = 0; column < columns && (line[at] === " " || line[at] === "\t"); at++) {
    column += line[at] === "\t" ? 4 - (column % 4) : 1;
  }
  return line.slice(at);
}

function listItem(body, depth) {
  const task = /^\[([ xX])\][ \t]+/.exec(body[0]);
  if (task) body[0] = body[0].slice(task[0].length);
  const content = markdownBlocks(body, depth + 1);
  // A single paragraph is unwrapped, so that the list stays tight.
  const only = content.firstElementChild;
  if (only?.tagName === "P") only.replaceWith(...only.childNodes);
  const box = task && element("input", { type: "checkbox", disabled: true, checked: task[1] !== " " });
  return element("li", { class: task ? "task" : undefined }, box, content);
}

function isTable(lines, at) {
  const rule = lines[at + 1];
  return lines[at].includes("|") && rule !== undefined && rule.length < 2000 && rule.includes("-") && TABLE_RULE.test(rule) && rule.includes("|");
}

function readTable(lines, start, fragment) {
  const heads = cells(lines[start]);
  const alignments = cells(lines[start + 1]).map((rule) => (rule.endsWith(":") ? (rule.startsWith(":") ? "center" : "right") : undefined));
  const row = (texts, tag) => element("tr", null, heads.map((_, column) => element(tag, { class: alignments[column] && `align-${alignments[column]}` }, inline(texts[column] ?? ""))));
  const body = element("tbody");
  let at = start + 2;
  for (; at < lines.length && lines[at].includes("|"); at++) body.append(row(cells(lines[at]), "td"));
  fragment.append(element("div", { class: "table" }, element("table", null, element("thead", null, row(heads, "th")), body)));
  return at;
}

/** Splits a row at the bars that are neither escaped nor in code. */
function cells(line) {
  const row = [""];
  let inCode = false;
  const text = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "`") inCode = !inCode;
    if (text[at] === "\\" && text[at + 1] === "|") row[row.length - 1] += text[++at];
    else if (text[at] === "|" && !inCode) row.push("");
    else row[row.length - 1] += text[at];
  }
  return row.map((cell) => cell.trim());
}

function readParagraph(lines, start, fragment) {
  let at = start + 1;
  while (at < lines.length && lines[at].trim() !== "" && !beginsBlock(lines[at]) && !isTable(lines, at)) at++;
  fragment.append(element("p", null, inline(lines.slice(start, at).map((line) => line.trimStart()).join("\n"))));
  return at;
}

const PLAIN = /[^\\`*_~[\]!<$h\n]+|h(?!ttps?:\/\/)/y;
/** A price or a shell variable is no formula: a dollar sign that closes one follows no blank and precedes no word. */
const DOLLAR_MATH = /\$\$([^$]+)\$\$|\$(?!\s)([^$\n]*[^$\s\\])\$(?!\w)/y;
const BRACKET_MATH = /\\\[([^]{1,4000}?)\\\]|\\\(([^]{1,1000}?)\\\)/y;
const BARE_URL = /https?:\/\/[^\s<>"'`]+/y;
const ANGLE_URL = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;
const DESTINATION = /\(\s{0,9}(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s{1,9}(?:"[^"]*"|'[^']*'))?\s{0,9}\)/y;

/** Builds the inside of a paragraph. */
function inline(text, depth = 0) {
  if (depth > 3) return document.createTextNode(text);
  const reader = { text, at: 0, pieces: [], depth, closers: bracketPairs(text), unclosedCode: new Set() };
  while (reader.at < text.length) readInline(reader);
  return emphasize(reader.pieces);
}

function readInline(reader) {
  const { text, at } = reader;
  const match = (pattern) => {
    pattern.lastIndex = reader.at;
    return pattern.exec(text);
  };
  const take = (length, piece) => {
    reader.at += length;
    reader.pieces.push(piece);
  };
  const plain = match(PLAIN);
  if (plain) return take(plain[0].length, { node: plain[0] });
  switch (text[at]) {
    case "$":
    case "\\": {
      const math = match(text[at] === "$" ? DOLLAR_MATH : BRACKET_MATH);
      if (math) return take(math[0].length, { node: formula(math[1] ?? math[2], math[1] !== undefined) });
      if (text[at] === "$") return take(1, { node: "$" });
      if (text[at + 1] === "\n") return take(2, { node: element("br") });
      return /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "") ? take(2, { node: text[at + 1] }) : take(1, { node: "\\" });
    }
    case "\n":
      return take(1, { node: / {2}$/.test(text.slice(Math.max(0, at - 2), at)) ? element("br") : "\n" });
    case "`": {
      const code = codeSpan(reader);
      return take(code.length, { node: code.node });
    }
    case "*":
    case "_":
    case "~":
      return readDelimiter(reader, take);
    case "<": {
      const url = match(ANGLE_URL);
      return url ? take(url[0].length, { node: link(url[1], url[1].replace(/^mailto:/, "")) }) : take(1, { node: "<" });
    }
    case "h": {
      const url = withoutPunctuation(match(BARE_URL)[0]);
      return take(url.length, { node: link(url, url) });
    }
    case "!":
    case "[":
      return readLink(reader, take);
    default:
      return take(1, { node: text[at] });
  }
}

/** Strips punctuation that belongs to the sentence around a URL. */
function withoutPunctuation(url) {
  const trailing = url.includes("(") ? ".,:;!?*_~]" : ".,:;!?*_~])";
  let end = url.length;
  while (trailing.includes(url[end - 1])) end--;
  return url.slice(0, end);
}

function codeSpan(reader) {
  const { text, at, unclosedCode } = reader;
  const run = /`+/y;
  run.lastIndex = at;
  const { length } = run.exec(text)[0];
  const ticks = "`".repeat(length);
  if (unclosedCode.has(length)) return { length, node: ticks };
  for (let end = text.indexOf(ticks, at + length); end >= 0; end = text.indexOf(ticks, end)) {
    run.lastIndex = end;
    const found = run.exec(text)[0].length;
    if (found === length) {
      const code = text.slice(at + length, end).replace(/\n/g, " ");
      const inner = /^ .* $/.test(code) && code.trim() !== "" ? code.slice(1, -1) : code;
      return { length: end + length - at, node: element("code", null, inner) };
    }
    end += found;
  }
  unclosedCode.add(length);
  return { length, node: ticks };
}

function readDelimiter(reader, take) {
  const { text, at } = reader;
  const mark = text[at];
  let length = 1;
  while (text[at + length] === mark) length++;
  const before = text[at - 1] ?? " ";
  const after = text[at + length] ?? " ";
  const isSpace = (character) => /\s/.test(character);
  const isWord = (character) => /[\p{L}\p{N}]/u.test(character);
  // Inside a word an underscore is a letter: snake_case is not emphasis.
  const isInWord = mark === "_" && isWord(before) && isWord(after);
  if (length > 3 || isInWord || (mark === "~" && length !== 2)) return take(length, { node: mark.repeat(length) });
  const isClosedByPunctuation = /[\p{P}\p{S}]/u;
  const canOpen = !isSpace(after) && (!isClosedByPunctuation.test(after) || isSpace(before) || isClosedByPunctuation.test(before));
  const canClose = !isSpace(before) && (!isClosedByPunctuation.test(before) || isSpace(after) || isClosedByPunctuation.test(after));
  return take(length, { mark, length, canOpen, canClose });
}

function readLink(reader, take) {
  const { text, at, closers, depth } = reader;
  const isImage = text[at] === "!";
  const open = isImage ? at + 1 : at;
  const close = text[open] === "[" ? closers.get(open) : undefined;
  if (close === undefined) return take(1, { node: text[at] });
  DESTINATION.lastIndex = close + 1;
  const destination = DESTINATION.exec(text);
  if (!destination) return take(1, { node: text[at] });
  const url = destination[1] ?? destination[2] ?? "";
  const label = text.slice(open + 1, close);
  const length = close + 1 + destination[0].length - at;
  if (!isImage) return take(length, { node: link(url, inline(label, depth + 1)) });
  const data = /^data:(image\/[a-z]+);base64,(.*)$/is.exec(url);
  // A remote image would reveal the reader to its server, so it becomes a link.
  return take(length, { node: data ? imageElement(data[1], data[2], label) : link(url, label || url) });
}

/** Finds for each opening bracket the one that closes it. */
function bracketPairs(text) {
  const open = [];
  const pairs = new Map();
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "[") open.push(at);
    else if (text[at] === "]" && open.length > 0) pairs.set(open.pop(), at);
  }
  return pairs;
}

/** Puts what stands between matching marks into emphasis. */
function emphasize(pieces) {
  const stack = [];
  for (const piece of pieces) {
    if (piece.mark === undefined) {
      stack.push(piece);
      continue;
    }
    while (piece.length > 0 && piece.canClose && closeEmphasis(stack, piece)) { /* one pair of marks after the other */ }
    if (piece.length > 0) {
      stack.push(piece);
      if (piece.canOpen) countOpener(stack, piece.mark, 1);
    }
  }
  const fragment = document.createDocumentFragment();
  for (const piece of stack) fragment.append(piece.mark === undefined ? piece.node : piece.mark.repeat(piece.length));
  return fragment;
}

function countOpener(stack, mark, change) {
  stack[`open${mark}`] = (stack[`open${mark}`] ?? 0) + change;
}

function closeEmphasis(stack, closer) {
  // Counting openers avoids searching all previous pieces for a closer that has none.
  if (!stack[`open${closer.mark}`]) return false;
  let at = stack.length - 1;
  while (at >= 0 && !(stack[at].mark === closer.mark && stack[at].canOpen)) at--;
  if (at < 0) return false;
  const opener = stack[at];
  const used = opener.length >= 2 && closer.length >= 2 ? 2 : 1;
  const inner = stack.splice(at + 1);
  for (const piece of inner) if (piece.mark !== undefined && piece.canOpen) countOpener(stack, piece.mark, -1);
  const level = 1 + inner.reduce((deepest, piece) => Math.max(deepest, piece.level ?? 0), 0);
  const children = inner.map((piece) => (piece.mark === undefined ? piece.node : piece.mark.repeat(piece.length)));
  const tag = closer.mark === "~" ? "del" : used === 2 ? "strong" : "em";
  opener.length -= used;
  closer.length -= used;
  if (opener.length === 0) {
    stack.pop();
    countOpener(stack, closer.mark, -1);
  }
  const marks = closer.mark.repeat(used);
  const node = level > MAX_INLINE_DEPTH ? fragmentOf([marks, ...children, marks]) : element(tag, null, children);
  stack.push({ node, level: level > MAX_INLINE_DEPTH ? 0 : level });
  return true;
}

function fragmentOf(children) {
  const fragment = document.createDocumentFragment();
  fragment.append(...children);
  return fragment;
}
