// Empty lines.
export class Spacer {
  #lines;

  constructor(lines = 1) {
    this.#lines = lines;
  }
  setLines(lines) {
    this.#lines = lines;
  }
  invalidate() {}
  render() {
    return Array.from({ length: this.#lines }, () => "");
  }
}
