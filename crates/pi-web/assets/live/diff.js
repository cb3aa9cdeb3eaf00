// Diffs with line numbers in a gutter, and the changed words of a line marked.

import { element } from "../shared/element.js";

/** Longer lines are not compared word by word. */
const MAX_WORDS_LENGTH = 2_000;

/**
 * Builds a diff. Understands the numbered lines of `edit` (`+12 text`) and unified diffs.
 * @param {string} text
 */
export function numberedDiff(text) {
  const fragment = document.createDocumentFragment();
  const lines = text.split("\n").map(parseLine);
  for (let at = 0; at < lines.length; at++) {
    const removed = runOf(lines, at, "removed");
    const added = removed > 0 ? runOf(lines, at + removed, "added") : 0;
    if (removed === 0 || removed !== added) {
      const count = Math.max(removed, 1);
      for (const line of lines.slice(at, at + count)) fragment.append(buildLine(line, [line.text]));
      at += count - 1;
      continue;
    }
    const pairs = Array.from({ length: removed }, (_, offset) => changedWords(lines[at + offset].text, lines[at + removed + offset].text));
    pairs.forEach(([before], offset) => fragment.append(buildLine(lines[at + offset], before)));
    pairs.forEach(([, after], offset) => fragment.append(buildLine(lines[at + removed + offset], after)));
    at += removed + added - 1;
  }
  return fragment;
}

function parseLine(line) {
  const numbered = /^([+\- ])(\s*\d+) (.*)$/.exec(line) ?? /^([+\- ])(\s*\d+)()$/.exec(line);
  const kind = { "+": "added", "-": "removed", "@": "hunk" }[line[0]] ?? "";
  if (numbered) return { kind, number: numbered[2].trim(), text: numbered[3] };
  if (/^\s*\.\.\.\s*$/.test(line)) return { kind: "hunk", number: "", text: "⋯" };
  return { kind, number: "", text: kind === "hunk" ? line : line.slice(1) };
}

function runOf(lines, start, kind) {
  let count = 0;
  while (lines[start + count]?.kind === kind) count++;
  return count;
}

function buildLine({ kind, number }, parts) {
  const sign = { added: "+", removed: "−" }[kind] ?? " ";
  return element("span", { class: `diff-line numbered ${kind}` },
    element("span", { class: "gutter", "aria-hidden": "true" }, number),
    element("span", { class: "sign" }, sign),
    element("span", { class: "diff-text" }, parts, "\n"));
}

/** Marks what differs between two lines: everything between their common beginning and end. */
function changedWords(before, after) {
  if (before.length > MAX_WORDS_LENGTH || after.length > MAX_WORDS_LENGTH) return [[before], [after]];
  const words = (text) => text.match(/\w+|\s+|[^\w\s]/g) ?? [];
  const [left, right] = [words(before), words(after)];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) end++;
  const isUnrelated = start + end === 0 || left.slice(0, start).concat(left.slice(left.length - end)).join("").trim() === "";
  if (isUnrelated) return [[before], [after]];
  const marked = (all) => {
    const middle = all.slice(start, all.length - end).join("");
    return [all.slice(0, start).join(""), middle !== "" && element("mark", null, middle), all.slice(all.length - end).join("")];
  };
  return [marked(left), marked(right)];
}
