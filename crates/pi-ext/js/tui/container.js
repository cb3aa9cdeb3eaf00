// Components below each other. A component is anything with `render(width)`, which returns lines.

// Hands a mouse event to the child at its row; `width` is what the children are drawn in.
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
  #drawn;

  addChild(component) {
    this.children.push(component);
  }
  removeChild(component) {
    const place = this.children.indexOf(component);
    if (place >= 0) this.children.splice(place, 1);
  }
  clear() {
    this.children = [];
  }
  invalidate() {
    for (const child of this.children) child.invalidate?.();
  }
  render(width) {
    const drawn = this.children.map((component) => ({ component, lines: component.render(width) }));
    this.#drawn = { width, children: drawn.map(({ component, lines }) => ({ component, height: lines.length })) };
    return drawn.flatMap(({ lines }) => lines);
  }
  handleMouse(event) {
    if (event.y < 0 || event.y >= event.height) return undefined;
    if (this.#drawn?.width !== event.width) this.render(event.width);
    const result = mouseToChildren(this.#drawn.children, event);
    return result?.focus && this.handleInput ? { ...result, focusTarget: this } : result;
  }
}
