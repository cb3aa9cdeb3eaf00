//! Tests for preparing sources.

use pretty_assertions::assert_eq;

use super::SourceFormat::{CommonJs, Module};
use super::*;

fn module(name: &str, source: &str) -> PreparedSource {
    prepare(Path::new(name), source, SourceFormat::Module).unwrap()
}

#[test]
fn types_and_unused_imports_are_removed() {
    let source = "import type { A } from 'a';\nimport { B, type C } from 'b';\nimport { D } from 'd';\n\
                  export function f(x: A): D { return B(x as C)!; }\n";
    assert_eq!(
        module("a.ts", source).code,
        "import { B } from \"b\";\nexport function f(x) {\n\treturn B(x);\n}\n"
    );
}

#[test]
fn enums_parameter_properties_and_namespaces_become_javascript() {
    let code = module(
        "a.ts",
        "enum E { A = 1, B }\nclass P { constructor(private readonly x: number) {} }\n\
         namespace N { export const y = 1; }\nexport { E, P, N };",
    )
    .code;
    for part in ["E[E[\"A\"] = 1] = \"A\"", "this.x = x", "N.y = 1"] {
        assert!(code.contains(part), "{part} in {code}");
    }
}

#[test]
fn commonjs_variables_are_bound_unless_declared() {
    let used = module("a.ts", "export const d = __dirname;\n").code;
    assert!(
        used.starts_with("const { __dirname } = import.meta.commonjs; export"),
        "{used}"
    );
    let own = "const __dirname = 'x';\nexport const d = __dirname;\n";
    assert_eq!(module("a.mjs", own).code, own);
}

#[test]
fn the_format_follows_the_syntax_then_the_package() {
    let format = |name: &str, source: &str, preferred| {
        prepare(Path::new(name), source, preferred).unwrap().format
    };
    assert_eq!(format("a.js", "module.exports = 1", CommonJs), CommonJs);
    assert_eq!(format("a.js", "export default 1", CommonJs), Module);
    assert_eq!(format("a.js", "1", Module), Module);
    assert_eq!(format("a.cjs", "1", Module), CommonJs);
    assert_eq!(format("a.mjs", "1", CommonJs), Module);
}

#[test]
fn sloppy_commonjs_is_accepted() {
    let source = "#!/usr/bin/env node\nwith (Math) { exports.x = PI }\nvar arguments = 1;\n";
    let prepared = prepare(Path::new("a.js"), source, SourceFormat::CommonJs).unwrap();
    assert_eq!(prepared.exports.names, ["x"]);
    assert_eq!(prepared.code.lines().count(), 3);
}

#[test]
fn commonjs_exports_are_found() {
    let source = "exports.a = 1; module.exports.b = 2; exports['c'] = 3;\n\
        Object.defineProperty(exports, 'd', { get() {} });\n\
        __exportStar(require('./star'), exports);\n\
        0 && (module.exports = { e, f: 1, ...require('./spread') });\n\
        (0, tslib_1.__exportStar)(require('./other'), exports);\n\
        __export(all, { g: () => g, default: () => h });";
    let exports = prepare(Path::new("a.js"), source, SourceFormat::CommonJs)
        .unwrap()
        .exports;
    assert_eq!(exports.names, ["a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(exports.reexports, ["./star", "./spread", "./other"]);
}

#[test]
fn requested_names_are_listed() {
    let prepared = module(
        "a.mjs",
        "import d, { a, b as c } from 'x'; export { e } from 'x'; import * as n from 'y';",
    );
    let names = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        prepared.imports,
        [
            ("x".to_owned(), names(&["default", "a", "b", "e"])),
            ("y".to_owned(), names(&["*"]))
        ]
    );
}

#[test]
fn an_error_includes_file_line_and_column() {
    let error = prepare(
        Path::new("/e/bad.ts"),
        "let a = 1;\nlet ä = ;\n",
        SourceFormat::Module,
    )
    .unwrap_err();
    assert_eq!((error.line, error.column), (2, 9));
    assert!(error.to_string().starts_with("/e/bad.ts:2:9: "), "{error}");
}

#[test]
fn deeply_nested_code_is_accepted() {
    const LEVELS: usize = 10_000;
    for (before, opening, middle, closing) in [
        ("", "(", "1", ")"),
        ("", "[", "", "]"),
        ("", "!", "1", ""),
        ("", "a=>", "1", ""),
        ("", "1+", "1", ""),
        ("", "a?b:", "1", ""),
        ("", "{", "", "}"),
        ("", "if(a){}else ", "{}", ""),
        ("", "`${", "1", "}`"),
        ("type T=", "A<", "B", ">"),
    ] {
        let (opening, closing) = (opening.repeat(LEVELS), closing.repeat(LEVELS));
        let source = format!("{before}{opening}{middle}{closing}");
        let prepared = prepare(Path::new("deep.ts"), &source, Module);
        assert_eq!(prepared.err(), None);
    }
}
