// Terminal object for extensions that create their own. It wraps the program's terminal: raw input is captured, all
// other calls are forwarded.
import { listenRaw, listenResized, terminal } from "pi:pi/screen";

export class ProcessTerminal {
  #unsubscribes = [];

  start(onInput, onResize) {
    this.stop();
    const capture = (data) => {
      onInput(data);
      return { consume: true };
    };
    this.#unsubscribes = [listenRaw(capture), listenResized(onResize)];
  }
  stop() {
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe();
  }
  async drainInput() {}
  get columns() {
    return terminal.columns;
  }
  get rows() {
    return terminal.rows;
  }
  get kittyProtocolActive() {
    return terminal.kittyProtocolActive;
  }
  get modifyOtherKeysActive() {
    return false;
  }
  write(data) {
    terminal.write(data);
  }
  setTitle(title) {
    terminal.setTitle(title);
  }
  setProgress(active) {
    terminal.setProgress(active);
  }
  clearScreen() {
    terminal.clearScreen();
  }
  // Only the program moves the cursor and clears lines.
  moveBy() {}
  hideCursor() {}
  showCursor() {}
  clearLine() {}
  clearFromCursor() {}
}
