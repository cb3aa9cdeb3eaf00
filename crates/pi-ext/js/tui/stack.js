// Vertical and horizontal flex containers.
import { compositeTuiLine } from "pi:tui/composite";
import { Container } from "pi:tui/container";
import { visibleWidth } from "pi:tui/measure";

const toSize = (value, fallback) => (Number.isFinite(value) ? Math.max(0, Math.floor(value)) : fallback);

class Stack extends Container {
  entries = [];
  gap;
  align;

  constructor(children = [], options = {}) {
    super();
    this.gap = toSize(options.gap, 0);
    this.align = options.align ?? "stretch";
    for (const child of children) {
      if (typeof child.render === "function") this.addChild(child);
      else this.addChild(child.component, child);
    }
  }
  addChild(component, options = {}) {
    super.addChild(component);
    const { basis, grow, shrink, minSize, maxSize, visible } = options;
    this.entries.push({
      component,
      visible,
      basis: basis === "auto" ? undefined : basis,
      grow: toSize(grow, 0),
      shrink: toSize(shrink, 1),
      min: toSize(minSize, 0),
      max: toSize(maxSize, Number.MAX_SAFE_INTEGER),
    });
  }
  removeChild(component) {
    super.removeChild(component);
    this.entries = this.entries.filter((entry) => entry.component !== component);
  }
  clear() {
    super.clear();
    this.entries = [];
  }
  entriesFor(width) {
    const viewport = { width, height: Number.MAX_SAFE_INTEGER };
    return this.entries.filter((entry) => entry.visible?.(viewport) ?? true);
  }
}

const clampSize = (entry, size) => Math.max(entry.min, Math.min(Math.max(entry.min, entry.max), toSize(size, 0)));

// Computes the size of each entry. Extra or missing space is distributed by weight.
function sizesOf(entries, natural, available, gap) {
  const sizes = entries.map((entry, index) => clampSize(entry, entry.basis ?? natural[index]));
  if (available === undefined) return sizes;
  let rest = Math.max(0, available - Math.max(0, entries.length - 1) * gap) - sizes.reduce((sum, size) => sum + size, 0);
  const isGrowing = rest > 0;
  const weightOf = (entry, index) => (isGrowing ? entry.grow : entry.shrink * Math.max(1, sizes[index]));
  const roomOf = (entry, index) => (isGrowing ? entry.max - sizes[index] : sizes[index] - entry.min);
  rest = Math.abs(rest);
  while (rest > 0) {
    const able = entries.map((entry, index) => ({ index, weight: weightOf(entry, index), room: roomOf(entry, index) }));
    const sharing = able.filter(({ weight, room }) => weight > 0 && room > 0);
    if (sharing.length === 0) break;
    const total = sharing.reduce((sum, { weight }) => sum + weight, 0);
    for (const { index, weight, room } of sharing) {
      const share = Math.min(rest, room, Math.max(1, Math.floor((rest * weight) / total)));
      sizes[index] += isGrowing ? share : -share;
      rest -= share;
    }
  }
  return sizes;
}

export class VStack extends Stack {
  render(width) {
    const columns = Math.max(1, width);
    const entries = this.entriesFor(columns);
    const rendered = entries.map((entry) => entry.component.render(columns));
    const sizes = sizesOf(entries, rendered.map((lines) => lines.length), undefined, this.gap);
    const empty = (count) => Array.from({ length: Math.max(0, count) }, () => "");
    return rendered.flatMap((lines, index) => {
      const shown = lines.slice(0, sizes[index]);
      return [...empty(index > 0 ? this.gap : 0), ...shown, ...empty(sizes[index] - shown.length)];
    });
  }
}

export class HStack extends Stack {
  render(width) {
    const columns = Math.max(1, width);
    const entries = this.entriesFor(columns);
    const natural = entries.map((entry) => Math.max(0, ...entry.component.render(columns).map(visibleWidth)));
    const widths = sizesOf(entries, natural, columns, this.gap);
    const rendered = entries.map((entry, index) => (widths[index] === 0 ? [] : entry.component.render(widths[index])));
    const height = Math.max(0, ...rendered.map((lines) => lines.length));
    const result = Array.from({ length: height }, () => "");
    let column = 0;
    rendered.forEach((lines, index) => {
      const slack = height - lines.length;
      const top = { center: Math.floor(slack / 2), end: slack }[this.align] ?? 0;
      lines.forEach((line, row) => {
        result[row + top] = compositeTuiLine(result[row + top], line, column, widths[index], columns);
      });
      column += widths[index] + this.gap;
    });
    return result;
  }
}
