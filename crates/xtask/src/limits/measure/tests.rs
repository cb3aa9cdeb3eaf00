use std::path::Path;

use pretty_assertions::assert_eq;

use super::*;

fn counted(text: &str) -> CrateCounter {
    let mut counter = CrateCounter::default();
    counter
        .count_text(&SourceModule::root(Path::new("src/lib.rs")), text)
        .unwrap();
    counter
}

fn methods(text: &str) -> Vec<(String, usize)> {
    counted(text).types.method_counts()
}

fn named(counts: &[(&str, usize)]) -> Vec<(String, usize)> {
    let counts = counts.iter();
    counts
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

#[test]
fn lines_of_test_only_items_are_left_out() {
    let text = "\
//! A crate.

fn kept() {}

/// Documented, attributed and gone.
#[cfg(test)]
fn helper() {
    kept();
}

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn works() {}
}

#[cfg(any(test, windows))]
fn portable() {}

struct Kept;

impl Kept {
    #[cfg(test)]
    fn helper() {
    }

    fn kept() {}
}
";
    assert_eq!(counted(text).lines, text.lines().count() - 5 - 5 - 3);
}

#[test]
fn inherent_blocks_of_a_type_add_up_and_trait_blocks_do_not_count() {
    let text = "
        struct Session;
        impl Session { fn new() -> Self { Self } fn run(&self) {} const LIMIT: usize = 1; }
        impl Default for Session { fn default() -> Self { Self } }
        mod prompt { use super::Session; impl Session { fn prompt(&self) {} #[cfg(test)] fn fake() {} } }
        mod queue { impl super::Session { fn clear(&self) {} } }
        mod glob { use super::*; impl Session { fn glob(&self) {} } }
    ";
    assert_eq!(methods(text), named(&[("Session", 5)]));
}

#[test]
fn types_of_one_name_are_distinguished_by_their_module() {
    let text = "
        mod footer {
            pub mod state { pub struct State; }
            pub use state::State as FooterState;
            impl state::State { fn a() {} }
        }
        mod header { pub struct State; impl State { fn a() {} fn b() {} } }
        mod render { use crate::footer::FooterState as State; impl State { fn c() {} fn d() {} } }
    ";
    assert_eq!(methods(text), named(&[("State", 3), ("State", 2)]));
}

#[test]
fn methods_of_a_trait_count_for_the_trait() {
    let text = "trait Hooks { type Output; fn before(&self); fn after(&self) {} }";
    assert_eq!(methods(text), named(&[("Hooks", 2)]));
}

#[test]
fn fields_are_counted_per_struct_and_per_variant() {
    let text = "
        struct Unit;
        struct Pair(u8, u8);
        struct Named { a: u8, b: u8, #[cfg(test)] c: u8 }
        enum Shape { Empty, Circle { radius: f32 }, Rectangle(f32, f32) }
    ";
    let expected = named(&[
        ("Unit", 0),
        ("Pair", 2),
        ("Named", 2),
        ("Shape::Empty", 0),
        ("Shape::Circle", 1),
        ("Shape::Rectangle", 2),
    ]);
    assert_eq!(counted(text).fields, expected);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "temporary files need no atomic writes"
)]
fn files_of_modules_are_followed_and_files_of_tests_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("src/lib.rs", "mod a;\n#[cfg(test)]\nmod tests;\n");
    write(
        "src/a.rs",
        "mod b;\n#[path = \"a/c_unix.rs\"]\nmod c;\nmod d { mod e; }\n",
    );
    write("src/a/b.rs", "pub struct B;\n");
    write("src/a/c_unix.rs", "#![cfg(unix)]\npub struct C;\n");
    write("src/a/d/e.rs", "pub struct E;\n");
    write("src/tests.rs", "not Rust");
    write("src/main.rs", "mod a;\nfn main() {}\n");

    let roots = ["src/lib.rs", "src/main.rs"].map(|root| directory.path().join(root));
    let source = CrateSource::new("sample".to_owned(), roots.to_vec());
    let sizes = measure(&source).unwrap();

    let size = |metric, name: &str, value| Size {
        metric,
        name: name.to_owned(),
        value,
    };
    assert_eq!(
        sizes,
        [
            size(Metric::Lines, "sample", 1 + 4 + 1 + 2 + 1 + 2),
            size(Metric::Fields, "sample::B", 0),
            size(Metric::Fields, "sample::C", 0),
            size(Metric::Fields, "sample::E", 0),
        ]
    );
}
