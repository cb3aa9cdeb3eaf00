//! Benchmarks of the components.

fn main() {
    divan::main();
}
