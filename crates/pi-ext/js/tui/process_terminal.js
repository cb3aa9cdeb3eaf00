// The terminal for who wants to start one. It is the program's: what is typed can be taken over, the rest is asked for.
import { listenRaw, listenResized, terminal } from "pi:pi/screen";

export class ProcessTerminal {
  #ends = [];

  start(onInput, onResize) {
    this.stop();
    const take = (data) => {
      onInput(data);
      return { consume: true };
    };
    this.#ends = [listenRaw(take), listenResized(onResize)];
  }
  stop() {
    for (const end of this.#ends.splice(0)) end();
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
  // The program alone moves the cursor and clears lines.
  moveBy() {}
  hideCursor() {}
  showCursor() {}
  clearLine() {}
  clearFromCursor() {}
}
