// Compositing of lines.
import { padToWidth, sliceByColumn, visibleWidth } from "pi:tui/measure";

const RESET = "\u001b[0m\u001b]8;;\u0007";

// Draws `overlay` over `base` at a column, `width` columns wide. The result is `total` columns wide.
export function compositeTuiLine(base, overlay, column, width, total) {
  const before = padToWidth(sliceByColumn(base, 0, column, true), column);
  const over = padToWidth(sliceByColumn(overlay, 0, width, true), width);
  const rest = column + width;
  const after = rest < total && visibleWidth(base) > rest ? sliceByColumn(base, rest, total - rest, true) : "";
  const line = before + RESET + over + RESET + padToWidth(after, Math.max(0, total - rest));
  return visibleWidth(line) > total ? sliceByColumn(line, 0, total, true) : line;
}
