// Vertical container. A component is any object with `render(width)`, which returns lines.

// Forwards a mouse event to the child at its row. `width` is the width of the children.
export function mouseToChildren(children, event, width = event.width) {
  let top = 0;
  for (const { component, height } of children) {
    if (event.y >= top && event.y < top + height) {
      return component.handleMouse?.({ ...event, y: event.y - top, width, height });
    }
    top += height;
  }
  return undefined;
}

export class Container {
  children = [];
  #rendered;

  addChild(component) {
    this.children.push(component);
  }
  removeChild(component) {
    const index = this.children.indexOf(component);
    if (index >= 0) this.children.splice(index, 1);
  }
  clear() {
    this.children = [];
  }
  invalidate() {
    for (const child of this.children) child.invalidate?.();
  }
  render(width) {
    const rendered = this.children.map((component) => ({ component, lines: component.render(width) }));
    this.#rendered = { width, children: rendered.map(({ component, lines }) => ({ component, height: lines.length })) };
    return rendered.flatMap(({ lines }) => lines);
  }
  handleMouse(event) {
    if (event.y < 0 || event.y >= event.height) return undefined;
    if (this.#rendered?.width !== event.width) this.render(event.width);
    const result = mouseToChildren(this.#rendered.children, event);
    return result?.focus && this.handleInput ? { ...result, focusTarget: this } : result;
  }
}
