// A vertical container with padding and a background.
import { Container, mouseToChildren } from "pi:tui/container";
import { padAndStyle } from "pi:tui/measure";

export class Box extends Container {
  #paddingX;
  #paddingY;
  #background;
  #rendered;

  constructor(paddingX = 1, paddingY = 1, background = undefined) {
    super();
    this.#paddingX = paddingX;
    this.#paddingY = paddingY;
    this.#background = background;
  }
  setBgFn(background) {
    this.#background = background;
  }
  #innerWidth(width) {
    return Math.max(1, width - this.#paddingX * 2);
  }
  render(width) {
    const side = " ".repeat(this.#paddingX);
    const inner = this.#innerWidth(width);
    const rendered = this.children.map((component) => ({ component, lines: component.render(inner) }));
    this.#rendered = { width, children: rendered.map(({ component, lines }) => ({ component, height: lines.length })) };
    const content = rendered.flatMap(({ lines }) => lines);
    if (content.length === 0) return [];
    const fill = (line) => padAndStyle(line, width, this.#background);
    const space = Array.from({ length: this.#paddingY }, () => fill(""));
    return [...space, ...content.map((line) => fill(side + line)), ...space];
  }
  handleMouse(event) {
    const inside = { ...event, x: event.x - this.#paddingX, y: event.y - this.#paddingY };
    const inner = this.#innerWidth(event.width);
    if (inside.x < 0 || inside.x >= inner || inside.y < 0) return undefined;
    if (this.#rendered?.width !== event.width) this.render(event.width);
    return mouseToChildren(this.#rendered.children, inside, inner);
  }
}
