//! Resolution tests on a temporary directory tree.

use std::fs;

use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::ImportKind::{Import, Require};
use super::*;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut fs::File::create(path).unwrap(), content.as_bytes())
            .unwrap();
    }
    directory
}

fn resolve(directory: &TempDir, specifier: &str, kind: ImportKind) -> String {
    let root = fs::canonicalize(directory.path()).unwrap();
    let importer = root.join("ext/main.ts");
    match ModuleResolver::default().resolve(specifier, importer.to_str().unwrap(), kind) {
        Ok(ResolvedModule::File(path)) => path
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("{error}").replace(root.to_str().unwrap(), ""),
    }
}

#[test]
fn files_are_found_with_and_without_extension() {
    let directory = tree(&[
        ("ext/main.ts", ""),
        ("ext/a.ts", ""),
        ("ext/b.js", ""),
        ("ext/dir/index.ts", ""),
        ("ext/data.json", "{}"),
        ("ext/dotted.name.ts", ""),
    ]);
    for (specifier, expected) in [
        ("./a", "ext/a.ts"),
        ("./a.js", "ext/a.ts"),
        ("./a.ts", "ext/a.ts"),
        ("./b", "ext/b.js"),
        ("./dir", "ext/dir/index.ts"),
        ("./dir/", "ext/dir/index.ts"),
        ("../ext/data.json", "ext/data.json"),
        ("./dotted.name", "ext/dotted.name.ts"),
        (
            "./gone",
            "Cannot find module './gone' imported from /ext/main.ts",
        ),
    ] {
        assert_eq!(
            resolve(&directory, specifier, ImportKind::Import),
            expected,
            "{specifier}"
        );
    }
}

#[test]
fn packages_follow_their_manifest() {
    let directory = tree(&[
        ("node_modules/plain/package.json", r#"{"main":"lib"}"#),
        ("node_modules/plain/lib/index.js", ""),
        ("node_modules/plain/extra.js", ""),
        (
            "node_modules/@s/map/package.json",
            r##"{"name":"@s/map","exports":{
                ".":{"types":"./x.d.ts","import":"./esm.mjs","require":"./cjs.cjs"},
                "./only":{"require":"./cjs.cjs"},
                "./f/*.js":"./files/*.js","./f/*":"./files/*.js","./f/private/*":null,
                "./out":"./../../plain/extra.js"},
                "imports":{"#in":{"node":"./esm.mjs"},"#dep":"plain",
                    "#self":"#self","#there":"#back","#back":"#there"}}"##,
        ),
        ("node_modules/@s/map/esm.mjs", ""),
        ("node_modules/@s/map/cjs.cjs", ""),
        ("node_modules/@s/map/files/one.js", ""),
        ("node_modules/@s/map/files/private/two.js", ""),
        ("ext/node_modules/near/index.js", ""),
        ("node_modules/near/other.js", ""),
    ]);
    for (specifier, kind, expected) in [
        ("plain", Import, "node_modules/plain/lib/index.js"),
        ("plain/extra", Import, "node_modules/plain/extra.js"),
        ("@s/map", Import, "node_modules/@s/map/esm.mjs"),
        ("@s/map", Require, "node_modules/@s/map/cjs.cjs"),
        ("@s/map/only", Import, "node_modules/@s/map/cjs.cjs"),
        ("@s/map/f/one", Import, "node_modules/@s/map/files/one.js"),
        (
            "@s/map/f/one.js",
            Import,
            "node_modules/@s/map/files/one.js",
        ),
        (
            "@s/map/f/private/two",
            Import,
            "Package '@s/map' has no entry for './f/private/two' in its exports, imported from /ext/main.ts",
        ),
        (
            "@s/map/out",
            Import,
            "Package '@s/map' has no entry for './out' in its exports, imported from /ext/main.ts",
        ),
        ("near", Import, "ext/node_modules/near/index.js"),
    ] {
        assert_eq!(
            resolve(&directory, specifier, kind),
            expected,
            "{specifier}"
        );
    }
    let inside = directory.path().join("node_modules/@s/map/files/one.js");
    let inside = fs::canonicalize(inside).unwrap();
    let resolver = ModuleResolver::default();
    for (specifier, expected) in [
        ("#in", "map/esm.mjs"),
        ("#dep", "plain/lib/index.js"),
        ("@s/map/f/one", "files/one.js"),
    ] {
        let target = resolver
            .resolve(specifier, inside.to_str().unwrap(), Import)
            .unwrap();
        let ResolvedModule::File(path) = target else {
            panic!("{target:?}")
        };
        assert!(path.ends_with(expected), "{specifier}: {}", path.display());
    }
    for specifier in ["#self", "#there"] {
        let target = resolver.resolve(specifier, inside.to_str().unwrap(), Import);
        assert!(
            matches!(target, Err(ResolveError::NotExported { .. })),
            "{specifier}: {target:?}"
        );
    }
}

#[test]
fn builtins_virtual_modules_and_urls() {
    let resolver = ModuleResolver::new(["typebox".to_owned()]);
    let resolve = |specifier| resolver.resolve(specifier, "/x/main.ts", ImportKind::Import);
    assert_eq!(
        resolve("fs").unwrap(),
        ResolvedModule::Builtin("node:fs".to_owned())
    );
    assert_eq!(
        resolve("node:sqlite").unwrap(),
        ResolvedModule::Builtin("node:sqlite".to_owned())
    );
    assert_eq!(
        resolve("typebox").unwrap(),
        ResolvedModule::Virtual("typebox".to_owned())
    );
    assert!(matches!(
        resolve("sqlite"),
        Err(ResolveError::NoPackage { .. })
    ));
    assert!(matches!(
        resolve("https://a/b.js"),
        Err(ResolveError::UnsupportedScheme { .. })
    ));
    assert!(matches!(
        resolve("file:///gone.js"),
        Err(ResolveError::NotFound { .. })
    ));
}
