use super::*;

#[test]
fn globs_match_names_or_full_paths() {
    for (glob, path, expected) in [
        ("*.rs", "/p/src/lib.rs", true),
        ("*.rs", "/p/src/LIB.RS", true),
        ("*.RS", "/p/src/lib.rs", false),
        ("src", "/p/src", true),
        ("s*c", "/p/s/c", false),
        ("src/*.rs", "/p/src/lib.rs", true),
        ("src/*.rs", "/p/src/deep/lib.rs", false),
        ("src/**/*.rs", "/p/src/deep/lib.rs", true),
        ("/p/*.rs", "/p/lib.rs", true),
        ("/p/*.rs", "/q/p/lib.rs", false),
        ("**/deep/*", "/p/src/deep/lib.rs", true),
        ("**", "/p/src/lib.rs", true),
        ("[ab].rs", "/p/a.rs", true),
        ("{lib,main}.rs", "/p/main.rs", true),
        ("É*", "/p/État", true),
    ] {
        let pattern = PathPattern::new(glob).unwrap();
        assert_eq!(pattern.matches(Path::new(path)), expected, "{glob} {path}");
    }
}
