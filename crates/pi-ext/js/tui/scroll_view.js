// A scrollable viewport of a component. Without a viewport, the component is rendered in full.
import { Container } from "pi:tui/container";

const plain = (text) => text;

export class ScrollView extends Container {
  followEnd;
  primary;
  overscroll;
  scrollbarTrackStyle;
  scrollbarThumbStyle;
  #scrollbar;
  #top = 0;
  #contentHeight = 0;
  #viewportHeight = 0;
  #isFollowing;

  constructor(component, options = {}) {
    super();
    this.children.push(component);
    this.followEnd = options.follow === "end";
    this.primary = options.primary ?? false;
    this.overscroll = options.overscroll ?? "chain";
    this.scrollbarTrackStyle = options.scrollbarTrackStyle ?? plain;
    this.scrollbarThumbStyle = options.scrollbarThumbStyle ?? plain;
    this.#scrollbar = options.scrollbar ?? "auto";
    this.#isFollowing = this.followEnd;
  }
  get scrollTop() {
    return this.#top;
  }
  get isFollowingEnd() {
    return this.#isFollowing;
  }
  get viewportHeight() {
    return this.#viewportHeight;
  }
  get scrollbar() {
    return this.#scrollbar;
  }
  get isScrollbarVisible() {
    return this.#scrollbar === "always" && this.#last() > 0;
  }
  get isScrollbarActive() {
    return false;
  }
  setScrollbar(scrollbar) {
    this.#scrollbar = scrollbar;
  }
  setScrollbarActive() {}
  getContentWidth(width) {
    return this.#scrollbar === "always" ? Math.max(1, width - 1) : width;
  }
  scrollTo(top, options = {}) {
    this.#top = Math.max(0, Math.min(Math.floor(top), this.#last()));
    this.#isFollowing = this.followEnd && !options.disableFollow && this.#top >= this.#last();
  }
  // Returns the number of lines that could not be scrolled.
  scrollBy(lines) {
    const target = this.#top + lines;
    this.scrollTo(target);
    return target - this.#top;
  }
  scrollToStart() {
    this.scrollTo(0);
  }
  scrollToEnd() {
    this.scrollTo(this.#last());
  }
  updateLayout(contentHeight, viewportHeight) {
    this.#contentHeight = contentHeight;
    this.#viewportHeight = viewportHeight;
    this.#top = this.#isFollowing ? this.#last() : Math.min(this.#top, this.#last());
  }
  addChild() {
    throw new Error("cannot add a child: a ScrollView has exactly one component");
  }
  removeChild() {
    throw new Error("cannot remove the component of a ScrollView");
  }
  clear() {
    throw new Error("cannot remove the component of a ScrollView");
  }
  #last() {
    return Math.max(0, this.#contentHeight - this.#viewportHeight);
  }
}
