# The menu; anything longer than a line lives in `cargo xtask` or `.ci/run`.

check:
    .ci/run

test:
    cargo test --workspace

fmt:
    cargo fmt --all

lint:
    cargo clippy --workspace --all-targets -- -D warnings

docs:
    cargo doc --workspace --no-deps --open

# Writes the tables of the manual that come from the code.
manual:
    cargo xtask docs

bench:
    cargo bench --workspace

# Rewrites the model catalog from the data files of an installed reference or a models.dev document.
models from:
    cargo xtask models --from {{from}}
