// Expandable components, which are rebuilt when they are expanded, collapsed or invalidated.

// Symbols of the method that rebuilds a component and of its expanded state.
export const BUILD = Symbol("build");
export const IS_EXPANDED = Symbol("isExpanded");

// Adds expansion to a component class.
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
