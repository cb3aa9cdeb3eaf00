// A loader between two borders, which extensions show instead of the editor.
import { CancellableLoader } from "pi:tui/cancellable_loader";
import { Container } from "pi:tui/container";
import { DynamicBorder } from "pi:tui/dynamic_border";
import { keyHint } from "pi:tui/key_hints";
import { Loader } from "pi:tui/loader";
import { Spacer } from "pi:tui/spacer";
import { Text } from "pi:tui/text";

export class BorderedLoader extends Container {
  #loader;
  #controller = new AbortController();

  constructor(tui, theme, message, options = {}) {
    super();
    const isCancellable = options.cancellable ?? true;
    const border = () => new DynamicBorder((text) => theme.fg("border", text));
    const Kind = isCancellable ? CancellableLoader : Loader;
    this.#loader = new Kind(tui, (text) => theme.fg("accent", text), (text) => theme.fg("muted", text), message);
    this.addChild(border());
    this.addChild(this.#loader);
    if (isCancellable) {
      this.addChild(new Spacer(1));
      this.addChild(new Text(keyHint("tui.select.cancel", "cancel"), 1, 0));
    }
    this.addChild(new Spacer(1));
    this.addChild(border());
  }
  get signal() {
    return this.#loader.signal ?? this.#controller.signal;
  }
  set onAbort(handler) {
    if (this.#loader instanceof CancellableLoader) this.#loader.onAbort = handler;
  }
  handleInput(data) {
    this.#loader.handleInput?.(data);
  }
  dispose() {
    this.#loader.stop();
  }
}
