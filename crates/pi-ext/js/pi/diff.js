// Text diffs.
import { call } from "pi:host";
import { theme } from "pi:pi/theme";

export function generateDiffString(before, after) {
  const { diff, firstChangedLine } = call("utility.diff", { before, after });
  return { diff, firstChangedLine: firstChangedLine ?? undefined };
}
export function generateUnifiedPatch(path, before, after) {
  return call("utility.diff", { before, after, path }).patch;
}

const SIGNS = { "+": "toolDiffAdded", "-": "toolDiffRemoved" };

// Colors the lines of a diff.
export function renderDiff(diff) {
  const lines = diff.split("\n").map((line) => theme.fg(SIGNS[line[0]] ?? "toolDiffContext", line.replaceAll("\t", "   ")));
  return lines.join("\n");
}
