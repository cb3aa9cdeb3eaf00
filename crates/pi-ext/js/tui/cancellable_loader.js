// A loader that can be canceled with the keyboard.
import { getKeybindings } from "pi:tui/keybindings";
import { Loader } from "pi:tui/loader";

export class CancellableLoader extends Loader {
  onAbort;
  #controller = new AbortController();

  get signal() {
    return this.#controller.signal;
  }
  get aborted() {
    return this.#controller.signal.aborted;
  }
  handleInput(data) {
    if (!getKeybindings().matches(data, "tui.select.cancel")) return;
    this.#controller.abort();
    this.onAbort?.();
  }
  dispose() {
    this.stop();
  }
}
