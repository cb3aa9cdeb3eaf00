# Shortcuts; longer tasks are in `cargo xtask` or `.ci/run`.

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

# Build the binary that people download.
dist:
    cargo xtask dist

# Generate the documentation site in target/site.
site:
    cargo xtask site

# Regenerate the tables of the manual.
manual:
    cargo xtask docs

# Regenerate docs/images; needs a release build and Chromium.
screenshots:
    cargo xtask screenshots

bench:
    cargo bench --workspace

# Regenerate the model catalog from an installed reference or a models.dev document.
models from:
    cargo xtask models --from {{from}}
