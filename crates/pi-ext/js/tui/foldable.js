// Components that can be opened and folded. One is built anew when that changes and when it is out of date.

// What a component calls its way of building itself, and whether it is open.
export const BUILD = Symbol("build");
export const IS_EXPANDED = Symbol("isExpanded");

// Adds it to a kind of component.
export function foldable(Base) {
  return class extends Base {
    [IS_EXPANDED] = false;

    setExpanded(expanded) {
      this[IS_EXPANDED] = expanded;
      this[BUILD]();
    }
    invalidate() {
      super.invalidate();
      this[BUILD]();
    }
  };
}
