// Wraps a component and handles the mouse events that it does not handle.
export class MouseRegion {
  #child;
  #onMouse;

  constructor(child, onMouse) {
    this.#child = child;
    this.#onMouse = onMouse;
  }
  invalidate() {
    this.#child.invalidate?.();
  }
  render(width) {
    return this.#child.render(width);
  }
  handleMouse(event) {
    return this.#child.handleMouse?.(event) ?? this.#onMouse(event);
  }
}
