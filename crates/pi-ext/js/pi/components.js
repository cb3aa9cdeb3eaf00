// Components: things that draw themselves as lines of a width.
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "pi:pi/text_width";

const padded = (line, width) => line + " ".repeat(Math.max(0, width - visibleWidth(line)));

export class Container {
  children = [];
  addChild(child) {
    this.children.push(child);
  }
  removeChild(child) {
    this.children = this.children.filter((one) => one !== child);
  }
  clear() {
    this.children = [];
  }
  invalidate() {
    for (const child of this.children) child.invalidate?.();
  }
  render(width) {
    return this.children.flatMap((child) => child.render(width));
  }
}

export class Box extends Container {
  constructor(paddingX = 1, paddingY = 1, background = undefined) {
    super();
    this.paddingX = paddingX;
    this.paddingY = paddingY;
    this.background = background;
  }
  setBgFn(background) {
    this.background = background;
  }
  render(width) {
    const lines = super.render(Math.max(1, width - this.paddingX * 2));
    if (lines.length === 0) return [];
    const space = Array.from({ length: this.paddingY }, () => "");
    const side = " ".repeat(this.paddingX);
    return [...space, ...lines.map((line) => side + line), ...space].map((line) => {
      const whole = padded(line, width);
      return this.background ? this.background(whole) : whole;
    });
  }
}

export class Text {
  constructor(text = "", paddingX = 1, paddingY = 1, background = undefined) {
    this.text = text;
    this.paddingX = paddingX;
    this.paddingY = paddingY;
    this.background = background;
  }
  setText(text) {
    this.text = text;
  }
  setCustomBgFn(background) {
    this.background = background;
  }
  invalidate() {}
  render(width) {
    if (this.text.trim() === "") return [];
    const side = " ".repeat(this.paddingX);
    const lines = wrapTextWithAnsi(this.text.replaceAll("\t", "   "), Math.max(1, width - this.paddingX * 2));
    const space = Array.from({ length: this.paddingY }, () => "");
    return [...space, ...lines.map((line) => side + line + side), ...space].map((line) => {
      const whole = padded(line, width);
      return this.background ? this.background(whole) : whole;
    });
  }
}

export class TruncatedText {
  constructor(text, paddingX = 0, paddingY = 0) {
    this.text = text;
    this.paddingX = paddingX;
    this.paddingY = paddingY;
  }
  setText(text) {
    this.text = text;
  }
  invalidate() {}
  render(width) {
    const side = " ".repeat(this.paddingX);
    const line = truncateToWidth(this.text.split("\n")[0], Math.max(1, width - this.paddingX * 2));
    const space = Array.from({ length: this.paddingY }, () => padded("", width));
    return [...space, padded(side + line + side, width), ...space];
  }
}

export class Spacer {
  constructor(lines = 1) {
    this.lines = lines;
  }
  setLines(lines) {
    this.lines = lines;
  }
  invalidate() {}
  render() {
    return Array.from({ length: this.lines }, () => "");
  }
}

// A line across the whole width.
export class DynamicBorder {
  constructor(color = (text) => text) {
    this.color = color;
  }
  invalidate() {}
  render(width) {
    return [this.color("─".repeat(Math.max(1, width)))];
  }
}
